/* The ladder on a device: every rung is verified on shapes with edges, for every element size and alignment;
 * a study has all rungs, and so has the recording of one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "db/exchange/export.h"
#include "db/exchange/recording.h"
#include "device.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/cli/commands/study.h"
#include "tuner/run/tune.h"
#include "tuner/search/search_loop.h"

enum { OWN_RUNGS = 8 }; /* templates of the ladder */

static char folder[] = "/tmp/tiletune-test-XXXXXX";

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* ---- Every rung is correct ----------------------------------------------------------------------------- */

static const struct {
    int64_t rows, cols, lds, ldd;
} shapes[] = {{1, 1, 0, 0},       {256, 256, 0, 0}, {1, 300, 0, 0},     {300, 1, 0, 0},
              {3, 5, 0, 0},       {127, 131, 0, 0}, {1031, 67, 0, 0},   {64, 1040, 0, 0},
              {250, 260, 272, 0}, {33, 47, 50, 41}, {100, 60, 128, 104}};
static const int elem_sizes[] = {1, 2, 4, 8, 16};

/* A session that nothing but the ladder goes through. */
static void open_session(tt__session *s, tt__template_set *templates, const tt_tune_opts *opts) {
    static const tt__tune_call call;
    *s = (tt__session){.templates = templates,
                       .strategy = &tt__strategy_exhaustive,
                       .opts = opts,
                       .call = &call,
                       .n_problems = 1};
    OK(tt__template_set_open(templates, NULL, 0));
    OK(tt__store_open(&s->store, ":memory:", TT__STORE_READ_WRITE));
    OK(tt__backend_gpu(&s->backend, &(tt__backend_gpu_opts){
                                        .trial_timeout_s = 30, .compile_timeout_s = 60, .store = s->store}));
    OK(s->backend->ops->hello(s->backend, &s->gpu, &s->env));
    OK(tt__store_gpu(s->store, &s->gpu, &s->gpu_id));
    OK(tt__store_run_begin(s->store, s->gpu_id, &s->env, "measured", &s->run_id));
}

static void check_rungs(tt__session *s, const tt__problem *p) {
    tt__search search;
    char text[TT__PROBLEM_TEXT_MAX];
    OK(tt__search_open(s, p, &tt__no_limits, &search));
    OK(tt__search_run(s, &search, "ladder"));
    assert_int_equal(search.space.n, OWN_RUNGS);
    for (size_t i = 0; i < search.space.n; i++) {
        const tt__screened *t = &search.trials[i];
        if (t->status != TT__TRIAL_OK)
            print_error("%s %s, %s: %s: %s\n", search.space.items[i].t->kernel, search.space.items[i].config,
                        tt__problem_text(text, p), tt__trial_status_name(t->status),
                        t->reason ? t->reason : "");
        assert_int_equal(t->status, TT__TRIAL_OK);
        assert_true(t->time_us > 0);
    }
    tt__search_close(&search);
}

/* A short run takes every other element size of each shape, in turn. */
static void test_every_rung_is_right(void **state) {
    (void)state;
    const tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt__template_set templates;
    tt__session s;
    open_session(&s, &templates, &opts);
    for (size_t e = 0; e < sizeof elem_sizes / sizeof *elem_sizes; e++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            if ((e + i) % 2 && !device_may_take_long())
                continue;
            tt__problem p = matrix_for(TT__LADDER_OP, (tt_problem){.rows = shapes[i].rows,
                                                                   .cols = shapes[i].cols,
                                                                   .lds = shapes[i].lds,
                                                                   .ldd = shapes[i].ldd,
                                                                   .elem_size = elem_sizes[e]});
            check_rungs(&s, &p);
            if (tt__problem_align(&p) >
                elem_sizes[e]) { /* bases that are aligned to an element and no more */
                tt__problem_set(&p, "align", elem_sizes[e]);
                check_rungs(&s, &p);
            }
        }
    s.backend->ops->close(s.backend);
    tt__store_close(&s.store);
    tt__template_set_close(&templates);
}

/* ---- A study ------------------------------------------------------------------------------------------- */

static tt_ctx *open_context(const char *path) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    OK(tt_open(&ctx, &opts));
    return ctx;
}

