/* Peaks, operations and energies in the store, and problems without a winner. */
#include "store_fixture.h"

#include "db/conn.h"
#include "db/exchange/merge.h"
#include "db/store.h"
#include "db/upkeep.h"

static const tt__peaks peaks = {.copy_gbps = 4000, .l2_gbps = 9000, .fp32_gflops = 6e4, .fp64_gflops = 3e4};

static void keeps_known_peaks(void **state) {
    (void)state;
    tt__store *s = must_open(in_dir("peaks.db"));
    ids id = some_ids(s);
    tt__peaks p;
    assert_ok(tt__store_peaks_get(s, id.gpu, &p));
    assert_true(p.copy_gbps == 0 && p.fp32_gflops == 0);
    assert_ok(tt__store_peaks_put(s, id.gpu, &peaks));
    assert_ok(tt__store_peaks_put(s, id.gpu, &(tt__peaks){.copy_gbps = 4100, .tensor_gflops = 6e5}));
    assert_ok(tt__store_peaks_get(s, id.gpu, &p));
    assert_true(p.copy_gbps == 4100 && p.l2_gbps == 9000 && p.fp64_gflops == 3e4 && p.tensor_gflops == 6e5);
    tt__store_close(&s);
}

typedef struct found {
    int n;
    tt__energy first;
    char config[TT__CONFIG_MAX];
} found;

static tt_status note(void *user, const char *kernel, const char *config, const tt__energy *energy) {
    found *f = user;
    assert_true(*kernel != 0);
    if (f->n++ == 0) {
        f->first = *energy;
        strcpy(f->config, config);
    }
    return TT_OK;
}

static found energies(tt__store *s, ids id) {
    found f = {0};
    assert_ok(tt__store_energies(s, id.gpu, id.problem, note, &f));
    return f;
}

static const tt__energy energy = {
    .joules = 0.01, .noise = 1e-4, .time_us = 50, .idle_watts = 70, .celsius = 40};

static bool any(void *user, const tt__gpu *gpu) {
    (void)user;
    return gpu->cc > 0;
}

