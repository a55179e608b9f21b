/* Recorded spaces for bench-strategies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

#include "bench/strategies.h"

static tt_status read_trials(bench_space *b, const tt__recording *r) {
    size_t n = 0;
    bool found;
    tt__trial final;
    for (size_t i = 0; i < b->space.n; i++) {
        const tt__candidate *c = &b->space.items[i];
        TT_TRY(tt__recording_trial(r, &b->problem, c->t->kernel, c->config, TT__STAGE_SCREEN, &b->trials[n],
                                   &found));
        if (!found)
            continue;
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

static tt_status add(bench_spaces *s, const tt__template_set *templates, const tt__recording *r, int64_t rows,
                     int64_t cols, int elem_size) {
    tt_problem wanted = TT_INIT(tt_problem);
    tt__problem problem;
    bool has;
    wanted.rows = rows;
    wanted.cols = cols;
    wanted.elem_size = elem_size;
    TT_TRY(tt__problem_init(&problem, &wanted));
    TT_TRY(tt__recording_has(r, &problem, &has));
    if (!has)
        return TT_OK;
    TT_TRY(TT__GROW(s->items, s->n));
    s->items[s->n] = (bench_space){.problem = problem};
    return fill(&s->items[s->n++], templates, r);
}

tt_status bench_spaces_add(bench_spaces *s, const tt__template_set *templates, const char *path) {
    tt__recording *r;
    tt__str list = {0};
    TT_TRY(tt__recording_open(&r, path));
    tt_status status = tt__recording_problems(r, "transpose", &list);
    for (int elem_size = 1; elem_size <= 16; elem_size *= 2) {
        long long rows, cols;
        int used;
        for (const char *at = tt__str_text(&list);
             status == TT_OK && sscanf(at, "%lldx%lld%n", &rows, &cols, &used) == 2;) {
            status = add(s, templates, r, rows, cols, elem_size);
            at += used + strcspn(at + used, ","); /* behind the size may stand what else it is */
            at += strspn(at, ", ");
        }
    }
    tt__str_free(&list);
    tt__recording_close(&r);
    return status;
}

/* ---- What was good elsewhere ---- */

static int64_t find(const bench_space *b, const tt__candidate *c) {
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
    for (size_t i = 0; i < from->space.n; i++) {
        size_t faster = 0;
        for (size_t k = 0; k < from->space.n; k++)
            faster += from->trials[k].time_us < from->trials[i].time_us ||
                      (from->trials[k].time_us == from->trials[i].time_us && k < i);
        int64_t at = faster == n ? find(to, &from->space.items[i]) : TT__NOTHING;
        if (at != TT__NOTHING && !is_start(to, (size_t)at) && to->n_starts < BENCH_STARTS_MAX)
            to->starts[to->n_starts++] = (size_t)at;
    }
}

static double distance(const bench_space *a, const bench_space *b) {
    return fabs(log2((double)a->problem.rows / (double)b->problem.rows)) +
           fabs(log2((double)a->problem.cols / (double)b->problem.cols));
}

tt_status bench_spaces_prepare(bench_spaces *s) {
    enum { OF_EACH = 3, FAR = 5 };
    for (size_t i = 0; i < s->n; i++) {
        bench_space *b = &s->items[i];
        TT_TRY(tt__walk_open(&b->walk, &b->space));
        TT_TRY(tt__model_open(&b->model, &b->space, &b->gpu, &b->problem, &b->walk, NULL));
    }
    for (size_t i = 0; i < s->n; i++)
        for (size_t n = 0; n < OF_EACH; n++)
            for (double apart = 0.5; apart < FAR; apart += 0.5)
                for (size_t k = 0; k < s->n; k++) {
                    bench_space *to = &s->items[i], *from = &s->items[k];
                    double d = distance(to, from);
                    if (to->problem.elem_size == from->problem.elem_size && d > apart - 0.5 && d <= apart)
                        add_start(to, from, n);
                }
    return TT_OK;
}

void bench_spaces_free(bench_spaces *s) {
    for (size_t i = 0; i < s->n; i++) {
        tt__space_free(&s->items[i].space);
        tt__walk_close(&s->items[i].walk);
        tt__model_close(&s->items[i].model);
        free(s->items[i].trials);
        free(s->items[i].judged_us);
    }
    free(s->items);
    *s = (bench_spaces){0};
}
