/* What counters mean: a rule is about one fault of a kernel, or about one limit of the hardware. */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_RULES_H
#define TT_TUNER_EXPLAIN_EXPLAIN_RULES_H

#include "tuner/explain/explain_phrases.h"

enum { TT__NEEDS_MAX = 3, TT__FINDINGS_MAX = 64 };

typedef struct tt__rule {
    const char *name;
    bool limit;                       /* what the hardware can do is used up; else time is wasted */
    tt__counter needs[TT__NEEDS_MAX]; /* without these counters it does not apply; 0 ends the list */
    /* The share, 0 to 1, by counters and without; NULL: it cannot say. */
    double (*counted)(const tt__explain_facts *f), (*guessed)(const tt__explain_facts *f);
    tt__say_fn *say;
} tt__rule;

/* A rule that applies to the winner. */
typedef struct tt__rule_finding {
    const tt__rule *rule;
    double share; /* a fault's share of the time; a limit's part of what the hardware can do */
} tt__rule_finding;

/* The rule with this index; NULL: there are no more. */
const tt__rule *tt__rule_at(size_t i);
/* Applies all rules and sorts what they find. Returns the number. */
int tt__rules_apply(tt__rule_finding out[TT__FINDINGS_MAX], const tt__explain_facts *f);

#endif
