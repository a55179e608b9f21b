/*
 * The result of a problem, and what the caller is told about its search.
 */
#include "tuner/run/result.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/finals/same_bits.h"
#include "tuner/finals/winner.h"

/* ---- Why there is no winner ---------------------------------------------------------------------------- */

/* Do all of several kernels differ from the reference? */
static bool all_are_wrong(const tt__search *search) {
    for (size_t i = 0; i < search->space.n; i++)
        if (search->known[i] == TT__TRIED && search->trials[i].status != TT__TRIAL_WRONG_RESULT)
            return false;
    return search->n_tried > 1;
}

static void no_winner(const tt__session *s, const tt__search *search, tt_result *result) {
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    char tried[64] = "";
    size_t first = 0;
    if (search->cut)
        tt__format(tried, sizeof tried, "tried within the budget of %g s ", s->opts->budget_s);
    else if (search->n_tried < search->space.n)
        tt__copy(tried, sizeof tried, "tried ");
    while (first < search->space.n && search->known[first] != TT__TRIED)
        first++;
    if (search->space.n == 0 && search->part.of)
        snprintf(result->note, sizeof result->note,
                 "no legal configuration of it belongs to this shard: use fewer shards, or shard by problem");
    else if (search->space.n == 0)
        snprintf(result->note, sizeof result->note,
                 "no configuration%s is legal for it: `tune check` says what removes them",
                 s->opts->n_only ? " of the templates that compete" : "");
    else if (first == search->space.n && s->call->only_finals)
        snprintf(result->note, sizeof result->note,
                 "the store has no trials of it with driver %s and NVRTC %s: tune it first", s->env.driver,
                 s->env.nvrtc);
    else if (first == search->space.n)
        tt__format(result->note, sizeof result->note,
                   "the budget of %g s was over before a configuration could be tried: allow more",
                   s->opts->budget_s);
    else
        snprintf(result->note, sizeof result->note, "every configuration %sfailed%s, the first: %s: %.140s",
                 tried, all_are_wrong(search) ? " (is the reference right?)" : "",
                 tt__trial_status_name(search->trials[first].status), search->trials[first].reason);
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    if (first < search->space.n && *tt__trial_advice(search->trials[first].status))
        tt__session_message(s, "%s: what may help: %s", result->problem,
                            tt__trial_advice(search->trials[first].status));
}

/* The trials that the finals add may complete a search that the budget ended. */
static void say_cut(const tt__session *s, const tt__search *search, tt_result *result) {
    const size_t n = search->n_tried - search->n_skipped, wanted = search->wanted + search->n_aside;
    if (!search->cut || n >= wanted)
        return;
    int used = tt__format(result->note, sizeof result->note,
                          "the budget of %g s ended the search after %zu of %zu configurations",
                          s->opts->budget_s, n, wanted);
    if (search->pace_s > 0 && used > 0 && used < (int)sizeof result->note)
        tt__format(result->note + used, sizeof result->note - (size_t)used,
                   "; the others need about %.2g s more", search->pace_s * (double)(wanted - n));
    if (!s->call->worth) /* else nobody expects whole searches */
        tt__session_message(s, "%s: %s", result->problem, result->note);
}

/* ---- What failed beside a winner ------------------------------------------------------------------------
 */

static bool has_failed(const tt__search *search, size_t i) {
    const tt__trial_status status = search->trials[i].status;
    return search->known[i] == TT__TRIED && status != TT__TRIAL_OK && status != TT__TRIAL_SKIPPED;
}

/* A problem that was never tuned is served by the default, so that it must not fail in silence. */
static size_t say_failed_defaults(const tt__session *s, const tt__search *search, tt_result *result) {
    size_t n = 0;
    for (size_t first = 0; first < search->space.n;
         first = tt__strategy_end_of_template(&search->space, first)) {
        const int64_t at = tt__strategy_default(&search->space, first);
        char text[1024];
        if (at == TT__NOTHING || !has_failed(search, (size_t)at))
            continue;
        const tt__candidate *c = &search->space.items[at];
        const tt__trial *trial = &search->trials[at];
        tt__format(text, sizeof text, "the default of %s%s%s failed: %s: %s", c->t->kernel,
                   *c->config ? ", " : "", c->config, tt__trial_status_name(trial->status), trial->reason);
        tt__session_message(s, "%s: %s", result->problem, text);
        if (!*result->note)
            tt__copy(result->note, sizeof result->note, text);
        n++;
    }
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    return n;
}

