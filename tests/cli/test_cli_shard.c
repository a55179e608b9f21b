/* `tune --shard`: the shards of a replay, merged, are the whole run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"
#include "unit/store_fixture.h"

enum { SHARDS = 4 };

static const char sizes[] = "1024,2048,4096,8192,16384";
static const char *folder;

static int enter(void **state) {
    (void)state;
    static const char *const of_schedulers[] = {"SLURM_ARRAY_TASK_ID",  "SLURM_ARRAY_TASK_COUNT",
                                                "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP",
                                                "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS",
                                                "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof of_schedulers / sizeof *of_schedulers; i++)
        unsetenv(of_schedulers[i]);
    folder = run_enter_without_gpu();
    return 0;
}

static void replay_into(run_result *r, const char *store, const char *options, const char *const *env) {
    char line[512];
    snprintf(line, sizeof line,
             "--device replay:" TT_SOURCE_DIR "/tests/data/small.json --sizes %s --effort quick --max-trials 20 --quiet --db "
             "%s/%s.db %s",
             sizes, folder, store, options);
    run_tune(r, &(run_spec){.env = env}, line);
}

/* Merges the shards, first to last or in reverse. */
static void merge(run_result *r, const char *into, bool reverse) {
    char line[1024];
    int n = snprintf(line, sizeof line, "merge %s/%s.db", folder, into);
    for (int k = 1; k <= SHARDS; k++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %s/%d.db", folder, reverse ? SHARDS + 1 - k : k);
    run_tune(r, NULL, line);
    assert_code(r, 0);
}

/* The winner of each problem, in a line each. */
static void winners(char *out, size_t size, const char *store) {
    char list[sizeof sizes], *save = NULL;
    snprintf(list, sizeof list, "%s", sizes);
    *out = '\0';
    for (char *n = strtok_r(list, ",", &save); n; n = strtok_r(NULL, ",", &save)) {
        char line[256], config[256], time[32];
        run_result r;
        snprintf(line, sizeof line, "best --gpu H200 --size %s --json --db %s/%s.db", n, folder, store);
        run_tune(&r, NULL, line);
        assert_code(&r, 0);
        assert_has(&r, r.out, "\"match\":\"exact\"");
        run_json(config, sizeof config, r.out, "config");
        run_json(time, sizeof time, r.out, "time_us");
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s %s %s\n", n, time, config);
        run_free(&r);
    }
}

static void test_shards_are_the_whole(void **state) {
    (void)state;
    char whole[4096], merged[4096], option[32];
    run_result r;
    replay_into(&r, "whole", "", NULL);
    assert_code(&r, 0);
    run_free(&r);
    for (int k = 1; k <= SHARDS; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        snprintf(option, sizeof option, "--shard %d/%d", k, SHARDS);
        replay_into(&r, name, option, NULL);
        assert_code(&r, 0);
        run_free(&r);
    }
    winners(whole, sizeof whole, "whole");
    for (int reverse = 0; reverse < 2; reverse++) {
        const char *into = reverse ? "backwards" : "forwards";
        merge(&r, into, reverse);
        assert_has(&r, r.out, ": 5 winners, ");
        run_free(&r);
        winners(merged, sizeof merged, into);
        assert_string_equal(merged, whole);
        merge(&r, into, !reverse); /* again: nothing */
        assert_has(&r, r.out, ": 0 winners (5 more are as good here already), 0 trials, 0 cubins new");
        run_free(&r);
        winners(merged, sizeof merged, into);
        assert_string_equal(merged, whole);
    }
}

static int64_t trials_of(const char *store) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s.db", folder, store);
    return raw_sql(path, "SELECT count(*) FROM trial WHERE stage = 0");
}

/* Merging keeps who found a winner. */
static void test_origin(void **state) {
    (void)state;
    static const char *const names[] = {"ann@one", "bob@two"};
    char line[512], option[32];
    run_result r;
    for (size_t i = 0; i < 2; i++) {
        char who[64], name[16];
        snprintf(who, sizeof who, "TILETUNE_WHO=%s", names[i]);
        snprintf(name, sizeof name, "of%zu", i);
        snprintf(option, sizeof option, "--shard %zu/2", i + 1);
        replay_into(&r, name, option, (const char *[]){who, NULL});
        assert_code(&r, 0);
        run_free(&r);
    }
    snprintf(line, sizeof line, "merge %s/pool.db %s/of0.db %s/of1.db", folder, folder, folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    run_free(&r);
    for (size_t i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "show --gpu H200 --size %d --db %s/pool.db", i ? 2048 : 1024, folder);
        run_tune(&r, NULL, line);
        assert_code(&r, 0);
        assert_has(&r, r.out, names[i]);
        assert_has(&r, r.out, "program");
        assert_null(strstr(r.out, names[1 - i]));
        run_free(&r);
    }
    snprintf(line, sizeof line, "show --gpu H200 --size 2048 --json --db %s/pool.db", folder);
    run_tune(&r, NULL, line);
    assert_has(&r, r.out, "\"by\":\"bob@two\",\"program\":\"0.");
    run_free(&r);
}

