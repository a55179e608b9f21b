/*
 * What a problem works on: its operands as they lie in memory, how they are filled, and what is right. Plain
 * data, sent to the GPU worker as it is.
 */
#ifndef TT_BASE_WORKLOAD_H
#define TT_BASE_WORKLOAD_H

#include "base/model.h"

typedef enum tt__direction { TT__IN, TT__OUT, TT__INOUT, TT__SCRATCH, TT__SCALAR } tt__direction;

/* What `in` and `inout` hold before a launch. */
typedef enum tt__init {
    TT__INIT_RANDOM, /* bits */
    TT__INIT_UNIFORM,
    TT__INIT_NORMAL, /* mean 0, deviation 1 */
    TT__INIT_ZEROS,
    TT__INIT_FILE,
    TT__INIT_COPY /* of an operand before it */
} tt__init;

typedef struct tt__array {
    char name[TT__NAME_MAX];
    tt__direction direction;
    tt__type type;
    int elem_size; /* bytes */
    int64_t count; /* elements; 0 of a scalar */
    tt__init init;
    double low, high;          /* of TT__INIT_UNIFORM; of a scalar `low` is its value */
    int from;                  /* of TT__INIT_COPY */
    char file[TT__PATH_MAX];   /* of TT__INIT_FILE */
    char expect[TT__PATH_MAX]; /* raw data of what is right, or "" */
} tt__array;

static inline int64_t tt__array_bytes(const tt__array *a) {
    return a->count * a->elem_size;
}

typedef struct tt__workload {
    int n;
    tt__array arrays[TT__OPERANDS_MAX];
    int align;  /* what their addresses are multiples of, up to 16: to verify, of no more than that */
    int offset; /* tt__problem_offset: from a multiple of 16 to where they begin when they are timed */
    bool warm;
    bool moves;         /* only moves bytes: what a launch leaves is as good to go on with as what it found */
    bool has_reference; /* else files say what is right, or nothing does */
    tt__symbols reference;
    tt__launch launch;                   /* of the reference */
    double abs_tolerance, rel_tolerance; /* both 0: bit for bit */
    int64_t copy_bytes; /* of each side of the copy that is timed beside it, which is no copy of src to dst;
                           0: none */
} tt__workload;

#endif