static int by_reason(const void *a, const void *b) {
    const tt__trial *x = *(tt__trial *const *)a, *y = *(tt__trial *const *)b;
    return x->status != y->status ? (x->status > y->status) - (x->status < y->status)
                                  : strcmp(x->reason, y->reason);
}

/* The reason that most failed trials have, of n of them. */
static const tt__trial *most_frequent(const tt__trial **failed, size_t n, size_t *times) {
    const tt__trial *most = NULL;
    qsort(failed, n, sizeof(tt__trial *), by_reason);
    *times = 0;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && by_reason(&failed[first], &failed[end]) == 0;)
            end++;
        if (end - first > *times) {
            *times = end - first;
            most = failed[first];
        }
    }
    return most;
}

static tt_status say_failures(const tt__session *s, const tt__search *search, tt_result *result) {
    size_t n = 0, times;
    if (search->n_failed == 0 || s->call->stored ||
        say_failed_defaults(s, search, result) == search->n_failed)
        return TT_OK;
    const tt__trial **failed = calloc(search->n_failed, sizeof(tt__trial *));
    if (!failed)
        return tt__fail_memory(search->n_failed * sizeof(tt__trial *));
    for (size_t i = 0; i < search->space.n && n < search->n_failed; i++)
        if (has_failed(search, i))
            failed[n++] = &search->trials[i];
    const tt__trial *most = most_frequent(failed, n, &times);
    if (most)
        tt__session_message(s, "%s: %zu of %zu configurations failed, %s%zu: %s: %s", result->problem,
                            search->n_failed, search->n_tried - search->n_skipped,
                            times < search->n_failed ? "most often, " : "all ", times,
                            tt__trial_status_name(most->status), most->reason);
    free(failed);
    return TT_OK;
}

tt_status tt__result_say(const tt__session *s, const tt__search *search, tt_result *result) {
    say_cut(s, search, result);
    return say_failures(s, search, result);
}

/* ---- Before and after the searches --------------------------------------------------------------------- */

void tt__result_begin(const tt__session *s, const tt__problem *p, tt_result *result) {
    char text[TT__PROBLEM_TEXT_MAX];
    result->rows = tt__problem_number(p, "rows", 0);
    result->cols = tt__problem_number(p, "cols", 0);
    result->batch = tt__problem_number(p, "batch", 0);
    result->elem_size = tt__problem_elem_size(p);
    result->warm = p->warm;
    result->unverified = p->unverified;
    result->source =
        s->opts->replay ? TT_SOURCE_REPLAYED : TT_SOURCE_MEASURED; /* also if there is no winner */
    tt__copy(result->problem, sizeof result->problem, tt__problem_text(text, p));
    const tt__template *t = tt__template_set_for(s->templates, p);
    if (t && t->own && t->own->by_default)
        tt__copy(result->note, sizeof result->note,
                 "right is what the default configuration computes (`reference default`)");
}

tt_status tt__result_needs_finals(tt__session *s, const tt__search *search, tt_result *result, bool *needed) {
    bool holds = false;
    *needed = false;
    result->space = tt__search_size(search);
    if (search->best == TT__NOTHING) {
        no_winner(s, search, result);
        if (search->bits && search->n_tried > search->n_failed + search->n_skipped)
            tt__same_bits_none(s, search, result);
        return TT_OK;
    }
    if (!s->opts->force && !s->call->only_finals && !s->opts->same_bits)
        TT_TRY(tt__stored_winner(s, search, result, &holds));
    if (holds && !s->opts->replay)
        result->source = TT_SOURCE_STORED;
    *needed = !holds && !s->call->stored;
    return TT_OK;
}
