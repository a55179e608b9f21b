/*
 * Shared by the tests of faults: the stand-ins, a folder, a problem that is tuned in a second or two, and SQL
 * on the store.
 */
#ifndef TT_TESTS_FAULT_H
#define TT_TESTS_FAULT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/model.h"
#include "cli/run.h"

/* The problem of most tests, with one template: 50 configurations, 25 kernels. All of them are tried, so that
 * no fault is left out. SMALL_AND has one more template. */
#define SMALL           "--sizes 33 --effort exhaustive --only transpose_shifted"
#define SMALL_AND(name) SMALL "," name
/* Long enough for the slowest build on a busy machine. */
extern const double fault_timeout_s;

/* Some of them run on a GPU too, with the argument "gpu". False: there is none, and *code is what the program
 * ends with. This process stays one that may fork, without a CUDA of its own. */
bool fault_choose(int argc, char **argv, int *code);
bool fault_on_gpu(void);

/* For a group's setup, with run_leave for its teardown: a new folder, and the stand-ins for driver and NVRTC
 * unless it runs on a GPU. */
int fault_enter(void **state);

/* A path in the folder, and one in this source folder; static, the last few stay valid. */
const char *fault_path(const char *name) __attribute__((returns_nonnull));
const char *fault_source(const char *name) __attribute__((returns_nonnull));
void fault_write(const char *path, const char *text);

/* Runs `tune` with $HOSTCUDA_FAULTS; the line is a printf format. */
void fault_tune(run_result *r, const char *rules, const char *line, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends a signal to at most so many of the workers of `tune` in that role ("compile", "gpu"). If `at` is not
 * NULL, only those count that compile a file of that name (15 characters are compared). Returns how many were
 * hit. */
int fault_strike(pid_t tuner, const char *role, const char *at, int signal, int most);

/* Runs SQL on a store: the first number, or text, of the last statement; 0 or "" if there is none. */
int64_t fault_number(const char *db, const char *sql);
const char *fault_text(char *out, size_t size, const char *db, const char *sql);
/* The one trial with this text in a column of its configuration or template has this status. Its reason says
 * this; several ways of saying it have '|' between. "": there is no reason. */
void fault_assert_trial(const char *db, const char *column, const char *text, tt__trial_status status,
                        const char *says);

#endif
