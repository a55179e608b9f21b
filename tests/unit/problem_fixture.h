/* Problems for tests: of matrices as a caller asks for them, and of built-in operations from a text. */
#ifndef TT_TESTS_PROBLEM_FIXTURE_H
#define TT_TESTS_PROBLEM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/problem.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"

static inline tt__problem problem_of_matrix(tt_problem asked) {
    tt__problem p;
    asked.size = sizeof asked;
    if (tt__matrix_problem(&p, &asked) != TT_OK)
        fail_msg("%s", tt_last_error());
    return p;
}
/* MATRIX(.rows = 8, .cols = 12) */
#define MATRIX(...) problem_of_matrix((tt_problem){__VA_ARGS__})

static inline tt__problem problem_of(const char *op, const char *text) {
    const tt__operation *operation;
    tt__problem p;
    if (tt__operation_builtin(&operation, op) != TT_OK ||
        tt__operation_problem(&p, operation, op, text) != TT_OK)
        fail_msg("%s %s: %s", op, text, tt_last_error());
    return p;
}

static inline tt__problem square_of(int64_t side, int elem_size) {
    return MATRIX(.rows = side, .cols = side, .elem_size = elem_size);
}

static inline int64_t number_of(const tt__problem *p, const char *name) {
    return tt__problem_number(p, name, 0);
}

#endif
