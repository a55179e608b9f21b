/* A session of searches and elections on a backend that makes its times up. */
#include "search_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "tuner/finals/winner.h"
#include "tuner/measure/noise.h"

const char numbers[] = "kernel numbers\nop transpose\nparam A 0 1 2 3 4 5 6 7 8 9\nparam B 0 1\nblock 32\n"
                       "grid rows\nargs dst, src\ndefault A=0 B=0\n";
const char letters[] =
    "kernel letters\nop transpose\nparam C 0 1 2 3 4 5 6 7 8 9\nparam STREAM 0 1\nblock 32\n"
    "grid rows\nargs dst, src\ndefault C=5 STREAM=1\n";
static const char words[] = "kernel words\nop transpose\nparam D 0 1 2 3 4 5 6 7 8 9\nparam E 0 1\nblock 32\n"
                            "grid rows\nargs dst, src\ndefault D=0 E=0\n";
enum { US = 10, SLOW_US = 20, LUCKY_US = 1, SAMPLES_MISSING = 2 };

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    fake *f = (fake *)b;
    (void)t;
    f->n_trials = 0;
    if (f->n_opened < OPENED_MAX)
        f->opened[f->n_opened] = *p;
    return ++f->n_opened == f->cannot_open ? tt__fail(TT_E_NO_MEMORY, "it does not fit") : TT_OK;
}

/* Expected configurations are not in flight yet, and there are no more of them than are left to try. */
static void check_soon(fake *f) {
    const tt__expected_list *soon = &f->expected->soon;
    for (size_t i = 0; i < soon->n; i++)
        for (size_t k = 0; k < f->n_submitted; k++)
            assert_false(
                soon->items[i].t == f->submitted[k]->t &&
                memcmp(soon->items[i].choice, f->submitted[k]->choice, sizeof soon->items[i].choice) == 0);
    if (f->wanted)
        assert_in_range(soon->n, 0, f->wanted - f->kept - f->n_submitted);
    f->most_soon = soon->n > f->most_soon ? soon->n : f->most_soon;
}

static tt_status prepare(tt__backend *b) {
    ((fake *)b)->n_prepared++;
    return TT_OK;
}

static size_t room(const tt__backend *b) {
    const fake *f = (const fake *)b;
    return (f->room ? f->room : SPACE_OF_BOTH) - f->n_waiting;
}

static size_t compilers(const tt__backend *b) {
    return ((const fake *)b)->n_compilers;
}

static tt_status submit(tt__backend *b, size_t id, const tt__configuration *c, double cutoff_us) {
    fake *f = (fake *)b;
    if (f->n_submitted < SPACE_OF_BOTH)
        f->submitted[f->n_submitted++] = c;
    f->cutoff_us = cutoff_us;
    f->waiting_for[f->n_waiting] = c;
    f->waiting[f->n_waiting++] = id;
    f->most_waiting = f->n_waiting > f->most_waiting ? f->n_waiting : f->most_waiting;
    return TT_OK;
}

static void fill(tt__trial *trial, int n_samples, double us) {
    *trial = (tt__trial){.time_us = us, .n_samples = n_samples};
    for (int i = 0; i < n_samples; i++)
        trial->samples_us[i] = (float)us;
}

static void fill_noisy(fake *f, tt__trial *trial, const tt__configuration *c, double factor) {
    int a, b;
    assert_int_equal(sscanf(c->config, "A=%d B=%d", &a, &b), 2);
    *trial = (tt__trial){.n_samples = f->n_samples};
    for (int i = 0; i < trial->n_samples; i++)
        trial->samples_us[i] =
            (float)(factor * f->true_us[2 * a + b] * (0.98 + 0.04 * tt__random_unit(&f->dice)));
    trial->time_us = tt__median(trial->samples_us, (size_t)trial->n_samples);
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    fake *f = (fake *)b;
    check_soon(f);
    *id = TT__NO_TRIAL;
    if (f->n_waiting == 0 && f->n_asked > 0)
        return TT_OK;
    *id = f->waiting[0];
    fill(trial, f->n_samples, f->slow_default && *id == 0 ? SLOW_US : f->alike ? f->us : f->us + (double)*id);
    if (f->true_us)
        fill_noisy(f, trial, f->waiting_for[0], *id == 0 ? 1.1 : 1);
    if (*id < f->n_unrecorded)
        *trial = (tt__trial){.status = TT__TRIAL_SKIPPED};
    if (f->fast_at && *id == f->fast_at)
        fill(trial, f->n_samples, LUCKY_US);
    if (f->lucky_at && *id == f->lucky_at && f->n_lucky++ == 0)
        fill(trial, f->n_samples, LUCKY_US);
    if (f->n_trials++ == 0 && f->late_us > 0)
        fill(trial, f->n_samples, trial->time_us + f->late_us);
    if (f->wrong)
        *trial = (tt__trial){.status = TT__TRIAL_WRONG_RESULT};
    memmove(f->waiting, f->waiting + 1, --f->n_waiting * sizeof *f->waiting);
    memmove(f->waiting_for, f->waiting_for + 1, f->n_waiting * sizeof *f->waiting_for);
    return TT_OK;
}

