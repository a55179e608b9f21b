/*
 * The space: which configurations a problem on a GPU allows, and how each is launched.
 */
#ifndef TT_KERNEL_SPACE_SPACE_H
#define TT_KERNEL_SPACE_SPACE_H

#include "kernel/space/launch_plan.h"

typedef struct tt__space {
    size_t n;
    tt__configuration *items;
    bool sampled; /* a template has too many configurations, so only a sample of them is here */
    double legal; /* all legal configurations; estimated if `sampled` */
} tt__space;      /* zero-initialise */

/* The number of all combinations of values, legal or not. */
double tt__template_combinations(const tt__template *t);
/* Appends all legal configurations of the template for this problem: the default first, then the order of
 * declaration (the first parameter changes slowest). A template of another operation adds nothing. A
 * configuration is legal if
 *
 * - every `where` holds (NULL does not);
 * - the block has at most gpu->max_threads_per_block threads, and at most 1024 x 1024 x 64;
 * - dynamic shared memory fits gpu->shared_per_block;
 * - the grid is within CUDA's limits (x < 2^31, y and z < 65536);
 * - every i32 argument fits 32 bits.
 *
 * If there are more than TT__CONFIGS_MAX, it appends the default and a sample in which each has the same
 * chance, always the same one.
 *
 * On failure the space is unchanged.
 * TT_E_TEMPLATE: a geometry cannot be launched (NULL, not an integer, zero or negative), a derived value is
 * no integer, or so few of very many combinations are legal that none is found. */
tt_status tt__space_add(tt__space *space, const tt__template *t, const tt__gpu *gpu, const tt__problem *p);
/* Appends legal configurations that differ from one of the template in one parameter, and up to `pairs`
 * random ones that differ in two. A template without parameters has none. */
tt_status tt__space_neighbours(tt__space *out, const tt__template *t, const tt__gpu *gpu,
                               const tt__problem *p, const char *config, size_t pairs);
/* Appends the configuration of a candidate that tt__space_resolve made. */
tt_status tt__space_append(tt__space *space, const tt__configuration *c);
void tt__space_free(tt__space *space);

/* What functions return in place of an index. */
enum { TT__NOTHING = -1 };

/* The end of the configurations that have the template of `first`. Each template's configurations are
 * together. */
size_t tt__space_end_of_template(const tt__space *space, size_t first);
/* Groups the space by cubins. Configurations that differ only in launch arguments have the same of[i], which
 * is the index of one of them. `of` has room for the space. */
tt_status tt__space_cubins(const tt__space *space, size_t *of);
/* The index of a kernel's configuration (NULL: its first one), or TT__NOTHING. */
int64_t tt__space_member(const tt__space *space, const char *kernel, const char *config);
/* The same, looked for from *at on, which moves after it: stored rows have nearly the order of the space. */
int64_t tt__space_next_member(const tt__space *space, const char *kernel, const char *config, size_t *at);
/* The index of the default configuration of the template of `of`, or TT__NOTHING. */
int64_t tt__space_default(const tt__space *space, size_t of);

/* Why a space is as large as it is. */
typedef struct tt__survey {
    double combinations; /* number of all combinations of values; may be too many to go through */
    struct {
        size_t removed, alone; /* combinations that this `where` rejects; those that only this one rejects */
    } wheres[TT__WHERES_MAX];
    size_t beyond[TT__PART_COUNT]; /* combinations that satisfy every `where`, by the part that exceeds a
                                      limit */
    size_t legal;
} tt__survey;

/* Counts all combinations. TT_E_TEMPLATE as in tt__space_add, and if there are too many; `combinations` is
 * set in any case. */
tt_status tt__space_survey(tt__survey *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p);

/* Makes the launch of one configuration for one problem.
 * TT_E_UNSUPPORTED: it is not legal; the message names the constraint.
 * TT_E_INVALID: the text is no configuration of the template. */
tt_status tt__space_resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const char *config);

/* The same by the index of each parameter's value, without a message if it is not legal. */
tt_status tt__space_at(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                       const unsigned char *choice);

/* The launch of a configuration in a space, on its GPU and for its problem. */
tt_status tt__space_launch(tt__launch *out, const tt__configuration *c, const tt__gpu *gpu,
                           const tt__problem *p);

/* The same for look-ups, which try many: without a message, with the facts of the problem, and *out is set
 * only if it is legal. *legal is false if it is not, or if the text is no configuration. */
tt_status tt__space_try(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                        const tt__facts *facts, const char *config, bool *legal);

/* For look-ups that try a configuration again and again, for problems that have the same value in each
 * `given` variable (a bit for each). What these values and the GPU decide is checked once. *out is one block
 * for free(). TT_E_INVALID: as in tt__space_resolve. */
typedef struct tt__prepared tt__prepared;
tt_status tt__space_prepare(tt__prepared **out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const tt__facts *facts, uint64_t given, const char *config);
const char *tt__prepared_config(const tt__template **t, const tt__prepared *c);
/* What tt__space_try says of it. False: it was prepared for another GPU. */
bool tt__prepared_try(bool *legal, tt_status *status, const tt__prepared *c, const tt__gpu *gpu,
                      const tt__problem *p, const tt__facts *facts);

/* The same for all launches of an operation's role. */
tt_status tt__space_aside(tt__candidate *out, const tt__operation *operation, tt__role role,
                          const tt__gpu *gpu, const tt__problem *p, const char *config);

#endif
