"""A kernel, and its times as other tuners write them: for test_import_t4.py and test_kernel_tuner.py."""
KERNEL = """\
//@ kernel   scale
//@ problem  n 4096
//@ buffer   x f32 n inout
//@ args     x, i64 n
//@ param    THREADS 32 64 128 2048
//@ param    MODE    fast slow
//@ where    THREADS <= max_threads_per_block
//@ where    MODE = 'fast' OR THREADS < 128
//@ block    THREADS
//@ grid     ceil_div(n, THREADS)
//@ default  THREADS=32 MODE=fast
extern "C" __global__ void scale(float *x, long long n) {
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}
"""
#        THREADS, MODE, milliseconds or what went wrong
TRIALS = [(32, "fast", 0.5), (64, "fast", 0.25), (128, "fast", 0.125), (32, "slow", 0.75),
          (64, "slow", "CompilationFailedConfig"), (2048, "fast", "RuntimeFailedConfig"),
          (128, "slow", "InvalidConfig")]
WORDS = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime", "InvalidConfig": "constraints"}


def hub(trials=None, unit=1, **metadata):
    """As the benchmark hub has it: failures have no runtimes, and a word for a time."""
    results = []
    for threads, mode, time in trials or TRIALS:
        good = not isinstance(time, str)
        result = {"timestamp": "2023-12-22 09:54:05.502007+00:00", "configuration": {"MODE": mode, "THREADS": threads},
                  "times": {"compilation": 918.5 * unit, "framework": 105.2, "search_algorithm": 0, "validation": 0},
                  "invalidity": "correct" if good else WORDS[time], "correctness": int(good),
                  "measurements": [{"name": "time", "value": time * unit if good else time, "unit": ""}],
                  "objectives": ["time"]}
        if good:
            result["times"]["runtimes"] = [time * unit] * 200  # more than is kept
        results.append(result)
    return {"metadata": {"timeunit": "miliseconds", **metadata}, "results": results, "schema_version": "1.0.0"}


def cache(trials=None, old=False):
    """Kernel Tuner's cache file; before 1.4 a failure was a word for a time."""
    entries = {}
    for threads, mode, time in trials or TRIALS:
        entry = {"THREADS": threads, "MODE": mode}
        if isinstance(time, str):
            entry |= {"time": time} if old else {"__error__": time}
        else:
            entry |= {"time": time, "times": [time, time, time], "GFLOP/s": 1.5}
        entries[f"{threads},{mode}"] = entry | {"compile_time": 100.5, "verification_time": 0, "benchmark_time": 1.5,
                                                "timestamp": "2026-01-01 00:00:00+00:00"}
    return {"device_name": "NVIDIA A100-PCIE-40GB", "kernel_name": "scale", "problem_size": [4096],
            "tune_params_keys": ["THREADS", "MODE"], "tune_params": {"THREADS": [32, 64, 128], "MODE": ["fast", "slow"]},
            "objective": "time", "cache": entries}
