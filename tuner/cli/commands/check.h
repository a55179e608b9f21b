/*
 * The facts about a template for `tune check FILE.cu`, and functions that print them.
 */
#ifndef TT_TUNER_CLI_COMMANDS_CHECK_H
#define TT_TUNER_CLI_COMMANDS_CHECK_H

#include "code/cubin.h"
#include "kernel/space/operation.h"
#include "kernel/space/problem_text.h"
#include "tuner/worker/compile_one.h"
#include "kernel/space/space.h"

/* The parts of a launch that can exceed a limit: their names in JSON, and in text. */
typedef struct tt__check_part {
    const char *key, *text;
} tt__check_part;
extern const tt__check_part tt__check_parts[TT__PART_COUNT];

/* A kernel of a configuration. */
typedef struct tt__compiled {
    tt__cubin_needs needs;
    int resident_blocks; /* per SM; -1: unknown */
    double occupancy;
} tt__compiled;

typedef struct tt__examined {
    tt__template *t;
    tt__compiler compiler;
    double compile_timeout_s;
    tt__gpu gpu;
    tt__problem p;
    tt__space space; /* the first is the default, if it is legal here */
    tt__survey survey;
    bool counted;        /* false: there are too many combinations, and the survey has only their number */
    tt__str not_default; /* why the default is not legal here */
    tt__compiled compiled[TT__PASSES_MAX]; /* of the first configuration; of what is launched */
    tt__str not_compiled;                  /* "" if they are known */
    bool refused;                          /* the compiler refused it */
    tt__str warnings;                      /* what is not wrong but hardly meant, a line each */
    tt__str misfits; /* differences between the code and the annotations, a line each; "" : none */
} tt__examined;

tt_status tt__check_compile(tt__str *cubin, tt__examined *e, const tt__candidate *c);
/* Names parameters that change neither the code nor the launch. `cubin` is that of the first configuration.
 */
tt_status tt__check_effects(tt__examined *e, const tt__str *cubin);

/* These write to standard output. */
tt_status tt__check_print_text(const tt__examined *e);
tt_status tt__check_print_json(const tt__examined *e);

#endif
