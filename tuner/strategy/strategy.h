/*
 * A search strategy sees the space and the trials so far, and names the configuration to try next. It does
 * not know whether trials are measured or replayed, nor when the search ends.
 */
#ifndef TT_TUNER_STRATEGY_STRATEGY_H
#define TT_TUNER_STRATEGY_STRATEGY_H

#include "tuner/strategy/gp.h"

typedef enum tt__known { TT__UNTRIED = 0, TT__PENDING, TT__TRIED } tt__known;

/* With a cost model, no more starting points are tried. */
enum { TT__STARTS_MODELLED = 2 };

/* The input of a strategy; all borrowed. Trials are added during the search. Arrays have space->n members. */
typedef struct tt__view {
    const tt__space *space;
    const tt__cost_model *model;
    const tt__known *known;
    const tt__screened *trials; /* valid where `known` is TT__TRIED */
    const size_t *starts;       /* n_starts members that did well elsewhere, most promising first */
    size_t n_starts;
    const tt__priors *priors; /* NULL: none */
    bool hurried;             /* there is a time limit, so that compile times count */
    size_t n_favourites;      /* compiled ahead: the first of tt__strategy_rank as the search begins */
} tt__view;

typedef struct tt__strategy {
    const char *name;
    const char *summary; /* a line for the help */
    size_t window;       /* trials in flight at the beginning; SIZE_MAX: unlimited */
    tt_status (*open)(void **self, const tt__view *view, uint64_t seed);
    /* Names an untried index. TT__NOTHING: ask again after the next trial; if none is pending, the search
     * ends. By the next call the index is pending or tried. */
    tt_status (*next)(int64_t *index, void *self, const tt__view *view);
    void (*close)(void *self);
    /* Lists up to `most` untried indices that may be named soon, most probable first, and returns their
     * number. Each needs a cubin that no tried or pending one has, and no favourite. May be NULL. */
    size_t (*likely)(size_t *out, size_t most, void *self, const tt__view *view);
} tt__strategy;

/* Everything, in the order of the space. */
extern const tt__strategy tt__strategy_exhaustive;
/* Everything, in random order, as a baseline for the others. */
extern const tt__strategy tt__strategy_random;
/* The largest expected improvement, by a Gaussian process over the cost model. This is the default. */
extern const tt__strategy tt__strategy_surrogate;
/* The best by the model's costs, corrected for each parameter. It leaves out what cannot win. */
extern const tt__strategy tt__strategy_model;

/* How many trials to have in flight, where so many processes compile at once. With a cost model, the more
 * trials there are, the less one more changes the next choice. Without, each result may change it much. */
size_t tt__strategy_window(const tt__strategy *s, const tt__view *view, size_t n_tried, size_t n_compilers);

/* TT_E_INVALID lists the known names. */
tt_status tt__strategy_find(const tt__strategy **out, const char *name);
/* Strategy n; NULL after the last. */
const tt__strategy *tt__strategy_at(size_t n);

/* Lists up to `most` of the fastest so far, fastest first, and returns their number. `out` has room for one
 * more. */
size_t tt__strategy_leaders(size_t *out, size_t most, const tt__view *view);
/* Lists the untried indices, fastest by the model first. *out has n items; free it, also after a failure. */
tt_status tt__strategy_rank(size_t **out, size_t *n, const tt__space *space, const tt__known *known,
                            const tt__cost_model *model);

/* How long configurations compile, for searches that have a time limit: predicts the seconds for each of the
 * space, learnt from the trials of the search. Before there are trials with a compile time, small numbers
 * count as faster. */
tt_status tt__compile_times(double *seconds, const tt__view *view);

#endif