/* Each configuration is in one shard. Finals of what is merged find the winner of the whole. */
static void test_by_configuration(void **state) {
    (void)state;
    char line[512];
    run_result r;
    int64_t parts = 0;
    for (int k = 0; k <= SHARDS; k++) {
        char name[16], option[64];
        snprintf(name, sizeof name, "%s%d", k ? "part" : "all", k);
        snprintf(option, sizeof option, "--shard-by configuration --shard %d/%d", k, SHARDS);
        snprintf(line, sizeof line,
                 "--device replay:" TT_SOURCE_DIR
                 "/tests/data/small.json --sizes 4096 --effort exhaustive --quiet "
                 "--db %s/%s.db %s",
                 folder, name, k ? option : "");
        run_tune(&r, NULL, line);
        assert_code(&r, 0);
        run_free(&r);
        parts += k ? trials_of(name) : 0;
        if (k)
            assert_true(trials_of(name) > 0);
    }
    assert_int_equal(parts, trials_of("all0"));
    snprintf(line, sizeof line, "merge %s/parts.db %s/part1.db %s/part2.db %s/part3.db %s/part4.db", folder,
             folder, folder, folder, folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    run_free(&r);
    assert_int_equal(trials_of("parts"), parts);
    snprintf(line, sizeof line,
             "finals --device replay:" TT_SOURCE_DIR
             "/tests/data/small.json --sizes 4096 --quiet --json --db %s/parts.db",
             folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"time_us\":36.7");
    run_free(&r);
}

/* Tasks may be counted from any number. The second of four has 2048 alone. */
static void test_auto(void **state) {
    (void)state;
    const char *slurm[] = {"SLURM_ARRAY_TASK_ID=12", "SLURM_ARRAY_TASK_COUNT=4", "SLURM_ARRAY_TASK_MIN=10",
                           "SLURM_ARRAY_TASK_STEP=2", NULL},
               *kubernetes[] = {"JOB_COMPLETION_INDEX=1", "JOB_COMPLETIONS=4", NULL},
               *srun[] = {"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4", NULL},
               *const *const all[] = {slurm, kubernetes, srun};
    for (size_t i = 0; i < 3; i++) {
        run_result r;
        replay_into(&r, "auto", "--shard auto --json", all[i]);
        assert_code(&r, 0);
        assert_has(&r, r.out, "\"problem\":\"2048x2048\"");
        assert_null(strstr(r.out, "4096x4096"));
        run_free(&r);
    }
}

static void test_more_shards_than_problems(void **state) {
    (void)state;
    run_result r;
    replay_into(&r, "none", "--shard 7/9", NULL);
    assert_code(&r, 0);
    assert_has(&r, r.out, "Shard 7/9 has no problem.");
    run_free(&r);
    replay_into(&r, "none", "--shard 7/9 --json", NULL);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"results\":[]");
    run_free(&r);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *shard, *env[4], *says;
    } cases[] = {
        {"0/4", {NULL}, "--shard: \"0/4\" is not a shard: write K/N"},
        {"5/4", {NULL}, "\"5/4\" is not a shard"},
        {"3", {NULL}, "\"3\" is not a shard"},
        {"1/99999999999", {NULL}, "\"1/99999999999\" is not a shard"},
        {"-1/4", {NULL}, "\"-1/4\" is not a shard"},
        {"auto", {NULL}, "none of SLURM_ARRAY_TASK_ID (an array), SLURM_STEP_NUM_TASKS (srun) and"},
        {"auto", {"SLURM_PROCID=0", "SLURM_NTASKS=4"}, "none of SLURM_ARRAY_TASK_ID"}, /* sbatch, not srun */
        {"auto", {"JOB_COMPLETION_INDEX=1"}, "JOB_COMPLETIONS is not: set it"},
        {"auto", {"SLURM_ARRAY_TASK_ID=x", "SLURM_ARRAY_TASK_COUNT=4"}, "SLURM_ARRAY_TASK_ID is \"x\""},
        {"auto", {"SLURM_ARRAY_TASK_ID=4", "SLURM_ARRAY_TASK_COUNT=4"}, "use an array without gaps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char option[64];
        run_result r;
        snprintf(option, sizeof option, "--shard %s", cases[i].shard);
        replay_into(&r, "refused", option, cases[i].env);
        assert_code(&r, 2);
        assert_has(&r, r.err, cases[i].says);
        run_free(&r);
    }
    run_result r;
    run_tune(&r, NULL, "--stale --shard 1/2");
    assert_code(&r, 2);
    assert_has(&r, r.err, "leave --stale out");
    run_free(&r);
    static const char *const by[][2] = {
        {"--shard-by configuration", "--shard-by says what --shard divides: give --shard K/N, too"},
        {"--shard 1/2 --shard-by kernel", "\"kernel\" cannot be divided: write problem or configuration"}};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        replay_into(&r, "refused", by[i][0], NULL);
        assert_code(&r, 2);
        assert_has(&r, r.err, by[i][1]);
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_are_the_whole),      cmocka_unit_test(test_origin),
        cmocka_unit_test(test_by_configuration),          cmocka_unit_test(test_auto),
        cmocka_unit_test(test_more_shards_than_problems), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
