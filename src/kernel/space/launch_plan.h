/*
 * A launch as a list of expressions: which one gives which number of it.
 */
#ifndef TT_KERNEL_SPACE_LAUNCH_PLAN_H
#define TT_KERNEL_SPACE_LAUNCH_PLAN_H

#include "kernel/expression/expr.h"
#include "kernel/space/config.h"

/* The parts of a launch that can exceed a limit of the device or of CUDA. */
typedef enum tt__part {
    TT__PART_BLOCK,
    TT__PART_GRID,
    TT__PART_SHARED,
    TT__PART_ARGS,
    TT__PART_TURNS,
    TT__PART_REGS,
    TT__PART_COUNT
} tt__part;

/* All numbers of a launch, the limit on registers, the objective and the derived values. */
enum { TT__SLOTS_MAX = TT__PASSES_MAX * (3 + 3 + 3 + 1 + 4) + TT__ARGS_MAX + 1 + 1 + TT__DERIVED_MAX };

typedef struct tt__launch_plan {
    const tt__template *t;
    const tt__gpu *gpu;
    const tt__problem *p;
    const tt__facts *facts; /* borrowed */
    int offset;             /* tt__facts_offset */
    int n_launches;
    const tt__geometry_expr *launches; /* of each pass */
    size_t n, n_slots;                 /* expressions, and those that are numbers of the launch */
    size_t first_derived;              /* these come last */
    char *why;               /* TT__REASON_MAX bytes for the constraint that fails; NULL: not wanted */
    const tt__launch *start; /* of a reduced plan; NULL: none */
    const tt__expr *exprs[TT__SLOTS_MAX];
    struct {
        tt__part kind;
        int pass, index; /* index: also of a derived value */
    } slots[TT__SLOTS_MAX];
} tt__launch_plan;

/* Plans launches of the template's kernels or of those beside them. `facts` are those of the problem for its
 * operation. */
void tt__launch_plan_make(tt__launch_plan *pl, const tt__template *t, const tt__gpu *gpu,
                          const tt__problem *p, const tt__facts *facts, const tt__aside *aside, char *why);
/* Leaves out what is legal for all problems for which tt__expr_is_certain holds, except for turns; *start has
 * it. Such a plan only tells what is legal. */
void tt__launch_plan_reduce(tt__launch_plan *pl, tt__launch *start, tt__inputs *in, uint64_t given);
/* Copies what is used of a plan, for another problem. */
void tt__launch_plan_copy(tt__launch_plan *out, const tt__launch_plan *pl, const tt__gpu *gpu,
                          const tt__problem *p, const tt__facts *facts);
/* Evaluates the launch of c->config, whose values `in` has: c->choice, too. If it is not legal, *beyond is
 * the part over a limit. */
tt_status tt__launch_plan_read(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c, bool *legal,
                               tt__part *beyond);
/* Notes why a configuration is not legal. Returns false, for `return tt__launch_plan_refuse(...)`. */
bool tt__launch_plan_refuse(const tt__launch_plan *pl, const tt__expr *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
