/*
 * A stand-in for libcuda.so.1, for tests only: the process, its devices and contexts. Memory is in memory.c,
 * streams and events in stream.c, modules and launches in launch.c. See README.md.
 */
#include "driver.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef cuCtxCreate
CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device);
int hostcuda_live_objects(void);
int hostcuda_fail_call(long n);

hostcuda_process hostcuda_state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local CUcontext current;

#define ERRORS(X)                                                                                            \
    X(CUDA_SUCCESS, "no error")                                                                              \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                          \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                             \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                    \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                            \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                                   \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                            \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                                  \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")              \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                                  \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                        \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                              \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                                   \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                         \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                               \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                                \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")             \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")      \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capture")      \
    X(CUDA_ERROR_ILLEGAL_STATE, "operation not permitted in this state")                                     \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                                   \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

static const struct error {
    CUresult code;
    const char *name, *text;
} errors[] = {
#define ROW(code, text) {code, #code, text},
    ERRORS(ROW)
#undef ROW
};

static const struct error *find_error(CUresult code) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

double hostcuda_number(const char *env_name, double otherwise) {
    const char *text = getenv(env_name);
    return text && *text ? strtod(text, NULL) : otherwise;
}

static void read_settings(hostcuda_settings *set) {
    const char *watts = getenv("HOSTCUDA_WATTS");
    *set = (hostcuda_settings){.cc = (int)hostcuda_number("HOSTCUDA_CC", 90),
                               .execute = hostcuda_number("HOSTCUDA_EXECUTE", 0),
                               .moved = hostcuda_number("HOSTCUDA_MOVED", 0),
                               .noise = hostcuda_number("HOSTCUDA_NOISE", 0),
                               .counts_energy = watts != NULL};
    if (watts)
        sscanf(watts, "%lf,%lf,%lf,%lf", &set->idle, &set->active, &set->drift, &set->vary);
}

int hostcuda_shared_limit(void) {
    const int cc = hostcuda_state.set.cc;
    return cc >= 90 ? 232448 : cc == 80 ? 166912 : cc > 80 ? 101376 : 65536;
}

CUcontext hostcuda_context(void) {
    return current;
}

/* Counts of objects that are still alive, for tests that look for leaks. */
EXPORT int hostcuda_live_objects(void) {
    return hostcuda_state.n_live + (int)hostcuda_live_allocations();
}

/* From now on, the n-th call fails; 0: none. For tests that try every n in one process. Returns whether the
 * call that was to fail before is still to come. */
EXPORT int hostcuda_fail_call(long n) {
    pthread_mutex_lock(&lock);
    const int pending = hostcuda_state.faults.on[HOSTCUDA_CALL_FAILS] &&
                        hostcuda_state.calls < (long)hostcuda_state.faults.value[HOSTCUDA_CALL_FAILS];
    hostcuda_state.faults.on[HOSTCUDA_CALL_FAILS] = n > 0;
    hostcuda_state.faults.value[HOSTCUDA_CALL_FAILS] = (double)(hostcuda_state.calls + n);
    pthread_mutex_unlock(&lock);
    return pending;
}

