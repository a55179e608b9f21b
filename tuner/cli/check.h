/* What `tune check FILE.cu` finds out about a template, and how it is told. */
#ifndef TT_TUNER_CLI_CHECK_H
#define TT_TUNER_CLI_CHECK_H

#include "gpu/cubin.h"
#include "template/operation.h"

/* What can make a launch exceed a limit: in JSON, and in words. */
typedef struct tt__check_part {
    const char *key, *text;
} tt__check_part;
extern const tt__check_part tt__check_parts[TT__PART_COUNT];
/* By tt__direction. */
extern const char *const tt__check_directions[];

typedef struct tt__examined {
    tt__template *t;
    tt__gpu gpu;
    tt__problem p;
    tt__space space; /* the first is the default, if that is legal here */
    tt__survey survey;
    bool counted; /* else there are too many combinations, and the survey has no more than their number */
    tt__str not_default;   /* why the default is not legal here */
    tt__cubin_needs needs; /* of the first */
    int resident_blocks;   /* on an SM; -1: not known */
    double occupancy;
    tt__str not_compiled; /* "" if the needs are known */
    bool refused;         /* by the compiler */
} tt__examined;

/* Both write to standard output. */
tt_status tt__check_print_text(const tt__examined *e);
tt_status tt__check_print_json(const tt__examined *e);

#endif
