/*
 * On the CPU stand-in (suite fault), and with the argument "gpu" on a GPU (suite gpu). Runs that end at a
 * random moment: by kill -9 of the whole process group, of the tuner alone, and by Ctrl-C.
 * Whatever was stored stays, nothing is measured twice, no process is left, and the run that follows goes on
 * until every configuration has been tried once.
 */
#include "tiletune.h"

#include "fault.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLED = 128 + SIGKILL, INTERRUPTED = 130 };

static double whole_s;   /* what a run takes that nobody disturbs */
static int64_t n_trials; /* and how many configurations it screens */

#define SCREENED "SELECT count(*) FROM trial WHERE stage = 0"

typedef struct blow {
    double at_s;
    int signal;
    bool group;
    pid_t pid; /* whom it hit; 0: nobody yet */
} blow;

static void strike(void *user, pid_t pid, double seconds, const char *err) {
    blow *b = user;
    if (b->pid || seconds < b->at_s || (b->signal == SIGINT && !*err)) /* deaf until it says something */
        return;
    b->pid = pid;
    kill(b->group ? -pid : pid, b->signal);
}

static void run_on(run_result *r, const char *db, blow *b) {
    char line[512];
    snprintf(line, sizeof line, SMALL " --json --db %s", db);
    run_spec spec = {.timeout_s = fault_timeout_s, .meanwhile = b ? strike : NULL, .user = b};
    run_tune(r, &spec, line);
}