static void final_trial(fake *f, const tt__configuration *c, size_t i, tt__trial *trial) {
    if (f->n_stages == f->lost_at || !f->finals_known) {
        *trial = (tt__trial){.status = TT__TRIAL_SKIPPED};
        return;
    }
    if (f->n_stages == 1 && i < f->n_wrong) {
        *trial = (tt__trial){.status = TT__TRIAL_WRONG_RESULT};
        tt__format(trial->reason, sizeof trial->reason, "entrant %zu is wrong", i);
        return;
    }
    if (c == f->earlier) {
        fill(trial, f->n_samples - SAMPLES_MISSING, LUCKY_US);
        return;
    }
    if (f->true_us) {
        fill_noisy(f, trial, c, 1);
        return;
    }
    bool slow = f->slow_default && strcmp(c->config, c->t->default_config) == 0;
    fill(trial, f->n_samples, slow ? SLOW_US : US + f->step_us * (double)i);
    for (int k = 0; k < f->n_ticks; k++)
        trial->samples_us[k] += c == f->fastest ? -f->tick_us : f->tick_us;
}

static tt_status finals_ask(tt__backend *b, const tt__configuration *const *c, size_t n, tt__rounds rounds,
                            double lap_us, double train_s) {
    fake *f = (fake *)b;
    if (train_s > 0) { /* nothing is counted */
        memset(f->asked, 0, sizeof f->asked);
        f->n_energies += f->n_asked = n;
        return TT_OK;
    }
    assert_true(rounds.least >= 1 && rounds.most >= rounds.least && rounds.most <= TT__FINAL_ROUNDS_MAX);
    assert_true(n >= 1 && n <= TT__FINALISTS_MAX && rounds.loads >= 1 && rounds.loads <= rounds.least);
    assert_true(f->n_stages < STAGES_MAX);
    f->n_in[f->n_stages] = n;
    f->rounds[f->n_stages] = rounds;
    f->lap_us[f->n_stages] = lap_us;
    if (++f->n_stages == f->fails_at)
        return tt__fail(f->fails_with, "this stage fails");
    if (!f->fastest)
        f->fastest = c[n > 5 ? 5 : 0];
    for (size_t i = 0; i < n; i++)
        final_trial(f, c[i], i, &f->asked[i]);
    f->n_asked = n;
    return TT_OK;
}

static tt_status finals_take(tt__backend *b, bool *done, tt__trial *trials) {
    fake *f = (fake *)b;
    *done = f->n_asked > 0;
    memcpy(trials, f->asked, f->n_asked * sizeof *trials);
    f->n_asked = 0;
    return TT_OK;
}

static void await_until(tt__backend *b, double end_s) {
    ((fake *)b)->end_s = end_s;
}

static tt_status wait_in_time(tt__backend *b, size_t *id, tt__trial *trial) {
    fake *f = (fake *)b;
    const bool late = f->n_waits >= f->in_time;
    if (f->n_waits == 0)
        usleep((useconds_t)(f->first_late_s * 1e6));
    f->awaited_s[f->n_waits++] = f->end_s;
    while (late && tt__now_s() < f->end_s)
        usleep(1000);
    TT_TRY(wait(b, id, trial));
    if (late)
        *trial = (tt__trial){.status = TT__TRIAL_SKIPPED};
    return TT_OK;
}

static const tt__backend_ops ops = {.problem = problem,
                                    .prepare = prepare,
                                    .room = room,
                                    .compilers = compilers,
                                    .submit = submit,
                                    .wait = wait,
                                    .finals_ask = finals_ask,
                                    .finals_take = finals_take};

static void remember(void *user, const char *line) {
    bench *b = user;
    tt__copy(b->message, sizeof b->message, line);
}

