/*
 * A stand-in for CUPTI's range profiler: it needs three passes, lacks one metric, and every percentage is 50,
 * every other value 1000. It refuses calls in a wrong order. FAKE_CUPTI_ERROR is what enabling returns, and
 * FAKE_CUPTI_INITIALIZE what the first call returns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/counters.h"

enum { OK = 0, WRONG = 1, WRONG_ORDER = 7, NO_SUCH_METRIC = 17, BROKEN = 999, PASSES = 3 };

static int broken, started, pushed, popped, passes;

/* Members of params are words: the size, a private pointer, and those that the call names. */
static int is_sized(const uint64_t *p, uint64_t size) {
    return p[0] == size && p[1] == 0;
}

#define CALL(name, size)                                                                                     \
    int name(uint64_t *p);                                                                                   \
    static int name##_called(uint64_t *p);                                                                   \
    int name(uint64_t *p) {                                                                                  \
        return is_sized(p, size) ? name##_called(p) : WRONG;                                                 \
    }                                                                                                        \
    static int name##_called(uint64_t *p)

CALL(cuptiProfilerInitialize, 16) {
    const char *error = getenv("FAKE_CUPTI_INITIALIZE");
    (void)p;
    return error ? atoi(error) : OK;
}
CALL(cuptiDeviceGetChipName, 32) {
    p[3] = (uintptr_t) "FAKE";
    return OK;
}
CALL(cuptiProfilerGetCounterAvailability, 40) {
    p[3] = p[4] ? p[3] : 16;
    return OK;
}
CALL(cuptiProfilerHostInitialize, 48) {
    broken = 0;
    p[5] = 1;
    return strcmp((const char *)(uintptr_t)p[3], "FAKE") ? WRONG : OK;
}
CALL(cuptiProfilerHostDeinitialize, 24) {
    return p[2] == 1 ? OK : WRONG;
}
CALL(cuptiProfilerHostGetBaseMetrics, 48) {
    static const char *const metrics[] = {
#define METRIC(member, metric) metric,
        TT__COUNTERS(METRIC)
#undef METRIC
    };
    enum { N = sizeof metrics / sizeof *metrics };
    static char text[N][128];
    static const char *bases[N];
    uint64_t n = 0;
    for (int i = 0; i < N; i++)
        if (!strstr(metrics[i], "pipe_xu")) {
            snprintf(text[n], sizeof text[n], "%.*s", (int)strcspn(metrics[i], "."), metrics[i]);
            bases[n] = text[n];
            n++;
        }
    p[4] = (uintptr_t)bases;
    p[5] = *(const int *)&p[3] ? 0 : n; /* all are counters */
    return OK;
}
CALL(cuptiProfilerHostConfigAddMetrics, 40) {
    const char **metrics = (const char **)(uintptr_t)p[3];
    for (uint64_t i = 0; i < p[4] && !broken; i++)
        if (strstr(metrics[i], "pipe_xu")) {
            broken = 1;
            return NO_SUCH_METRIC;
        }
    return broken ? BROKEN : OK;
}
CALL(cuptiProfilerHostGetConfigImageSize, 32) {
    p[3] = 16;
    return broken ? BROKEN : OK;
}
CALL(cuptiProfilerHostGetConfigImage, 40) {
    memset((void *)(uintptr_t)p[4], 1, p[3]);
    return OK;
}
CALL(cuptiRangeProfilerEnable, 32) {
    const char *error = getenv("FAKE_CUPTI_ERROR");
    p[3] = 2;
    return error ? atoi(error) : p[2] ? OK : WRONG;
}
CALL(cuptiRangeProfilerDisable, 24) {
    return p[2] == 2 ? OK : WRONG;
}
CALL(cuptiRangeProfilerGetCounterDataSize, 64) {
    p[7] = 64;
    return OK;
}
CALL(cuptiRangeProfilerCounterDataImageInitialize, 40) {
    passes = 0;
    memset((void *)(uintptr_t)p[4], 0, p[3]);
    return OK;
}
CALL(cuptiRangeProfilerSetConfig, 90) {
    return *(const uint8_t *)(uintptr_t)p[4] == 1 && p[3] == 16 && p[5] == 64 ? OK : WRONG;
}
CALL(cuptiRangeProfilerStart, 24) {
    (void)p;
    return started++ ? WRONG_ORDER : OK;
}
CALL(cuptiRangeProfilerPushRange, 32) {
    (void)p;
    return !started || pushed++ ? WRONG_ORDER : OK;
}
CALL(cuptiRangeProfilerPopRange, 24) {
    (void)p;
    return !pushed || popped++ ? WRONG_ORDER : OK;
}
CALL(cuptiRangeProfilerStop, 41) {
    int right = started && pushed && popped;
    started = pushed = popped = 0;
    *(uint8_t *)&p[5] = ++passes == PASSES;
    return right ? OK : WRONG_ORDER;
}
CALL(cuptiRangeProfilerDecodeData, 32) {
    p[3] = 0;
    return passes == PASSES ? OK : WRONG_ORDER;
}
CALL(cuptiProfilerHostEvaluateToGpuValues, 72) {
    const char **metrics = (const char **)(uintptr_t)p[6];
    double *values = (double *)(uintptr_t)p[8];
    for (uint64_t i = 0; i < p[7]; i++)
        values[i] = strstr(metrics[i], "pct") ? 50 : 1000;
    return OK;
}
