/*
 * Explains a winner: what it and its neighbours take, what their counters say, and what that means.
 */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_H
#define TT_TUNER_EXPLAIN_EXPLAIN_H

#include "tuner/explain/explain_rules.h"
#include "tuner/search/search.h"

typedef enum tt__explain_role {
    TT__ROLE_WINNER,
    TT__ROLE_DEFAULT,
    TT__ROLE_COPY,
    TT__ROLE_NEIGHBOUR
} tt__explain_role;

typedef struct tt__explained {
    tt__explain_role role;
    char kernel[TT__NAME_MAX], config[TT__CONFIG_MAX];
    char param[TT__NAME_MAX];                            /* of a neighbour: the parameter that differs ... */
    char value[TT__CONFIG_MAX], winners[TT__CONFIG_MAX]; /* ... its value, and the winner's */
    tt__trial trial;                                     /* not ok: it has no facts */
    double slower; /* than the winner in the same rounds: 0.12 is 12 % */
    tt__explain_facts facts;
} tt__explained;

enum { TT__EXPLAINED_MAX = 32, TT__SENTENCES_MAX = 7 };

typedef struct tt__explanation {
    tt__problem problem;
    tt__gpu gpu;
    bool replayed, by_objective; /* by_objective: a faster one may be worse */
    tt__peaks peaks;
    double gflops, gbps; /* the operation's metrics of these names; 0: it has none */
    int n;
    tt__explained items[TT__EXPLAINED_MAX]; /* the winner first */
    char why_no_energy[TT__REASON_MAX];     /* "" if items have energies, or none was asked for */
    int n_findings;
    tt__rule_finding findings[TT__FINDINGS_MAX]; /* the most important first */
    int n_sentences;
    char sentences[TT__SENTENCES_MAX][512];
} tt__explanation;

/* Measures and explains, with `energy` also that of the winner and of the default. A search of the problem is
 * open, and has this winner. */
tt_status tt__explain(tt__explanation *out, tt__session *s, const tt__search *copy, const tt__search *search,
                      const tt_result *winner, bool energy);

/* Fills in the sentences. */
void tt__explain_tell(tt__explanation *e);

#endif
