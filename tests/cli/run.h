/* Runs a program as a user would, and has what it printed, how it ended and how long it took. */
#ifndef TT_TEST_RUN_H
#define TT_TEST_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct run_spec {
    const char *const *env;   /* "NAME=VALUE", or "NAME" to remove it; ends with NULL; may be NULL */
    double timeout_s;         /* then the whole process group is killed; 0: 30 */
    int columns;              /* > 0: standard error is a terminal of that width */
    const char *interrupt_at; /* SIGINT to the process group once this stands on standard error */
    bool interrupt_twice;
    bool as_nobody;     /* root gives up its rights first; exit code 127 where that user cannot run it */
    bool obeys_modes;   /* modes of files count for root, too */
    const char *output; /* standard output goes to this file instead; NULL: is kept */
    /* Called every few milliseconds with the process, which leads a group of its own, the time since its
     * start and what stands on standard error; may be NULL. */
    void (*meanwhile)(void *user, pid_t pid, double seconds, const char *err);
    void *user;
} run_spec;

typedef struct run_result {
    int code; /* exit status, 128 + signal, or -1 after the time-out */
    char *out, *err;
    double seconds;
} run_result;

/* argv ends with NULL. Fails the test if the program cannot be started. `spec` may be NULL. */
void run(run_result *r, const char *const *argv, const run_spec *spec);
/* The program $TUNE, its arguments written with single blanks between them. */
void run_tune(run_result *r, const run_spec *spec, const char *line);
/* The same on the stand-ins, where these faults happen (tests/hostcuda/README.md; "" : none), with time
 * enough to compile kernels for them. */
enum { RUN_TUNE_TIMEOUT_S = 540 };
void run_tune_faulty(run_result *r, const char *faults, const char *line);
void run_free(run_result *r);

/* Fail the test with everything that was printed. */
#define assert_code(r, wanted)    run_assert_code(r, wanted, __FILE__, __LINE__)
#define assert_has(r, text, part) run_assert_has(r, text, part, __FILE__, __LINE__)
void run_assert_code(const run_result *r, int wanted, const char *file, int line);
void run_assert_has(const run_result *r, const char *text, const char *part, const char *file, int line);

/* The value of the first "key": in a JSON text, without quotes, in `out`; "" if it is not there. */
const char *run_json(char *out, size_t size, const char *json, const char *key);

/* Makes a new empty folder the place of the default store, so that no test meets a user's; run_leave, which
 * cmocka can call as it is, removes it. Returns its path, which ends in no slash. */
const char *run_enter(void);
/* The same, and a machine with a GPU has none from now on. */
const char *run_enter_without_gpu(void);
/* The same as run_enter, and from now on on the stand-ins in $HOSTCUDA_DIR. */
const char *run_enter_on_standins(void);
int run_leave(void **state);

#endif
