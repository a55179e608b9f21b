/*
 * Runs that end at a random moment: by kill -9 of the whole process group or of the tuner alone, or by
 * Ctrl-C. On the CPU stand-in (suite fault), and with the argument "gpu" on a GPU (suite gpu). Stored results
 * stay, nothing is measured twice, no process is left, and the next run continues until every configuration
 * was tried once.
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

/* Of all templates the first one has the most configurations for a kernel to compile: most of the time trials
 * run. They take longer on the CPU stand-in, so that there a template with fewer is enough. */
static const char *template(void) {
    return fault_on_gpu() ? "transpose_tiled" : "transpose_shifted";
}

/* From a run without a kill: the number of configurations it screens, and when it has the last of them. */
static int64_t n_trials;
static size_t n_transposes; /* the others are copies */
static double trials_s;

static int n_amid; /* kills after which some trials were stored, and some were not */

#define SCREENED "SELECT count(*) FROM trial WHERE stage = 0"

typedef struct blow {
    double at_s;
    int signal;
    bool group;
    pid_t pid; /* the process that was hit; 0: none yet */
} blow;

static void strike(void *user, pid_t pid, double seconds, const char *err) {
    blow *b = user;
    if (b->pid || seconds < b->at_s || (b->signal == SIGINT && !*err)) /* deaf until it says something */
        return;
    b->pid = pid;
    kill(b->group ? -pid : pid, b->signal);
}

static void run_on(run_result *r, const char *db, blow *b) {
    char line[640];
    snprintf(line, sizeof line, "--sizes 33 --effort exhaustive --only %s --json --db %s", template(), db);
    run_spec spec = {.timeout_s = fault_timeout_s, .meanwhile = b ? strike : NULL, .user = b};
    run_tune(r, &spec, line);
}

static size_t screened(const char *db, const char *op) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM trial JOIN problem ON problem.id = problem_id"
             " JOIN operation ON operation.id = operation_id WHERE stage = 0 AND name = '%s'",
             op);
    return (size_t)fault_number(db, sql);
}

