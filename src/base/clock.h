/* Time of day for records, and a steady clock for durations. */
#ifndef TT_BASE_CLOCK_H
#define TT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Seconds on a clock that never jumps. */
static inline double tt__now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same, some milliseconds late, and faster. */
static inline double tt__roughly_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TT__UNIX_MS_MAX INT64_C(4102444800000) /* the year 2100 */

/* Milliseconds since 1970, UTC, for records. Between 1 and TT__UNIX_MS_MAX even if the clock is wrong. */
static inline int64_t tt__unix_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    return ms < 1 ? 1 : ms > TT__UNIX_MS_MAX ? TT__UNIX_MS_MAX : ms;
}

#endif
