/*
 * A timeline of a run in Chrome's trace format (chrome://tracing, Perfetto): a row for each process, spans,
 * counters. The file is complete JSON after every write, so that it survives a kill. Use it from one thread.
 * All functions except tt__trace_open ignore a NULL trace.
 */
#ifndef TT_TUNER_FARM_TRACE_H
#define TT_TUNER_FARM_TRACE_H

#include <stdint.h>

#include "base/status.h"
#include "tuner/farm/cubins.h"
#include "tuner/farm/workers.h"

typedef struct tt__trace tt__trace;

/* Creates the file, or leaves it as it is. Time 0 is now. TT_E_IO says the file and the reason. */
tt_status tt__trace_open(tt__trace **out, const char *path);
/* Empties the file, and writes from now on. A later call does nothing. */
void tt__trace_begin(tt__trace *trace);
/* Writes the rest, or removes a file that it made for nothing. Returns the errno of the first failed write,
 * or 0. */
int tt__trace_close(tt__trace **trace);

typedef struct tt__span {
    int row;
    const char *name;
    double begin_s, end_s;       /* on the clock of tt__now_s, which all processes share */
    const char *kernel, *config; /* NULL: not about a configuration */
    const char *note;            /* a few words, or NULL */
} tt__span;

void tt__trace_span(tt__trace *trace, const tt__span *span);

/* ---- The GPU backend's part: a row for each worker, and the queues ---------------------------- */

typedef struct tt__timeline {
    tt__trace *trace;                                 /* NULL: no trace */
    int64_t to_compile, to_try, sm_mhz[TT__GPUS_MAX]; /* last values of the counters */
} tt__timeline;

/* The rows have the order of the workers. */
void tt__timeline_open(tt__timeline *t, tt__trace *trace, const tt__workers *workers);

/* Adds a span of a worker. */
void tt__timeline_span(tt__timeline *t, size_t worker, const char *name, double begin_s, double end_s);
void tt__timeline_compiled(tt__timeline *t, size_t worker, const tt__cubin *cubin, const tt__msg_compiled *m);
/* `waited_for` is what the GPU lacked before. */
void tt__timeline_tried(tt__timeline *t, size_t worker, const tt__configuration *c, const tt__msg_tried *m,
                        const char *waited_for);
/* Notes that a GPU's clocks fell, and that samples were repeated. */
void tt__timeline_falls(tt__timeline *t, size_t worker, const tt__clock_falls *falls);
/* Notes that a worker was lost with a configuration. */
void tt__timeline_lost(tt__timeline *t, size_t worker, const char *kernel, const char *config,
                       const char *reason);
void tt__timeline_queues(tt__timeline *t, int64_t to_compile, int64_t to_try);

#endif
