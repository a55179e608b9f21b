/* Recorded spaces for bench-strategies. */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

#include "bench/strategies.h"
#include "kernel/space/operation.h"
#include "tuner/measure/noise.h"

static tt_status read_trials(bench_space *b, const tt__recording *r) {
    size_t n = 0;
    bool found;
    tt__trial screened, final;
    for (size_t i = 0; i < b->space.n; i++) {
        const tt__configuration *c = &b->space.items[i];
        TT_TRY(tt__recording_trial(r, &b->problem, c->t->kernel, c->config, TT__STAGE_SCREEN, &screened,
                                   &found));
        if (!found)
            continue;
        b->trials[n] = (tt__screened){
            .status = screened.status, .time_us = screened.time_us, .compile_ms = screened.compile_ms};
        b->judged_us[n] = b->trials[n].status == TT__TRIAL_OK ? b->trials[n].time_us : INFINITY;
        TT_TRY(tt__recording_trial(r, &b->problem, c->t->kernel, c->config, TT__STAGE_FINAL, &final, &found));
        if (found && final.status == TT__TRIAL_OK && isfinite(b->judged_us[n]))
            b->judged_us[n] = final.time_us;
        b->space.items[n++] = *c;
    }
    b->space.n = n;
    b->best_us = INFINITY;
    for (size_t i = 0; i < n; i++)
        b->best_us = fmin(b->best_us, b->judged_us[i]);
    for (size_t i = 0; i < n; i++)
        b->n_good += b->best_us / b->judged_us[i] >= 0.99;
    return TT_OK;
}

static tt_status fill(bench_space *b, const tt__template_set *templates, const tt__recording *r) {
    b->gpu = *tt__recording_gpu(r);
    for (size_t i = 0; i < templates->n; i++)
        TT_TRY(tt__space_add(&b->space, templates->items[i], &b->gpu, &b->problem));
    b->trials = calloc(b->space.n + 1, sizeof *b->trials);
    b->judged_us = calloc(b->space.n + 1, sizeof *b->judged_us);
    if (!b->trials || !b->judged_us)
        return tt__fail_memory(b->space.n * sizeof *b->trials);
    return read_trials(b, r);
}

typedef struct reading {
    bench_spaces *s;
    const tt__template_set *templates;
    const tt__recording *r;
    int elem_size;
} reading;

/* Cold matrices that lie dense, one alone. */
static tt_status add(void *user, const tt__problem *p) {
    const reading *in = user;
    const tt_problem recorded = tt__matrix_of(p);
    tt_problem plain = {.rows = recorded.rows, .cols = recorded.cols, .elem_size = in->elem_size};
    tt__problem problem;
    TT_TRY(bench_matrix(&problem, &plain));
    if (!tt__problem_same(&problem, p))
        return TT_OK;
    TT_TRY(TT__GROW(in->s->items, in->s->n));
    bench_space *b = &in->s->items[in->s->n++];
    *b = (bench_space){.matrix = plain, .problem = problem};
    return fill(b, in->templates, in->r);
}

tt_status bench_spaces_add(bench_spaces *s, const tt__template_set *templates, const char *path) {
    tt__recording *r;
    TT_TRY(tt__recording_open(&r, path));
    tt_status status = TT_OK;
    for (int elem_size = 1; elem_size <= 16 && status == TT_OK; elem_size *= 2)
        status = tt__recording_problems(r, "transpose", add, &(reading){s, templates, r, elem_size});
    tt__recording_close(&r);
    return status;
}

typedef struct own {
    bench_spaces *s;
    const tt__template *t;
    const tt__recording *r;
} own;

static tt_status add_own(void *user, const tt__problem *p) {
    const own *in = user;
    if (!tt__template_does(in->t, p))
        return TT_OK;
    TT_TRY(TT__GROW(in->s->items, in->s->n));
    bench_space *b = &in->s->items[in->s->n++];
    *b = (bench_space){.problem = *p};
    return fill(b, &(tt__template_set){1, (tt__template **)&in->t}, in->r);
}

tt_status bench_spaces_add_own(bench_spaces *s, const tt__template *t, const char *path) {
    tt__recording *r;
    tt__problem p;
    tt__gpu gpu = tt__typical_gpu();
    gpu.name[0] = '\0';
    TT_TRY(tt__operation_problem(&p, t->operation, t->op, NULL));
    const tt__foreign foreign = tt__foreign_of(t, &p, &gpu);
    TT_TRY(tt__recording_open_t4(&r, path, &foreign));
    tt_status status = tt__recording_problems(r, t->op, add_own, &(own){s, t, r});
    tt__recording_close(&r);
    return status;
}

/* ---- How good a search was ---- */

/* The expected best of k draws without replacement, of n sorted times. */
static double expected(const double *times, size_t n, size_t k) {
    double sum = 0, left = 1; /* left: the chance that none of the draws is before i */
    for (size_t i = 0; i + k <= n && left > 1e-12; i++) {
        double first = left * (double)k / (double)(n - i);
        sum += first * times[i];
        left -= first;
    }
    return sum;
}

