/*
 * The replay backend. Every trial is looked up in a recording. A configuration that was not recorded is
 * skipped.
 */
#include "tuner/backend/replay/backend_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "db/exchange/export.h"
#include "db/exchange/recording.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"

enum { WAITING_MAX = 64, DEVICES_MAX = 512 };

/* A device that takes its time is busy at least as long as a short trial with its checks. */
static const double least_busy_s = 0.01;

/* A problem and its finals. */
typedef struct lane {
    tt__problem problem, before; /* before: may be its copy; both have configurations in the finals */
    uint64_t turn;               /* lanes take turns; 0: it is free */
    bool asked;                  /* finals go on */
    double end_s;
    size_t n;
    tt__trial trials[TT__FINALISTS_MAX];
} lane;

typedef struct replay {
    tt__backend base;
    tt__recording *recording;
    tt__str path;
    int (*should_stop)(void *user);
    void *user;
    size_t at;
    uint64_t n_turns;
    lane *lanes[TT__LANES_MAX]; /* allocated when first used */
    size_t n_devices;           /* 0: one that takes no time */
    double free_s[DEVICES_MAX];
    size_t n_waiting;
    struct {
        size_t id, lane;
        tt__trial trial;
        double end_s;
    } waiting[WAITING_MAX + 2 * DEVICES_MAX + TT__LANES_MAX];
} replay;

static tt_status hello(tt__backend *b, tt__gpu *gpu, tt__env *env) {
    const replay *r = (const replay *)b;
    *gpu = *tt__recording_gpu(r->recording);
    *env = *tt__recording_env(r->recording);
    return TT_OK;
}

static size_t lanes(const tt__backend *b) {
    return tt__lanes_for(((const replay *)b)->n_devices);
}

static tt_status enter(tt__backend *b, size_t at) {
    replay *r = (replay *)b;
    r->at = at;
    if (!r->lanes[at])
        r->lanes[at] = calloc(1, sizeof *r->lanes[at]);
    return r->lanes[at] ? TT_OK : tt__fail_memory(sizeof *r->lanes[at]);
}

static void drop(replay *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_waiting; i++)
        if (r->waiting[i].lane != r->at)
            r->waiting[n++] = r->waiting[i];
    r->n_waiting = n;
    r->lanes[r->at]->asked = false;
}

static void leave(tt__backend *b) {
    replay *r = (replay *)b;
    drop(r);
    r->lanes[r->at]->turn = 0;
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    replay *r = (replay *)b;
    lane *l = r->lanes[r->at];
    (void)t;
    drop(r);
    l->before = l->problem;
    l->problem = *p;
    if (l->turn == 0)
        l->turn = ++r->n_turns;
    return TT_OK;
}

static tt_status add_text(void *user, const tt__problem *p) {
    tt__str *list = user;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__str_addf(list, "%s%s", list->len ? "; " : "", tt__problem_text(text, p));
    return TT_OK;
}

tt_status tt__backend_replay_check(const tt__backend *b, const tt__problem *p) {
    const replay *r = (const replay *)b;
    char text[TT__PROBLEM_TEXT_MAX];
    bool has;
    tt__str list = {0}, other = {0};
    TT_TRY(tt__recording_has(r->recording, p, &has));
    if (has)
        return TT_OK;
    tt_status status = tt__recording_problems(r->recording, p->op, add_text, &list);
    tt__recording_find(&other, tt__str_text(&r->path), tt__recording_gpu(r->recording), p);
    if (status == TT_OK)
        status = tt__fail(TT_E_INVALID, "the recording has no %s of %s%s; %s%s", p->op,
                          tt__problem_text(text, p), tt__problem_regime(p),
                          other.len  ? tt__str_text(&other)
                          : list.len ? "it has: "
                                     : "it has: none of any size",
                          other.len ? " has it" : tt__str_text(&list));
    tt__str_free(&other);
    tt__str_free(&list);
    return status;
}

const char *tt__backend_replay_left_out(const tt__backend *b) {
    return tt__recording_left_out(((const replay *)b)->recording);
}

size_t tt__backend_replay_devices(const tt__backend *b) {
    const replay *r = (const replay *)b;
    return r->n_devices ? r->n_devices : 1;
}

/* The first problem may have as many as there is room for. The next ones get what it leaves of ENOUGH for
 * each device. One without trials in flight can always have one. */
