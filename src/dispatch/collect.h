/*
 * Collects what a program launches without an exact winner (tt_open_opts.collect_file).
 *
 * A plan has a tally, which its launches count up. The collector adds the counts to its file every few
 * seconds, when its context is closed, and at the end of the process. It lives as long as its context and its
 * plans. In a child after fork it only forgets.
 */
#ifndef TT_DISPATCH_COLLECT_H
#define TT_DISPATCH_COLLECT_H

#include <stdatomic.h>

#include "kernel/model/template.h"

typedef struct tt__collector tt__collector;

/* Launches of one problem since the file was written. It has its own cache lines, because all threads count
 * in it. */
typedef struct tt__tally {
    _Alignas(128) _Atomic uint64_t launches;
    tt__collector *collector;
} tt__tally;

/* TT_E_INVALID, TT_E_IO: the file is something else, or cannot be written. */
tt_status tt__collector_open(tt__collector **out, const char *file);
/* Writes what was counted, and lets go of the collector. NULL is allowed. */
void tt__collector_close(tt__collector *c);

/* The tally of a problem, for one more plan. `path` is its kernel's file. NULL: memory is short. */
tt__tally *tt__tally_of(tt__collector *c, const tt__problem *p, const tt__operation *op, const char *path,
                        const tt__gpu *gpu, double time_us);
/* NULL is allowed. */
void tt__tally_release(tt__tally *t);

/* Writes if it is time for that. */
void tt__tally_write(const tt__tally *t);

static inline void tt__tally_count(tt__tally *t) {
    enum { OFTEN = 256 };
    if (atomic_fetch_add_explicit(&t->launches, 1, memory_order_relaxed) % OFTEN == 0)
        tt__tally_write(t);
}

#endif
