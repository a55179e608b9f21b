/*
 * A stand-in for NVML. $HOSTCUDA_CLOCKS lists SM clocks in MHz, such as "1980,900,1980": one for each
 * reading, and the last one for all later ones. A `;` begins the next device's list, and further devices have
 * the last. Without it, no bus has a GPU. $HOSTCUDA_WATTS makes it count energy (cost.c). $HOSTCUDA_NVML_NAME
 * is the name of all GPUs. Without it, there are none.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    CLOCK_SM = 1,
    MEMORY_MHZ = 3201,
    HIGH_MHZ = 1500,
    MEMORY_BYTES = 1 << 30,
    HEAT = 0x20
};

static const char *rest;
static unsigned now_mhz;

EXPORT int nvmlInit_v2(void) {
    rest = getenv("HOSTCUDA_CLOCKS");
    return SUCCESS;
}

static unsigned n_devices(void) {
    const char *n = getenv("HOSTCUDA_DEVICES");
    return n ? (unsigned)atoi(n) : 1;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    static char handle;
    *device = &handle;
    return index < n_devices() && getenv("HOSTCUDA_NVML_NAME") ? SUCCESS : NOT_FOUND;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *n) {
    *n = getenv("HOSTCUDA_NVML_NAME") ? n_devices() : 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]) {
    (void)device;
    memory[0] = MEMORY_BYTES;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending) {
    (void)device;
    *now = *pending = 0;
    return NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    (void)device;
    snprintf(name, length, "%s", getenv("HOSTCUDA_NVML_NAME"));
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    static char handle;
    unsigned number; /* from 1 on, as the driver names them */
    *device = &handle;
    if (!rest || sscanf(bus, "0000:%x:", &number) != 1)
        return NOT_FOUND;
    rest = getenv("HOSTCUDA_CLOCKS");
    for (const char *next; number > 1 && (next = strchr(rest, ';')); number--)
        rest = next + 1;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) {
    (void)device;
    *mhz = MEMORY_MHZ;
    if (type != CLOCK_SM)
        return SUCCESS;
    if (*rest && *rest != ';') {
        char *end;
        now_mhz = (unsigned)strtoul(rest, &end, 10);
        rest = *end == ',' ? end + 1 : end;
    }
    *mhz = now_mhz;
    return SUCCESS;
}

/* The GPU takes idle power while nothing runs, by the clock on the wall. A launch takes virtual time. */
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    static double idle_joules, last_s, last_us;
    struct timespec t;
    double us = 0;
    const char *idle = getenv("HOSTCUDA_WATTS");
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    double (*energy)(double *) = NULL;
    void *address = cuda ? dlsym(cuda, "hostcuda_energy") : NULL;
    (void)device;
    if (!idle || !address)
        return NOT_SUPPORTED;
    memcpy(&energy, &address, sizeof energy);
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec, joules = energy(&us);
    if (last_s > 0 && us <= last_us)
        idle_joules += (now_s - last_s) * strtod(idle, NULL);
    last_s = now_s;
    last_us = us;
    *millijoules = (unsigned long long)((joules + idle_joules) * 1e3);
    dlclose(cuda);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
    (void)device;
    *celsius = 40;
    return sensor == 0 ? SUCCESS : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
    (void)device;
    *reasons = now_mhz < HIGH_MHZ ? HEAT : 0;
    return SUCCESS;
}