static size_t room(const tt__backend *b) {
    enum { ENOUGH = 8 };
    const replay *r = (const replay *)b;
    const size_t most = r->n_devices > 1 ? WAITING_MAX + 2 * r->n_devices : WAITING_MAX;
    size_t mine = 0, earlier = 0, share = most;
    for (size_t i = 0; i < r->n_waiting; i++) {
        mine += r->waiting[i].lane == r->at;
        earlier += r->lanes[r->waiting[i].lane]->turn < r->lanes[r->at]->turn;
    }
    if (earlier > 0)
        share = ENOUGH * r->n_devices > earlier ? ENOUGH * r->n_devices - earlier : 0;
    if (mine == 0 && share == 0)
        return 1;
    return mine < share && r->n_waiting < most ? share - mine : mine == 0;
}

static tt_status look_up(replay *r, const tt__configuration *c, tt__stage stage, tt__trial *trial) {
    const lane *l = r->lanes[r->at];
    bool found;
    TT_TRY(tt__recording_trial(r->recording, &l->problem, c->t->kernel, c->config, stage, trial, &found));
    if (!found && strcmp(l->before.op, c->t->op) == 0 && strcmp(l->before.op, l->problem.op) != 0)
        TT_TRY(tt__recording_trial(r->recording, &l->before, c->t->kernel, c->config, stage, trial, &found));
    if (!found) {
        *trial = (tt__trial){.status = TT__TRIAL_SKIPPED};
        snprintf(trial->reason, sizeof trial->reason, "not in the recording");
    }
    return TT_OK;
}

/* The device that is free first is busy for so long. Returns when it has ended. */
static double occupy(replay *r, double busy_s) {
    size_t first = 0;
    const double now_s = tt__now_s();
    if (r->n_devices == 0)
        return 0;
    for (size_t i = 1; i < r->n_devices; i++)
        if (r->free_s[i] < r->free_s[first])
            first = i;
    if (r->free_s[first] < now_s)
        r->free_s[first] = now_s;
    return r->free_s[first] += busy_s;
}

/* A trial takes as long as its recorded samples. One that was not recorded takes no time. */
static double trial_s(const tt__trial *trial) {
    double busy_s = 0;
    if (trial->status == TT__TRIAL_SKIPPED)
        return 0;
    for (int i = 0; i < trial->n_samples; i++)
        busy_s += (double)trial->samples_us[i] * 1e-6;
    return busy_s > least_busy_s ? busy_s : least_busy_s;
}

static tt_status submit(tt__backend *b, size_t id, const tt__configuration *c, double cutoff_us) {
    replay *r = (replay *)b;
    tt__trial *trial = &r->waiting[r->n_waiting].trial;
    (void)cutoff_us;
    if (room(b) == 0)
        return tt__fail(TT_E_INTERNAL, "more than %zu trials at once", r->n_waiting);
    r->waiting[r->n_waiting].id = id;
    r->waiting[r->n_waiting].lane = r->at;
    TT_TRY(look_up(r, c, TT__STAGE_SCREEN, trial));
    r->waiting[r->n_waiting].end_s = occupy(r, trial_s(trial));
    r->n_waiting++;
    return TT_OK;
}

static void sleep_until(double at_s) {
    double left_s = at_s - tt__now_s();
    if (left_s > 0)
        nanosleep(&(struct timespec){(time_t)left_s, (long)((left_s - (double)(time_t)left_s) * 1e9)}, NULL);
}

/* When the first of the finals that go on will have ended; INFINITY: there are none. */
static double finals_end_s(const replay *r) {
    double first_s = INFINITY;
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        if (r->lanes[i] && r->lanes[i]->asked && r->lanes[i]->end_s < first_s)
            first_s = r->lanes[i]->end_s;
    return first_s;
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    replay *r = (replay *)b;
    size_t first = 0;
    const double finals_s = finals_end_s(r);
    if (r->n_waiting == 0 && isinf(finals_s))
        return tt__fail(TT_E_INTERNAL, "waiting for no trial");
    if (r->should_stop && r->should_stop(r->user))
        return tt__fail(TT_E_INTERRUPTED, "interrupted");
    for (size_t i = 1; i < r->n_waiting; i++)
        if (r->waiting[i].end_s < r->waiting[first].end_s)
            first = i;
    if (r->n_waiting == 0 || finals_s < r->waiting[first].end_s) {
        sleep_until(finals_s);
        *id = TT__NO_TRIAL;
        return TT_OK;
    }
    sleep_until(r->waiting[first].end_s);
    *id = r->waiting[first].id;
    *trial = r->waiting[first].trial;
    r->n_waiting--;
    memmove(&r->waiting[first], &r->waiting[first + 1], (r->n_waiting - first) * sizeof r->waiting[0]);
    return TT_OK;
}

