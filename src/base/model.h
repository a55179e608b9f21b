/*
 * The data types that every layer shares, beside problems: a GPU, the environment of a measurement, a
 * launch, a workload and a trial. They are plain data. They can be copied, and sent between processes of the
 * same build.
 */
#ifndef TT_BASE_MODEL_H
#define TT_BASE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/problem.h"
#include "base/sizes.h"
#include "base/status.h"
#include "base/type.h"

/* A GPU: properties that decide whether results carry over, and limits that a configuration must keep. */
typedef struct tt__gpu {
    char name[TT__GPU_NAME_MAX]; /* as the driver reports it */
    char mig[32];                /* MIG profile, "" for a whole GPU */
    int cc;                      /* compute capability: 90 is 9.0 */
    int sm_count;
    int64_t memory_bytes;
    int64_t l2_bytes;
    int max_threads_per_block;
    int64_t shared_per_block; /* dynamic, opt-in limit, bytes */
    double peak_gbps;         /* theoretical memory rate; 0: unknown */
} tt__gpu;

enum { TT__GPU_TEXT_MAX = TT__GPU_NAME_MAX + 40 };
/* "NAME", or "NAME MIG PROFILE" as the driver reports it. Returns `out`. */
const char *tt__gpu_text(char out[static TT__GPU_TEXT_MAX], const tt__gpu *gpu);
/* Sets the name and the profile from such a text. */
void tt__gpu_set_text(tt__gpu *gpu, const char *text);

/* How well words name a GPU, ignoring case. The best is last. */
typedef enum tt__gpu_match {
    TT__GPU_OTHER,
    TT__GPU_TEXT_PART, /* of the text, but not of the name */
    TT__GPU_PART,      /* of the name */
    TT__GPU_NAME,      /* an instance without its profile */
    TT__GPU_TEXT
} tt__gpu_match;
tt__gpu_match tt__gpu_matches(const tt__gpu *gpu, const char *words);

/* Do results carry over? Some drivers report a slightly different size for the same memory, so up to 5 %
 * counts as the same GPU. */
static inline bool tt__same_gpu(const tt__gpu *a, const tt__gpu *b) {
    int64_t off = a->memory_bytes - b->memory_bytes;
    return strcmp(a->name, b->name) == 0 && strcmp(a->mig, b->mig) == 0 && a->cc == b->cc &&
           a->sm_count == b->sm_count && (off < 0 ? -off : off) <= b->memory_bytes / 20;
}

/* The environment of a measurement. A stored result is valid only while all of this stays the same. */
typedef struct tt__env {
    char driver[32];  /* "580.159.04", or "CUDA 13.0" if no more is known */
    char nvrtc[16];   /* "13.0" */
    char library[16]; /* the measuring method: TT__METHOD */
} tt__env;

static inline bool tt__same_env(const tt__env *a, const tt__env *b) {
    return strcmp(a->driver, b->driver) == 0 && strcmp(a->nvrtc, b->nvrtc) == 0 &&
           strcmp(a->library, b->library) == 0;
}

/* Raised when measured times of old and new builds can no longer be compared. */
#define TT__METHOD "5"

/* What each launch makes of an argument anew. */
typedef enum tt__made {
    TT__MADE_BEFORE,  /* nothing */
    TT__MADE_STRUCT,  /* operands are put into the struct, at its places */
    TT__MADE_MAP,     /* the memory of args[i] has a tt__tensor_map, of which the kernel gets a CUtensorMap */
    TT__MADE_OF_TURN, /* the number of the turn of its loop */
} tt__made;

/* Where an operand is in a struct by value. These follow the struct in its memory. */
typedef struct tt__place {
    uint16_t at, bytes;
    int16_t operand;
} tt__place;

/* A buffer as the tensor memory accelerator (TMA) sees it, the innermost dimension first. */
typedef struct tt__tensor_map {
    uint64_t strides[TT__RANK_MAX - 1]; /* bytes, from the second dimension on */
    uint32_t dims[TT__RANK_MAX];
    uint16_t box[TT__RANK_MAX], l2_bytes;
    uint8_t steps[TT__RANK_MAX], rank, type, swizzle_bytes;
    bool fills_nan; /* beyond the dims, in place of 0 */
} tt__tensor_map;

/* An argument of a kernel: an operand of the caller, or a value that the configuration decides. */
typedef struct tt__arg {
    uint8_t type;   /* tt__type; TT__TYPE_NONE: the operand */
    bool by_value;  /* a struct, in the memory of args[i] and those after it, which are no arguments */
    uint16_t bytes; /* that the kernel must take */
    int16_t operand;
    uint8_t made;     /* tt__made */
    uint8_t n_places; /* of a struct */
    union {
        int64_t i; /* of an integer type */
        double f;  /* of a floating one */
    };
} tt__arg;

/* How the number of a turn goes on from one launch of a loop to the next. */
typedef enum tt__progress { TT__PROGRESS_BY, TT__PROGRESS_TIMES, TT__PROGRESS_OVER } tt__progress;

