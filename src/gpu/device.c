/*
 * Reads a GPU's properties from the driver.
 */
#include "gpu/device.h"

#include <pthread.h>

#include "gpu/driver.h"

tt_status tt__device_count(int *n) {
    const tt__driver *cu;
    *n = 0;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__cu_check(cu->cuDeviceGetCount(n), "cuDeviceGetCount"));
    return *n > 0 ? TT_OK
                  : tt__fail(TT_E_NO_DEVICE, "the CUDA driver finds no GPU (is CUDA_VISIBLE_DEVICES set?)");
}

static tt_status read_facts(tt__gpu *out, const tt__driver *cu, CUdevice dev) {
    char text[TT__GPU_TEXT_MAX];
    size_t memory;
    *out = (tt__gpu){0};
    TT_TRY(tt__cu_check(cu->cuDeviceGetName(text, sizeof text, dev), "cuDeviceGetName"));
    tt__gpu_set_text(out, text);
    TT_TRY(tt__cu_check(cu->cuDeviceTotalMem(&memory, dev), "cuDeviceTotalMem"));
    out->memory_bytes = (int64_t)memory;
    int major, minor, l2, shared, memory_khz, bus_bits;
    const struct {
        CUdevice_attribute attr;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &out->sm_count},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &memory_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &bus_bits},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        TT_TRY(tt__cu_check(cu->cuDeviceGetAttribute(wanted[i].value, wanted[i].attr, dev),
                            "cuDeviceGetAttribute (%d)", (int)wanted[i].attr));
    out->cc = major * 10 + minor;
    out->l2_bytes = l2;
    out->shared_per_block = shared;
    /* Two transfers per clock, 8 bits per byte. */
    out->peak_gbps = 2.0 * memory_khz * 1e3 * bus_bits / 8 * 1e-9;
    return TT_OK;
}

tt_status tt__device_gpu(tt__gpu *out, int ordinal) {
    const tt__driver *cu;
    int n;
    *out = (tt__gpu){0};
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__device_count(&n));
    CUdevice dev;
    if (ordinal >= 0 && ordinal < n) {
        TT_TRY(tt__cu_check(cu->cuDeviceGet(&dev, ordinal), "cuDeviceGet (%d)", ordinal));
        return read_facts(out, cu, dev);
    }
    tt__str list = {0};
    for (int i = 0; i < n; i++) {
        char name[TT__GPU_NAME_MAX] = "?";
        if (cu->cuDeviceGet(&dev, i) == CUDA_SUCCESS)
            cu->cuDeviceGetName(name, sizeof name, dev);
        tt__str_addf(&list, "%s%d (%s)", i ? ", " : "", i, name);
    }
    tt__fail(TT_E_NO_DEVICE, "there is no device %d; this machine has: %s", ordinal, tt__str_text(&list));
    tt__str_free(&list);
    return TT_E_NO_DEVICE;
}

static tt_status need_context(const tt__driver *cu) {
    CUcontext ctx = NULL;
    TT_TRY(tt__cu_check(cu->cuCtxGetCurrent(&ctx), "cuCtxGetCurrent"));
    return ctx ? TT_OK
               : tt__fail(TT_E_NO_DEVICE, "no CUDA context is current in this thread; make one current first "
                                          "(cuCtxSetCurrent, or any CUDA runtime call)");
}

tt_status tt__device_context_id(unsigned long long *id, const tt__driver *cu) {
    CUresult r =
        cu->cuCtxGetId(NULL, id); /* one call if all is well; the context is examined only if it fails */
    if (r == CUDA_SUCCESS)
        return TT_OK;
    TT_TRY(need_context(cu));
    return tt__cu_check(r, "cuCtxGetId");
}

tt_status tt__device_current_ordinal(int *out) {
    const tt__driver *cu;
    CUdevice dev, other;
    int n;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(need_context(cu));
    TT_TRY(tt__cu_check(cu->cuCtxGetDevice(&dev), "cuCtxGetDevice"));
    TT_TRY(tt__device_count(&n));
    for (*out = 0; *out < n; ++*out)
        if (cu->cuDeviceGet(&other, *out) == CUDA_SUCCESS && other == dev)
            return TT_OK;
    return tt__fail(TT_E_NO_DEVICE, "the current context's device is none of the %d that CUDA lists", n);
}

/* Each look-up needs the properties, which stay the same. A device with a larger number is asked again. */
tt_status tt__device_current(tt__gpu *out) {
    enum { KEPT = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static tt__gpu kept[KEPT];
    static bool known[KEPT];
    const tt__driver *cu;
    CUdevice dev;
    *out = (tt__gpu){0};
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(need_context(cu));
    TT_TRY(tt__cu_check(cu->cuCtxGetDevice(&dev), "cuCtxGetDevice"));
    if (dev < 0 || dev >= KEPT)
        return read_facts(out, cu, dev);
    pthread_mutex_lock(&lock);
    tt_status status = known[dev] ? TT_OK : read_facts(&kept[dev], cu, dev);
    known[dev] = status == TT_OK;
    if (status == TT_OK)
        *out = kept[dev];
    pthread_mutex_unlock(&lock);
    return status;
}
