/*
 * Chooses what to compare with a winner, measures and counts it, and collects the facts.
 */
#include "tuner/explain/explain.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "db/store.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/explain/occupancy.h"
#include "tuner/finals/winner.h"

/* ---- What is compared -----------------------------------------------------------------------------------
 */

typedef struct chosen {
    tt__explanation *e;
    tt__session *s;
    const tt__search *search;
    const tt__configuration *c[TT__EXPLAINED_MAX];  /* of the explanation's items */
    const tt__problem *problems[TT__EXPLAINED_MAX]; /* theirs */
} chosen;

static tt__explained *add(chosen *all, tt__explain_role role, const tt__search *search, int64_t at) {
    tt__explanation *e = all->e;
    if (at == TT__NOTHING || e->n == TT__EXPLAINED_MAX)
        return NULL;
    const tt__configuration *c = &search->space.items[at];
    for (int i = 0; i < e->n; i++)
        if (all->c[i] == c)
            return NULL;
    tt__explained *x = &e->items[e->n];
    all->problems[e->n] = &search->problem;
    all->c[e->n++] = c;
    x->role = role;
    tt__copy(x->kernel, sizeof x->kernel, c->t->kernel);
    tt__copy(x->config, sizeof x->config, c->config);
    x->trial.status = TT__TRIAL_SKIPPED;
    if (search->known[at] == TT__TRIED)
        tt__search_trial(&x->trial, search, (size_t)at);
    tt__trial_weigh(&x->trial, 1 / c->weight); /* as it was measured */
    return x;
}

