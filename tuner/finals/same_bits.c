/*
 * The election within a class of equal bits.
 *
 * Screening hashes one result of each configuration, which makes classes that are right but for luck: of a
 * result of few elements, different sums may agree. So each contender is looked at once more before the
 * finals, on several inputs and in several launches (measure/bits.c), beside the configuration that stands
 * for the class. What differs there leaves the class, and the next one may enter.
 *
 * The fastest with other bits takes part in the last stage. It cannot win, and shows the price.
 */
#include "tuner/finals/same_bits.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tuner/search/schedule.h"

/* ---- The class ------------------------------------------------------------------------------------------
 */

/* What a configuration is called in messages. */
static const char *name_of(const tt__candidate *c) {
    return *c->config ? c->config : "the only configuration";
}

void tt__same_bits_none(const tt__session *s, const tt__search *search, tt_result *result) {
    const int64_t i = tt__search_anchor(s, search);
    const char *which = s->opts->class_of ? "" : "the default, ", *more = s->opts->class_of ? "" : ",";
    const tt__trial *trial = i == TT__NOTHING ? NULL : &search->trials[i];
    const char *name = trial ? name_of(&search->space.items[i]) : "";
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    if (!trial)
        tt__format(result->note, sizeof result->note,
                   "its default is not among the configurations: name one with --class-of");
    else if (search->known[i] != TT__TRIED || trial->status != TT__TRIAL_OK)
        tt__format(result->note, sizeof result->note, "%s%s%s did not pass: name another one with --class-of",
                   which, name, more);
    else if (trial->bits == TT__BITS_UNSTABLE)
        tt__format(result->note, sizeof result->note,
                   "%s%s%s is unstable: two launches of it gave other bits. Name another one with --class-of",
                   which, name, more);
    else
        tt__format(result->note, sizeof result->note,
                   "it is not known which bits %s%s%s computes: the recording is of an older version", which,
                   name, more);
    tt__clean(result->note, TT__CLEAN_TEXT);
}

