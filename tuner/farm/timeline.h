/*
 * The GPU backend's part of a trace: a row for each worker, and the queues.
 */
#ifndef TT_TUNER_FARM_TIMELINE_H
#define TT_TUNER_FARM_TIMELINE_H

#include "tuner/farm/cubins.h"
#include "tuner/farm/trace.h"
#include "tuner/farm/workers.h"

typedef struct tt__timeline {
    tt__trace *trace;                                 /* NULL: no trace */
    const char *lacked[TT__GPUS_MAX];                 /* missing for an idle GPU */
    int64_t to_compile, to_try, sm_mhz[TT__GPUS_MAX]; /* last values of the counters */
} tt__timeline;

/* The rows have the order of the workers. */
void tt__timeline_open(tt__timeline *t, tt__trace *trace, const tt__workers *workers);

/* Adds a span of a worker. */
void tt__timeline_span(tt__timeline *t, size_t worker, const char *name, double begin_s, double end_s);
void tt__timeline_compiled(tt__timeline *t, size_t worker, const tt__cubin *cubin, const tt__msg_compiled *m);
/* `waited_for` is what the GPU lacked before. */
void tt__timeline_tried(tt__timeline *t, size_t worker, const tt__candidate *c, const tt__msg_tried *m,
                        const char *waited_for);
/* Notes that a GPU's clocks fell, and that samples were repeated. */
void tt__timeline_falls(tt__timeline *t, size_t worker, const tt__clock_falls *falls);
/* Notes that a worker was lost with a configuration. */
void tt__timeline_lost(tt__timeline *t, size_t worker, const char *kernel, const char *config,
                       const char *reason);
void tt__timeline_queues(tt__timeline *t, int64_t to_compile, int64_t to_try);

/* A GPU is idle, because it waits for a cubin or because no trial was requested. */
void tt__timeline_starved(tt__timeline *t, size_t gpu, bool for_cubin);
/* The reason for the idle time; ask when the GPU gets work again. */
const char *tt__timeline_lacked(tt__timeline *t, size_t gpu);

#endif
