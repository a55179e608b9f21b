/*
 * Sizes of everything that is stored as plain data.
 */
#ifndef TT_BASE_SIZES_H
#define TT_BASE_SIZES_H

#define TT__COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    TT__NAME_MAX = 64,
    TT__SYMBOL_MAX = 192, /* of a kernel: a name, or an instance of a template */
    TT__GPU_NAME_MAX = 96,
    TT__CONFIG_MAX = 512,
    TT__PATH_MAX = 512,
    TT__REASON_MAX = 512,
    TT__VARIABLES_MAX = 40,               /* of an operation */
    TT__PASSES_MAX = 8,                   /* kernels of a launch, in their order */
    TT__TURNS_MAX = 4096,                 /* launches of them all */
    TT__RANK_MAX = 5,                     /* dimensions of a tensor map */
    TT__MAP_BYTES = 128,                  /* of a CUtensorMap */
    TT__ARGS_MAX = 64,                    /* of all passes together */
    TT__OPERANDS_MAX = 64,                /* buffers and scalars of the caller */
    TT__OPERAND_ERROR = TT__OPERANDS_MAX, /* in place of an operand: the error that `verify` finds */
    TT__SAMPLES_MAX = 128,
    TT__SCREEN_MAX = 24, /* samples of a screening */
    TT__LAPS_MAX = 64,   /* launches that make one sample of the finals */
};

/* Times of launches that decide how they are measured. For shorter problems, more configurations are nearly
 * as fast as the best. The times of longer ones vary little, so that a few launches are enough. */
enum { TT__SHORT_US = 20, TT__LONG_US = 1000 };

#endif
