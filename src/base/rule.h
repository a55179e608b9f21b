/*
 * A rule: which of a few configurations suits a problem that was never measured. It knows how much slower
 * than the best each of them was for some problems, and expects the same of similar ones.
 *
 * The distance of two problems is what a kernel's time depends on: doublings of the bytes moved, doublings
 * of each number, and how many times 2 divides it, which decides vector widths and whole lines. A
 * configuration's expected loss is the mean of its measured losses, with weights that fall with the distance.
 *
 * A configuration may have variants for problems where it is not legal: the same with something switched off.
 * The first that is legal stands for it, when losses are measured and when a problem is answered.
 *
 * A rule is plain data, and kept as text (docs/store.md).
 */
#ifndef TT_BASE_RULE_H
#define TT_BASE_RULE_H

#include <stdatomic.h>

#include "base/problem.h"

enum {
    TT__RULE_CONFIGS_MAX = 8,
    TT__RULE_VARIANTS_MAX = 6, /* of a configuration */
    TT__RULE_POINTS_MAX = 256,
    TT__RULE_DEFAULTS_MAX = 16, /* of which a rule keeps something */
    TT__RULE_DEFAULT = 0,       /* in an order, and of the losses: what the library does without a rule */
    TT__RULE_CHOICES_MAX = TT__RULE_CONFIGS_MAX + 1,
};

typedef struct tt__rule_config {
    char kernel[TT__NAME_MAX], hash[TT__HASH_SIZE], config[TT__CONFIG_MAX];
    int n_variants;
    char (*variants)[TT__CONFIG_MAX]; /* of the same kernel; a rule owns them */
} tt__rule_config;

/* A number of the problem, and its weight in distances. */
typedef struct tt__rule_axis {
    char name[TT__NAME_MAX];
    double weight;
} tt__rule_axis;

/* A problem whose times are known. */
typedef struct tt__rule_point {
    double moved_bytes;                /* 0: unknown */
    int64_t values[TT__VARIABLES_MAX]; /* of the axes */
    /* Natural logarithms of the time over the best; of the default, then of each configuration. NAN: not
     * measured. */
    float losses[TT__RULE_CHOICES_MAX];
} tt__rule_point;

typedef struct tt__tuning_rule {
    tt__problem group; /* the problems it is for: operation, regime, and the settings that they share */
    int n_axes, n_configs;
    size_t n_points;
    tt__rule_axis axes[TT__VARIABLES_MAX];
    tt__rule_config configs[TT__RULE_CONFIGS_MAX];
    tt__rule_point *points; /* owned */
    float *table;           /* owned: what choosing reads of the points (tt__rule_finish) */
    /* Of each configuration and its variants, then of defaults, what a look-up keeps for the next one: a
     * block of malloc, or NULL; owned. */
    _Atomic(void *) kept[TT__RULE_CONFIGS_MAX * (1 + TT__RULE_VARIANTS_MAX) + TT__RULE_DEFAULTS_MAX];
} tt__tuning_rule;

/* Reads a text into a new rule. TT_E_INVALID names the line. */
tt_status tt__rule_read(tt__tuning_rule **out, const char *text);
void tt__rule_write(tt__str *out, const tt__tuning_rule *r);
void tt__rule_free(tt__tuning_rule **r);

bool tt__rule_is_for(const tt__tuning_rule *r, const tt__problem *p);

/* Lists TT__RULE_DEFAULT and 1 + the index of each configuration, those expected to be fastest first; but the
 * default comes before what is expected to gain less than 1 %. Takes microseconds and does not allocate.
 * Returns how many. */
int tt__rule_order(int order[TT__RULE_CHOICES_MAX], const tt__tuning_rule *r, const tt__problem *p);

/* What that expects a choice to lose: as tt__rule_point.losses. */
double tt__rule_loss(const tt__tuning_rule *r, const tt__problem *p, int choice);

/* Makes the table, once a rule has all its points. tt__rule_read does so itself. */
tt_status tt__rule_finish(tt__tuning_rule *r);
/* The weight of each point for a problem; and the loss to expect of a choice from the sum of the weights
 * times losses of the points that know it, the sum of these weights, and that of all points. */
void tt__rule_weights(float weights[TT__RULE_POINTS_MAX], const tt__tuning_rule *r,
                      const tt__rule_point *asked);
double tt__rule_expected(int choice, double sum, double weights, double all);
/* The problem as a point without losses. */
void tt__rule_point_of(tt__rule_point *out, const tt__tuning_rule *r, const tt__problem *p);

#endif
