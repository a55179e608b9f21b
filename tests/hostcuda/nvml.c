/*
 * A stand-in for NVML. $HOSTCUDA_CLOCKS lists SM clocks in MHz, such as "1980,900,1980": one for each
 * reading, and the last one for all later ones. A `;` begins the next device's list, and further devices have
 * the last. Without it, no bus has a GPU. $HOSTCUDA_NVML_NAME is the name
 * of the GPU with index 0. Without it, that GPU does not exist.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_FOUND = 6, CLOCK_SM = 1, MEMORY_MHZ = 3201, HIGH_MHZ = 1500, HEAT = 0x20 };

static const char *rest;
static unsigned now_mhz;

EXPORT int nvmlInit_v2(void) {
    rest = getenv("HOSTCUDA_CLOCKS");
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    static char handle;
    *device = &handle;
    return index == 0 && getenv("HOSTCUDA_NVML_NAME") ? SUCCESS : NOT_FOUND;
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

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
    (void)device;
    *reasons = now_mhz < HIGH_MHZ ? HEAT : 0;
    return SUCCESS;
}