void bench_begin_run(bench *b, const char *source) {
    assert_ok(tt__store_run_begin(b->s.store, b->s.gpu_id, &b->s.env, source, &b->s.run_id));
}

void bench_open(bench *b, bool both) {
    memset(b, 0, sizeof *b);
    field_open(&b->f, numbers, both ? letters : NULL);
    assert_int_equal(b->f.space.n, both ? SPACE_OF_BOTH : SPACE);
    b->expected = (tt__expected){.gpu = &b->s.gpu};
    b->backend = (fake){.base = {&ops},
                        .expected = &b->expected,
                        .n_samples = 7,
                        .us = US,
                        .finals_known = true,
                        .step_us = 1,
                        .fails_with = TT_E_CUDA};
    b->set = (tt__template_set){both ? 2 : 1, b->f.t};
    b->opts = (tt_tune_opts)TT_INIT(tt_tune_opts);
    b->opts.on_message = remember;
    b->opts.user = b;
    b->call = (tt__tune_call){.n = 1, .problems = &b->f.problem, .templates = &b->set};
    b->s = (tt__session){.templates = &b->set,
                         .call = &b->call,
                         .backend = &b->backend.base,
                         .expected = &b->expected,
                         .opts = &b->opts,
                         .gpu = field_gpu,
                         .env = {"580.1", "13.0", TT__METHOD},
                         .n_kinds = 1,
                         .n_problems = 1,
                         .end_s = INFINITY};
    assert_ok(tt__store_open(&b->s.store, ":memory:", TT__STORE_READ_WRITE));
    assert_ok(tt__store_gpu(b->s.store, &b->s.gpu, &b->s.gpu_id));
    bench_begin_run(b, "measured");
}

void bench_open_awaiting(bench *b, size_t in_time) {
    static const tt__backend_ops awaiting = {.problem = problem,
                                             .prepare = prepare,
                                             .room = room,
                                             .await_until = await_until,
                                             .submit = submit,
                                             .wait = wait_in_time};
    bench_open(b, false);
    b->backend.base.ops = &awaiting;
    b->backend.in_time = in_time;
    b->backend.end_s = INFINITY;
}

void bench_add_words(bench *b) {
    b->f.t[2] = field_template(words);
    b->set.n = 3;
}

void bench_close(bench *b) {
    tt__expected_close(&b->expected);
    tt__winners_free(&b->s.elsewhere);
    tt__store_close(&b->s.store);
    field_close(&b->f);
}

void bench_search(bench *b, const tt__limits *limits, tt__search *out) {
    if (b->opts.force) /* this run's trials would be taken over */
        bench_begin_run(b, "measured");
    assert_ok(tt__search_open(&b->s, &b->f.problem, limits, out));
    assert_ok(tt__with_copy_expect(&b->s, out));
    assert_ok(tt__search_run(&b->s, out, "search"));
}

tt_status bench_elect(tt__session *s, tt__search *search, const tt__search *copy, tt_result *result) {
    tt__finals *f = calloc(1, sizeof *f);
    tt__heat heat;
    size_t n_before = 0;
    int64_t at;
    tt_status status;
    assert_non_null(f);
    do {
        TT_GOTO(tt__finals_wants(s, search, &n_before, &at));
        if (at != TT__NOBODY)
            TT_GOTO(tt__search_try(s, search, (size_t)at));
    } while (at != TT__NOBODY);
    TT_GOTO(tt__finals_nominate(s, search, copy, f));
    while (tt__finals_next(s, search, f, &heat)) {
        status = tt__backend_finals(s->backend, heat.c, heat.n, heat.rounds, heat.lap_us, 0, heat.trials);
        if (status == TT_E_INTERRUPTED)
            goto out;
        tt__finals_ended(search, f, status);
    }
    TT_GOTO(tt__elect(s, search, copy, f, result));
out:
    free(f);
    return status;
}

enum { CHECKS = 3 }; /* two parts of the verifier's kernels, and the reference, come first */

size_t bench_expected(const bench *b) {
    return b->expected.later.n ? b->expected.later.n - CHECKS : 0;
}

const char *bench_expected_config(const bench *b, size_t i) {
    static tt__candidate c; /* until the next call */
    const tt__expected_item *item = &b->expected.later.items[CHECKS + i];
    assert_ok(tt__space_at(&c, item->t, &b->s.gpu, &b->expected.problems[item->problem], item->choice));
    return c.configuration.config;
}