static int enter(void **state) {
    run_result r;
    fault_enter(state);
    for (int i = 0; i < 2; i++) { /* the first one compiles what the others find in the cache */
        const char *db = fault_path(i ? "whole.db" : "first.db");
        run_on(&r, db, NULL);
        assert_code(&r, 0);
        n_trials = fault_number(db, SCREENED);
        n_transposes = screened(db, "transpose");
        trials_s = (double)fault_number(db, "SELECT max(at_ms) FROM trial WHERE stage = 0") / 1000;
        run_free(&r);
    }
    print_message("%lld trials in %.2f s\n", (long long)n_trials, trials_s);
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

/* No process of the group is left after a moment. */
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

/* A random one, from the start of a run until it has its trials. */
static double moment_s(unsigned *seed) {
    return trials_s * (0.02 + (rand_r(seed) % 1000) / 1000.0);
}

/* ---- One store after the other ---- */

enum { MOST_BLOWS = 12, HOW_MANY_FULL_ONES = 4 };

typedef struct stores {
    const char *name;
    char db[512]; /* the one that blows hit now */
    int n, blows;
    int64_t held;
} stores;

static void begin_store(stores *s) {
    char name[64];
    snprintf(name, sizeof name, "%s-%d.db", s->name, s->n++);
    snprintf(s->db, sizeof s->db, "%s", fault_path(name));
    s->blows = 0;
    s->held = 0;
}

/* The machine may be more or less busy than when the length of a run was measured. What a blow did to a new
 * store tells: a run that continues one has less to do. */
static void adapt(const stores *s, bool is_new, bool came_through) {
    if (is_new && came_through)
        trials_s *= 0.8;
    else if (is_new && s->held == 0)
        trials_s *= 1.1;
}

static bool is_store(const char *db) { /* not before a run has made one */
    return access(db, F_OK) == 0 && fault_number(db, "PRAGMA user_version") != 0;
}

/* Call after each blow. Continues a store to its end after a dozen kills, or if its run ended. If all its
 * trials are there, it does so every fourth time, because finals take longer than trials. */
static void look_after(stores *s, bool came_through) {
    const bool is_new = s->blows++ == 0;
    if (is_store(s->db)) {
        check_store(s->db);
        int64_t holds = fault_number(s->db, SCREENED);
        assert_true(holds >= s->held);
        s->held = holds;
        n_amid += holds > 0 && holds < n_trials;
    }
    adapt(s, is_new, came_through);
    bool is_full = s->held == n_trials;
    if (!is_full && !came_through && s->blows < MOST_BLOWS)
        return;
    if (!is_full || came_through || s->n % HOW_MANY_FULL_ONES == 0)
        finish(s->db);
    unlink(fault_path("before.db"));
    begin_store(s);
}

/* Ends runs at random moments. */
static void disturb(const char *name, int times, int signal, bool group, int code, unsigned seed) {
    int hits = 0;
    stores s = {.name = name};
    begin_store(&s);
    for (int i = 0; i < times || (hits == 0 && i < 10 * times); i++) {
        run_result r;
        blow b = {.at_s = moment_s(&seed), .signal = signal, .group = group};
        run_on(&r, s.db, &b);
        if (b.pid)
            assert_nobody_left(b.pid);
        if (r.code != 0)
            assert_code(&r, code);
        if (code == INTERRUPTED && r.code != 0)
            assert_has(&r, r.err, "run the same command again");
        hits += r.code != 0;
        look_after(&s, r.code == 0);
        run_free(&r);
    }
    finish(s.db);
    print_message("%d of %d runs hit, %d stores\n", hits, times, s.n);
    assert_true(hits > 0);
}

/* More with TT_LONG. */
static int times(int few, int many) {
    return getenv("TT_LONG") ? many : few;
}

static void killed_with_its_workers(void **state) {
    (void)state;
    disturb("group", times(6, 12), SIGKILL, true, KILLED, 1);
}

static void killed_alone(void **state) {
    (void)state;
    disturb("alone", times(2, 4), SIGKILL, false, KILLED, 2);
}

static void interrupted(void **state) {
    (void)state;
    disturb("interrupted", times(2, 4), SIGINT, true, INTERRUPTED, 3);
}

/* ---- What was reported is there ---- */

/* By the program that is killed, as its call-back is told, before it is killed. */
typedef struct reported {
    volatile size_t copies, transposes;
    size_t last; /* of the transposes: then the program kills its group; 0: this process does */
} reported;

static void on_progress(void *user, const tt_progress *p) {
    reported *r = user;
    if (strcmp(p->phase, "copy") == 0)
        r->copies = p->done;
    if (strcmp(p->phase, "search") == 0)
        r->transposes = p->done;
    if (r->last && r->transposes >= r->last)
        kill(0, SIGKILL);
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
    const char *const only = template();
    open.db_path = db;
    problem.rows = problem.cols = 33;
    tune.effort = TT_EFFORT_EXHAUSTIVE;
    tune.only = &only;
    tune.n_only = 1;
    tune.on_progress = on_progress;
    tune.user = r;
    tt_status status = tt_open(&ctx, &open);
    if (status == TT_OK)
        status = tt_tune(&report, ctx, &problem, 1, &tune);
    _exit(status == TT_OK ? 0 : 1);
}

/* Kills the program and its workers after its last report, or after so long; true if that came before its
 * end. */
static bool kill_program(const char *db, reported *r, double after_s) {
    int status;
    pid_t pid = start_program(db, r);
    if (!r->last) {
        usleep((useconds_t)(after_s * 1e6));
        kill(-pid, SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_nobody_left(pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* One of those that the store does not have. */
static size_t last_report(const char *db, unsigned *seed) {
    const size_t held = is_store(db) ? screened(db, "transpose") : 0;
    return held < n_transposes ? held + 1 + (size_t)rand_r(seed) % (n_transposes - held) : 0;
}

/* TILETUNE_KILLS=100 asks for so many moments. Every other one is a report, however busy the machine is. */
static void what_was_reported_is_there(void **state) {
    (void)state;
    const char *wanted = getenv("TILETUNE_KILLS");
    int left = wanted ? atoi(wanted) : times(6, 12), most_stores = left + 3;
    unsigned seed = 4;
    size_t most = 0;
    stores s = {.name = "reported"};
    reported *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(r, MAP_FAILED);
    begin_store(&s);
    while (left > 0) {
        *r = (reported){.last = left % 2 ? last_report(s.db, &seed) : 0};
        bool killed = kill_program(s.db, r, moment_s(&seed));
        left -= killed;
        if (is_store(s.db)) {
            assert_true(screened(s.db, "copy") >= r->copies);
            assert_true(screened(s.db, "transpose") >= r->transposes);
            most = r->transposes > most ? r->transposes : most;
        } else {
            assert_int_equal(r->copies + r->transposes, 0);
        }
        look_after(&s, !killed);
        if (s.n > most_stores)
            fail_msg("runs no longer take the %.2f s until their last trial", trials_s);
    }
    finish(s.db);
    print_message("%d stores; up to %zu transposes were reported before the blow\n", s.n, most);
    assert_true(most > 0);
    munmap(r, sizeof *r);
}

/* The last one. */
static void blows_came_amid_the_trials(void **state) {
    (void)state;
    print_message("%d blows came amid the trials\n", n_amid);
    assert_true(n_amid > 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_with_its_workers),    cmocka_unit_test(killed_alone),
        cmocka_unit_test(what_was_reported_is_there), cmocka_unit_test(interrupted),
        cmocka_unit_test(blows_came_amid_the_trials),
    };
    int code;
    return fault_choose(argc, argv, &code) ? cmocka_run_group_tests(tests, enter, run_leave) : code;
}
