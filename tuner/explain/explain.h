/*
 * Explains a winner: what it and its neighbours take, what their counters say, and what that means.
 */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_H
#define TT_TUNER_EXPLAIN_EXPLAIN_H

#include "base/str.h"
#include "tuner/measure/counters.h"
#include "tuner/search/search.h"

typedef enum tt__explain_role {
    TT__ROLE_WINNER,
    TT__ROLE_DEFAULT,
    TT__ROLE_COPY,
    TT__ROLE_NEIGHBOUR
} tt__explain_role;

/* "winner", "default", "copy", "neighbour". */
const char *tt__explain_role_name(tt__explain_role role);

/* What is known about one configuration. 0: unknown, if nothing else is said. */
typedef struct tt__explain_facts {
    int cc, sm_count;
    double peak_gbps;           /* of the memory, theoretical */
    double time_us;             /* median of paired rounds */
    double moved_bytes;         /* that the problem must read and write */
    double in_bytes, out_bytes; /* of its buffers */
    double copy_gbps;           /* of the tuned copy of as many bytes */
    double copy_dram_gbps;      /* the same by its counters */
    double l2_gbps;             /* what the L2 cache gives at most, measured */
    bool halves, doubles;       /* some of its numbers are f16 or bf16, or f64 */
    int launches;               /* kernels of one launch */
    double blocks;              /* of the largest kernel, as all below */
    int threads;                /* of a block */
    int regs, shared_bytes;     /* shared: static and dynamic */
    int resident;               /* blocks that an SM holds at once */
    double occupancy;           /* theoretical */
    tt__counted counted;
} tt__explain_facts;

/* Are there counters? */
static inline bool tt__facts_counted(const tt__explain_facts *f) {
    return f->counted.n_replays > 0;
}

typedef struct tt__explained {
    tt__explain_role role;
    char kernel[TT__NAME_MAX], config[TT__CONFIG_MAX];
    char param[TT__NAME_MAX];                            /* of a neighbour: the parameter that differs ... */
    char value[TT__CONFIG_MAX], winners[TT__CONFIG_MAX]; /* ... its value, and the winner's */
    tt__trial trial;                                     /* not ok: it has no facts */
    double slower; /* than the winner in the same rounds: 0.12 is 12 % */
    tt__explain_facts facts;
} tt__explained;

enum { TT__EXPLAINED_MAX = 32, TT__FINDINGS_MAX = 64, TT__SENTENCES_MAX = 7 };

/* A rule that applies to the winner. */
typedef struct tt__rule_finding {
    const struct tt__rule *rule;
    double share; /* a fault's share of the time; a limit's part of what the hardware can do */
} tt__rule_finding;

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

/* Measures and explains. A search of the problem is open, and has this winner. */
tt_status tt__explain(tt__explanation *out, tt__session *s, const tt__search *copy, const tt__search *search,
                      const tt_result *winner);

/* Measures the energy of the winner and of the default. */
tt_status tt__explain_energy(tt__explanation *e, const tt__session *s, const tt__search *search);
/* "12.3 mJ +- 0.1 ..., the winner takes 5 % less": a text for both; "" without any. */
void tt__explain_tell_energy(tt__str *out, const tt__explanation *e);

/* ---- The causes (explain_causes.c) ----------------------------------------------------------------------
 */

/* A pipe of an SM, or a reason for a warp to wait, that CUPTI knows. A rule names it, or it bounds no kernel.
 */
typedef struct tt__cause {
    bool stall;        /* a reason to wait; else a pipe */
    const char *name;  /* CUPTI's */
    int counter;       /* a tt__counter; TT__COUNTER_COUNT: it is not counted */
    const char *words; /* "waits for ..." or "the pipe for ..." */
    const char *rule;  /* that names it; NULL: none ... */
    const char *never; /* ... because of this */
} tt__cause;

extern const tt__cause tt__causes[];
extern const size_t tt__n_causes;

/* The reason that warps wait for most, and the next. NULL: none is counted. */
const tt__cause *tt__cause_waits(const tt__explain_facts *f, const tt__cause *but);
const tt__cause *tt__cause_busiest(const tt__explain_facts *f);

/* ---- The rules (explain_rules.c) ------------------------------------------------------------------------
 */

enum { TT__NEEDS_MAX = 3 };

/* Adds a sentence. */
typedef void tt__say_fn(tt__str *out, const tt__explain_facts *f);

typedef struct tt__rule {
    const char *name;
    bool limit;                       /* what the hardware can do is used up; else time is wasted */
    tt__counter needs[TT__NEEDS_MAX]; /* without these counters it does not apply; 0 ends the list */
    /* The share, 0 to 1, by counters and without; NULL: it cannot say. */
    double (*counted)(const tt__explain_facts *f), (*guessed)(const tt__explain_facts *f);
    tt__say_fn *say;
} tt__rule;

/* The rule with this index; NULL: there are no more. */
const tt__rule *tt__rule_at(size_t i);
/* Applies all rules and sorts what they find. Returns the number. */
int tt__rules_apply(tt__rule_finding out[TT__FINDINGS_MAX], const tt__explain_facts *f);

/* Fills in the sentences (explain_text.c). */
void tt__explain_tell(tt__explanation *e);

#endif
