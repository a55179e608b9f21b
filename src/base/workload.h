/*
 * The data of a problem: its operands in memory, how they are filled, and what results are right. It is plain
 * data and is sent to the GPU worker as it is.
 */
#ifndef TT_BASE_WORKLOAD_H
#define TT_BASE_WORKLOAD_H

#include "base/model.h"

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
    int offset; /* tt__problem_offset: bytes between a multiple of 16 and the start of the buffers when timed
                 */
    bool warm;
    bool moves;         /* only moves bytes, so that its output can be the next launch's input */
    bool has_reference; /* otherwise files have the expected data, or nothing is verified */
    bool per_config;    /* the reference comes with each trial, in place of `launch` */
    bool has_verify;    /* a kernel finds the error of results; it comes with each trial */
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

#endif