static inline int64_t tt__progress_next(tt__progress progress, int64_t number, int32_t step) {
    return progress == TT__PROGRESS_BY      ? number + step
           : progress == TT__PROGRESS_TIMES ? number * step
                                            : number / step;
}

/* One pass of a launch, which runs one kernel. A launch needs passes, functions and operands. */
typedef struct tt__pass {
    unsigned grid[3], block[3];
    unsigned shared_bytes;     /* dynamic */
    int16_t first_arg, n_args; /* of args */
    int16_t repeats;           /* launches after the first */
    uint8_t progress;          /* tt__progress: how the number of a turn goes on */
    int32_t from, step;        /* that number: at first, and from turn to turn */
    int16_t swap[2];           /* operands that change places after each launch; equal: none do */
    bool off;                  /* not launched at all */
    bool joins;                /* it is in the loop of the pass above: launched after it in each turn */
    bool early;         /* may begin before the previous kernel has ended, and waits for it on the device */
    bool cooperative;   /* all blocks are on the device at once, so they can wait for each other */
    uint8_t cluster[3]; /* blocks of a cluster; 0: as the code says */
} tt__pass;

static inline double tt__pass_blocks(const tt__pass *p) {
    return (double)p->grid[0] * p->grid[1] * p->grid[2];
}

/* Of a block. */
static inline double tt__pass_threads(const tt__pass *p) {
    return (double)p->block[0] * p->block[1] * p->block[2];
}

/* Blocks of a cluster; 0: as the code says. */
static inline unsigned tt__pass_cluster(const tt__pass *p) {
    return (unsigned)p->cluster[0] * p->cluster[1] * p->cluster[2];
}

typedef struct tt__launch {
    int n_passes;
    bool swaps; /* some pass does */
    bool makes; /* some argument is made for each launch */
    tt__pass passes[TT__PASSES_MAX];
    tt__arg args[TT__ARGS_MAX];
} tt__launch;

/* The pass with the most threads. */
int tt__main_pass(const tt__launch *launch);

/* The extern "C" names of the passes' kernels. */
typedef struct tt__symbols {
    char name[TT__PASSES_MAX][TT__SYMBOL_MAX];
    bool foreign; /* from a user's file, so its annotations may be wrong about the kernel */
} tt__symbols;

/* The data of a problem: its operands in memory, how they are filled, and what results are right. The GPU
 * worker gets it as it is. */

/* What an operand is. The first four are buffers, which a kernel gets as addresses. */
typedef enum tt__direction {
    TT__IN,
    TT__OUT,
    TT__INOUT,
    TT__SCRATCH,
    TT__SCALAR,
    TT__CONSTANT, /* __constant__ memory of the kernel's code, filled before the launches */
    TT__DIRECTION_COUNT
} tt__direction;

/* "in", "out", "inout", "scratch", "scalar", "constant"; static storage. */
extern const char *const tt__directions[TT__DIRECTION_COUNT];

/* Contents of `in` and `inout` before a launch. */
typedef enum tt__init {
    TT__INIT_RANDOM, /* random bits */
    TT__INIT_UNIFORM,
    TT__INIT_NORMAL, /* mean 0, deviation 1 */
    TT__INIT_ZEROS,
    TT__INIT_FILE,
    TT__INIT_SORTED,
    TT__INIT_PERMUTATION, /* of 0 to count - 1 */
    TT__INIT_INDEX,       /* an expression of the index, in CUDA C++ */
    TT__INIT_COPY,        /* of an earlier operand */
    TT__INIT_MIXED        /* numbers that tell (tuner/measure/verify.cu); no annotation names it */
} tt__init;

typedef struct tt__array {
    char name[TT__NAME_MAX];
    tt__direction direction;
    tt__type type;
    int elem_size; /* bytes */
    int64_t count; /* elements; 0 for a scalar */
    tt__init init;
    bool filled;      /* a kernel of `data` changes it */
    bool by_config;   /* each configuration has its own count, and `count` is the largest */
    bool aside;       /* no tuned kernel gets it, so it is no argument of a plan */
    double low, high; /* range of TT__INIT_UNIFORM; `low` is a scalar's value */
    int from;         /* of TT__INIT_COPY */
    double abs_tolerance, rel_tolerance;
    double scale_tolerance;    /* of the root mean square of the right result; all 0: bit for bit */
    char file[TT__PATH_MAX];   /* of TT__INIT_FILE */
    char expect[TT__PATH_MAX]; /* file with the expected raw data, or "" */
} tt__array;

static inline bool tt__array_is_buffer(const tt__array *a) {
    return a->direction <= TT__SCRATCH;
}

static inline int64_t tt__array_bytes(const tt__array *a) {
    return a->count * a->elem_size;
}

