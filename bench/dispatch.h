/*
 * bench-dispatch: the host's cost of a launch through the library, beside the driver's own call, and the time
 * of a new process to its first tuned launch.
 */
#ifndef TT_BENCH_DISPATCH_H
#define TT_BENCH_DISPATCH_H

#include "bench/peers.h"
#include "dispatch/plan.h"

enum { ASKING_MAX = 64 };

typedef struct dispatch_options {
    const char *db, *output, *commit, *cublas;
    int device, threads, starts, size, calls;
    int asking; /* more threads, which ask for new shapes beside many that launch */
    double tune_s;
} dispatch_options;

typedef struct dispatch {
    const dispatch_options *options;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem problem;
    const tt__driver *cu;
    tt__gpu gpu;
    CUcontext context;
    int asked; /* new shapes, so far */
    char db[4096];
    char cublas[64]; /* its version, or why geam is left out */
} dispatch;

/* Device 0 or the one asked for: its primary context becomes current. */
tt_status dispatch_open_cuda(dispatch *d);

/* ---- calls.c: the cost of a call ----------------------------------------------------------------------- */

typedef enum dispatch_way {
    DISPATCH_RAW,
    DISPATCH_PLAN,
    DISPATCH_TRANSPOSE,
    DISPATCH_GEAM,
    DISPATCH_WAYS
} dispatch_way;
extern const char *const dispatch_way_names[DISPATCH_WAYS];

/* Nanoseconds of the host for one call, over batches; `over` is what it takes more than the raw launch of the
 * same round. */
typedef struct dispatch_cost {
    bool in;
    double median, p10, p90, over;
} dispatch_cost;

/* Times `calls` calls of each way in each of `threads` threads, in batches. The GPU finishes a batch before
 * the next one starts. With `empty`, the driver's launch and cuCtxGetId do nothing, so that only the
 * library's own time is left. Geam takes part with one thread and a real driver. With several threads,
 * options->asking others transpose shapes that nobody has asked for, at most one in each millisecond, and
 * d->asked counts them. */
tt_status dispatch_calls(dispatch *d, int threads, bool empty, dispatch_cost costs[DISPATCH_WAYS]);

/* ---- start.c: a new process ---------------------------------------------------------------------------- */

/* Milliseconds, medians over the starts. */
typedef struct dispatch_start {
    double exec; /* from the start of the process to main */
    double cuda; /* loading libcuda, cuInit, the primary context */
    double open, plan, launch;
    double beyond; /* all but cuda */
    bool nvrtc;    /* was it loaded? */
    tt_match match;
} dispatch_start;

tt_status dispatch_starts(const dispatch *d, dispatch_start *out);
/* The process that is started: from its arguments to its exit status. */
int dispatch_be_started(const char *started_ns, dispatch *d);

#endif