double bench_score(const bench_space *b, const double *curves, size_t seeds, size_t n) {
    size_t passed = 0, k = 0;
    double *times = calloc(b->space.n + 1, sizeof *times), sum = 0;
    for (size_t i = 0; times && i < b->space.n; i++)
        if (isfinite(b->judged_us[i]))
            times[passed++] = b->judged_us[i] / b->best_us;
    if (passed)
        qsort(times, passed, sizeof *times, tt__by_number);
    double end = passed ? 1 + 0.05 * (times[passed / 2] - 1) : 1;
    for (double base; k < n && k < passed && (base = expected(times, passed, k + 1)) > end; k++) {
        double mean = 0;
        for (size_t s = 0; s < seeds; s++)
            mean += fmin(curves[s * n + k], times[passed - 1]) / (double)seeds;
        sum += (base - mean) / (base - 1);
    }
    free(times);
    return k ? sum / (double)k : 0;
}

/* ---- What was good elsewhere ---- */

static int64_t find(const bench_space *b, const tt__configuration *c) {
    for (size_t i = 0; i < b->space.n; i++)
        if (b->space.items[i].t == c->t && strcmp(b->space.items[i].config, c->config) == 0)
            return (int64_t)i;
    return TT__NOTHING;
}

static bool is_start(const bench_space *b, size_t index) {
    for (size_t i = 0; i < b->n_starts; i++)
        if (b->starts[i] == index)
            return true;
    return false;
}

/* Adds the n-th fastest of `from`, if `to` has it. */
static void add_start(bench_space *to, const bench_space *from, size_t n) {
    int64_t at = TT__NOTHING;
    for (size_t k = 0; k <= n; k++) {
        int64_t next = TT__NOTHING;
        for (size_t i = 0; i < from->space.n; i++) {
            double us = from->judged_us[i];
            bool later = at == TT__NOTHING || us > from->judged_us[at] ||
                         (us >= from->judged_us[at] && (int64_t)i > at);
            if (later && (next == TT__NOTHING || us < from->judged_us[next]))
                next = (int64_t)i;
        }
        if (next == TT__NOTHING)
            return;
        at = next;
    }
    int64_t there = isfinite(from->judged_us[at]) ? find(to, &from->space.items[at]) : TT__NOTHING;
    if (there != TT__NOTHING && !is_start(to, (size_t)there) && to->n_starts < BENCH_STARTS_MAX)
        to->starts[to->n_starts++] = (size_t)there;
}

/* Of user kernels the recordings are of other GPUs, which are all as far. */
static double distance(const bench_space *a, const bench_space *b) {
    if (!a->matrix.rows || !b->matrix.rows)
        return a->matrix.rows || b->matrix.rows || a == b ? 0 : 0.5;
    return fabs(log2((double)a->matrix.rows / (double)b->matrix.rows)) +
           fabs(log2((double)a->matrix.cols / (double)b->matrix.cols));
}

/* Spaces have nearly the same order. */
static tt_status add_prior(bench_space *to, const bench_space *from) {
    double *times = calloc(to->space.n + 1, sizeof *times);
    if (!times)
        return tt__fail_memory(to->space.n * sizeof *times);
    for (size_t i = 0, at = 0; i < to->space.n; i++)
        for (size_t k = 0; k < from->space.n; k++) {
            size_t j = (at + k) % from->space.n;
            if (strcmp(from->space.items[j].config, to->space.items[i].config) == 0) {
                times[i] = from->seen_us ? from->seen_us[j] : from->judged_us[j];
                at = j + 1;
                break;
            }
        }
    tt_status status = tt__priors_add(&to->priors, &to->model, times);
    free(times);
    return status;
}

tt_status bench_spaces_prepare(bench_spaces *s) {
    enum { OF_EACH = 3, FAR = 5 };
    for (size_t i = 0; i < s->n; i++) {
        bench_space *b = &s->items[i];
        TT_TRY(tt__cost_model_open(&b->model, &b->space, &b->gpu, &b->problem, NULL));
    }
    for (size_t i = 0; i < s->n; i++)
        for (size_t n = 0; n < OF_EACH; n++)
            for (double apart = 0.5; apart < FAR; apart += 0.5)
                for (size_t k = 0; k < s->n; k++) {
                    bench_space *to = &s->items[i], *from = &s->items[k];
                    double d = distance(to, from);
                    if (to->matrix.elem_size == from->matrix.elem_size && d > apart - 0.5 && d <= apart)
                        add_start(to, from, n);
                }
    return TT_OK;
}

tt_status bench_spaces_share(bench_spaces *s) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->n; k++)
            if (k != i && !s->items[i].matrix.rows && !s->items[k].matrix.rows)
                TT_TRY(add_prior(&s->items[i], &s->items[k]));
    return TT_OK;
}

void bench_spaces_free(bench_spaces *s) {
    for (size_t i = 0; i < s->n; i++) {
        tt__space_free(&s->items[i].space);
        tt__cost_model_close(&s->items[i].model);
        tt__priors_free(&s->items[i].priors);
        free(s->items[i].trials);
        free(s->items[i].judged_us);
        free(s->items[i].seen_us);
    }
    free(s->items);
    *s = (bench_spaces){0};
}
