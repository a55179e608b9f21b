/* The GPU backend's part of a trace: a row for each worker, and the queues. */
#ifndef TT_TUNER_FARM_TIMELINE_H
#define TT_TUNER_FARM_TIMELINE_H

#include "tuner/farm/cubins.h"
#include "tuner/farm/protocol.h"
#include "tuner/trace.h"

typedef struct tt__timeline {
    tt__trace *trace;                   /* NULL: nobody wants to know */
    const char *lacked;                 /* by the idle GPU */
    int64_t to_compile, to_try, sm_mhz; /* as last counted */
} tt__timeline;

/* n workers, the GPU's first; rows are numbered like them. */
void tt__timeline_open(tt__timeline *t, tt__trace *trace, size_t n);

/* Of a worker, as it or we know it. */
void tt__timeline_span(tt__timeline *t, size_t worker, const char *name, double begin_s, double end_s);
void tt__timeline_compiled(tt__timeline *t, size_t worker, const tt__cubin *cubin, const tt__msg_compiled *m);
/* `waited_for` is what the GPU lacked before. */
void tt__timeline_tried(tt__timeline *t, const tt__candidate *c, const tt__msg_tried *m,
                        const char *waited_for);
/* The GPU's clocks fell, and samples were taken again. */
void tt__timeline_falls(tt__timeline *t, const tt__clock_falls *falls);
/* A worker was lost over a configuration. */
void tt__timeline_lost(tt__timeline *t, size_t worker, const char *kernel, const char *config,
                       const char *reason);
void tt__timeline_queues(tt__timeline *t, int64_t to_compile, int64_t to_try);

/* The GPU has nothing to do: because it has to wait for a cubin, or because nothing was asked for. */
void tt__timeline_starved(tt__timeline *t, bool for_cubin);
/* And what it was, asked when it gets something again. */
const char *tt__timeline_lacked(tt__timeline *t);

#endif