typedef struct tt__workload {
    int n;
    tt__array arrays[TT__OPERANDS_MAX];
    int align; /* the addresses are multiples of this, up to 16; verifying uses addresses that are no multiple
                  of more */
    int offset; /* tt__facts_offset: bytes between a multiple of 16 and the start of the buffers when timed
                 */
    bool warm, in_graph;
    bool moves;         /* only moves bytes, so that its output can be the next launch's input */
    bool has_reference; /* otherwise files have the expected data, or nothing is verified */
    bool per_config;    /* the reference comes with each trial, in place of `launch` */
    bool has_verify;    /* a kernel finds the error of results; it comes with each trial */
    bool verify_apart;  /* or with the reference, because the trial's file must not judge itself */
    tt__symbols reference, verify, data;
    tt__launch launch;  /* of the reference */
    tt__launch filling; /* of `data`; no passes: none */
    double limit;       /* of the error that `verify` finds */
    int64_t copy_bytes; /* bytes on each side of the copy that is timed for comparison, if it is not a copy of
                           src to dst; 0: none */
} tt__workload;

/* How a note ends that says of a reference that its results show nothing. */
#define TT__NOTHING_PASSES "a kernel that computes nothing may pass"

/* What verifying must know of one configuration. */
typedef struct tt__checks {
    tt__launch reference, verify;     /* if they are launched for each configuration; no passes: none */
    int64_t counts[TT__OPERANDS_MAX]; /* of buffers by_config; 0: as in the workload */
} tt__checks;

typedef enum tt__trial_status {
    TT__TRIAL_OK = 0,
    TT__TRIAL_COMPILE_ERROR,
    TT__TRIAL_LAUNCH_ERROR,
    TT__TRIAL_WRONG_RESULT,
    TT__TRIAL_TIMEOUT,
    TT__TRIAL_CRASHED,
    TT__TRIAL_SKIPPED,
    TT__TRIAL_COMPILE_TIMEOUT,
    TT__TRIAL_COMPILER_CRASHED,
    TT__TRIAL_STATUS_COUNT
} tt__trial_status;

/* "ok", "compile_error", ...; static storage. */
const char *tt__trial_status_name(tt__trial_status s);
/* What may help if all trials end like this; "" if nothing is known. */
const char *tt__trial_advice(tt__trial_status s);

/* What the GPU can do at most, measured. 0: unknown. */
typedef struct tt__peaks {
    double copy_gbps;                             /* of the tuned copy */
    double l2_gbps;                               /* reading */
    double fp32_gflops, fp64_gflops, fp16_gflops; /* fp16 without tensor cores */
    double tensor_gflops;                         /* fp16 with sums in fp32; only where a kernel needs it */
} tt__peaks;

/* What one launch takes. All 0: unknown. */
typedef struct tt__energy {
    double joules; /* without idle power and the flush */
    double noise;  /* half of its 95 % interval */
    double time_us;
    double idle_watts;
    double celsius; /* of the GPU, at the end; 0: unknown */
} tt__energy;

/* Classes of equal bits that are no hash. UNSTABLE: results of several launches differed, though each passed.
 * EXACT: every result has to be the reference's, bit for bit. */
enum { TT__BITS_UNKNOWN, TT__BITS_UNSTABLE, TT__BITS_EXACT, TT__BITS_HASH };

enum { TT__BITS_TEXT_MAX = 17 };
/* Its 16 digits, "unstable", "exact", or "" if it is not known. Returns `out`. */
const char *tt__bits_text(char out[static TT__BITS_TEXT_MAX], int64_t bits);
/* Reads such a text; -1: it is something else. */
int64_t tt__bits_read(const char *text);

/* The outcome of one configuration for one problem. */
typedef struct tt__trial {
    tt__trial_status status;
    char reason[TT__REASON_MAX]; /* "" when ok */
    double time_us;              /* median of the samples; 0 unless ok */
    double weight; /* factor from the time to the objective; 0: the same as 1, the objective is the time */
    double compile_ms; /* 0: the cubin was cached */
    double limit_s;    /* the time limit that it exceeded; 0: none, or unknown */
    int regs;          /* registers per thread; 0: unknown */
    int64_t bits;      /* TT__BITS_..., or a hash of the output on the first data: the class of equal bits */
    int static_shared_bytes; /* not stored; dynamic shared memory is in the launch */
    tt__energy energy;       /* only of tt__backend_ops.energies */
    int n_samples;
    float samples_us[TT__SAMPLES_MAX]; /* in the order they were taken */
} tt__trial;

/* What a search keeps of a screening, as it may have tens of thousands. */
typedef struct tt__screened {
    tt__trial_status status;
    int regs, static_shared_bytes, n_samples;
    double time_us, compile_ms, limit_s;
    int64_t bits;
    char *reason; /* owned; NULL: none, or no memory for it */
    float samples_us[TT__SCREEN_MAX];
} tt__screened;

/* How long the finals measure: as many rounds as fit `worth_s`. If 1.5 times `most` or more would fit, each
 * round launches every candidate several times, at most TT__LAPS_MAX, in changing order. The mean of the
 * middle half is one sample. All kernels are reloaded `loads` times, because the address of the code changes
 * times by about one percent of a few microseconds, and another process has other addresses. */
typedef struct tt__rounds {
    int least, most; /* 1 to TT__SAMPLES_MAX */
    double worth_s;
    int loads;   /* 1 to `least` */
    bool strict; /* each launch finds everything as before the first one, and some are verified */
    bool first;  /* of some candidates: all are verified again, where they are timed and with other data */
} tt__rounds;

#endif
