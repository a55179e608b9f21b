/*
 * Tuning problems in T1, the field's input format (JSON), as they are written: nothing is looked into yet.
 * What they come to as annotations is tuner/t1's.
 */
#ifndef TT_DB_T1_H
#define TT_DB_T1_H

#include "base/str.h"

enum {
    TT__T1_BYTES_MAX = 1 << 20, /* of the file */
    TT__T1_PARAMS_MAX = 64,
    TT__T1_CONDITIONS_MAX = 64,
    TT__T1_ARGS_MAX = 64,
    TT__T1_OPTIONS_MAX = 32,
};

/* Texts are NULL where there is none, or null. Numbers are texts, lists their JSON,
 * which is Python's, too. */

typedef struct tt__t1_param {
    char *name, *type, *values, *initial;
} tt__t1_param;

typedef struct tt__t1_arg {
    char *name, *type, *memory, *access, *fill, *value, *size, *type_size, *source, *mem_type, *output;
} tt__t1_arg;

/* What a result is compared with. */
typedef struct tt__t1_expected {
    char *target, *fill, *source, *method, *threshold;
} tt__t1_expected;

typedef struct tt__t1_budget {
    char *type, *value;
} tt__t1_budget;

typedef struct tt__t1 {
    char *benchmark, *language, *kernel, *file, *size_type, *shared, *type_names, *search;
    char *global[3], *local[3], *div[3]; /* GlobalSize, LocalSize, GridDiv as one product */
    char *problem[3];
    size_t n_params, n_conditions, n_args, n_options, n_expected, n_budgets;
    tt__t1_param params[TT__T1_PARAMS_MAX];
    char *conditions[TT__T1_CONDITIONS_MAX];
    tt__t1_arg args[TT__T1_ARGS_MAX];
    char *options[TT__T1_OPTIONS_MAX];
    tt__t1_expected expected[TT__T1_ARGS_MAX];
    tt__t1_budget budgets[4];
    size_t n_texts; /* all of the above, to be freed */
    char **texts;
} tt__t1;

/* Reads a T1 file. TT_E_INVALID names the file and the member, what was found and what was expected; TT_E_IO
 * if it cannot be read. Free it, also after a failure. */
tt_status tt__t1_read(tt__t1 **out, const char *path);
void tt__t1_free(tt__t1 **t1);

/* Reads a regular file of up to `max` bytes that is a text (free it). TT_E_IO, or TT_E_INVALID. */
tt_status tt__t1_read_text(tt__str *out, const char *path, size_t max);

#endif
