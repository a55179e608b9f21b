/*
 * Makes rules (base/rule.h) from the trials of stores and recordings, and judges them on problems left out.
 */
#ifndef TT_TUNER_RUN_RULES_H
#define TT_TUNER_RUN_RULES_H

#include "base/rule.h"
#include "db/store.h"
#include "kernel/load/builtin.h"
#include "tuner/session/session.h"

/* Trials of one GPU, in groups: the problems that one rule may serve. */
typedef struct tt__evidence tt__evidence;

/* `templates` and `gpu` are borrowed. */
tt_status tt__evidence_open(tt__evidence **out, const tt__template_set *templates, const tt__gpu *gpu);
/* Adds what a store knows about a GPU of this id. op: of this operation only; NULL: of all. `another` GPU's
 * problems are learnt from, and not judged; those that are known already are left out. */
tt_status tt__evidence_add(tt__evidence *e, tt__store *store, int64_t gpu_id, const char *op, bool another);
void tt__evidence_close(tt__evidence **e);

/* The number of groups with at least two problems. */
tt_status tt__evidence_groups(size_t *n, tt__evidence *e);
/* What a group's problems share: operation, regime and settings. */
const tt__problem *tt__evidence_group(const tt__evidence *e, size_t group);

/* Makes the rule of a group, of at most `most` configurations. NULL: no configuration is better than the
 * default. */
tt_status tt__evidence_rule(tt__tuning_rule **out, const tt__evidence *e, size_t group, int most);

/* A problem that a rule was asked for, and its times. */
typedef struct tt__rule_case {
    const tt__problem *problem;
    double us, best_us, default_us; /* of the rule's answer, of the best configuration, of the default */
} tt__rule_case;

/* How much time rules take over the best configuration, on problems that they do not know. */
typedef struct tt__rule_score {
    void (*each)(void *user, const tt__rule_case *c); /* gets all problems; NULL: nobody does */
    void *user;
    size_t n;
    double mean, worst;                 /* geometric mean of the ratios; 1 is the best */
    double default_mean, default_worst; /* the same of the default */
    size_t n_slower;                    /* than the default, by more than 2 % */
    double slowest;                     /* the most over the default */
} tt__rule_score;

/* Adds what `more` counts. */
void tt__rule_score_add(tt__rule_score *to, const tt__rule_score *more);

/* Leaves out each of `folds` parts of the problems in turn (0: each problem), and asks a rule that is made
 * from the others. Adds to *out. */
tt_status tt__evidence_judge(tt__rule_score *out, const tt__evidence *e, size_t group, int most,
                             size_t folds);

/* The same for a rule that is there, on the group's problems. False: it is for none of them. */
bool tt__evidence_score(tt__rule_score *out, const tt__evidence *e, size_t group, const tt__tuning_rule *r);

/* Measures, on all problems of a run that has ended, what a rule may choose and not all of them have: what it
 * would choose by now, and the fastest of each problem. Else a rule would compare what searches have tried.
 */
tt_status tt__rules_measure(tt__session *s);

/* Makes the rules of an operation from all that the store knows of a GPU, and keeps them there. *n counts the
 * rules. */
tt_status tt__rules_keep(size_t *n, tt__store *store, const char *gpu, const tt__template_set *templates,
                         const char *op, int most);

#endif
