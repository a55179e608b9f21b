/*
 * Chooses what to compare with a winner, measures and counts it, and collects the facts.
 */
#include "tuner/explain/explain.h"

#include <stdlib.h>

#include "db/store.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/explain/occupancy.h"

const char *tt__explain_role_name(tt__explain_role role) {
    static const char *const names[] = {"winner", "default", "copy", "neighbour"};
    return names[role];
}

/* ---- What is compared -----------------------------------------------------------------------------------
 */

typedef struct chosen {
    tt__explanation *e;
    tt__session *s;
    const tt__search *search;
    const tt__candidate *c[TT__EXPLAINED_MAX]; /* of the explanation's items */
} chosen;

static tt__explained *add(chosen *all, tt__explain_role role, const tt__search *search, int64_t at) {
    tt__explanation *e = all->e;
    if (at == TT__NOTHING || e->n == TT__EXPLAINED_MAX)
        return NULL;
    const tt__candidate *c = &search->space.items[at];
    for (int i = 0; i < e->n; i++)
        if (all->c[i] == c)
            return NULL;
    tt__explained *x = &e->items[e->n];
    all->c[e->n++] = c;
    x->role = role;
    tt__copy(x->kernel, sizeof x->kernel, c->t->kernel);
    tt__copy(x->config, sizeof x->config, c->config);
    x->trial.status = TT__TRIAL_SKIPPED;
    if (search->known[at] == TT__TRIED)
        x->trial = search->trials[at];
    tt__trial_weigh(&x->trial, 1 / c->weight); /* as it was measured */
    return x;
}

/* The nearest legal value of parameter k in this direction, with all others the same. */
static void add_neighbour(chosen *all, const tt__candidate *winner, size_t k, int step) {
    const tt__param *p = &winner->t->params[k];
    size_t choice[TT__PARAMS_MAX];
    if (tt__config_parse(choice, winner->t, winner->config) != TT_OK)
        return;
    const size_t own = choice[k];
    for (int i = (int)own + step; i >= 0 && i < (int)p->n_values; i += step) {
        char config[TT__CONFIG_MAX];
        choice[k] = (size_t)i;
        tt__config_format(config, winner->t, choice);
        int64_t index = tt__strategy_member(&all->search->space, winner->t->kernel, config);
        if (index == TT__NOTHING)
            continue;
        tt__explained *x = add(all, TT__ROLE_NEIGHBOUR, all->search, index);
        for (int n = 0; !x && n < all->e->n; n++) /* the default may be one */
            if (all->c[n] == &all->search->space.items[index])
                x = &all->e->items[n];
        if (!x)
            return;
        tt__copy(x->param, sizeof x->param, p->name);
        tt__copy(x->value, sizeof x->value, p->values[i]);
        tt__copy(x->winners, sizeof x->winners, p->values[own]);
        return;
    }
}

static void choose(chosen *all, const tt__search *copy, const tt_result *winner) {
    const tt__search *search = all->search;
    int64_t at = tt__strategy_member(&search->space, winner->kernel, winner->config);
    if (!add(all, TT__ROLE_WINNER, search, at))
        return;
    add(all, TT__ROLE_DEFAULT, search, tt__strategy_default(&search->space, (size_t)at));
    if (copy->space.n && copy->best != TT__NOTHING && strcmp(search->problem.op, copy->problem.op) != 0)
        add(all, TT__ROLE_COPY, copy, copy->best);
    const tt__candidate *c = all->c[0];
    for (size_t p = 0; p < c->t->n_params; p++)
        for (int step = -1; step <= 1; step += 2)
            add_neighbour(all, c, p, step);
}

/* ---- Measuring ------------------------------------------------------------------------------------------
 */

static bool passed(const tt__explained *x) {
    return x->trial.status == TT__TRIAL_OK && x->trial.time_us > 0;
}

