/*
 * Errors: a status, and one sentence for each thread, written where the cause is known.
 */
#ifndef TT_BASE_STATUS_H
#define TT_BASE_STATUS_H

#include "tiletune.h"

/* Sets this thread's last error to the formatted sentence and returns `s`: `return tt__fail(...)`. The
 * sentence names the wrong value and says what to do. It has no trailing newline. */
tt_status tt__fail(tt_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prefixes the last error with "prefix: " and returns `s`. A caller uses it to add context. */
tt_status tt__fail_prefix(tt_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Fails with TT_E_TEMPLATE: "path:line:column: sentence". A column of 0 is left out. Control characters from
 * the template become '?'. */
tt_status tt__template_fail(const char *path, int line, int column, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A failed host allocation of `bytes`. */
tt_status tt__fail_memory(size_t bytes);

#define TT_TRY(expr)                                                                                         \
    do {                                                                                                     \
        tt_status tt_try_status_ = (expr);                                                                   \
        if (tt_try_status_ != TT_OK)                                                                         \
            return tt_try_status_;                                                                           \
    } while (0)

/* As TT_TRY, for functions with one `out:` label and a local `tt_status status`. */
#define TT_GOTO(expr)                                                                                        \
    do {                                                                                                     \
        status = (expr);                                                                                     \
        if (status != TT_OK)                                                                                 \
            goto out;                                                                                        \
    } while (0)

#endif
