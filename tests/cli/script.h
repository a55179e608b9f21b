/* Tests on the CPU stand-ins, in an empty folder: `enter` is their setup, and run_leave ends them. */
#ifndef TT_TEST_SCRIPT_H
#define TT_TEST_SCRIPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const char *folder;

static inline int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    setenv("TILETUNE_SYSTEM_DB", "", 1);
    return 0;
}

/* Runs a shell script in the folder. Expects the exit code, and these words on standard output or error. */
static inline run_result told(int code, const char *says, const char *script) {
    char text[1024];
    run_result r;
    snprintf(text, sizeof text, "cd %s && %s", folder, script);
    const char *const argv[] = {"sh", "-c", text, NULL};
    run(&r, argv, &(run_spec){.timeout_s = 240});
    if (r.code != code || !strstr(strstr(r.out, says) ? r.out : r.err, says))
        print_error("%s\n", script);
    assert_code(&r, code);
    assert_has(&r, strstr(r.out, says) ? r.out : r.err, says);
    return r;
}

static inline void expect(int code, const char *says, const char *script) {
    run_result r = told(code, says, script);
    run_free(&r);
}

#endif
