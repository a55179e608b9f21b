/*
 * The part of NVML that we use. Types and values are those of nvml.h, which is not needed to compile this.
 */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver.h"

enum { CLOCK_SM = 1 };

static struct {
    bool tried, works;
    int (*init)(void);
    int (*by_index)(unsigned index, void **device);
    int (*by_bus)(const char *bus, void **device);
    int (*name)(void *device, char *name, unsigned length);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*limits)(void *device, unsigned long long *reasons);
    int (*energy)(void *device, unsigned long long *millijoules); /* NULL: an old driver */
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*count)(unsigned *n);
    int (*memory)(void *device, void *info);
    int (*mig)(void *device, unsigned *now, unsigned *pending);
} nvml;

static struct {
    bool tried;
    int ordinal;
    void *handle; /* NULL: NVML is missing */
} device;

static const struct {
    unsigned long long bits;
    const char *words;
} reasons[] = {
    {0x08, "the hardware's brake"},
    {0x20 | 0x40, "heat"},
    {0x04 | 0x80, "power"},
};

static bool load(void) {
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct {
        void *member;
        const char *name;
        bool optional;
    } symbols[] = {
        {&nvml.init, "nvmlInit_v2", false},
        {&nvml.by_index, "nvmlDeviceGetHandleByIndex_v2", false},
        {&nvml.by_bus, "nvmlDeviceGetHandleByPciBusId_v2", false},
        {&nvml.name, "nvmlDeviceGetName", false},
        {&nvml.clock, "nvmlDeviceGetClockInfo", false},
        {&nvml.limits, "nvmlDeviceGetCurrentClocksThrottleReasons", false},
        {&nvml.energy, "nvmlDeviceGetTotalEnergyConsumption", true},
        {&nvml.temperature, "nvmlDeviceGetTemperature", true},
        {&nvml.count, "nvmlDeviceGetCount_v2", true},
        {&nvml.memory, "nvmlDeviceGetMemoryInfo", true},
        {&nvml.mig, "nvmlDeviceGetMigMode", true},
    };
    for (size_t i = 0; lib && i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(lib, symbols[i].name);
        if (!address && !symbols[i].optional)
            return false;
        memcpy(symbols[i].member, &address, sizeof address);
    }
    return lib && nvml.init() == 0;
}

static bool works(void) {
    if (!nvml.tried)
        nvml.works = load();
    nvml.tried = true;
    return nvml.works;
}

/* Finds the GPU by its PCI bus id: NVML also counts devices that CUDA_VISIBLE_DEVICES hides. */
static void *find_on_bus(int ordinal) {
    char bus[32] = "";
    const tt__driver *cu;
    CUdevice dev;
    void *found;
    if (!works() || tt__driver_open(&cu) != TT_OK || cu->cuDeviceGet(&dev, ordinal) != CUDA_SUCCESS ||
        cu->cuDeviceGetPCIBusId(bus, sizeof bus, dev) != CUDA_SUCCESS || nvml.by_bus(bus, &found) != 0)
        return NULL;
    return found;
}

static void *find_device(int ordinal) {
    if (!device.tried || device.ordinal != ordinal)
        device.handle = find_on_bus(ordinal);
    device.tried = true;
    device.ordinal = ordinal;
    return device.handle;
}

void tt__nvml_name(char *out, size_t size, int ordinal) {
    void *probably;
    out[0] = '\0';
    if (!works() || ordinal < 0 || nvml.by_index((unsigned)ordinal, &probably) != 0 ||
        nvml.name(probably, out, (unsigned)size) != 0)
        out[0] = '\0';
}

/* What tells one kind of GPU from another. */
typedef struct facts {
    char name[TT__GPU_NAME_MAX];
    unsigned long long total_bytes;
} facts;

/* An error of the MIG mode: this kind of GPU has no MIG. */
static bool read_facts(facts *out, unsigned index) {
    void *handle;
    unsigned now = 0, pending = 0;
    unsigned long long memory[3]; /* total, free, used */
    memset(out, 0, sizeof *out);
    if (nvml.by_index(index, &handle) != 0 || nvml.name(handle, out->name, sizeof out->name) != 0 ||
        nvml.memory(handle, memory) != 0)
        return false;
    out->total_bytes = memory[0];
    return nvml.mig(handle, &now, &pending) != 0 || now == 0;
}

int tt__nvml_alike(void) {
    facts first, other;
    unsigned n;
    if (secure_getenv("CUDA_VISIBLE_DEVICES") || !works() || !nvml.count || !nvml.memory || !nvml.mig ||
        nvml.count(&n) != 0 || n == 0 || !read_facts(&first, 0))
        return 0;
    for (unsigned i = 1; i < n; i++)
        if (!read_facts(&other, i) || memcmp(&first, &other, sizeof first) != 0)
            return 0;
    return (int)n;
}

unsigned tt__nvml_sm_mhz(int ordinal) {
    unsigned mhz;
    void *handle = find_device(ordinal);
    return handle && nvml.clock(handle, CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

bool tt__nvml_joules(int ordinal, double *joules) {
    unsigned long long millijoules;
    void *handle = find_device(ordinal);
    if (!handle || !nvml.energy || nvml.energy(handle, &millijoules) != 0)
        return false;
    *joules = (double)millijoules * 1e-3;
    return true;
}

double tt__nvml_celsius(int ordinal) {
    unsigned celsius;
    void *handle = find_device(ordinal);
    return handle && nvml.temperature && nvml.temperature(handle, 0, &celsius) == 0 ? celsius : 0;
}

void tt__nvml_why_slow(char *out, size_t size, int ordinal) {
    unsigned long long limits = 0;
    void *handle = find_device(ordinal);
    out[0] = '\0';
    if (!handle || nvml.limits(handle, &limits) != 0)
        return;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (limits & reasons[i].bits) {
            size_t n = strlen(out);
            snprintf(out + n, size - n, "%s%s", n ? " and " : "", reasons[i].words);
        }
}
