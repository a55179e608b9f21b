/* A search strategy sees the space and the trials so far, and names the configuration to try next. It does
 * not know whether trials are measured or replayed, nor when the search ends. */
#ifndef TT_TUNER_STRATEGY_H
#define TT_TUNER_STRATEGY_H

#include "tuner/cost_model.h"

typedef enum tt__known { TT__UNTRIED = 0, TT__PENDING, TT__TRIED } tt__known;

/* What a strategy may look at; all borrowed. Trials grow during the search; arrays have space->n members. */
typedef struct tt__view {
    const tt__space *space;
    const tt__points *points;
    const tt__cost_model *model;
    const tt__known *known;
    const tt__trial *trials; /* of what is TT__TRIED */
    const size_t *starts;    /* n_starts members that did well elsewhere, the most promising first */
    size_t n_starts;
} tt__view;

enum { TT__NOTHING = -1 };

typedef struct tt__strategy {
    const char *name;
    const char *summary; /* a line for the help */
    size_t window;       /* trials under way at once, to begin with; SIZE_MAX: as many as you like */
    tt_status (*open)(void **self, const tt__view *view, uint64_t seed);
    /* An untried index, or TT__NOTHING: ask again after the next trial; if none is pending the search is
     * over. The index is pending, or tried, by the next call. */
    tt_status (*next)(int64_t *index, void *self, const tt__view *view);
    void (*close)(void *self);
    /* Up to `most` untried indices that may be named soon, the most probable first; returns how many. Each
     * has a cubin of its own that no tried or pending one has. May be NULL. */
    size_t (*likely)(size_t *out, size_t most, void *self, const tt__view *view);
} tt__strategy;

/* Everything, in the order of the space. */
extern const tt__strategy tt__strategy_exhaustive;
/* Everything, in random order: what the others are to be compared with. */
extern const tt__strategy tt__strategy_random;
/* The best by the model's costs, corrected parameter by parameter; leaves out what cannot win. */
extern const tt__strategy tt__strategy_model;
/* From a start to its best neighbour until there is none, then from another start. */
extern const tt__strategy tt__strategy_local;
/* Crosses and mutates the best. */
extern const tt__strategy tt__strategy_genetic;
/* The one with the largest expected improvement by a Gaussian process over the model. */
extern const tt__strategy tt__strategy_surrogate;

/* How many trials to have under way: the more are known, the less one more changes the next choice. */
size_t tt__strategy_window(const tt__strategy *s, size_t n_tried);

/* TT_E_INVALID lists the names there are. */
tt_status tt__strategy_find(const tt__strategy **out, const char *name);
/* The n-th strategy, NULL behind the last. */
const tt__strategy *tt__strategy_at(size_t n);

/* ---- What strategies share ---- */

/* Tried, and with a time. */
bool tt__strategy_passed(const tt__view *view, size_t index);
/* The fastest so far, or TT__NOTHING. */
int64_t tt__strategy_fastest(const tt__view *view);
/* How likely each configuration is to pass: the least share that passed of those with its template or one
 * of its values. A failure has no time and says nothing else. */
void tt__strategy_odds(double *odds, const tt__view *view);
/* Behind the last configuration that has the template of `first`: each template's stand together. */
size_t tt__strategy_end_of_template(const tt__space *space, size_t first);
/* The place of a kernel's configuration (NULL: its first one), or TT__NOTHING. */
int64_t tt__strategy_member(const tt__space *space, const char *kernel, const char *config);
/* The place of the default configuration of the template of `of`, or TT__NOTHING. */
int64_t tt__strategy_default(const tt__space *space, size_t of);
/* Any untried index, each as likely as the other; TT__NOTHING if there is none. */
int64_t tt__strategy_any(const tt__view *view, uint64_t *random);
/* The next start that is untried, from *at on, which moves behind it; TT__NOTHING if there is none. */
int64_t tt__strategy_warm_start(const tt__view *view, size_t *at);

#endif
