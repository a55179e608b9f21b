/*
 * The nouns that every layer shares: a GPU, the environment it was measured in, a problem, a launch, a
 * trial. Plain data: copied freely, sent between processes of the same build as they are.
 */
#ifndef TT_BASE_MODEL_H
#define TT_BASE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "base/type.h"

enum {
    TT__NAME_MAX = 64,
    TT__GPU_NAME_MAX = 96,
    TT__CONFIG_MAX = 256,
    TT__OP_MAX = 320,
    TT__PATH_MAX = 512,
    TT__REASON_MAX = 512,
    TT__PASSES_MAX = 4,    /* kernels that are launched one after the other */
    TT__ARGS_MAX = 24,     /* of all of them together */
    TT__OPERANDS_MAX = 12, /* buffers and scalars that a caller gives */
    TT__SAMPLES_MAX = 128,
    TT__LAPS_MAX = 64, /* launches behind one sample of the finals */
};

/* What makes results carry over from one GPU to another, and the limits a configuration must keep. */
typedef struct tt__gpu {
    char name[TT__GPU_NAME_MAX]; /* as the driver says it */
    char mig[32];                /* MIG profile, "" for a whole GPU */
    int cc;                      /* compute capability: 90 is 9.0 */
    int sm_count;
    int64_t memory_bytes;
    int64_t l2_bytes;
    int max_threads_per_block;
    int64_t shared_per_block; /* dynamic, opt-in limit, bytes */
    double peak_gbps;         /* theoretical memory rate; 0: unknown */
} tt__gpu;

/* Do results carry over? Some drivers report a few MB more or less of the same memory: 5
 * % is the same GPU. */
static inline bool tt__same_gpu(const tt__gpu *a, const tt__gpu *b) {
    int64_t off = a->memory_bytes - b->memory_bytes;
    return strcmp(a->name, b->name) == 0 && strcmp(a->mig, b->mig) == 0 && a->cc == b->cc &&
           a->sm_count == b->sm_count && (off < 0 ? -off : off) <= b->memory_bytes / 20;
}

/* Whatever else can change a result: a stored one holds only while these stay the same. */
typedef struct tt__env {
    char driver[32];  /* "580.159.04", or "CUDA 13.0" where only that is known */
    char nvrtc[16];   /* "13.0" */
    char library[16]; /* version of the measuring method: TT__METHOD */
} tt__env;

/* Raised whenever measured times of old and new builds are no longer comparable. */
#define TT__METHOD "5"

/* What is to be computed, every default filled in. `op` names what competes for it, and is all there is of a
 * problem of somebody's own kernel, which is no matrix:
 *
 *   transpose           transpose_in_place, copy, transpose_ladder: the matrices that the numbers say
 *   saxpy/T=f32,n=4096  the kernel saxpy with these values of its variables; the numbers are all 1, but
 *                       elem_size (of its type) and align (16)
 *
 * Behind either may stand TT__UNVERIFIED, where no reference says what is right, and then TT__WARM. */
typedef struct tt__problem {
    char op[TT__OP_MAX];
    int64_t rows, cols, lds, ldd;
    int64_t batch, src_stride, dst_stride;
    int elem_size, align;
} tt__problem;

/* Warm: the L2 cache may hold the arrays already. The regime is a part of the op, so that what was measured
 * in the one is a default in the other at best. Templates know of no regime. */
#define TT__WARM       "/warm"
#define TT__UNVERIFIED "/unverified"

/* Does the op say so, as the last or as a part in between? */
static inline bool tt__op_says(const tt__problem *p, const char *what) {
    for (const char *at = strstr(p->op, what); at; at = strstr(at + 1, what))
        if (at[strlen(what)] == '\0' || at[strlen(what)] == '/') /* and not a variable of that name */
            return true;
    return false;
}
static inline bool tt__warm(const tt__problem *p) {
    return tt__op_says(p, TT__WARM);
}
static inline bool tt__unverified(const tt__problem *p) {
    return tt__op_says(p, TT__UNVERIFIED);
}

/* The problem of somebody's own kernel: NULL if it is a matrix; else its variables,
 * "T=f32,n=4096", *n long. */
static inline const char *tt__variables(const tt__problem *p, size_t *n) {
    const char *at = strchr(p->op, '/');
    if (!at || strncmp(at, TT__WARM, strlen(TT__WARM) + 1) == 0)
        return NULL;
    *n = strcspn(at + 1, "/");
    return at + 1;
}
static inline bool tt__is_matrix(const tt__problem *p) {
    size_t n;
    return !tt__variables(p, &n);
}

/* How far the variables of two problems of one kernel are apart: doublings of each number, 1 for another
 * type; INFINITY if they are not of one kernel, or not of the same variables. */
double tt__variables_distance(const tt__problem *a, const tt__problem *b);

/* Does a template of this op do it, in whichever regime? */
static inline bool tt__is_op(const tt__problem *p, const char *op) {
    size_t n = strlen(op);
    return strncmp(p->op, op, n) == 0 && (p->op[n] == '\0' || p->op[n] == '/');
}

/* In place: src and dst are one array. */
static inline bool tt__in_place(const tt__problem *p) {
    return tt__is_op(p, "transpose_in_place");
}

/* Bytes of the arrays, from the first element to the end of the last row. */
static inline int64_t tt__src_bytes(const tt__problem *p) {
    return ((p->batch - 1) * p->src_stride + (p->rows - 1) * p->lds + p->cols) * p->elem_size;
}

