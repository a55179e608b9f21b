/*
 * One store and a crowd: eight processes tune and eight dispatch, for a while. Then the same again, with
 * one of them killed every now and then. No error, no trial lost, no wrong transpose, and the store is whole.
 * The while is one second, five with TT_LONG, or as long as TT_CROWD_SECONDS says.
 */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "device/device.h"

/* Runs are short, and many begin and end: each tries a few configurations, the same ones. */
#define FEW                                                                                                  \
    "--sizes 33 --only transpose_shifted --strategy random --max-trials 8 --force --quiet --json --jobs 1"

enum { TUNERS = 8, DISPATCHERS = 8, CROWD = TUNERS + DISPATCHERS, SIDE = 33 };

static char db[256], log_path[256];
static int64_t n_screened; /* trials of a whole run */

static double seconds(void) {
    const char *s = getenv("TT_CROWD_SECONDS");
    return s && atof(s) > 0 ? atof(s) : getenv("TT_LONG") ? 5 : 1;
}

/* ---- The two kinds ------------------------------------------------------------------------------------- */

static void tune_once(void) {
    const char *tune = getenv("TUNE");
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600), null = open("/dev/null", O_WRONLY);
    setpgid(0, 0);
    dup2(null, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", "exec \"$0\" " FEW " --db \"$1\"", tune, db, (char *)NULL);
    _exit(127);
}

static void complain(const char *what) {
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dprintf(log, "%s: %s\n", what, tt_last_error());
    _exit(1);
}

/* Opens the store again and again, as programs that come and go, and each time transposes a few matrices. */
static void dispatch_until(double end_s) {
    static uint32_t src[SIDE * SIDE], dst[SIDE * SIDE];
    CUdeviceptr d_src, d_dst;
    setpgid(0, 0);
    if (!device_open() || cu->cuMemAlloc(&d_src, sizeof src) || cu->cuMemAlloc(&d_dst, sizeof dst))
        complain("no stand-in");
    for (unsigned round = 0; tt__now_s() < end_s; round++) {
        tt_ctx *ctx;
        tt_open_opts opts = TT_INIT(tt_open_opts);
        opts.db_path = db;
        opts.read_only = round % 2;
        tt_problem p = TT_INIT(tt_problem);
        p.rows = p.cols = SIDE;
        for (size_t i = 0; i < SIDE * SIDE; i++)
            src[i] = (uint32_t)(i * 2654435761u + round);
        if (tt_open(&ctx, &opts) != TT_OK)
            complain("tt_open");
        if (cu->cuMemcpyHtoD(d_src, src, sizeof src) || tt_transpose(ctx, &p, d_dst, d_src, NULL) != TT_OK ||
            cu->cuCtxSynchronize() || cu->cuMemcpyDtoH(dst, d_dst, sizeof dst))
            complain("tt_transpose");
        if (!transposed((unsigned char *)dst, (unsigned char *)src, SIDE, SIDE, SIDE, SIDE, 4))
            complain("a wrong transpose");
        tt_choice c = TT_INIT(tt_choice);
        if (tt_best(&c, ctx, &p) != TT_OK || (c.match != TT_MATCH_EXACT && c.match != TT_MATCH_STALE))
            complain("tt_best");
        tt_close(&ctx);
    }
    _exit(0);
}

/* ---- The crowd ----------------------------------------------------------------------------------------- */

static pid_t start(int who, double end_s) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (who < TUNERS)
            tune_once();
        dispatch_until(end_s);
    }
    return pid;
}

/* Runs them all until the time is over and the last has come to its end; gives the number of tuning runs that
 * ended well. */
static int64_t crowd(bool killing, unsigned seed) {
    const double began = tt__now_s(), end_s = began + seconds(), pause_s = fmin(1, seconds() / 4);
    double next_kill = began + pause_s;
    pid_t pids[CROWD] = {0}, killed = 0;
    int64_t ended = 0;
    for (int alive = 0;;) {
        for (int i = 0; i < CROWD && tt__now_s() < end_s; i++)
            if (!pids[i]) {
                pids[i] = start(i, end_s);
                alive++;
            }
        if (killing && tt__now_s() >= next_kill && tt__now_s() < end_s) {
            killed = pids[rand_r(&seed) % CROWD];
            if (killed > 0)
                kill(-killed, SIGKILL);
            next_kill += pause_s;
        }
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            break;
        if (pid <= 0) {
            usleep(5000);
            continue;
        }
        for (int i = 0; i < CROWD; i++) {
            if (pids[i] != pid)
                continue;
            pids[i] = 0;
            alive--;
            bool shot = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && killing;
            if (!shot && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
                tt__str log = {0};
                tt__read_file(&log, log_path);
                fail_msg("%s %d ended with 0x%x: %s", i < TUNERS ? "tuner" : "dispatcher", i,
                         (unsigned)status, tt__str_text(&log));
            }
            ended += i < TUNERS && !shot;
        }
        if (!alive && tt__now_s() >= end_s)
            break;
    }
    return ended;
}

static void check_store(int64_t ended) {
    char sql[256];
    assert_int_equal(fault_number(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    assert_int_equal(fault_number(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(fault_number(db, "SELECT count(*) FROM winner"), 1);
    assert_true(fault_number(db, "SELECT count(*) FROM run WHERE ended_ms IS NOT NULL") >= ended);
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM run WHERE ended_ms IS NOT NULL AND (SELECT count(*) FROM trial"
             " WHERE run_id = run.id AND stage = 0) <> %lld",
             (long long)n_screened);
    assert_int_equal(fault_number(db, sql), 0); /* every run that ended has all its trials */
    run_result r;
    fault_tune(&r, "", "check --db %s", db);
    assert_code(&r, 0);
    run_free(&r);
    print_message("%lld runs, %lld trials\n", (long long)fault_number(db, "SELECT count(*) FROM run"),
                  (long long)fault_number(db, "SELECT count(*) FROM trial"));
}

static int enter(void **state) {
    run_result r;
    fault_enter(state);
    snprintf(db, sizeof db, "%s", fault_path("crowd.db"));
    snprintf(log_path, sizeof log_path, "%s", fault_path("log"));
    fault_tune(&r, "", FEW " --db %s", db);
    assert_code(&r, 0);
    run_free(&r);
    n_screened = fault_number(db, "SELECT count(*) FROM trial WHERE stage = 0");
    return 0;
}

static void all_live(void **state) {
    (void)state;
    int64_t ended = crowd(false, 0);
    assert_true(ended >= TUNERS);
    check_store(ended);
}

static void one_is_killed_every_now_and_then(void **state) {
    (void)state;
    check_store(crowd(true, 7));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_live),
        cmocka_unit_test(one_is_killed_every_now_and_then),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