/* The nearest legal value of parameter k in this direction, with all others the same. */
static void add_neighbour(chosen *all, const tt__configuration *winner, size_t k, int step) {
    const tt__param *p = &winner->t->params[k];
    size_t choice[TT__PARAMS_MAX];
    if (tt__config_parse(choice, winner->t, winner->config) != TT_OK)
        return;
    const size_t own = choice[k];
    for (int i = (int)own + step; i >= 0 && i < (int)p->n_values; i += step) {
        char config[TT__CONFIG_MAX];
        choice[k] = (size_t)i;
        tt__config_format(config, winner->t, choice);
        int64_t index = tt__space_member(&all->search->space, winner->t->kernel, config);
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
    int64_t at = tt__space_member(&search->space, winner->kernel, winner->config);
    if (!add(all, TT__ROLE_WINNER, search, at))
        return;
    add(all, TT__ROLE_DEFAULT, search, tt__space_default(&search->space, (size_t)at));
    if (copy->space.n && copy->best != TT__NOTHING && strcmp(search->problem.op, copy->problem.op) != 0)
        add(all, TT__ROLE_COPY, copy, copy->best);
    const tt__configuration *c = all->c[0];
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
    const tt__configuration *c[TT__EXPLAINED_MAX];
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

static void add_launch(tt__explain_facts *f, const tt__explained *x, const tt__launch *l) {
    const tt__pass *pass = &l->passes[tt__main_pass(l)];
    for (int i = 0; i < l->n_passes; i++)
        f->launches += l->passes[i].off ? 0 : 1 + l->passes[i].repeats;
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
    f->in_graph = all->search->problem.in_graph;
    for (int i = 0; status == TT_OK && i < w->n && !w->arrays[i].aside; i++) {
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
        tt__launch launch;
        if (!passed(x))
            continue;
        f->cc = e->gpu.cc;
        f->sm_count = e->gpu.sm_count;
        f->peak_gbps = e->gpu.peak_gbps;
        f->l2_gbps = e->peaks.l2_gbps;
        x->slower = e->items[0].trial.time_us > 0 ? f->time_us / e->items[0].trial.time_us - 1 : 0;
        TT_TRY(tt__space_launch(&launch, all->c[i], &e->gpu, all->problems[i]));
        add_launch(f, x, &launch);
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

/* ---- The sentences: what bounds the winner, what each parameter buys, and what is left ---- */

static void tell(tt__explanation *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void tell(tt__explanation *e, const char *fmt, ...) {
    va_list args;
    if (e->n_sentences == TT__SENTENCES_MAX)
        return;
    va_start(args, fmt);
    tt__vformat(e->sentences[e->n_sentences++], sizeof *e->sentences, fmt, args);
    va_end(args);
}

static void tell_finding(tt__explanation *e, int i) {
    tt__str text = {0};
    e->findings[i].rule->say(&text, &e->items[0].facts);
    tell(e, "%s", tt__str_text(&text));
    tt__str_free(&text);
}

/* ---- What a parameter buys ------------------------------------------------------------------------------
 */

static double value(const tt__explain_facts *f, int a, int b) {
    double x = f->counted.values[a];
    return b < 0 ? x : x / f->counted.values[b];
}

/* What may have moved between two configurations: a counter, or a ratio of two. `good`: more of it is better.
 */
static const struct {
    const char *words;
    int a, b;
    bool good;
} movers[] = {
    {"bytes read from memory", TT__C_DRAM_READ, -1, false},
    {"bytes written to memory", TT__C_DRAM_WRITTEN, -1, false},
    {"traffic of the L2 cache", TT__C_L2_SECTORS, -1, false},
    {"sectors of a load", TT__C_LOAD_SECTORS, TT__C_LOAD_REQUESTS, false},
    {"sectors of a store", TT__C_STORE_SECTORS, TT__C_STORE_REQUESTS, false},
    {"accesses to shared memory", TT__C_SHARED_WAVEFRONTS, -1, false},
    {"bank conflicts", TT__C_BANK_CONFLICTS, -1, false},
    {"instructions", TT__C_INSTRUCTIONS, -1, false},
    {"spilled traffic", TT__C_LOCAL_LOADS, -1, false},
    {"occupancy", TT__C_OCCUPANCY, -1, true},
    {"rate of issue", TT__C_ISSUED, -1, true},
    {"even use of the SMs", TT__C_SM_ACTIVE_AVG, TT__C_SM_ACTIVE_MAX, true},
};

/* Adds the counter that got worse most, if one did by 3 %. */
static void add_mover(tt__str *out, const tt__explain_facts *winner, const tt__explain_facts *other) {
    static const double least = 0.03;
    const bool uses_shared = winner->counted.sass.shared > 0 || other->counted.sass.shared > 0;
    double most = 0, change = 0;
    const char *words = NULL;
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
        double w = value(winner, movers[i].a, movers[i].b), o = value(other, movers[i].a, movers[i].b);
        double worse = log((o + 1e-9) / (w + 1e-9)) * (movers[i].good ? -1 : 1);
        if (!(w > 0) || !isfinite(worse) || worse <= most ||
            (movers[i].a == TT__C_SHARED_WAVEFRONTS && !uses_shared)) /* loads and stores count there, too */
            continue;
        most = worse;
        change = o / w - 1;
        words = movers[i].words;
    }
    if (words && fabs(change) >= least)
        tt__str_addf(out, " (%s %+.0f %%)", words, 100 * change);
}

static int by_cost(const void *a, const void *b) {
    const tt__explained *x = *(const tt__explained *const *)a, *y = *(const tt__explained *const *)b;
    return (x->slower < y->slower) - (x->slower > y->slower);
}

/* Do the rounds agree on which of the two is faster? Recordings may lack samples. */
static bool is_beyond_noise(const tt__explanation *e, const tt__explained *x) {
    const tt__trial *winner = &e->items[0].trial;
    if (x->trial.n_samples == 0 || x->trial.n_samples != winner->n_samples)
        return true;
    const tt__ratio r = tt__compare_trials(&x->trial, winner);
    return r.low > 1 || r.high < 1;
}

/* The costliest parameters, each by its worse neighbour. */
static void tell_neighbours(tt__explanation *e, int most) {
    static const double noise = 0.01;
    const tt__explained *order[TT__EXPLAINED_MAX];
    bool any = false;
    size_t n = 0;
    for (int i = 1; i < e->n; i++)
        if (e->items[i].param[0] && e->items[i].trial.status == TT__TRIAL_OK)
            order[n++] = &e->items[i];
    qsort(order, n, sizeof *order, by_cost);
    if (n && order[n - 1]->slower < -noise && is_beyond_noise(e, order[n - 1]))
        tell(e, "%s=%s in place of %s is %.1f %% faster%s.", order[n - 1]->param, order[n - 1]->value,
             order[n - 1]->winners, -100 * order[n - 1]->slower,
             e->by_objective ? "" : " now: tune again with --force");
    for (size_t i = 0; i < n && most > 0 && order[i]->slower > noise; i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told |= strcmp(order[k]->param, order[i]->param) == 0;
        if (told || !is_beyond_noise(e, order[i]))
            continue;
        any = true;
        tt__str moved = {0};
        if (tt__facts_counted(&order[i]->facts))
            add_mover(&moved, &e->items[0].facts, &order[i]->facts);
        tell(e, "%s=%s in place of %s is %.1f %% slower%s.", order[i]->param, order[i]->value,
             order[i]->winners, 100 * order[i]->slower, tt__str_text(&moved));
        tt__str_free(&moved);
        most--;
    }
    if (n && order[0]->slower <= noise)
        tell(e, "No nearest value of a parameter is more than 1 %% slower.");
    else if (n && !any)
        tell(e, "No nearest value of a parameter is slower beyond the noise.");
}

/* ---- What is left ---------------------------------------------------------------------------------------
 */

/* The measured peak that an arithmetic limit is about; 0: there is none. */
static double peak_gflops(const tt__explanation *e, const tt__rule *rule) {
    return strcmp(rule->name, "fp32_bound") == 0   ? e->peaks.fp32_gflops
           : strcmp(rule->name, "fp64_bound") == 0 ? e->peaks.fp64_gflops
                                                   : 0;
}

/* Does a finding say more than times and the launch do? What moves its buffers once and is nearly as fast as
 * the copy is bound by memory for sure. A metric may count bytes that a cache gives. */
static bool is_guess(const tt__explanation *e, int i) {
    const tt__rule_finding *x = &e->findings[i];
    if (i >= e->n_findings || x->rule->counted == x->rule->guessed || tt__facts_counted(&e->items[0].facts))
        return false;
    return strcmp(x->rule->name, "memory_bound") != 0 || x->share < 0.9 ||
           e->items[0].facts.moved_bytes > e->items[0].facts.in_bytes + e->items[0].facts.out_bytes;
}

/* What is known where no rule applies. */
static void tell_unknown(tt__explanation *e) {
    const tt__explain_facts *f = &e->items[0].facts;
    const tt__cause *first = tt__cause_waits(f, NULL), *second = tt__cause_waits(f, first),
                    *pipe = tt__cause_busiest(f);
    if (!first || !second || !pipe) {
        tell(e, "Nothing is used up and no rule applies: what limits it is not known.");
        return;
    }
    tell(e,
         "What limits it is not known: %.0f %% of the waiting is for %s and %.0f %% for %s, and the busiest "
         "pipe, for %s, works at "
         "%.0f %%.",
         100 * tt__m_waits(f, (tt__counter)first->counter), first->words,
         100 * tt__m_waits(f, (tt__counter)second->counter), second->words, pipe->words,
         f->counted.values[pipe->counter]);
}

static void tell_rest(tt__explanation *e) {
    const tt__rule_finding *first = &e->findings[0];
    double peak = e->n_findings ? peak_gflops(e, first->rule) : 0;
    if (peak > 0 && e->gflops > 0 && e->gflops < peak)
        tell(
            e,
            "It does %.1f of the %.1f TFLOP/s that this GPU reached with nothing else to do: at most %.0f %% "
            "is left.",
            e->gflops * 1e-3, peak * 1e-3, 100 * (1 - e->gflops / peak));
    else if (e->n_findings == 0)
        tell_unknown(e);
    else if (is_guess(e, 0))
        return;
    else if (first->rule->limit && first->share < 1)
        tell(e, "At most %.0f %% of the time is left to win without doing less.", 100 * (1 - first->share));
    else if (!first->rule->limit)
        tell(e, "Change that first; the next limit shows then.");
}

void tt__explain_tell(tt__explanation *e) {
    enum { FINDINGS = 2, NEIGHBOURS = 2 };
    const int most = e->n_findings && e->findings[0].rule->limit ? 1 : FINDINGS; /* one limit is enough */
    int told = 0;
    e->n_sentences = 0;
    for (; told < e->n_findings && told < most; told++)
        tell_finding(e, told);
    const bool first = told > 0 && is_guess(e, 0);
    if (first || (told > 1 && is_guess(e, 1)))
        tell(e, "%s is a guess from times and the compiled code, because nothing was counted.",
             first ? "That" : "The latter");
    tell_neighbours(e, NEIGHBOURS);
    tell_rest(e);
}

/* ---- The energy of a winner beside that of the default ---- */

static tt__explained *find_role(tt__explanation *e, tt__explain_role role) {
    for (int i = 0; i < e->n; i++)
        if (e->items[i].role == role && e->items[i].trial.status == TT__TRIAL_OK)
            return &e->items[i];
    return NULL;
}

/* Measures the energy of the winner and of the default. */
static tt_status measure_energy(tt__explanation *e, const tt__session *s, const tt__search *search) {
    tt__explained *of[2] = {find_role(e, TT__ROLE_WINNER), find_role(e, TT__ROLE_DEFAULT)};
    const tt__configuration *c[2];
    tt__trial trials[2];
    size_t n = 0;
    for (; n < 2 && of[n]; n++) {
        int64_t at = tt__space_member(&search->space, of[n]->kernel, of[n]->config);
        if (at == TT__NOTHING)
            break;
        c[n] = &search->space.items[at];
        trials[n] = of[n]->trial;
    }
    tt_status status = tt__energy_measure(s, search, c, n, trials);
    if (status == TT_E_UNSUPPORTED)
        tt__copy(e->why_no_energy, sizeof e->why_no_energy, tt_last_error());
    for (size_t i = 0; status == TT_OK && i < n; i++)
        of[i]->trial.energy = trials[i].energy;
    return status == TT_E_UNSUPPORTED ? TT_OK : status;
}

tt_status tt__explain(tt__explanation *out, tt__session *s, const tt__search *copy, const tt__search *search,
                      const tt_result *winner, bool energy) {
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
    return energy ? measure_energy(out, s, search) : TT_OK;
}
