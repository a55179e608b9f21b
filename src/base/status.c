/* The last error of each thread, and the words for each status. */
#include "base/status.h"

#include <stdarg.h>
#include <string.h>

#include "base/str.h"

enum { ERROR_MAX = 2048 };
static _Thread_local char last_error[ERROR_MAX];

tt_status tt__fail(tt_status s, const char *fmt, ...) {
    char text[ERROR_MAX]; /* an argument may point into the last error */
    va_list args;
    va_start(args, fmt);
    tt__vformat(text, sizeof text, fmt, args);
    va_end(args);
    tt__clean(text, TT__CLEAN_TEXT); /* it contains values from files */
    memcpy(last_error, text, sizeof text);
    return s;
}

tt_status tt__fail_prefix(tt_status s, const char *fmt, ...) {
    char prefix[512];
    va_list args;
    va_start(args, fmt);
    tt__vformat(prefix, sizeof prefix, fmt, args);
    va_end(args);
    return tt__fail(s, "%s: %s", prefix, last_error);
}

tt_status tt__fail_memory(size_t bytes) {
    return tt__fail(TT_E_NO_MEMORY, "out of host memory (%zu bytes wanted)", bytes);
}

tt_status tt__template_fail(const char *path, int line, int column, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    tt__vformat(text, sizeof text, fmt, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    if (column > 0)
        return tt__fail(TT_E_TEMPLATE, "%s:%d:%d: %s", path, line, column, text);
    return tt__fail(TT_E_TEMPLATE, "%s:%d: %s", path, line, text);
}

const char *tt_last_error(void) {
    return last_error;
}

const char *tt_version(void) {
    return TT_VERSION;
}

int tt_version_number(void) {
    return TT_VERSION_NUMBER;
}

const char *tt_strerror(tt_status s) {
    static const char *const text[] = {
        [TT_OK] = "no error",
        [TT_E_INVALID] = "invalid argument",
        [TT_E_UNSUPPORTED] = "no template supports the problem",
        [TT_E_NO_WINNER] = "no winner",
        [TT_E_NO_DRIVER] = "no usable CUDA driver",
        [TT_E_NO_DEVICE] = "no such CUDA device or context",
        [TT_E_NO_NVRTC] = "NVRTC cannot be loaded",
        [TT_E_CUDA] = "a CUDA call failed",
        [TT_E_COMPILE] = "kernel does not compile",
        [TT_E_TEMPLATE] = "bad kernel template",
        [TT_E_DB] = "the store failed",
        [TT_E_NO_MEMORY] = "out of memory",
        [TT_E_IO] = "input or output failed",
        [TT_E_INTERRUPTED] = "interrupted",
        [TT_E_INTERNAL] = "internal error",
        [TT_E_CAPTURE] = "not possible while a graph is captured",
    };
    return (unsigned)s < sizeof text / sizeof *text ? text[s] : "unknown status";
}

const char *tt_match_name(tt_match m) {
    static const char *const name[] = {"exact", "stale", "nearest", "other-gpu", "default", "rule"};
    return (unsigned)m < sizeof name / sizeof *name ? name[m] : "unknown";
}

const char *tt_source_name(tt_source s) {
    static const char *const name[] = {"measured", "stored", "replayed"};
    return (unsigned)s < sizeof name / sizeof *name ? name[s] : "unknown";
}
