/*
 * A neighbour is tried as any configuration of a search, so that its trial is in the store. The first
 * neighbour that the operation allows and the reference can do is enough.
 */
#include "tuner/run/neighbour.h"

#include <math.h>

#include "base/clock.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/load/set.h"
#include "kernel/space/operation.h"

enum { STEPS = 2 }; /* 1 more, and a tile more */

size_t tt__neighbours(const tt__problem *p) {
    return STEPS * (1 + (p->n > 1 ? (size_t)p->n : 0));
}

/* The largest power of two in it, as far as that adds at most an eighth. */
static int64_t tile_of(int64_t number) {
    int64_t tile = number & -number;
    while (tile > 1 && tile > number / 8)
        tile /= 2;
    return tile;
}

bool tt__neighbour(tt__problem *out, const tt__template *t, const tt__problem *p, size_t k) {
    const int only = (int)(k / STEPS) - 1;
    tt__problem near = *p;
    tt__str text = {0};
    bool changed = false;
    for (int i = 0; i < near.n; i++) {
        tt__setting *s = &near.settings[i];
        const bool bytes = strcmp(s->name, "elem_size") == 0 || strcmp(s->name, "align") == 0;
        const int64_t step = k % STEPS ? tile_of(s->number) : 1;
        if (s->type != TT__TYPE_NONE || bytes || (only >= 0 && i != only) || (k % STEPS && step <= 1))
            continue;
        s->number += step;
        changed = true;
    }
    tt__problem_add_settings(&text, &near, ",");
    changed = changed && tt__operation_problem(out, t->operation, t->op, tt__str_text(&text)) == TT_OK;
    tt__str_free(&text);
    out->warm = p->warm;
    out->unverified = p->unverified;
    return changed;
}

tt_status tt__neighbour_try(tt__session *s, const tt__problem *near, const tt__candidate *c, size_t n,
                            tt__trial *trials) {
    const tt__backend_ops *ops = s->backend->ops;
    const size_t first = s->lane * TT__LANE_TRIALS;
    TT_TRY(ops->problem(s->backend, near, c->t));
    if (ops->await_until)
        ops->await_until(s->backend, INFINITY);
    for (size_t i = 0; i < n; i++)
        TT_TRY(ops->submit(s->backend, first + i, &c[i], 0));
    for (size_t done = 0; done < n;) {
        size_t id;
        tt__trial trial;
        TT_TRY(ops->wait(s->backend, &id, &trial));
        if (id - first < n) {
            trials[id - first] = trial;
            done++;
        }
    }
    return TT_OK;
}

static bool in_time(const tt__session *s) {
    return tt__now_s() < s->end_s;
}

/* One that is known to be wrong there is tried again, so that a run says so again. */
static tt_status verify_near(tt__session *s, const tt__winner *w, const tt__template *t) {
    char text[TT__PROBLEM_TEXT_MAX], beside[TT__PROBLEM_TEXT_MAX];
    for (size_t k = 0; k < tt__neighbours(&w->problem) && in_time(s); k++) {
        tt__problem near;
        tt__candidate c;
        tt__trial trial;
        int64_t id;
        bool known;
        if (!tt__neighbour(&near, t, &w->problem, k))
            continue;
        TT_TRY(tt__store_covers(s->store, w->kernel, w->hash, w->config, &w->problem, &near, &known));
        if (known)
            return TT_OK;
        if (tt__space_resolve(&c, t, &s->gpu, &near, w->config) != TT_OK)
            continue; /* not legal there, so it serves nothing there */
        tt_status status = tt__neighbour_try(s, &near, &c, 1, &trial);
        if (status == TT_E_INTERRUPTED)
            return status;
        if (status != TT_OK) /* the reference cannot do it */
            continue;
        TT_TRY(tt__store_problem(s->store, &near, &id));
        TT_TRY(tt__session_store(s, id, &c, TT__STAGE_SCREEN, &trial));
        if (trial.status != TT__TRIAL_OK)
            tt__session_message(
                s,
                "%s: the winner is right, but not for %s: %s: %s; so it serves no other size: "
                "say with `require` which sizes the kernel can do",
                tt__problem_text(text, &w->problem), tt__problem_text(beside, &near),
                tt__trial_status_name(trial.status), trial.reason);
        return TT_OK;
    }
    return TT_OK;
}

tt_status tt__neighbours_verify(tt__session *s) {
    if (s->backend->ops->enter)
        TT_TRY(s->backend->ops->enter(s->backend, s->lane));
    for (size_t i = 0; i < s->n_problems && in_time(s); i++) {
        const tt__problem *p = &s->call->problems[i];
        int64_t problem_id;
        tt__winner w;
        bool found = false;
        if (!tt__problem_is_users(p) || p->unverified)
            continue;
        TT_TRY(tt__store_problem(s->store, p, &problem_id));
        TT_TRY(tt__store_winner_get(s->store, s->gpu_id, problem_id, &w, &found));
        const tt__template *t = found ? tt__template_set_find(s->templates, w.kernel) : NULL;
        if (t && strcmp(t->hash, w.hash) == 0)
            TT_TRY(verify_near(s, &w, t));
    }
    return TT_OK;
}
