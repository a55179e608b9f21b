/*
 * bench-peers compares our winners with everything else that moves the same number of bytes, in one process,
 * on the same buffers. A case is a problem. A peer is one contender in it. A peer may have variants, and the
 * fastest correct one is timed. Single-threaded.
 */
#ifndef TT_BENCH_PEERS_H
#define TT_BENCH_PEERS_H

#include "base/str.h"
#include "bench/matrix.h"
#include "dispatch/context.h"
#include "gpu/driver.h"
#include "gpu/kernel.h"
#include "kernel/space/config.h"
#include "tuner/measure/noise.h"

enum { BENCH_VARIANTS_MAX = 512, BENCH_NOTE_MAX = 256 };

/* The peers in the order of the tables; ours comes first. */
typedef enum bench_peer_id {
    BENCH_OURS,
    BENCH_MEMCPY,
    BENCH_COPY,
    BENCH_MIRRORED,
    BENCH_GEAM,
    BENCH_CUTENSOR,
    BENCH_PEERS
} bench_peer_id;

typedef struct bench_case {
    char group[16];    /* row of the table of targets that it belongs to */
    char name[64];     /* "4096 x 4096 fp32-sized" as printed */
    tt_problem public; /* with all defaults filled in */
    tt__problem problem;
} bench_case;

typedef struct bench_options {
    const char *db, *cases, *output, *commit, *cublas, *cutensor;
    bool without[BENCH_PEERS];
    int device, rounds, max_trials; /* rounds 0: by size */
    int part, parts;                /* every case whose number, from 1, is part modulo parts */
    bool tune, graphs;
    double tune_limit_s;
} bench_options;

/* ---- What is timed ------------------------------------------------------------------------------------- */

/* Enqueues one launch; asynchronous. */
typedef tt_status (*bench_launch_fn)(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream);

typedef struct bench_variant {
    char detail[TT__CONFIG_MAX + TT__NAME_MAX];
    bench_launch_fn launch;
    void *self;
    void (*release)(void *self); /* may be NULL */
    /* Loads its kernel once more, while those of earlier times stay: at another place. If that fails the last
     * one is launched on. May be NULL. */
    tt_status (*reload)(void *self);
} bench_variant;

/* How a result is checked: dst is the transpose, the first bytes of src, or src's elements in any order. */
typedef enum bench_check_kind { BENCH_IS_TRANSPOSE, BENCH_IS_COPY, BENCH_IS_PERMUTATION } bench_check_kind;

typedef struct bench_peer {
    bench_peer_id id;
    bool in;     /* takes part in the case; if not, the note says why */
    bool broken; /* it should have, but was wrong or failed */
    size_t n;
    bench_variant *variants; /* the one that is timed becomes the first */
    char note[BENCH_NOTE_MAX];
} bench_peer;

/* The contenders of a case, cold or warm, with the variants chosen for it. */
typedef struct bench_contest {
    bench_peer peers[BENCH_PEERS];
} bench_contest;

typedef enum bench_regime {
    BENCH_COLD,
    BENCH_WARM,
    BENCH_GRAPH_COLD,
    BENCH_GRAPH_WARM,
    BENCH_REGIMES
} bench_regime;
extern const char *const bench_regime_names[BENCH_REGIMES];
static inline bool bench_is_warm(bench_regime regime) {
    return regime == BENCH_WARM || regime == BENCH_GRAPH_WARM;
}

typedef struct bench_measured {
    bool in;
    double us;           /* median */
    const char *detail;  /* the variant's, the contest's */
    tt__ratio ratio;     /* its time over ours, paired: above 1 we are faster */
    tt__ratio over_copy; /* the driver's copy: its time over the tuned copy's; median 0: one of them is out */
} bench_measured;

typedef struct bench_result {
    int rounds, launches; /* launches 0: the regime was not run */
    bench_measured peers[BENCH_PEERS];
} bench_result;

/* ---- The device ---------------------------------------------------------------------------------------- */

typedef struct bench_timer bench_timer;
typedef struct bench_checker bench_checker;
typedef struct bench_clocks {
    bool known;
    unsigned sm_mhz, mem_mhz, celsius, watts;
    unsigned long long limited; /* NVML's clock event reasons */
} bench_clocks;

typedef struct bench {
    const bench_options *options;
    tt_ctx *ctx;
    const tt__driver *cu;
    tt__gpu gpu;
    int64_t gpu_id; /* in the store; -1: unknown there */
    tt__env env;
    CUcontext context;
    CUstream stream;
    tt__template *mirrored;
    bench_timer *timer;
    bench_checker *checkers[17]; /* by element size; made on first use */
    CUmodule flusher;
    struct bench_kernel_cache *kernels;
    char cublas[64], cutensor[64]; /* versions, "" if not loaded */
} bench;

/* ---- cases.c: which problems --------------------------------------------------------------------------- */

typedef struct bench_cases {
    size_t n;
    bench_case *items;
} bench_cases;

/* "default", "quick", "narrow", or a file of lines `ROWS COLS [ELEM_SIZE [LDS LDD [BATCH
 * [IN_PLACE]]]]` (0: the default). TT_E_INVALID names the line. */
tt_status bench_cases_get(bench_cases *out, const char *which);

