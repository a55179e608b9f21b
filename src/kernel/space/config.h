/*
 * A configuration as text, "TILE_DIM=32 MODE=fast", and as the index of each parameter's value.
 */
#ifndef TT_KERNEL_SPACE_CONFIG_H
#define TT_KERNEL_SPACE_CONFIG_H

#include "kernel/model/template.h"

#define TT__NO_INTEGER INT64_MIN /* the value of a `let` that is none */

/* A configuration for one problem, where it is legal. A space has tens of thousands, so it lacks the launch:
 * tt__space_launch makes it. */
typedef struct tt__configuration {
    const tt__template *t;                /* borrowed */
    char config[TT__CONFIG_MAX];          /* "TILE_DIM=32 BLOCK_ROWS=8", in the order of declaration */
    unsigned char choice[TT__PARAMS_MAX]; /* the same: the index of each parameter's value */
    int64_t derived[TT__DERIVED_MAX];     /* values of the derived names for its problem */
    int offset;                           /* tt__facts_offset of its problem */
    double weight; /* factor from a time to the operation's objective; 1: the objective is the time */
    tt__pass pass; /* the first one of its launch */
} tt__configuration;

/* With its launch. */
typedef struct tt__candidate {
    tt__configuration configuration;
    tt__launch launch;
} tt__candidate;

/* Reads a configuration. It must have every parameter once, in any order. TT_E_INVALID names the wrong
 * word. */
tt_status tt__config_parse(size_t choice[TT__PARAMS_MAX], const tt__template *t, const char *config);

/* Converts a configuration of an older version of the template. Removed parameters are dropped, and new ones
 * get their default. TT_E_INVALID: a value does not exist any more. */
tt_status tt__config_adapt(char out[TT__CONFIG_MAX], const tt__template *t, const char *config);

/* Writes a configuration in the order of declaration. All configurations of a parsed template fit. */
void tt__config_format(char out[TT__CONFIG_MAX], const tt__template *t, const size_t *choice);

/* The same with one or two parameters switched off, the last ones first: with 0, which the default has. At
 * most `most`; returns how many. */
int tt__config_without(char (*out)[TT__CONFIG_MAX], int most, const tt__template *t, const char *config);

/* Makes it the template's default. */
void tt__config_make_default(tt__template *t, const size_t *choice);

/* Appends the compiler options of a configuration for its problem: "-DTILE_DIM=32" for each parameter,
 * derived values, and "-DELEM_SIZE=4". Each option ends with a NUL; *n counts them. Free with tt__str_free. A
 * candidate without a template (the checker's) gets the options of its configuration only. */
tt_status tt__config_options(tt__str *out, int *n, const tt__configuration *c, const tt__problem *p);

/* Text that identifies a cubin of a template: the configuration, the types of variables, and derived values.
 * It starts with the configuration. Without a template it is only that. */
enum { TT__BUILD_MAX = TT__CONFIG_MAX + (TT__VARIABLES_MAX + TT__DERIVED_MAX) * (TT__NAME_MAX + 24) };
void tt__config_build(char out[TT__BUILD_MAX], const tt__configuration *c, const tt__problem *p);

/* Evaluates `maxrregcount` for a configuration. TT_E_TEMPLATE: the value is not a number of registers. */
tt_status tt__config_max_regs(int *out, const tt__template *t, const char *config);

#endif