/* Neighbours that the search left out are verified and screened now, and stored like its own. */
static tt_status try_untried(chosen *all) {
    tt__backend *b = all->s->backend;
    size_t pending = 0;
    for (int i = 0; i < all->e->n; i++) {
        if (all->e->items[i].trial.status != TT__TRIAL_SKIPPED)
            continue;
        TT_TRY(b->ops->submit(b, (size_t)i, all->c[i], 0));
        pending++;
    }
    for (; pending; pending--) {
        size_t i;
        tt__trial trial;
        TT_TRY(b->ops->wait(b, &i, &trial));
        trial.weight = all->c[i]->weight;
        all->e->items[i].trial = trial;
        TT_TRY(tt__session_store(all->s, all->search->problem_id, all->c[i], TT__STAGE_SCREEN, &trial));
    }
    return TT_OK;
}

/* Times all in the same rounds, so that differences of a percent show. */
static tt_status time_together(chosen *all) {
    static const tt__rounds rounds = {.least = 7, .most = 15, .worth_s = 0.1, .loads = 1};
    const tt__candidate *c[TT__EXPLAINED_MAX];
    tt__explained *of[TT__EXPLAINED_MAX];
    double lap_us = 0;
    size_t n = 0;
    for (int i = 0; i < all->e->n; i++)
        if (passed(&all->e->items[i])) {
            of[n] = &all->e->items[i];
            lap_us += of[n]->trial.time_us;
            c[n++] = all->c[i];
        }
    if (n == 0)
        return TT_OK;
    tt__trial *trials = calloc(n, sizeof *trials); /* large for a stack */
    tt_status status = trials ? tt__backend_finals(all->s->backend, c, n, rounds, lap_us, 0, trials)
                              : tt__fail_memory(n * sizeof *trials);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        if (trials[i].status == TT__TRIAL_OK && trials[i].n_samples > 0)
            of[i]->trial = trials[i];
    free(trials);
    return status;
}

static tt_status measure(chosen *all) {
    tt__backend *b = all->s->backend;
    if (!b->ops->count) /* a recording has what it has */
        return TT_OK;
    TT_TRY(b->ops->problem(b, &all->search->problem, all->search->t));
    TT_TRY(try_untried(all));
    if (!secure_getenv("TILETUNE_PROFILED")) /* a profiler that holds each kernel back would wait for ever */
        TT_TRY(time_together(all));
    TT_TRY(b->ops->peaks(b, &all->e->peaks));
    for (int i = 0; i < all->e->n; i++)
        if (passed(&all->e->items[i]))
            TT_TRY(b->ops->count(b, all->c[i], &all->e->items[i].facts.counted));
    return TT_OK;
}

/* ---- Facts ----------------------------------------------------------------------------------------------
 */

static void add_launch(tt__explain_facts *f, const tt__explained *x, const tt__candidate *c) {
    const tt__pass *pass = &c->launch.passes[tt__main_pass(&c->launch)];
    for (int i = 0; i < c->launch.n_passes; i++)
        f->launches += c->launch.passes[i].off ? 0 : 1 + c->launch.passes[i].repeats;
    f->blocks = tt__pass_blocks(pass);
    f->threads = (int)tt__pass_threads(pass);
    f->regs = x->trial.regs;
    f->shared_bytes = (int)pass->shared_bytes + x->trial.static_shared_bytes;
    const tt__block_needs needs = {f->threads, f->regs, f->shared_bytes};
    f->resident = tt__resident_blocks(f->cc, &needs);
    f->occupancy = tt__occupancy(f->cc, &needs);
}

static tt_status add_data(tt__explain_facts *f, const chosen *all, const tt__explained *x) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, all->search->t, &all->s->gpu, &all->search->problem)
                         : tt__fail_memory(sizeof *w);
    f->moved_bytes = all->search->problem.moved_bytes;
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        if (a->direction == TT__IN || a->direction == TT__INOUT)
            f->in_bytes += (double)tt__array_bytes(a);
        if (a->direction == TT__OUT || a->direction == TT__INOUT)
            f->out_bytes += (double)tt__array_bytes(a);
        f->halves |= a->type == TT__TYPE_F16 || a->type == TT__TYPE_BF16;
        f->doubles |= a->type == TT__TYPE_F64;
    }
    if (x->role == TT__ROLE_COPY)
        f->in_bytes = f->out_bytes = f->moved_bytes / 2;
    free(w);
    return status;
}