static int enter(void **state) {
    run_result r;
    fault_enter(state);
    for (int i = 0; i < 2; i++) { /* the first one compiles what the others find in the cache */
        const char *db = fault_path(i ? "whole.db" : "first.db");
        run_on(&r, db, NULL);
        assert_code(&r, 0);
        whole_s = r.seconds;
        n_trials = fault_number(db, SCREENED);
        run_free(&r);
    }
    print_message("%.2f s a run, %lld trials\n", whole_s, (long long)n_trials);
    /* Orphans become children of this process, which can then wait for them. */
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The store is whole, holds everything that it held the last time, and nothing twice. */
static void check_store(const char *db) {
    char sql[1024];
    const char *before = fault_path("before.db");
    assert_int_equal(fault_number(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    assert_int_equal(fault_number(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(
        fault_number(
            db,
            "SELECT count(*) - count(DISTINCT problem_id || '/' || config_id) FROM trial WHERE stage = 0"),
        0);
    if (access(before, F_OK) == 0) {
        snprintf(sql, sizeof sql,
                 "ATTACH '%s' AS before; SELECT count(*) FROM"
                 " (SELECT * FROM before.trial WHERE stage = 0 EXCEPT SELECT * FROM main.trial)",
                 before);
        assert_int_equal(fault_number(db, sql), 0);
        unlink(before);
    }
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", before);
    fault_number(db, sql);
}

static void finish(const char *db) {
    run_result r;
    run_on(&r, db, NULL);
    assert_code(&r, 0);
    run_free(&r);
    check_store(db);
    assert_int_equal(fault_number(db, SCREENED), n_trials);
    assert_int_equal(fault_number(db, "SELECT count(*) FROM winner"), 1);
    unlink(fault_path("before.db"));
}

/* Processes that the group has left behind are gone after a moment. */
static void assert_nobody_left(pid_t group) {
    for (int i = 0; i < 1000; i++) {
        pid_t pid = waitpid(-group, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return;
        if (pid == 0)
            usleep(10000);
    }
    kill(-group, SIGKILL);
    fail_msg("workers outlive their tuner");
}

/* A random moment in that share of a run. */
static double moment(double share, unsigned *seed) {
    return whole_s * (0.02 + share * (rand_r(seed) % 1000) / 1000);
}

/* Ends a run at random moments until it has been hit so many times, or was through before. */
static void disturb(const char *db, int times, int signal, bool group, int code, unsigned seed) {
    int hits = 0;
    int64_t stored = 0;
    for (int i = 0; i < times; i++) {
        run_result r;
        blow b = {.at_s = moment(fault_on_gpu() ? 0.5 : 0.2, &seed), .signal = signal, .group = group};
        run_on(&r, db, &b);
        if (b.pid)
            assert_nobody_left(b.pid);
        if (r.code != 0)
            assert_code(&r, code);
        if (code == INTERRUPTED && r.code != 0)
            assert_has(&r, r.err, "run the same command again");
        hits += r.code != 0;
        run_free(&r);
        if (access(db, F_OK) != 0)
            continue; /* hit before there was a store */
        if (fault_number(db, "PRAGMA user_version") == 0)
            continue;
        check_store(db);
        assert_true(fault_number(db, SCREENED) >= stored);
        stored = fault_number(db, SCREENED);
    }
    assert_true(hits > 0);
    print_message("%d of %d runs hit, then %lld of %lld trials were there\n", hits, times, (long long)stored,
                  (long long)n_trials);
    finish(db);
}

static void killed_with_its_workers(void **state) {
    (void)state;
    disturb(fault_path("group.db"), 12, SIGKILL, true, KILLED, 1);
}

static void killed_alone(void **state) {
    (void)state;
    disturb(fault_path("alone.db"), 4, SIGKILL, false, KILLED, 2);
}

static void interrupted(void **state) {
    (void)state;
    disturb(fault_path("interrupted.db"), 4, SIGINT, true, INTERRUPTED, 3);
}

/* ---- What was reported is there ---- */

/* By the program that is killed, as its call-back is told, before it is killed. */
typedef struct reported {
    volatile size_t copies, transposes;
} reported;

static void on_progress(void *user, const tt_progress *p) {
    reported *r = user;
    if (strcmp(p->phase, "copy") == 0)
        r->copies = p->done;
    if (strcmp(p->phase, "search") == 0)
        r->transposes = p->done;
}

/* A program that tunes through the library, in a process group of its own. */
static pid_t start_program(const char *db, reported *r) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        setpgid(pid, pid);
        return pid;
    }
    setpgid(0, 0);
    tt_ctx *ctx;
    tt_report *report;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    tt_problem problem = TT_INIT(tt_problem);
    open.db_path = db;
    problem.rows = problem.cols = 33;
    tune.effort = TT_EFFORT_EXHAUSTIVE;
    tune.on_progress = on_progress;
    tune.user = r;
    tt_status status = tt_open(&ctx, &open);
    if (status == TT_OK)
        status = tt_tune(&report, ctx, &problem, 1, &tune);
    _exit(status == TT_OK ? 0 : 1);
}

static size_t screened(const char *db, const char *op) {
    char sql[256];
    snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM trial JOIN problem ON problem.id = problem_id WHERE stage = 0 AND op = '%s'",
        op);
    return (size_t)fault_number(db, sql);
}

/* Kills the program and its workers after so long; true if that came before its end. */
static bool kill_program(const char *db, reported *r, double after_s) {
    int status;
    pid_t pid = start_program(db, r);
    usleep((useconds_t)(after_s * 1e6));
    kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_nobody_left(pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* TILETUNE_KILLS=100 asks for so many moments. A store that the run got through with, or that took a dozen
 * blows, is finished and followed by an empty one. */
static void what_was_reported_is_there(void **state) {
    (void)state;
    const char *wanted = getenv("TILETUNE_KILLS");
    int left = wanted ? atoi(wanted) : 12, stores = 0;
    unsigned seed = 4;
    size_t most = 0;
    reported *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(r, MAP_FAILED);
    while (left > 0) {
        char name[32], db[512];
        snprintf(name, sizeof name, "reported-%d.db", stores++);
        snprintf(db, sizeof db, "%s", fault_path(name));
        bool killed = true;
        for (int blows = 0; killed && blows < 12 && left > 0; blows++) {
            *r = (reported){0, 0};
            killed = kill_program(db, r, moment(0.5, &seed));
            left -= killed;
            if (access(db, F_OK) != 0 || fault_number(db, "PRAGMA user_version") == 0)
                continue;
            check_store(db);
            assert_true(screened(db, "copy") >= r->copies);
            assert_true(screened(db, "transpose") >= r->transposes);
            most = r->transposes > most ? r->transposes : most;
        }
        finish(db);
    }
    print_message("%d stores; up to %zu transposes were reported before the blow\n", stores, most);
    assert_true(most > 0);
    munmap(r, sizeof *r);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_with_its_workers),
        cmocka_unit_test(killed_alone),
        cmocka_unit_test(what_was_reported_is_there),
        cmocka_unit_test(interrupted),
    };
    int code;
    return fault_choose(argc, argv, &code) ? cmocka_run_group_tests(tests, enter, run_leave) : code;
}
