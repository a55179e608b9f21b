/*
 * The energy of a winner beside that of the default.
 */
#include <math.h>

#include "tuner/explain/explain.h"
#include "tuner/finals/energy_finals.h"

static tt__explained *find(tt__explanation *e, tt__explain_role role) {
    for (int i = 0; i < e->n; i++)
        if (e->items[i].role == role && e->items[i].trial.status == TT__TRIAL_OK)
            return &e->items[i];
    return NULL;
}

tt_status tt__explain_energy(tt__explanation *e, const tt__session *s, const tt__search *search) {
    tt__explained *of[2] = {find(e, TT__ROLE_WINNER), find(e, TT__ROLE_DEFAULT)};
    const tt__candidate *c[2];
    tt__trial trials[2];
    size_t n = 0;
    for (; n < 2 && of[n]; n++) {
        int64_t at = tt__strategy_member(&search->space, of[n]->kernel, of[n]->config);
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

static void add_one(tt__str *out, const tt__explained *x) {
    const tt__energy *e = &x->trial.energy;
    if (tt__energy_known(e))
        tt__str_addf(out, "The %s takes %.4g mJ a launch, +- %.2g %%", tt__explain_role_name(x->role),
                     e->joules * 1e3, 100 * e->noise / e->joules);
    else
        tt__str_addf(out, "It cannot be told what the %s takes: %.3g mJ, +- %.2g",
                     tt__explain_role_name(x->role), e->joules * 1e3, e->noise * 1e3);
    if (tt__energy_known(e) && e->time_us > 0)
        tt__str_addf(out, ": %.0f W beyond %.0f W of an idle GPU", e->joules / e->time_us * 1e6,
                     e->idle_watts);
    tt__str_add(out, ".\n");
}

void tt__explain_tell_energy(tt__str *out, const tt__explanation *e) {
    const tt__explained *both[2] = {NULL, NULL};
    double ratio;
    for (int i = 0; i < e->n; i++) {
        const tt__explained *x = &e->items[i];
        if (x->trial.energy.idle_watts > 0 && (x->role == TT__ROLE_WINNER || x->role == TT__ROLE_DEFAULT))
            both[x->role == TT__ROLE_DEFAULT] = x;
    }
    if (*e->why_no_energy)
        tt__str_addf(out, "Without energies: %s.\n", e->why_no_energy);
    for (int i = 0; i < 2; i++)
        if (both[i])
            add_one(out, both[i]);
    if (both[0] && both[0]->trial.energy.celsius > 0)
        tt__str_addf(out, "The GPU was at %.0f degrees Celsius.\n", both[0]->trial.energy.celsius);
    if (!both[0] || !both[1])
        return;
    tt__energy_verdict v = tt__energy_compare(&both[0]->trial.energy, &both[1]->trial.energy, false, &ratio);
    if (v == TT__ENERGY_UNKNOWN)
        tt__str_add(out, "It cannot be told which of the two takes less: the noise is larger.\n");
    else
        tt__str_addf(out, "The winner takes %.1f %% %s energy than the default.\n", 100 * fabs(1 - ratio),
                     v == TT__ENERGY_LESS ? "less" : "more");
}
