/* Finals of a search that cannot tell its configurations apart, on a backend with invented times. */
#ifndef TT_TESTS_RACE_FIXTURE_H
#define TT_TESTS_RACE_FIXTURE_H

#include "search_fixture.h"

/* A race of all the space, which screening cannot tell apart. */
typedef struct race {
    bench b;
    tt__search all, copy; /* without a copy, unless one is searched */
    tt_result result;
} race;

/* Opens both templates, or one, and searches. */
void race_open(race *r, bool both);
void race_run(race *r);
void race_close(race *r);
void expect_elected(const race *r, size_t at);
void expect_stages(const race *r, const size_t *n_in, size_t n);
#define EXPECT_STAGES(r, ...)                                                                                \
    expect_stages(r, (size_t[]){__VA_ARGS__}, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t))

#endif