/* Energies go with their trials, and peaks with their GPU. */
static void energies_go_with_trials(void **state) {
    (void)state;
    tt__store *s = must_open(in_dir("energy.db"));
    ids id = fill_store(s, 3, 50, 3);
    double flop;
    tt__pruned pruned;
    assert_ok(tt__store_energy_put(s, id.gpu, id.problem, id.config, &energy));
    assert_ok(tt__store_energy_put(s, id.gpu, id.problem, id.config, &energy)); /* replaces it */
    assert_ok(tt__store_flop_put(s, id.problem, 1e9));
    assert_ok(tt__store_peaks_put(s, id.gpu, &peaks));
    found f = energies(s, id);
    assert_int_equal(f.n, 1);
    assert_true(f.first.joules == 0.01 && f.first.celsius == 40 && f.first.noise == 1e-4);
    assert_ok(tt__store_flop_get(s, id.problem, &flop));
    assert_true(flop == 1e9);
    assert_ok(tt__store_run_end(s, id.run));
    assert_ok(tt__store_prune(s, &(tt__prune_opts){.gpu = any}, &pruned));
    assert_int_equal(energies(s, id).n, 0);
    tt__store_close(&s);
    assert_intact(in_dir("energy.db"));
    assert_int_equal(raw_sql(in_dir("energy.db"), "SELECT count(*) FROM energy"), 0);
    assert_int_equal(raw_sql(in_dir("energy.db"), "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* They are copied to where none are. */
static void merges(void **state) {
    (void)state;
    tt__store *from = must_open(in_dir("from.db")), *to = must_open(in_dir("to.db"));
    ids id = fill_store(from, 3, 50, 3);
    tt__peaks p;
    double flop;
    assert_ok(tt__store_energy_put(from, id.gpu, id.problem, id.config, &energy));
    assert_ok(tt__store_flop_put(from, id.problem, 1e9));
    assert_ok(tt__store_peaks_put(from, id.gpu, &peaks));
    for (int i = 0; i < 2; i++) { /* twice changes nothing */
        tt__merged merged = {0};
        assert_ok(tt__store_begin(to));
        assert_ok(tt__store_merge(to, from, &(tt__merge_opts){0}, &merged));
        assert_ok(tt__store_commit(to));
    }
    tt__problem same = square(4096);
    assert_ok(tt__store_known_gpu(to, &h100, &id.gpu));
    assert_ok(tt__store_known_problem(to, &same, &id.problem));
    assert_int_equal(energies(to, id).n, 1);
    assert_ok(tt__store_flop_get(to, id.problem, &flop));
    assert_ok(tt__store_peaks_get(to, id.gpu, &p));
    assert_true(flop == 1e9 && p.l2_gbps == 9000);
    tt__store_close(&from);
    tt__store_close(&to);
}

/* A merge of one GPU leaves the others alone, also those that both stores know. */
static void merges_of_one_gpu(void **state) {
    (void)state;
    tt__store *from = must_open(in_dir("from.db")), *to = must_open(in_dir("to.db"));
    ids id = fill_store(from, 3, 50, 3), other = id, there;
    tt__gpu small = h100;
    tt__merged merged = {0};
    tt__peaks p;
    strcpy(small.name, "A small GPU");
    assert_ok(tt__store_gpu(from, &small, &other.gpu));
    assert_ok(tt__store_energy_put(from, id.gpu, id.problem, id.config, &energy));
    assert_ok(tt__store_energy_put(from, other.gpu, id.problem, id.config, &energy));
    assert_ok(tt__store_peaks_put(from, id.gpu, &peaks));
    assert_ok(tt__store_peaks_put(from, other.gpu, &peaks));
    there = some_ids(to);
    assert_ok(tt__store_gpu(to, &small, &other.gpu));
    assert_ok(tt__store_begin(to));
    assert_ok(tt__store_merge(to, from, &(tt__merge_opts){.gpu_id = id.gpu}, &merged));
    assert_ok(tt__store_commit(to));
    assert_ok(tt__store_peaks_get(to, there.gpu, &p));
    assert_true(p.l2_gbps == 9000);
    assert_int_equal(energies(to, there).n, 1);
    there.gpu = other.gpu;
    assert_ok(tt__store_peaks_get(to, there.gpu, &p));
    assert_true(p.copy_gbps == 0 && p.l2_gbps == 0);
    assert_int_equal(energies(to, there).n, 0);
    tt__store_close(&from);
    tt__store_close(&to);
}

/* Each peak that is known stays, and each that is not comes. */
static void merges_each_peak(void **state) {
    (void)state;
    tt__store *from = must_open(in_dir("from.db")), *to = must_open(in_dir("to.db"));
    ids id = fill_store(from, 3, 50, 3), there = some_ids(to);
    tt__merged merged = {0};
    tt__peaks p;
    assert_ok(tt__store_peaks_put(from, id.gpu, &peaks));
    assert_ok(tt__store_peaks_put(to, there.gpu, &(tt__peaks){.copy_gbps = 3900, .tensor_gflops = 6e5}));
    assert_ok(tt__store_begin(to));
    assert_ok(tt__store_merge(to, from, &(tt__merge_opts){0}, &merged));
    assert_ok(tt__store_commit(to));
    assert_ok(tt__store_peaks_get(to, there.gpu, &p));
    assert_true(p.copy_gbps == 3900 && p.tensor_gflops == 6e5);
    assert_true(p.l2_gbps == 9000 && p.fp32_gflops == 6e4 && p.fp64_gflops == 3e4);
    tt__store_close(&from);
    tt__store_close(&to);
}

static tt_status count(void *user, const tt__unsolved *u) {
    found *f = user;
    f->n++;
    strcpy(f->config, u->reason);
    assert_int_equal(u->tried, 1);
    assert_int_equal(u->passed, 0);
    assert_int_equal(u->status, TT__TRIAL_CRASHED);
    return TT_OK;
}

static void lists_the_unsolved(void **state) {
    (void)state;
    tt__store *s = must_open(in_dir("unsolved.db"));
    ids id = some_ids(s);
    found f = {0};
    tt__trial t = {.status = TT__TRIAL_CRASHED, .reason = "signal 11"};
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 0);
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 1);
    assert_string_equal(f.config, "signal 11");
    assert_ok(tt__store_unsolved(s, id.gpu, "axpby", count, &f));
    assert_int_equal(f.n, 1);
    tt__winner w = a_winner(50);
    assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 1);

    int64_t before, again, upgraded, other; /* only what came after the winner, and not under its driver */
    assert_ok(tt__run_add(s, id.gpu, &env2, "measured", 1, &(tt__origin){.who = ""}, &before));
    assert_ok(tt__store_run_begin(s, id.gpu, &env1, "measured", &again));
    assert_ok(tt__store_trial_put(s, before, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_ok(tt__store_trial_put(s, again, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 1);
    assert_ok(tt__store_run_begin(s, id.gpu, &env2, "measured", &upgraded));
    assert_ok(tt__store_trial_put(s, upgraded, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 2);
    assert_ok(tt__store_run_begin(s, id.gpu, &env1, "measured", &again)); /* its driver is back */
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 2);
    assert_ok(
        tt__store_run_begin(s, id.gpu, &env2, "measured", &upgraded)); /* and gone, without a new trial */
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 3);
    assert_ok(tt__store_run_begin(s, id.gpu, &env1, "replayed", &again)); /* of another machine */
    assert_ok(tt__store_run_begin(s, id.gpu, &env1, "imported", &again)); /* the same */
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f));
    assert_int_equal(f.n, 4);
    assert_ok(tt__store_config(s, "other", "transpose", "abcd", "A=1", &other));
    assert_ok(
        tt__store_trial_put(s, upgraded, id.problem, other, TT__STAGE_SCREEN, &(tt__trial){.time_us = 50}));
    assert_ok(tt__store_unsolved(s, 0, NULL, count, &f)); /* one passes: its finals may be to come */
    assert_int_equal(f.n, 4);
    tt__store_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(keeps_known_peaks), TEST(energies_go_with_trials), TEST(merges),
        TEST(merges_of_one_gpu), TEST(merges_each_peak),        TEST(lists_the_unsolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