/* There are as many rounds as were recorded. A stage takes the time that it is worth on a GPU. */
static tt_status finals_ask(tt__backend *b, const tt__configuration *const *c, size_t n, tt__rounds rounds,
                            double lap_us, double train_s) {
    replay *r = (replay *)b;
    (void)lap_us, (void)train_s;
    lane *l = r->lanes[r->at];
    l->n = n;
    for (size_t i = 0; i < n; i++)
        TT_TRY(look_up(r, c[i], TT__STAGE_FINAL, &l->trials[i]));
    l->end_s = occupy(r, rounds.worth_s);
    l->asked = true;
    return TT_OK;
}

static tt_status finals_take(tt__backend *b, bool *done, tt__trial *trials) {
    replay *r = (replay *)b;
    lane *l = r->lanes[r->at];
    *done = l->asked && l->end_s <= tt__now_s();
    if (*done) {
        memcpy(trials, l->trials, l->n * sizeof *trials);
        l->asked = false;
    }
    return TT_OK;
}

static void close_replay(tt__backend *b) {
    replay *r = (replay *)b;
    tt__recording_close(&r->recording);
    tt__str_free(&r->path);
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        free(r->lanes[i]);
    free(r);
}

static const tt__backend_ops replay_ops = {.hello = hello,
                                           .lanes = lanes,
                                           .enter = enter,
                                           .leave = leave,
                                           .problem = problem,
                                           .room = room,
                                           .submit = submit,
                                           .wait = wait,
                                           .finals_ask = finals_ask,
                                           .finals_take = finals_take,
                                           .close = close_replay};

/* "FILE*8" is FILE on eight devices that take the recorded times. "FILE*0" is a name. Returns the length of
 * FILE. */
static size_t split(const char *path, size_t *n_devices) {
    const char *star = strrchr(path, '*');
    *n_devices = 0;
    if (!star || strspn(star + 1, "0123456789") != strlen(star + 1))
        return strlen(path);
    unsigned long n = strtoul(star + 1, NULL, 10);
    if (n == 0)
        return strlen(path);
    *n_devices = n < DEVICES_MAX ? n : DEVICES_MAX;
    return (size_t)(star - path);
}

tt_status tt__backend_replay(tt__backend **out, const char *path, const tt__foreign *foreign,
                             int (*should_stop)(void *user), void *user) {
    *out = NULL;
    replay *r = calloc(1, sizeof *r);
    if (!r)
        return tt__fail_memory(sizeof *r);
    r->base.ops = &replay_ops;
    r->should_stop = should_stop;
    r->user = user;
    tt__str_addn(&r->path, path, split(path, &r->n_devices));
    tt_status status = tt__str_check(&r->path);
    if (status == TT_OK)
        status = enter(&r->base, 0);
    if (status == TT_OK)
        status = tt__recording_open_t4(&r->recording, tt__str_text(&r->path), foreign);
    if (status != TT_OK) {
        close_replay(&r->base);
        return status;
    }
    *out = &r->base;
    return TT_OK;
}

/* ---- Files of other tuners -------------------------------------------------------------------- */

tt__gpu tt__typical_gpu(void) {
    return (tt__gpu){.name = "a typical GPU",
                     .cc = 90,
                     .sm_count = 132,
                     .max_threads_per_block = 1024,
                     .shared_per_block = 227 << 10,
                     .memory_bytes = INT64_C(80) << 30,
                     .l2_bytes = INT64_C(50) << 20};
}

/* A configuration that failed may violate constraints. */
static tt_status fits(const tt__foreign *f, char config[TT__CONFIG_MAX], bool ran) {
    size_t choice[TT__PARAMS_MAX];
    tt__candidate c;
    TT_TRY(tt__config_parse(choice, f->space, config));
    tt__config_format(config, f->space, choice);
    tt_status status = ran ? tt__space_resolve(&c, f->space, &f->gpu, &f->problem, config) : TT_OK;
    return status == TT_E_UNSUPPORTED
               ? tt__fail_prefix(TT_E_INVALID, "its result is correct, but it is no configuration here")
               : status;
}

tt__foreign tt__foreign_of(const tt__template *t, const tt__problem *p, const tt__gpu *gpu) {
    return (tt__foreign){.gpu = *gpu, .problem = *p, .kernel = t->kernel, .fits = fits, .space = t};
}
