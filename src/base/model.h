/*
 * What every layer shares beside problems: a GPU, the environment of a measurement, a launch, a trial. Plain
 * data: copied freely, sent between processes of the same build as it is.
 */
#ifndef TT_BASE_MODEL_H
#define TT_BASE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/limits.h"
#include "base/problem.h"
#include "base/status.h"
#include "base/type.h"

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
