/* NVML, as much of it as is needed; types and values as in nvml.h, which need not be
 * there to compile this. */
#include "gpu/clocks.h"

#include <dlfcn.h>
#include <stdio.h>

#include "gpu/driver.h"

enum { CLOCK_SM = 1 };

static struct {
    bool tried;
    int ordinal;
    void *device;
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*limits)(void *device, unsigned long long *reasons);
} nvml;

static const struct {
    unsigned long long bits;
    const char *words;
} reasons[] = {
    {0x08, "the hardware's brake"},
    {0x20 | 0x40, "heat"},
    {0x04 | 0x80, "power"},
};

/* The same GPU by its place on the bus: NVML counts devices that CUDA_VISIBLE_DEVICES hides. */
static void open_nvml(int ordinal) {
    char bus[32] = "";
    const tt__driver *cu;
    CUdevice dev;
    int (*init)(void), (*by_bus)(const char *bus, void **device);
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib || tt__driver_open(&cu) != TT_OK)
        return;
    const struct {
        void *member;
        const char *name;
    } symbols[] = {
        {&init, "nvmlInit_v2"},
        {&by_bus, "nvmlDeviceGetHandleByPciBusId_v2"},
        {&nvml.clock, "nvmlDeviceGetClockInfo"},
        {&nvml.limits, "nvmlDeviceGetCurrentClocksThrottleReasons"},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(lib, symbols[i].name);
        if (!address)
            return;
        memcpy(symbols[i].member, &address, sizeof address);
    }
    if (cu->cuDeviceGet(&dev, ordinal) != CUDA_SUCCESS ||
        cu->cuDeviceGetPCIBusId(bus, sizeof bus, dev) != CUDA_SUCCESS || init() != 0 ||
        by_bus(bus, &nvml.device) != 0)
        nvml.device = NULL;
}

static bool find_device(int ordinal) {
    if (!nvml.tried || nvml.ordinal != ordinal) {
        nvml.device = NULL;
        open_nvml(ordinal);
    }
    nvml.tried = true;
    nvml.ordinal = ordinal;
    return nvml.device != NULL;
}

unsigned tt__clocks_sm_mhz(int ordinal) {
    unsigned mhz;
    return find_device(ordinal) && nvml.clock(nvml.device, CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

void tt__clocks_why(char *out, size_t size, int ordinal) {
    unsigned long long limits = 0;
    out[0] = '\0';
    if (!find_device(ordinal) || nvml.limits(nvml.device, &limits) != 0)
        return;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (limits & reasons[i].bits) {
            size_t n = strlen(out);
            snprintf(out + n, size - n, "%s%s", n ? " and " : "", reasons[i].words);
        }
}
