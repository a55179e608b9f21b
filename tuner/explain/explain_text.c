/*
 * The sentences of an explanation: what bounds the winner, what each parameter buys, and what is left.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tuner/explain/explain_measures.h"

static void add(tt__explanation *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(tt__explanation *e, const char *fmt, ...) {
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
    add(e, "%s", tt__str_text(&text));
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
    double most = 0, change = 0;
    const char *words = NULL;
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
        double w = value(winner, movers[i].a, movers[i].b), o = value(other, movers[i].a, movers[i].b);
        double worse = log((o + 1e-9) / (w + 1e-9)) * (movers[i].good ? -1 : 1);
        if (!(w > 0) || !isfinite(worse) || worse <= most)
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

/* The costliest parameters, each by its worse neighbour. */
static void tell_neighbours(tt__explanation *e, int most) {
    static const double noise = 0.01;
    const tt__explained *order[TT__EXPLAINED_MAX];
    size_t n = 0;
    for (int i = 1; i < e->n; i++)
        if (e->items[i].param[0] && e->items[i].trial.status == TT__TRIAL_OK)
            order[n++] = &e->items[i];
    qsort(order, n, sizeof *order, by_cost);
    if (n && order[n - 1]->slower < -noise)
        add(e, "%s=%s in place of %s is %.1f %% faster%s.", order[n - 1]->param, order[n - 1]->value,
            order[n - 1]->winners, -100 * order[n - 1]->slower,
            e->by_objective ? "" : " now: tune again with --force");
    for (size_t i = 0; i < n && most > 0 && order[i]->slower > noise; i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told |= strcmp(order[k]->param, order[i]->param) == 0;
        if (told)
            continue;
        tt__str moved = {0};
        if (tt__facts_counted(&order[i]->facts))
            add_mover(&moved, &e->items[0].facts, &order[i]->facts);
        add(e, "%s=%s in place of %s is %.1f %% slower%s.", order[i]->param, order[i]->value,
            order[i]->winners, 100 * order[i]->slower, tt__str_text(&moved));
        tt__str_free(&moved);
        most--;
    }
    if (n && order[0]->slower <= noise)
        add(e, "No nearest value of a parameter is more than 1 %% slower.");
}

/* ---- What is left ---------------------------------------------------------------------------------------
 */

/* The measured peak that an arithmetic limit is about; 0: there is none. */
static double peak_gflops(const tt__explanation *e, const tt__rule *rule) {
    return strcmp(rule->name, "fp32_bound") == 0   ? e->peaks.fp32_gflops
           : strcmp(rule->name, "fp64_bound") == 0 ? e->peaks.fp64_gflops
                                                   : 0;
}

/* Is what is named first more than times and the launch say? What is nearly as fast as the copy is bound by
 * memory for sure. */
static bool is_guess(const tt__explanation *e) {
    const tt__rule_finding *first = &e->findings[0];
    if (e->n_findings == 0 || first->rule->counted == first->rule->guessed ||
        tt__facts_counted(&e->items[0].facts))
        return false;
    return strcmp(first->rule->name, "memory_bound") != 0 || first->share < 0.9;
}

/* What is known where no rule applies. */
static void tell_unknown(tt__explanation *e) {
    const tt__explain_facts *f = &e->items[0].facts;
    const tt__cause *first = tt__cause_waits(f, NULL), *second = tt__cause_waits(f, first),
                    *pipe = tt__cause_busiest(f);
    if (!first || !second || !pipe) {
        add(e, "Nothing is used up and no rule applies: what limits it is not known.");
        return;
    }
    add(e,
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
        add(e,
            "It does %.1f of the %.1f TFLOP/s that this GPU reached with nothing else to do: at most %.0f %% "
            "is left.",
            e->gflops * 1e-3, peak * 1e-3, 100 * (1 - e->gflops / peak));
    else if (e->n_findings == 0)
        tell_unknown(e);
    else if (is_guess(e))
        return;
    else if (first->rule->limit && first->share < 1)
        add(e, "At most %.0f %% of the time is left to win without doing less.", 100 * (1 - first->share));
    else if (!first->rule->limit)
        add(e, "Change that first; the next limit shows then.");
}

void tt__explain_tell(tt__explanation *e) {
    enum { FINDINGS = 2, NEIGHBOURS = 2 };
    e->n_sentences = 0;
    for (int i = 0; i < e->n_findings && i < FINDINGS; i++)
        if (i == 0 || !e->findings[0].rule->limit) /* one limit is enough */
            tell_finding(e, i);
    if (is_guess(e))
        add(e, "That is a guess from times and the compiled code, because nothing was counted.");
    tell_neighbours(e, NEIGHBOURS);
    tell_rest(e);
}
