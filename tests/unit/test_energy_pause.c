/*
 * Energies of a GPU whose worker is stopped meanwhile (Ctrl-Z). The linker replaces the clocks, NVML and the
 * launches by those of a made-up GPU.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/status.h"
#include "gpu/nvml.h"
#include "tuner/worker/gpu_finals.h"

/* A launch takes 100 us and `watts` beyond idle power. Before the GPU has run for 3 s without a pause it
 * takes less, and idles with less. */
static const double launch_s = 100e-6, watts = 200, idle_watts = 100, cold_watts = 20, pause_s = 60,
                    until_hot_s = 3, epoch_s = 1000;
static double now_s, joules, ran_s, stops_at_s, counted, counted_s;
static bool reads_first; /* it is stopped after the counter was read, or before */

/* ---- The made-up GPU ----------------------------------------------------------------------------------- */

static void idle(double seconds) {
    joules += seconds * (ran_s < until_hot_s ? cold_watts : idle_watts);
    now_s += seconds;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t) {
    (void)id;
    const double s = epoch_s + now_s;
    *t = (struct timespec){(time_t)s, (long)(1e9 * (s - floor(s)))};
    return 0;
}

int __wrap_usleep(useconds_t us);
int __wrap_usleep(useconds_t us) {
    idle((double)us * 1e-6);
    return 0;
}

bool __wrap_tt__pool_prepares(const tt__bench_pool *pool);
bool __wrap_tt__pool_prepares(const tt__bench_pool *pool) {
    (void)pool;
    return false;
}

tt_status __wrap_tt__pool_repeat(tt__bench_pool *pool, const tt__timed *thing, int n);
tt_status __wrap_tt__pool_repeat(tt__bench_pool *pool, const tt__timed *thing, int n) {
    (void)pool, (void)thing;
    joules += n * launch_s * (ran_s < until_hot_s ? 0.8 * watts + idle_watts : watts + idle_watts);
    ran_s += n * launch_s;
    now_s += n * launch_s;
    return TT_OK;
}

/* The counter moves now and then. */
static double count(void) {
    const double tick_s = 0.05;
    if (now_s - counted_s >= tick_s) {
        counted = joules;
        counted_s = now_s;
    }
    return counted;
}

bool __wrap_tt__nvml_joules(int ordinal, double *out);
bool __wrap_tt__nvml_joules(int ordinal, double *out) {
    (void)ordinal;
    if (reads_first)
        *out = count();
    if (now_s >= stops_at_s) {
        stops_at_s = INFINITY;
        ran_s = 0;
        idle(pause_s);
        raise(SIGCONT);
    }
    if (!reads_first)
        *out = count();
    return true;
}

double __wrap_tt__nvml_celsius(int ordinal);
double __wrap_tt__nvml_celsius(int ordinal) {
    (void)ordinal;
    return 50;
}

static double events[2 * TT__TRAIN_MAX];

static CUresult CUDAAPI record(CUevent event, CUstream stream) {
    (void)stream;
    *(double *)(void *)event = now_s;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI await_event(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI await_stream(CUstream stream) {
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI elapsed(float *ms, CUevent from, CUevent to) {
    *ms = (float)(1e3 * (*(double *)(void *)to - *(double *)(void *)from));
    return CUDA_SUCCESS;
}

/* ---- Tests --------------------------------------------------------------------------------------------- */

/* It is heated for 3.5 s and idles until 6 s. Four trains of 5.5 s follow, and it idles again. */
static void test_pauses(void **state) {
    (void)state;
    static const double at_s[] = {INFINITY, 2, 4, 5.5, 6.2, 9, 15, 22, 27.5, 28.9, 30.4};
    const tt__driver cu = {.cuEventRecord = record,
                           .cuEventSynchronize = await_event,
                           .cuEventElapsedTime = elapsed,
                           .cuStreamSynchronize = await_stream};
    tt__gpu_state g = {.cu = &cu};
    const tt__timed thing = {.copy = false};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        g.pool.events[i] = (CUevent)(void *)&events[i];
    for (size_t i = 0; i < 2 * sizeof at_s / sizeof *at_s; i++) {
        tt__energy e;
        now_s = joules = ran_s = counted = counted_s = 0;
        stops_at_s = at_s[i / 2];
        reads_first = i % 2;
        assert_int_equal(tt__gpu_energy(&g, &thing, 1, 5, &e), TT_OK);
        assert_true(isinf(stops_at_s));
        if (fabs(e.joules / (watts * launch_s) - 1) > 1e-3 || fabs(e.idle_watts / idle_watts - 1) > 1e-3 ||
            e.noise > 1e-3 * e.joules)
            fail_msg("stopped at %g s: %g +- %g mJ, %g W", at_s[i / 2], e.joules * 1e3, e.noise * 1e3,
                     e.idle_watts);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
