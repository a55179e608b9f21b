/* The cubins of a run. Each is compiled once, for all problems and launch parameters that share it: first
 * the wanted ones, in the order of asking, then those that are compiled ahead. */
#ifndef TT_TUNER_FARM_CUBINS_H
#define TT_TUNER_FARM_CUBINS_H

#include "db/store.h"
#include "template/template.h"

struct tt__ahead;

/* IDLE: to be compiled, and nobody does it yet. */
typedef enum tt__cubin_state {
    TT__CUBIN_IDLE,
    TT__CUBIN_COMPILING,
    TT__CUBIN_READY,
    TT__CUBIN_FAILED
} tt__cubin_state;

typedef struct tt__cubin {
    char key[TT__HASH_SIZE]; /* in the store */
    tt__cubin_state state;
    uint64_t wanted;       /* place in the queue; 0: only expected */
    const tt__template *t; /* NULL: the checker */
    char config[TT__CONFIG_MAX];
    tt__str options;
    int n_options;
    tt__str image;           /* READY */
    double compile_ms;       /* of this run; 0: it was stored */
    tt__trial_status status; /* FAILED: what becomes of every trial with it ... */
    char reason[TT__REASON_MAX];
    bool fresh; /* not in the store yet */
    int lost;   /* compilers that died over it */
} tt__cubin;

static inline const char *tt__cubin_kernel(const tt__cubin *cubin) {
    return cubin->t ? cubin->t->kernel : "checker";
}

/* A configuration whose cubin the store shall find by its name. */
typedef struct tt__cubin_name {
    const tt__template *t;
    char build[TT__BUILD_MAX]; /* tt__config_build */
    int elem_size;
    const tt__cubin *cubin;
} tt__cubin_name;

typedef struct tt__cubins {
    tt__store *store;
    int cc;
    const char *nvrtc; /* version */
    tt__cubin **items; /* in the order in which they became known */
    size_t n;
    void *by_input;
    uint64_t n_wanted;
    size_t n_idle, n_fresh;
    tt__cubin_name *names; /* to be stored */
    size_t n_names;
    double saved_s;
} tt__cubins;

/* Zero-initialise, then set `store`, `cc` and `nvrtc`, which stay the caller's. The templates of
 * candidates must outlive this. Closing drops cubins that are not saved. */
void tt__cubins_close(tt__cubins *c);

/* The cubin of a configuration (of the checker: without a template), from the store if it is there; from
 * now on it is wanted. Stays this object's. */
tt_status tt__cubins_want(tt__cubins *c, const tt__candidate *candidate, const tt__problem *p,
                          tt__cubin **out);

/* The next one to compile, now COMPILING; NULL if there is none. If none is wanted, takes it from `ahead`
 * (may be NULL). */
tt_status tt__cubins_next(tt__cubins *c, struct tt__ahead *ahead, tt__cubin **out);

/* Its compiler is gone: another one shall try. From now on it is wanted. */
void tt__cubins_again(tt__cubins *c, tt__cubin *cubin);
/* One way or the other it has been compiled. */
tt_status tt__cubins_ready(tt__cubins *c, tt__cubin *cubin, const void *image, size_t size);
void tt__cubin_failed(tt__cubin *cubin, tt__trial_status status, const char *reason);

/* Remembers that this configuration was tried with that cubin, so that a machine without NVRTC finds it. */
tt_status tt__cubins_name(tt__cubins *c, const tt__candidate *candidate, const tt__problem *p,
                          const tt__cubin *cubin);
/* Writes new cubins and names in one transaction, if the last time was some 50 ms ago, or now. */
tt_status tt__cubins_save(tt__cubins *c, bool now);

#endif
