/* See fault.h. */
#include "fault.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/device.h"

enum { EXIT_SKIPPED = 77 };

const double fault_timeout_s = 200;

static const char *folder;
static bool on_gpu;

bool fault_choose(int argc, char **argv, int *code) {
    int status, n;
    on_gpu = argc > 1 && strcmp(argv[1], "gpu") == 0;
    *code = 0;
    if (!on_gpu)
        return true;
    pid_t pid = fork(); /* CUDA does not work in a child that is forked once it is initialised */
    if (pid == 0) {
        bool found = tt__device_count(&n) == TT_OK;
        if (!found)
            fprintf(stderr, "%s\n", tt_last_error());
        _exit(found ? 0 : EXIT_SKIPPED);
    }
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    if (ended && WEXITSTATUS(status) == 0)
        return true;
    if (!ended)
        fprintf(stderr, "the process that looks for a device does not start, or dies\n");
    *code = ended && !getenv("TILETUNE_REQUIRE_GPU") ? EXIT_SKIPPED : 1;
    return false;
}

bool fault_on_gpu(void) {
    return on_gpu;
}

int fault_enter(void **state) {
    (void)state;
    char nvrtc[512];
    folder = run_enter();
    if (on_gpu)
        return 0;
    const char *host = getenv("HOSTCUDA_DIR");
    assert_non_null(host);
    snprintf(nvrtc, sizeof nvrtc, "%s/libnvrtc.so", host);
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("LD_LIBRARY_PATH", host, 1);
    setenv("TILETUNE_NVRTC", nvrtc, 1);
    return 0;
}

static char *next_path(void) {
    static char paths[16][512];
    static unsigned at;
    return paths[at++ % 16];
}

const char *fault_path(const char *name) {
    char *path = next_path();
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

const char *fault_source(const char *name) {
    char *path = next_path();
    snprintf(path, 512, "%s/tests/fault/%s", TT_SOURCE_DIR, name);
    return path;
}

void fault_write(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void fault_tune(run_result *r, const char *rules, const char *line, ...) {
    char rule[1024], text[8192];
    va_list args;
    va_start(args, line);
    vsnprintf(text, sizeof text, line, args);
    va_end(args);
    snprintf(rule, sizeof rule, "HOSTCUDA_FAULTS=%s", rules);
    run_tune(r, &(run_spec){.env = (const char *[]){rule, NULL}, .timeout_s = fault_timeout_s}, text);
}

/* Reads a file of a process in /proc, with its NULs; "" if the process has ended. */
static void read_proc(char *text, size_t size, const char *pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    memset(text, 0, size);
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}

static bool is_worker(const char *pid, pid_t tuner, const char *role, const char *at) {
    char text[1024], name[16]; /* Linux keeps 15 characters */
    int parent;
    read_proc(text, sizeof text, pid, "stat");
    const char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %*c %d", &parent) != 1 || parent != tuner)
        return false;
    if (at) {
        read_proc(text, sizeof text, pid, "comm");
        snprintf(name, sizeof name, "%s", at);
        text[strcspn(text, "\n")] = '\0';
        if (strcmp(text, name) != 0)
            return false;
    }
    read_proc(text, sizeof text, pid, "cmdline");
    return strcmp(text, "tiletune-worker") == 0 && strcmp(text + strlen(text) + 1, role) == 0;
}

int fault_strike(pid_t tuner, const char *role, const char *at, int signal, int most) {
    int n = 0;
    DIR *all = opendir("/proc");
    assert_non_null(all);
    for (struct dirent *d; n < most && (d = readdir(all));)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && is_worker(d->d_name, tuner, role, at))
            n += kill(atoi(d->d_name), signal) == 0;
    closedir(all);
    return n;
}

/* Runs every statement, and gives the last one at its first row. */
static sqlite3_stmt *first_row(sqlite3 **db, const char *path, const char *sql) {
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail_msg("%s: %s", path, sqlite3_errmsg(*db));
    sqlite3_busy_timeout(*db, 10000);
    for (const char *rest = sql; *rest;) {
        sqlite3_finalize(stmt);
        if (sqlite3_prepare_v2(*db, rest, -1, &stmt, &rest) != SQLITE_OK)
            fail_msg("%s: %s: %s", path, sql, sqlite3_errmsg(*db));
        int rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            fail_msg("%s: %s: %s", path, sql, sqlite3_errmsg(*db));
    }
    return stmt;
}

static void close_row(sqlite3 *db, sqlite3_stmt *stmt) {
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

int64_t fault_number(const char *db, const char *sql) {
    sqlite3 *opened;
    sqlite3_stmt *stmt = first_row(&opened, db, sql);
    int64_t value = sqlite3_column_int64(stmt, 0);
    close_row(opened, stmt);
    return value;
}

const char *fault_text(char *out, size_t size, const char *db, const char *sql) {
    sqlite3 *opened;
    sqlite3_stmt *stmt = first_row(&opened, db, sql);
    const unsigned char *text = sqlite3_column_text(stmt, 0);
    snprintf(out, size, "%s", text ? (const char *)text : "");
    close_row(opened, stmt);
    return out;
}

static bool says_one_of(const char *text, const char *ways) {
    char copy[128], *state = NULL;
    if (!*ways)
        return !*text;
    snprintf(copy, sizeof copy, "%s", ways);
    for (char *way = strtok_r(copy, "|", &state); way; way = strtok_r(NULL, "|", &state))
        if (strstr(text, way))
            return true;
    return false;
}

void fault_assert_trial(const char *db, const char *column, const char *text, tt__trial_status status,
                        const char *says) {
    char from[256], sql[512], reason[TT__REASON_MAX];
    snprintf(from, sizeof from,
             "FROM trial JOIN config ON config.id = config_id JOIN template ON template.id = template_id"
             " WHERE %s = '%s'",
             column, text);
    snprintf(sql, sizeof sql, "SELECT count(*) %s", from);
    assert_int_equal(fault_number(db, sql), 1);
    snprintf(sql, sizeof sql, "SELECT status %s", from);
    tt__trial_status got = (tt__trial_status)fault_number(db, sql);
    snprintf(sql, sizeof sql, "SELECT reason %s", from);
    fault_text(reason, sizeof reason, db, sql);
    if (got != status || !says_one_of(reason, says))
        fail_msg("%s is %s (%s), expected %s (%s)", text, tt__trial_status_name(got), reason,
                 tt__trial_status_name(status), says);
}