static int by_bits(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t count_classes(int64_t *bits, size_t n) {
    size_t classes = 0;
    qsort(bits, n, sizeof *bits, by_bits);
    for (size_t k = 0; k < n; k++)
        classes += bits[k] > TT__BITS_UNSTABLE && (k == 0 || bits[k] != bits[k - 1]);
    return classes;
}

/* How many classes there are, and which configurations are unstable. */
static tt_status say_classes(const tt__session *s, const tt__search *search, const tt_result *result) {
    size_t n = 0, in_class = 0, n_unstable = 0;
    int64_t unstable = TT__NOBODY;
    char text[TT__BITS_TEXT_MAX];
    int64_t *bits = calloc(search->space.n, sizeof *bits);
    if (!bits)
        return tt__fail_memory(search->space.n * sizeof *bits);
    for (int64_t i = 0; i < (int64_t)search->space.n; i++) {
        const tt__trial *trial = &search->trials[i];
        if (search->known[i] != TT__TRIED || trial->status != TT__TRIAL_OK)
            continue;
        bits[n++] = trial->bits;
        in_class += trial->bits == search->bits;
        if (trial->bits != TT__BITS_UNSTABLE)
            continue;
        n_unstable++;
        if (unstable == TT__NOBODY || trial->time_us < search->trials[unstable].time_us)
            unstable = i;
    }
    tt__session_message(s, "%s: %zu of %zu configurations are in the class %s, of %zu", result->problem,
                        in_class, n, tt__bits_text(text, search->bits), count_classes(bits, n));
    if (n_unstable)
        tt__session_message(
            s, "%s: %zu configurations are unstable, since two launches differ; the fastest is %s",
            result->problem, n_unstable, name_of(&search->space.items[unstable]));
    free(bits);
    return TT_OK;
}

/* ---- A closer look ------------------------------------------------------------------------------------- */

/* Is it of the class on all inputs? What cannot be looked at is not. */
static tt_status confirm(const tt__session *s, tt__search *search, int64_t i, bool *out) {
    const tt__bits_ask ask = {0};
    tt__bits_found found;
    *out = search->confirmed[i];
    if (*out)
        return TT_OK;
    tt_status status = s->backend->ops->bits(s->backend, &search->space.items[i], &ask, &found);
    if (status == TT_E_INTERRUPTED)
        return status;
    if (status == TT_OK && search->bits_on_all == TT__BITS_UNKNOWN && found.bits != TT__BITS_UNSTABLE)
        search->bits_on_all = found.bits;
    *out = search->confirmed[i] =
        status == TT_OK && found.bits != TT__BITS_UNSTABLE && found.bits == search->bits_on_all;
    return *out ? TT_OK
                : tt__search_expel(s, search, (size_t)i, status == TT_OK ? found.bits : TT__BITS_UNSTABLE);
}

/* The one that stands for the class comes first. *all: no contender had to leave it. */
static tt_status confirm_all(const tt__session *s, tt__search *search, const tt__finals *f, bool *all) {
    const int64_t anchor = tt__search_anchor(s, search);
    *all = true;
    if (!s->backend->ops->bits || search->bits == TT__BITS_EXACT)
        return TT_OK;
    if (!search->confirmed && !(search->confirmed = calloc(search->space.n, sizeof *search->confirmed)))
        return tt__fail_memory(search->space.n);
    if (anchor != TT__NOTHING && tt__search_passed(search, anchor))
        TT_TRY(confirm(s, search, anchor, all));
    for (size_t k = 0; k < f->n_contenders && *all; k++)
        TT_TRY(confirm(s, search, f->entrants[k].index, all));
    return TT_OK;
}

tt_status tt__same_bits_nominate(const tt__session *s, tt__search *search, const tt__search *copy,
                                 tt__finals *f, tt_result *result, bool *none) {
    bool all = true;
    *none = false;
    if (!s->opts->same_bits)
        return tt__finals_nominate(s, search, copy, f);
    do {
        const int64_t anchor = tt__search_anchor(s, search);
        *none = !search->bits || search->best == TT__NOTHING ||
                (anchor != TT__NOTHING && !tt__search_passed(search, anchor));
        if (*none)
            break;
        TT_TRY(tt__finals_nominate(s, search, copy, f));
        TT_TRY(confirm_all(s, search, f, &all));
    } while (!all);
    if (*none)
        tt__same_bits_none(s, search, result);
    else
        TT_TRY(say_classes(s, search, result));
    return TT_OK;
}

/* ---- The price ----------------------------------------------------------------------------------------- */

/* In how many elements the fastest differs. It stays unknown in a replay. */
static tt_status differ(const tt__session *s, const tt__finals *f, int at, tt_result *result) {
    const tt__bits_ask keep = {.keeps = true, .first_only = true},
                       compare = {.compares = true, .first_only = true};
    tt__bits_found found;
    if (!s->backend->ops->bits)
        return TT_OK;
    tt_status status = s->backend->ops->bits(s->backend, f->entrants[at].c, &keep, &found);
    if (status == TT_OK)
        status = s->backend->ops->bits(s->backend, f->entrants[f->at_other].c, &compare, &found);
    if (status == TT_OK && found.n > 0) {
        result->differing = (double)found.n_differ / (double)found.n;
        result->ulps = found.ulps;
    }
    return status == TT_E_INTERRUPTED ? status : TT_OK;
}

tt_status tt__same_bits_price(const tt__session *s, const tt__finals *f, int at, tt_result *result) {
    const char *class_of = s->opts->class_of ? s->opts->class_of : "the default";
    char where[128] = ", whose bits are others";
    if (!s->opts->same_bits)
        return TT_OK;
    result->same_bits_cost = 1;
    if (f->at_other != TT__NOBODY && tt__finals_took_part(f, f->at_other))
        result->same_bits_cost = tt__compare_trials(&f->trials[at], &f->trials[f->at_other]).median;
    if (result->same_bits_cost <= 1) {
        result->same_bits_cost = 1;
        tt__session_message(s, "%s: the same bits as %s, and none is faster", result->problem, class_of);
        return TT_OK;
    }
    TT_TRY(differ(s, f, at, result));
    const tt__entrant *other = &f->entrants[f->at_other];
    if (other->of->trials[other->index].bits == TT__BITS_UNSTABLE)
        tt__copy(where, sizeof where, ", which is unstable");
    else if (result->differing > 0 && result->ulps == 1)
        tt__format(where, sizeof where, ", which differs in the last bit of %.3g %% of elements",
                   100 * result->differing);
    else if (result->differing > 0 && result->ulps > 1)
        tt__format(where, sizeof where,
                   ", which differs by up to %.0f units in the last place in %.3g %% of elements",
                   result->ulps, 100 * result->differing);
    tt__session_message(s, "%s: the same bits as %s, %.1f %% slower than the fastest (%s)%s", result->problem,
                        class_of, 100 * (result->same_bits_cost - 1), name_of(other->c), where);
    return TT_OK;
}