/* ---- timer.c: arrays and rounds ------------------------------------------------------------------------ */

/* `fill` is what bench_flusher gives. */
tt_status bench_timer_open(bench_timer **out, bench *b, CUfunction fill);
void bench_timer_close(bench_timer **t);
/* Frees the arrays of the last case, and allocates those of this one, cold or warm. */
tt_status bench_timer_case(bench_timer *t, const bench_case *c);
void bench_timer_end_case(bench_timer *t);
/* Everything that is allocated, and where the first pair of arrays lies in it. */
void bench_timer_memory(const bench_timer *t, CUdeviceptr *base, size_t *bytes, CUdeviceptr *dst,
                        CUdeviceptr *src);

/* Uses the gate again. The timer gives it up when a launch waits for earlier ones. */
void bench_gate_again(bench_timer *t);
/* Times each variant once a round. Every round has a new random order. us[i * rounds + round] is a time.
 * *failed is -1, or the index of a variant that could not be launched. Then nothing is measured.
 * `in_place[i]` variants get one array for both. The regime is warm if the case is. TT_E_CUDA: the context is
 * lost. */
tt_status bench_rounds(bench_timer *t, const bench_variant *const *variants, const bool *in_place, int n,
                       int rounds, bench_regime regime, float *us, int *failed);
/* Launches in one measurement of that regime: 1, or those of a graph. 0: it is not measured. */
int bench_launches(bench_regime regime);

/* ---- check.c: is the result right? --------------------------------------------------------------------- */

/* Random bits that are ordinary numbers in every floating-point type. */
tt_status bench_fill(bench *b, CUdeviceptr ptr, size_t bytes);
/* Launches the variant once on a poisoned dst (outside any measurement) and checks the result. TT_E_INTERNAL
 * with a sentence if it is wrong; the launch's own failure otherwise. */
tt_status bench_check(bench *b, const bench_case *c, const bench_variant *v, bench_check_kind kind,
                      CUdeviceptr dst, CUdeviceptr src);
/* The tuner's kernel that flushes the L2 cache. */
tt_status bench_flusher(bench *b, CUfunction *fill);
void bench_checkers_close(bench *b);

/* ---- families.c and libraries.c: the peers ------------------------------------------------------------- */

typedef struct bench_peer_kind {
    const char *name;
    bench_check_kind check;
    /* Adds the variants for this case. Any failure keeps the peer out of the case; its sentence is the note.
     */
    tt_status (*open)(bench_peer *peer, bench *b, const bench_case *c);
} bench_peer_kind;
extern const bench_peer_kind bench_peer_kinds[BENCH_PEERS];

/* Adds a variant; takes `self` over, even when it fails. */
tt_status bench_variant_add(bench_peer *peer, const bench_variant *v);
void bench_peer_close(bench_peer *peer);

tt_status bench_ours_open(bench_peer *peer, bench *b, const bench_case *c);
tt_status bench_memcpy_open(bench_peer *peer, bench *b, const bench_case *c);
tt_status bench_copy_open(bench_peer *peer, bench *b, const bench_case *c);
tt_status bench_mirrored_open(bench_peer *peer, bench *b, const bench_case *c);
tt_status bench_geam_open(bench_peer *peer, bench *b, const bench_case *c);
tt_status bench_cutensor_open(bench_peer *peer, bench *b, const bench_case *c);
void bench_kernels_close(bench *b);
void bench_libraries_close(void);

/* The match that ours stands on; TT_MATCH_DEFAULT if the peer is not in. */
tt_match bench_ours_match(const bench_peer *ours);

/* ---- clocks.c, report.c -------------------------------------------------------------------------------- */

/* Asks NVML, if it is there; call right after work. */
bench_clocks bench_clocks_now(const bench *b);

typedef struct bench_report {
    tt__str cases;            /* JSON, comma-separated */
    size_t n_cases, n_failed; /* failed: without a result of ours */
    char path[512], date[32];
} bench_report;

void bench_report_open(bench_report *r, const bench *b);
/* Prints the lines of the case, and rewrites the file: what was measured survives whatever happens next.
 * `contests`: cold, warm. */
void bench_report_case(bench_report *r, const bench *b, const bench_case *c, const bench_contest *contests,
                       const bench_result *results, const bench_clocks *clocks, const char *note);
tt_status bench_report_write(bench_report *r, const bench *b);

/* ---- contest.c ----------------------------------------------------------------------------------------- */

/* Whether the case is measured in that regime. */
bool bench_wanted(const bench *b, const bench_case *c, bench_regime regime);
bool bench_wanted_warm(const bench *b, const bench_case *c); /* in any that is warm */
/* The case as it is looked up and tuned for the warm regimes. */
tt_status bench_warm_case(bench_case *out, const bench_case *c);

/* Measures a case and reports it, whatever happens. False if the CUDA context is lost. */
bool bench_run_case(bench *b, const bench_case *c, bench_report *report);

/* Makes the arrays of a case, and fills them. */
tt_status bench_make_arrays(bench *b, const bench_case *c);

/* ---- graphs.c ------------------------------------------------------------------------------------------ */

/* Prints for each case whether the configuration that is best in separate launches is best in a graph of many
 * launches, too, warm and cold. */
tt_status bench_graphs(bench *b, const bench_cases *cases);

#endif
