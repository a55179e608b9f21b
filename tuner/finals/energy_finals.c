/* See the header. */
#include "tuner/finals/energy_finals.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "db/store.h"

tt_status tt__energy_measure(const tt__session *s, const tt__search *search, const tt__candidate *const *c,
                             size_t n, tt__trial *trials) {
    const tt__rounds rounds = {.least = 7, .most = 15, .worth_s = 0.1, .loads = 1};
    tt__backend *b = s->backend;
    double lap_us = 0;
    if (s->opts->replay)
        return tt__fail(TT_E_UNSUPPORTED, "a recording has no energies: measure them on such a GPU");
    for (size_t i = 0; i < n; i++)
        lap_us += trials[i].time_us;
    if (*s->gpu.mig)
        return tt__fail(TT_E_UNSUPPORTED,
                        "NVML does not count the energy of a MIG instance: use the whole GPU");
    if (!b->counts_energy)
        return tt__energy_uncounted();
    const double most_s = tt__energy_most_s(n, tt__energy_train_s, lap_us),
                 left_s = fmax(search->limits.deadline_s + search->limits.energy_s - tt__now_s(), 0);
    if (most_s > left_s)
        return tt__fail(TT_E_UNSUPPORTED,
                        "they take up to %.0f s to measure, and the budget leaves %.0f s: allow more", most_s,
                        left_s);
    TT_TRY(tt__backend_finals(b, c, n, rounds, lap_us, tt__energy_train_s, trials));
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        if (!tt__energy_known(&trials[i].energy))
            continue;
        TT_TRY(tt__store_config(s->store, c[i]->t->kernel, c[i]->t->op, c[i]->t->hash, c[i]->config, &id));
        TT_TRY(tt__store_energy_put(s->store, s->gpu_id, search->problem_id, id, &trials[i].energy));
    }
    return TT_OK;
}

/* Appends the fastest contenders and the default to places[]. */
static size_t find_leaders(const tt__finals *f, int fastest, int places[TT__ENERGY_LEADERS_MAX + 1]) {
    size_t n = 0;
    places[n++] = fastest;
    while (n < TT__ENERGY_LEADERS_MAX) {
        int next = TT__NOBODY;
        for (int i = 0; i < (int)f->n_contenders; i++) {
            bool taken = f->trials[i].status != TT__TRIAL_OK || !(f->trials[i].time_us > 0);
            for (size_t k = 0; k < n; k++)
                taken = taken || places[k] == i;
            if (!taken && (next == TT__NOBODY || tt__finals_middle_us(f, i) < tt__finals_middle_us(f, next)))
                next = i;
        }
        if (next == TT__NOBODY)
            break;
        places[n++] = next;
    }
    for (size_t k = 0; k < n; k++)
        if (places[k] == f->at_default)
            return n;
    if (tt__finals_took_part(f, f->at_default))
        places[n++] = f->at_default;
    return n;
}

int tt__energy_elect(const tt__session *s, const tt__search *search, const tt__finals *f, int fastest) {
    const bool edp = s->call->objective == TT__OBJECTIVE_EDP;
    const char *what = edp ? "energy times time" : "energy";
    int places[TT__ENERGY_LEADERS_MAX + 1], best = fastest;
    const tt__candidate *c[TT__ENERGY_LEADERS_MAX + 1];
    double least = 1, ratio;
    size_t unclear = 0;
    if (search->t->operation->objective >= 0) {
        tt__session_message(s, "--objective is ignored: the kernel has an objective of its own");
        return fastest;
    }
    size_t n = find_leaders(f, fastest, places);
    tt__trial *trials = calloc(n, sizeof *trials);
    for (size_t i = 0; i < n; i++)
        c[i] = f->entrants[places[i]].c;
    for (size_t i = 0; trials && i < n; i++)
        trials[i].time_us = f->trials[places[i]].time_us;
    tt__search_progress(s, search, "energy");
    tt_status status =
        trials ? tt__energy_measure(s, search, c, n, trials) : tt__fail_memory(n * sizeof *trials);
    for (size_t i = 1; status == TT_OK && i < n; i++) {
        tt__energy_verdict v = tt__energy_compare(&trials[i].energy, &trials[0].energy, edp, &ratio);
        unclear += v == TT__ENERGY_UNKNOWN;
        if (v != TT__ENERGY_LESS || ratio >= least)
            continue;
        best = places[i];
        least = ratio;
    }
    if (status != TT_OK)
        tt__session_message(s, "the fastest wins, as energies are unknown: %s", tt_last_error());
    else if (best != fastest)
        tt__session_message(s, "%s: %.1f %% less than the fastest has %s", what, 100 * (1 - least),
                            f->entrants[best].c->config);
    else if (unclear)
        tt__session_message(
            s, "cannot tell which of %zu has the least %s: the noise is larger; the fastest wins", n, what);
    else
        tt__session_message(s, "the fastest also has the least %s of %zu", what, n);
    free(trials);
    return best;
}
