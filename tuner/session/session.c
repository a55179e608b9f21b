/*
 * The messages of a run to its caller, the entries of its timeline, and the part of each space that it tries.
 */
#include "tuner/session/session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"

bool tt__session_hurries(const tt__session *s) {
    return s->call->worth && isfinite(s->end_s);
}

bool tt__session_has_winner(const tt__session *s, const tt__problem *p) {
    tt__winner w;
    int64_t id;
    bool found = false;
    return s->gpu_id >= 0 && tt__store_known_problem(s->store, p, &id) == TT_OK &&
           tt__store_winner_get(s->store, s->gpu_id, id, &w, &found) == TT_OK && found;
}

const tt_choice *tt__session_answer(const tt__session *s) {
    return s->call->answers ? s->call->answers[s->at_problem] : NULL;
}

void tt__session_message(const tt__session *s, const char *fmt, ...) {
    char line[1024];
    va_list args;
    if (!s->opts->on_message)
        return;
    va_start(args, fmt);
    tt__vformat(line, sizeof line, fmt, args);
    va_end(args);
    tt__clean(line, TT__CLEAN_TEXT);
    s->opts->on_message(s->opts->user, line);
}

void tt__session_phase(const tt__session *s, const char *name, const tt__problem *p, double *since_s) {
    char size[TT__PROBLEM_TEXT_MAX];
    double now_s = tt__now_s();
    tt__problem_text(size, p);
    tt__trace_span(s->trace, &(tt__span){0, name, *since_s, now_s, p->op, size, NULL});
    *since_s = now_s;
}

tt_status tt__session_store(const tt__session *s, int64_t problem_id, const tt__configuration *c,
                            tt__stage stage, const tt__trial *trial) {
    int64_t id;
    TT_TRY(tt__store_config(s->store, c->t->kernel, c->t->op, c->t->hash, c->config, &id));
    return tt__store_trial_put(s->store, s->run_id, problem_id, id, stage, trial);
}

/* ---- Winners of earlier runs --------------------------------------------------------------------------- */

static tt_status keep(void *user, const tt__winner *w) {
    tt__winners *all = user;
    TT_TRY(TT__GROW(all->items, all->n));
    all->items[all->n++] = *w;
    return TT_OK;
}

tt_status tt__winners_load(tt__winners *out, tt__store *store) {
    *out = (tt__winners){0};
    return tt__store_winners(store, 0, 0, NULL, keep, out);
}

void tt__winners_free(tt__winners *w) {
    free(w->items);
    *w = (tt__winners){0};
}

/* ---- Parts: a configuration's follows from the compiler options, so all shards agree on it ---- */

static tt_status is_in(bool *is, const tt__space_part *part, const tt__problem *p,
                       const tt__configuration *c) {
    char hash[TT__HASH_SIZE];
    tt__str options = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, c, p);
    if (status == TT_OK) {
        tt__hash(hash, options.text, options.len);
        hash[8] = '\0'; /* more than there are parts */
        *is = (int64_t)(strtoul(hash, NULL, 16) % (unsigned long)part->of) == part->index;
    }
    tt__str_free(&options);
    return status;
}

tt_status tt__part_keep(const tt__space_part *part, const tt__problem *p, tt__space *space) {
    size_t kept = 0;
    if (part->of == 0)
        return TT_OK;
    for (size_t i = 0; i < space->n; i++) {
        bool is;
        TT_TRY(is_in(&is, part, p, &space->items[i]));
        if (is)
            space->items[kept++] = space->items[i];
    }
    space->n = kept;
    return TT_OK;
}