static const tt_problem *problem(void) {
    static tt_problem p = TT_INIT(tt_problem);
    p.rows = 96;
    p.cols = 80;
    return &p;
}

static void check_ladder(const tt__ladder *ladder, const tt_result *winner) {
    assert_int_equal(tt__problem_number(&ladder->problem, "rows", 0), winner->rows);
    assert_int_equal(tt__problem_number(&ladder->problem, "cols", 0), winner->cols);
    for (tt__rung_id id = 0; id < TT__RUNGS; id++) {
        const tt__rung *rung = &ladder->rungs[id];
        assert_int_equal(rung->trial.status, TT__TRIAL_OK);
        assert_int_equal(rung->trial.n_samples, TT__FINAL_ROUNDS);
        assert_true(rung->kernel[0] && rung->threads > 0 && rung->trial.regs > 0);
        assert_true(rung->gbps > 0 && rung->speedup > 0 && rung->copy_fraction > 0 && rung->occupancy > 0);
    }
    assert_true(ladder->rungs[TT__RUNG_NAIVE_READ].speedup == 1);
    assert_true(ladder->rungs[TT__RUNG_TUNED_COPY].copy_fraction == 1);
    assert_int_equal(ladder->rungs[TT__RUNG_NAIVE_READ].shared_bytes, 0);
    assert_int_equal(ladder->rungs[TT__RUNG_PADDED].shared_bytes, 32 * 33 * 4);
    assert_string_equal(ladder->rungs[TT__RUNG_WINNER].kernel, winner->kernel);
    assert_string_equal(ladder->rungs[TT__RUNG_WINNER].config, winner->config);
}

static void export_to(const char *db, const char *path) {
    tt__store *store;
    tt__gpu gpu;
    int64_t gpu_id;
    tt__str text = {0};
    OK(tt__store_open(&store, db, TT__STORE_READ_ONLY));
    OK(tt__device_current(&gpu));
    OK(tt__store_known_gpu(store, &gpu, &gpu_id));
    OK(tt__recording_export(store, gpu_id, NULL, "", &text));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.text, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
    tt__str_free(&text);
    tt__store_close(&store);
}

/* A study is repeated from its recording. A recording of a run that only tuned has no ladder, and says so. */
static void test_study_and_replay(void **state) {
    (void)state;
    char db[128], path[128];
    tt_report *report;
    static tt__ladder ladder, again; /* too large for some stacks */
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    snprintf(db, sizeof db, "%s/study.db", folder);
    snprintf(path, sizeof path, "%s/recording.json", folder);
    tt_ctx *ctx = open_context(db), *empty = open_context(":memory:");

    OK(tt_tune(&report, ctx, problem(), 1, NULL));
    tt_report_free(&report);
    export_to(db, path);
    opts.replay = path;
    assert_int_equal(tt__study_run(&report, &ladder, empty, problem(), 1, &opts), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "no ladder for 96x80"));
    assert_null(report);
    assert_string_equal(ladder.problem.op, "");
    tt_close(&empty);

    OK(tt__study_run(&report, &ladder, ctx, problem(), 1, NULL));
    assert_int_equal(tt_report_result(report, 0)->source, TT_SOURCE_STORED);
    check_ladder(&ladder, tt_report_result(report, 0));
    tt_report_free(&report);
    export_to(db, path);
    empty = open_context(":memory:");
    OK(tt__study_run(&report, &again, empty, problem(), 1, &opts));
    assert_int_equal(tt_report_result(report, 0)->source, TT_SOURCE_REPLAYED);
    check_ladder(&again, tt_report_result(report, 0));
    for (tt__rung_id id = 0; id < TT__RUNGS; id++) {
        assert_string_equal(again.rungs[id].config, ladder.rungs[id].config);
        assert_int_equal(lround(again.rungs[id].trial.time_us * 1e3),
                         lround(ladder.rungs[id].trial.time_us * 1e3));
        assert_true(again.rungs[id].occupancy == ladder.rungs[id].occupancy);
    }
    tt_report_free(&report);
    tt_close(&empty);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rung_is_right),
        cmocka_unit_test(test_study_and_replay),
    };
    /* On the stand-in, most of the tuning that comes before the study is cut short. */
    setenv("HOSTCUDA_FAULTS", "kernel=transpose_vector:compile_error;kernel=transpose_direct:compile_error",
           0);
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
