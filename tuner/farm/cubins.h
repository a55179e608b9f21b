/*
 * The cubins of a run. Each is compiled once, for all problems and launch parameters that share it. Requested
 * cubins come first, in order. Cubins to compile ahead come next.
 */
#ifndef TT_TUNER_FARM_CUBINS_H
#define TT_TUNER_FARM_CUBINS_H

#include "db/store.h"
#include "kernel/model/template.h"
#include "kernel/space/config.h"
#include "kernel/space/space.h"

/* ---- What compilers do when nothing is requested ---------------------------------------------- */

/* Two lists of configurations that a run will probably need. `soon` comes first: it belongs to the search at
 * hand and is made anew after each trial. `later` grows. No result depends on them.
 *
 * A NULL tt__expected never has anything to compile. All calls are from the session's thread. */

/* A configuration by its indices: there may be all of a space. */
typedef struct tt__expected_item {
    const tt__template *t; /* NULL: the verifier's kernels or the reference, e->asides[aside] */
    uint32_t problem;      /* in e->problems */
    uint32_t aside;
    unsigned char choice[TT__PARAMS_MAX];
} tt__expected_item;

/* Items before `at` were taken. */
typedef struct tt__expected_list {
    tt__expected_item *items;
    size_t n, at;
} tt__expected_list;

/* Zero-initialise, and set `gpu`, which is borrowed. */
typedef struct tt__expected {
    const tt__gpu *gpu;
    tt__expected_list soon, later;
    const tt__operation *operation; /* of the last item in `later` */
    tt__problem *problems;
    size_t n_problems;
    tt__configuration *asides;
    size_t n_asides;
} tt__expected;

void tt__expected_close(tt__expected *e);

/* Replaces `soon`. Copies. */
tt_status tt__expected_soon(tt__expected *e, const tt__configuration *const *c, size_t n,
                            const tt__problem *p);
/* Appends to `later`. The first configuration of an operation also brings the verifier's kernels and the
 * operation's reference. */
tt_status tt__expected_later(tt__expected *e, const tt__configuration *c, const tt__problem *p);
void tt__expected_forget(tt__expected *e);

/* Takes the next item; false if there is none. *p is valid until an item is added. A configuration without a
 * template is the verifier's. */
bool tt__expected_next(tt__expected *e, tt__configuration *c, const tt__problem **p);
size_t tt__expected_left(const tt__expected *e);
/* The number of compilers, of n, that may work ahead at once. An unrequested configuration may hang its
 * compiler. */
size_t tt__expected_compilers(size_t n);

/* ---- What is requested ------------------------------------------------------------------------ */

/* IDLE: waits for a compiler. */
typedef enum tt__cubin_state {
    TT__CUBIN_IDLE,
    TT__CUBIN_COMPILING,
    TT__CUBIN_READY,
    TT__CUBIN_FAILED
} tt__cubin_state;

typedef struct tt__cubin {
    char key[TT__HASH_SIZE]; /* in the store */
    tt__cubin_state state;
    uint64_t wanted;       /* place in the queue; 0: expected, not requested */
    const tt__template *t; /* NULL: the checker */
    char config[TT__CONFIG_MAX];
    tt__str options;
    int n_options;
    tt__str image;           /* READY */
    double compile_ms;       /* in this run; 0: it was stored */
    tt__trial_status status; /* FAILED: the status of every trial with it ... */
    char reason[TT__REASON_MAX];
    double limit_s; /* that its compiler exceeded */
    bool fresh;     /* not in the store yet */
    int lost;       /* number of compilers that died over it */
} tt__cubin;

static inline const char *tt__cubin_kernel(const tt__cubin *cubin) {
    return cubin->t ? cubin->t->kernel : "checker";
}

/* A configuration. The store should find a cubin by it. */
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
    tt__cubin **items; /* in the order of creation */
    size_t n;
    void *by_input;
    uint64_t n_wanted;
    size_t n_idle, n_fresh;
    tt__cubin_name *names; /* not stored yet */
    size_t n_names;
    double saved_s;
} tt__cubins;

/* Zero-initialise, then set `store`, `cc` and `nvrtc`, which are borrowed. The templates of candidates must
 * outlive this. Closing drops cubins that are not saved. */
void tt__cubins_close(tt__cubins *c);

/* Requests the cubin of a configuration (or the checker, a configuration without a template). It may come
 * from the store. Borrowed. */
tt_status tt__cubins_want(tt__cubins *c, const tt__configuration *configuration, const tt__problem *p,
                          tt__cubin **out);

/* The next one to compile, now COMPILING; NULL if there is none. If none is requested, it comes from
 * `expected` (may be NULL). */
tt_status tt__cubins_next(tt__cubins *c, tt__expected *expected, tt__cubin **out);

/* Its compiler died. Another one will try; from now on it counts as requested. */
void tt__cubins_again(tt__cubins *c, tt__cubin *cubin);
/* Compiling has ended, with or without success. */
tt_status tt__cubins_ready(tt__cubins *c, tt__cubin *cubin, const void *image, size_t size);
void tt__cubin_failed(tt__cubin *cubin, tt__trial_status status, const char *reason);

/* Notes that this configuration was tried with that cubin, so that a machine without NVRTC can find it. */
tt_status tt__cubins_name(tt__cubins *c, const tt__configuration *configuration, const tt__problem *p,
                          const tt__cubin *cubin);
/* Writes new cubins and names in one transaction. Without `now`, only if 50 ms have passed since the last
 * time. */
tt_status tt__cubins_save(tt__cubins *c, bool now);

/* Appends a line for each __constant__ array that the code of the user's template leaves zero, and that no
 * `constant` line fills; and for each __device__ variable that is read and never written. */
void tt__cubins_unfilled(tt__str *out, const tt__template *t, const void *image, size_t size);

#endif