/* dst is cols x rows for every op that starts with "transpose", and rows x cols for everything else. */
static inline bool tt__dst_transposed(const tt__problem *p) {
    return strncmp(p->op, "transpose", strlen("transpose")) == 0;
}
static inline int64_t tt__dst_rows(const tt__problem *p) {
    return tt__dst_transposed(p) ? p->cols : p->rows;
}
static inline int64_t tt__dst_cols(const tt__problem *p) {
    return tt__dst_transposed(p) ? p->rows : p->cols;
}
static inline int64_t tt__dst_bytes(const tt__problem *p) {
    return ((p->batch - 1) * p->dst_stride + (tt__dst_rows(p) - 1) * p->ldd + tt__dst_cols(p)) * p->elem_size;
}

/* Bytes read plus bytes written, what GB/s are counted in; 0: not a matrix, whose metrics its own file
 * defines. */
static inline double tt__moved_bytes(const tt__problem *p) {
    if (!tt__is_matrix(p))
        return 0;
    return 2.0 * (double)p->rows * (double)p->cols * (double)p->batch * p->elem_size;
}
static inline double tt__gbps(const tt__problem *p, double time_us) {
    return time_us > 0 ? tt__moved_bytes(p) / time_us * 1e-3 : 0;
}

/* Checks a public problem and fills in the defaults; TT_E_INVALID names the field and its value. */
tt_status tt__problem_init(tt__problem *out, const tt_problem *in);
/* With arrays that are aligned to so many bytes, or less; TT_E_INVALID if that is less than an element. */
tt_status tt__problem_align(tt__problem *p, int align);
/* The way back: tt__problem_init makes the same problem of it. */
tt_problem tt__problem_public(const tt__problem *p);
/* How many bytes from a multiple of 16 its arrays begin when they are timed: 0, as allocators have it, unless
 * it says that they are aligned less than pitches and strides allow. For some configurations that is worth
 * seven percent where rows begin anywhere. */
int tt__base_offset(const tt__problem *p);
/* The limit of a transpose: a dense, aligned copy of as many elements, however the problem itself lies in
 * memory. */
tt__problem tt__problem_copy(const tt__problem *p);
bool tt__problem_same(const tt__problem *a, const tt__problem *b);

/* The problem in words, as a user would name it: "4096x4096", or "n=4096, T=f32". Returns out. */
enum { TT__PROBLEM_TEXT_MAX = TT__OP_MAX + 64 };
char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p);

/* An argument of a kernel: an operand, which the caller gives, or a value that the configuration decides. */
typedef struct tt__arg {
    tt__type type; /* TT__TYPE_NONE: the operand */
    int operand;
    int64_t i; /* of an integer type */
    double f;  /* of a floating one */
    int bytes; /* that the kernel must take */
} tt__arg;

/* All a launch needs beside the functions and the operands: one pass for each kernel, in their order. */
typedef struct tt__pass {
    unsigned grid[3], block[3];
    unsigned shared_bytes; /* dynamic */
    int first_arg, n_args; /* of args */
    bool early; /* may begin before the kernel in front of it has ended, for which it waits itself */
} tt__pass;

typedef struct tt__launch {
    int n_passes;
    tt__pass passes[TT__PASSES_MAX];
    tt__arg args[TT__ARGS_MAX];
} tt__launch;

/* The extern "C" names of the passes' kernels. */
typedef struct tt__symbols {
    char name[TT__PASSES_MAX][TT__NAME_MAX];
    bool foreign; /* of a file that is not ours: what it says of them may be wrong */
} tt__symbols;

typedef enum tt__trial_status {
    TT__TRIAL_OK = 0,
    TT__TRIAL_COMPILE_ERROR,
    TT__TRIAL_LAUNCH_ERROR,
    TT__TRIAL_WRONG_RESULT,
    TT__TRIAL_TIMEOUT,
    TT__TRIAL_CRASHED,
    TT__TRIAL_SKIPPED,
    TT__TRIAL_STATUS_COUNT
} tt__trial_status;

/* "ok", "compile_error", ...; static storage. */
const char *tt__trial_status_name(tt__trial_status s);

/* What happened when one configuration met one problem. */
typedef struct tt__trial {
    tt__trial_status status;
    char reason[TT__REASON_MAX]; /* "" when ok */
    double time_us;              /* median of the samples; 0 unless ok */
    double weight;     /* what the time is worth to the objective of its kernel, in times itself; 0: as 1, the
                          time is the objective */
    double compile_ms; /* 0: came from the cache */
    int regs;          /* registers per thread; 0: unknown */
    int static_shared_bytes; /* of shared memory, beside the launch's; not stored */
    int n_samples;
    float samples_us[TT__SAMPLES_MAX]; /* in the order they were taken */
} tt__trial;

/* How long the finals measure: as many rounds as take `worth_s`. If that is 1.5 times the most and more, a
 * round launches everybody several times, at most TT__LAPS_MAX, each time in another order; what counts of
 * these is the mean of the middle half. `loads` times in between all kernels are loaded anew: where a
 * kernel's code lies costs or saves it a percent of some microseconds, and the next process has it elsewhere.
 */
typedef struct tt__rounds {
    int least, most; /* 1 to TT__SAMPLES_MAX */
    double worth_s;
    int loads; /* 1 to `least` */
} tt__rounds;

#endif
