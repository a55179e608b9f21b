/* A space to search without a GPU: a template of few lines, and times that a formula makes. */
#ifndef TT_TESTS_SPACE_FIXTURE_H
#define TT_TESTS_SPACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/space/space.h"
#include "tuner/strategy/strategy.h"

#define assert_ok(expr)                                                                                      \
    do {                                                                                                     \
        tt_status ok_status_ = (expr);                                                                       \
        if (ok_status_ != TT_OK)                                                                             \
            fail_msg("%s: %s: %s", #expr, tt_strerror(ok_status_), tt_last_error());                         \
    } while (0)

typedef struct field {
    tt__template *t[3]; /* the third is a test's own */
    tt__problem problem;
    tt__space space;
    tt__cost_model model;
    tt__known *known;
    tt__screened *trials; /* the result of each configuration's trial */
    double best_us;
    tt__view view;
} field;

extern const tt__gpu field_gpu;

/* All configurations of one or two templates (the second may be NULL), given as annotations without "//@ ",
 * for 4096 x 4096 of 4 bytes. Nothing has a time yet. */
void field_open(field *f, const char *first, const char *second);
void field_close(field *f);
/* A template of such annotations, which begin with "kernel NAME". */
tt__template *field_template(const char *annotations);
/* The value of a parameter, -1 if it has none of that name. */
int field_value(const field *f, size_t index, const char *name);
/* Gives a configuration its time; 0: it fails. */
void field_set(field *f, size_t index, double us);

#endif