static double dram_gbps(const tt__explain_facts *f) {
    return (f->counted.values[TT__C_DRAM_READ] + f->counted.values[TT__C_DRAM_WRITTEN]) / (f->time_us * 1e3);
}

static tt_status collect(chosen *all) {
    tt__explanation *e = all->e;
    const tt__explained *copy = NULL;
    for (int i = 0; i < e->n; i++) {
        e->items[i].facts.time_us = e->items[i].trial.time_us;
        if (e->items[i].role == TT__ROLE_COPY && passed(&e->items[i]))
            copy = &e->items[i];
    }
    for (int i = 0; i < e->n; i++) {
        tt__explained *x = &e->items[i];
        tt__explain_facts *f = &x->facts;
        if (!passed(x))
            continue;
        f->cc = e->gpu.cc;
        f->sm_count = e->gpu.sm_count;
        f->peak_gbps = e->gpu.peak_gbps;
        f->l2_gbps = e->peaks.l2_gbps;
        x->slower = e->items[0].trial.time_us > 0 ? f->time_us / e->items[0].trial.time_us - 1 : 0;
        add_launch(f, x, all->c[i]);
        TT_TRY(add_data(f, all, x));
        if (copy && f->moved_bytes > 0)
            f->copy_gbps = f->moved_bytes / (copy->trial.time_us * 1e3);
        if (copy && tt__facts_counted(&copy->facts))
            f->copy_dram_gbps = dram_gbps(&copy->facts);
    }
    return TT_OK;
}

/* Where the winner is in the roofline. */
static tt_status add_metrics(chosen *all) {
    tt__explanation *e = all->e;
    const tt__template *t = all->c[0]->t;
    const struct {
        const char *name;
        double *value;
    } metrics[] = {{"gflops", &e->gflops}, {"gbps", &e->gbps}};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        int at = tt__metric_named(t->operation, metrics[i].name);
        if (at >= 0)
            TT_TRY(tt__metric_value(metrics[i].value, t, (size_t)at, &e->gpu, &e->problem, e->items[0].config,
                                    e->items[0].trial.time_us));
    }
    e->peaks.copy_gbps = e->items[0].facts.copy_gbps;
    return TT_OK;
}

/* Keeps them for reports. Those of tensor cores count only if the winner uses them. */
static tt_status store_peaks(tt__explanation *e, tt__session *s, int64_t problem_id) {
    const tt__peaks *p = &e->peaks;
    if (!(e->items[0].facts.counted.sass.tensor > 0))
        e->peaks.tensor_gflops = 0;
    if (e->replayed || !(p->copy_gbps > 0 || p->fp32_gflops > 0))
        return TT_OK;
    if (e->gflops > 0)
        TT_TRY(tt__store_flop_put(s->store, problem_id, e->gflops * e->items[0].trial.time_us * 1e3));
    return tt__store_peaks_put(s->store, s->gpu_id, p);
}

tt_status tt__explain(tt__explanation *out, tt__session *s, const tt__search *copy, const tt__search *search,
                      const tt_result *winner) {
    chosen all = {.e = out, .s = s, .search = search};
    *out = (tt__explanation){.problem = search->problem,
                             .gpu = s->gpu,
                             .replayed = s->opts->replay != NULL,
                             .by_objective = search->t->operation->objective >= 0};
    choose(&all, copy, winner);
    TT_TRY(measure(&all));
    TT_TRY(collect(&all));
    if (out->n == 0 || !passed(&out->items[0]))
        return tt__fail(TT_E_NO_WINNER, "%s %s no longer passes: tune again with --force", winner->kernel,
                        winner->config);
    TT_TRY(add_metrics(&all));
    TT_TRY(store_peaks(out, s, search->problem_id));
    out->n_findings = tt__rules_apply(out->findings, &out->items[0].facts);
    tt__explain_tell(out);
    return TT_OK;
}