static CUresult check_context(void) {
    REQUIRE(current, CUDA_ERROR_INVALID_CONTEXT);
    return current->uses > 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult may_begin(hostcuda_need need) {
    hostcuda_process *p = &hostcuda_state;
    hostcuda_launch_held(need == NEEDS_EVENT);
    if (p->calls++ == 0)
        p->faults = hostcuda_faults_for("driver", sizeof "driver");
    if (p->faults.on[HOSTCUDA_CALL_FAILS] && p->calls == (long)p->faults.value[HOSTCUDA_CALL_FAILS])
        return CUDA_ERROR_UNKNOWN;
    REQUIRE(need == NEEDS_NOTHING || (p->is_initialized && !p->is_child), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(p->sticky == CUDA_SUCCESS, p->sticky);
    if (need >= NEEDS_CONTEXT) {
        const CUresult r = check_context();
        REQUIRE(r == CUDA_SUCCESS, r);
    }
    if (need == NEEDS_SYNC) {
        while (p->is_hung)
            pause();
        p->after_event = false;
        p->module_left_out = NULL;
        p->sticky = p->pending;
    }
    return p->sticky;
}

hostcuda_call hostcuda_enter(hostcuda_need need) {
    pthread_mutex_lock(&lock);
    return (hostcuda_call){may_begin(need)};
}

void hostcuda_leave(hostcuda_call *call) {
    (void)call;
    pthread_mutex_unlock(&lock);
}

EXPORT CUresult cuGetErrorName(CUresult error, const char **name) {
    const struct error *e = find_error(error);
    *name = e ? e->name : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text) {
    const struct error *e = find_error(error);
    *text = e ? e->text : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void become_child(void) {
    hostcuda_state.is_child = true;
}

EXPORT CUresult cuInit(unsigned flags) {
    hostcuda_process *p = &hostcuda_state;
    ENTER(NEEDS_NOTHING);
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    usleep((useconds_t)(1e3 * p->faults.value[HOSTCUDA_INIT_SLOW]));
    if (p->faults.on[HOSTCUDA_INIT_CRASH])
        raise(SIGSEGV);
    REQUIRE(!p->faults.on[HOSTCUDA_INIT_ERROR], CUDA_ERROR_UNKNOWN);
    p->n_devices = (int)hostcuda_number("HOSTCUDA_DEVICES", 1);
    REQUIRE(p->n_devices > 0 && !p->faults.on[HOSTCUDA_NO_DEVICE], CUDA_ERROR_NO_DEVICE);
    /* As with CUDA, a child of fork() cannot use what its parent initialised. */
    REQUIRE(!p->is_child, CUDA_ERROR_NOT_INITIALIZED);
    if (!p->is_initialized)
        pthread_atfork(NULL, NULL, become_child);
    p->is_initialized = true;
    read_settings(&p->set);
    if (p->n_devices > HOSTCUDA_DEVICES_MAX)
        p->n_devices = HOSTCUDA_DEVICES_MAX;
    for (int i = 0; i < p->n_devices; i++) {
        p->primary[i].device = i;
        p->primary[i].is_primary = true;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *version) {
    ENTER(NEEDS_NOTHING);
    REQUIRE(version, CUDA_ERROR_INVALID_VALUE);
    *version = (int)hostcuda_number("HOSTCUDA_DRIVER_VERSION", 13000);
    return CUDA_SUCCESS;
}

/* ---- Devices ------------------------------------------------------------------------------------------ */

static bool is_device(CUdevice device) {
    return device >= 0 && device < hostcuda_state.n_devices;
}

EXPORT CUresult cuDeviceGetCount(int *n) {
    ENTER(NEEDS_INIT);
    REQUIRE(n, CUDA_ERROR_INVALID_VALUE);
    *n = hostcuda_state.n_devices;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER(NEEDS_INIT);
    REQUIRE(device, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(is_device(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char *out, int size, CUdevice device) {
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE(out && size > 0, CUDA_ERROR_INVALID_VALUE);
    snprintf(out, (size_t)size, "0000:%02x:00.0", (unsigned)device + 1);
    return CUDA_SUCCESS;
}

/* A device's part of a variable; the last part is also that of the devices after it. */
static const char *part_of(const char *env_name, CUdevice device) {
    const char *text = getenv(env_name);
    for (const char *next; text && device > 0 && (next = strchr(text, ';')); device--)
        text = next + 1;
    return text;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    const char *text = part_of("HOSTCUDA_NAME", device);
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE(name && size > 0, CUDA_ERROR_INVALID_VALUE);
    if (!text || !*text)
        text = "hostcuda";
    snprintf(name, (size_t)size, "%.*s", (int)strcspn(text, ";"), text);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE(bytes, CUDA_ERROR_INVALID_VALUE);
    const char *text = part_of("HOSTCUDA_MEMORY", device);
    *bytes = text && *text ? (size_t)strtod(text, NULL) : (size_t)1 << 30;
    return CUDA_SUCCESS;
}

/* Memory clock and bus width make 100 GB/s. Attributes that are not listed are 0. */
static const struct attribute {
    CUdevice_attribute id;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1562500},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
};

static int attribute_value(CUdevice_attribute id) {
    switch (id) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return hostcuda_state.set.cc / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return hostcuda_state.set.cc % 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        return hostcuda_shared_limit();
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        return hostcuda_shared_limit() + 1024;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return (int)hostcuda_number("HOSTCUDA_L2", 1 << 20);
    default:
        break;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].id == id)
            return attributes[i].value;
    return 0;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute id, CUdevice device) {
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE(value && id > 0 && id < CU_DEVICE_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *value = attribute_value(id);
    return CUDA_SUCCESS;
}

/* ---- Contexts ----------------------------------------------------------------------------------------- */

static CUresult release(CUcontext ctx) {
    REQUIRE(ctx->uses > 0, CUDA_ERROR_INVALID_CONTEXT);
    hostcuda_state.n_live--;
    if (--ctx->uses == 0)
        hostcuda_free_all(ctx);
    return CUDA_SUCCESS;
}

static void begin_use(CUcontext ctx) {
    static unsigned long long last_id;
    if (ctx->uses++ == 0)
        ctx->id = ++last_id;
    hostcuda_state.n_live++;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE(out, CUDA_ERROR_INVALID_VALUE);
    *out = &hostcuda_state.primary[device];
    begin_use(*out);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    return release(&hostcuda_state.primary[device]);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device) {
    (void)flags;
    ENTER(NEEDS_INIT);
    REQUIRE(is_device(device), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE(out, CUDA_ERROR_INVALID_VALUE);
    *out = calloc(1, sizeof **out);
    REQUIRE(*out, CUDA_ERROR_OUT_OF_MEMORY);
    (*out)->device = device;
    begin_use(*out);
    current = *out;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy(CUcontext ctx) {
    ENTER(NEEDS_INIT);
    REQUIRE(ctx && !ctx->is_primary, CUDA_ERROR_INVALID_CONTEXT);
    const CUresult r = release(ctx);
    if (current == ctx)
        current = NULL;
    free(ctx);
    return r;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx) {
    ENTER(NEEDS_INIT);
    REQUIRE(!ctx || ctx->uses > 0, CUDA_ERROR_INVALID_CONTEXT);
    current = ctx;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *ctx) {
    ENTER(NEEDS_INIT);
    REQUIRE(ctx, CUDA_ERROR_INVALID_VALUE);
    *ctx = current;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id) {
    ENTER(NEEDS_INIT);
    ctx = ctx ? ctx : current;
    REQUIRE(id, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(ctx, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(ctx->uses > 0, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *id = ctx->id;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(device, CUDA_ERROR_INVALID_VALUE);
    *device = current->device;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void) {
    ENTER(NEEDS_SYNC);
    return CUDA_SUCCESS;
}
