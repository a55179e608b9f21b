/* Winners are ordered by how far their problem and their GPU are from those at hand. */
#include "tuner/starts.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

/* Another GPU, even a related one, says less than any size on this one. */
static const double same_cc = 100, any_gpu = 200;
/* As much as a size twice as large in one direction. */
static const double other_layout = 1;
enum { SOURCES_MAX = 8, OF_EACH = 3 };

static tt_status keep(void *user, const tt__winner *w) {
    tt__winners *all = user;
    TT_TRY(TT__GROW(all->items, all->n));
    all->items[all->n++] = *w;
    return TT_OK;
}

tt_status tt__winners_load(tt__winners *out, tt__store *store) {
    *out = (tt__winners){0};
    return tt__store_winners(store, 0, 0, NULL, 0, keep, out);
}

void tt__winners_free(tt__winners *w) {
    free(w->items);
    *w = (tt__winners){0};
}

/* INFINITY: says nothing about this problem. */
static double distance(const tt__winner *w, const tt__gpu *gpu, const tt__problem *p) {
    const tt__problem *q = &w->problem;
    bool matrix = tt__is_matrix(p);
    if (matrix ? strcmp(q->op, p->op) != 0 || q->elem_size != p->elem_size : tt__warm(q) != tt__warm(p))
        return INFINITY;
    double far = matrix ? 0 : tt__variables_distance(q, p);
    far += fabs(log2((double)q->rows / (double)p->rows)) + fabs(log2((double)q->cols / (double)p->cols));
    if (q->align != p->align || (q->lds == q->cols) != (p->lds == p->cols) ||
        (q->batch == 1) != (p->batch == 1))
        far += other_layout;
    bool same = strcmp(w->gpu.name, gpu->name) == 0 && strcmp(w->gpu.mig, gpu->mig) == 0;
    return far + (same ? 0 : w->gpu.cc == gpu->cc ? same_cc : any_gpu);
}

typedef struct finder {
    tt__starts *out;
    const tt__space *space;
    int64_t run_id; /* trials of this run do not count */
    size_t n;       /* the fastest trials of one problem, fastest first */
    size_t at[OF_EACH];
    double us[OF_EACH];
} finder;

static bool find(const tt__space *space, const char *kernel, const char *config, size_t *at) {
    for (*at = 0; *at < space->n; ++*at)
        if (strcmp(space->items[*at].config, config) == 0 && strcmp(space->items[*at].t->kernel, kernel) == 0)
            return true;
    return false;
}

static void add(tt__starts *out, size_t at) {
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i] == at)
            return;
    if (out->n < TT__STARTS_MAX)
        out->at[out->n++] = at;
}

static tt_status rank(void *user, const tt__trial_row *row) {
    finder *f = user;
    size_t at, k = f->n < OF_EACH ? f->n : OF_EACH - 1;
    double us = row->trial->time_us;
    bool slow = f->n == OF_EACH && us >= f->us[OF_EACH - 1];
    if (row->run_id >= f->run_id || row->trial->status != TT__TRIAL_OK || slow ||
        !find(f->space, row->kernel, row->config, &at))
        return TT_OK;
    for (; k > 0 && f->us[k - 1] > us; k--) {
        f->us[k] = f->us[k - 1];
        f->at[k] = f->at[k - 1];
    }
    f->us[k] = us;
    f->at[k] = at;
    f->n += f->n < OF_EACH;
    return TT_OK;
}

/* The trials behind a winner of this GPU, under the environment it won in. */
static tt_status add_trials(finder *f, tt__store *store, int64_t gpu_id, const tt__winner *w) {
    int64_t problem_id;
    f->n = 0;
    TT_TRY(tt__store_known_problem(store, &w->problem, &problem_id));
    TT_TRY(tt__store_trials(store, gpu_id, &w->env, problem_id, TT__STAGE_SCREEN, rank, f));
    for (size_t i = 0; i < f->n; i++)
        add(f->out, f->at[i]);
    return TT_OK;
}

tt_status tt__starts_find(tt__starts *out, tt__store *store, const tt__winners *elsewhere, const tt__gpu *gpu,
                          int64_t gpu_id, int64_t run_id, const tt__problem *p, const tt__space *space) {
    const tt__winner *sources[SOURCES_MAX];
    size_t n = 0, at;
    finder f = {.out = out, .space = space, .run_id = run_id};
    *out = (tt__starts){0};
    for (size_t i = 0; i < elsewhere->n; i++) {
        const tt__winner *w = &elsewhere->items[i];
        double far = distance(w, gpu, p);
        size_t k = n < SOURCES_MAX ? n : SOURCES_MAX - 1;
        if (isinf(far) || (n == SOURCES_MAX && far >= distance(sources[k], gpu, p)))
            continue;
        for (; k > 0 && distance(sources[k - 1], gpu, p) > far; k--)
            sources[k] = sources[k - 1];
        sources[k] = w;
        n += n < SOURCES_MAX;
    }
    for (size_t i = 0; i < n; i++)
        if (find(space, sources[i]->kernel, sources[i]->config, &at))
            add(out, at);
    for (size_t i = 0; i < n; i++)
        if (distance(sources[i], gpu, p) < same_cc)
            TT_TRY(add_trials(&f, store, gpu_id, sources[i]));
    return TT_OK;
}
