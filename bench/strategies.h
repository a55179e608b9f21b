/* Spaces with all their trials, out of recordings: what bench-strategies lets strategies search. */
#ifndef BENCH_STRATEGIES_H
#define BENCH_STRATEGIES_H

#include "bench/matrix.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/strategy/strategy.h"

enum { BENCH_STARTS_MAX = 16 };

typedef struct bench_space {
    tt__gpu gpu;
    tt_problem matrix; /* of a transpose, with all defaults filled in */
    tt__problem problem;
    tt__space space; /* the recorded space */
    tt__screened *trials;
    double *judged_us; /* the time in the finals of those that were there, else the screening's: of a thousand
                          noisy screenings the best is luck; INFINITY: it failed */
    double best_us;
    size_t n_good; /* members within 1 % of the best */
    tt__cost_model model;
    size_t starts[BENCH_STARTS_MAX]; /* starts that did well at other sizes */
    size_t n_starts;
    tt__priors priors; /* the other spaces, with --kernel */
    double *seen_us;   /* the times that are a prior of other spaces (0: not tried); NULL: judged_us */
} bench_space;

typedef struct bench_spaces {
    size_t n;
    bench_space *items;
} bench_spaces;

/* Every transpose of the recording, appended. */
tt_status bench_spaces_add(bench_spaces *s, const tt__template_set *templates, const char *path);
/* Every problem of the template, appended. In a file of another tuner it is the template's default problem.
 */
tt_status bench_spaces_add_own(bench_spaces *s, const tt__template *t, const char *path);
/* When all are there: their models, and the starts that a store would have if all the other sizes had been
 * tuned. */
tt_status bench_spaces_prepare(bench_spaces *s);
/* With --kernel: makes all spaces priors of each other. */
tt_status bench_spaces_share(bench_spaces *s);
void bench_spaces_free(bench_spaces *s);

/* The score of "A methodology for comparing optimization algorithms for auto-tuning", by evaluations in place
 * of time: 0 is as good as random search, 1 finds the optimum at once. It ends where random search has come
 * 95 % of the way from the median to the optimum, or after n evaluations. `curves` are bests over the
 * optimum, n for each seed. */
double bench_score(const bench_space *b, const double *curves, size_t seeds, size_t n);

/* Fits weights of the model's costs by ridge regression to the trials of all spaces, except those with the
 * element size of `without` or, with `by_size`, with its shape. NULL: to all. The faster a trial, the more it
 * counts. */
void bench_fit(double weights[TT__COSTS], const bench_spaces *s, const bench_space *without, bool by_size);

#endif
