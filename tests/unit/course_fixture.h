/* Searches of a strategy on spaces with known times. */
#ifndef TT_TESTS_COURSE_FIXTURE_H
#define TT_TESTS_COURSE_FIXTURE_H

#include "space_fixture.h"

typedef struct course {
    size_t n, tried[1024];
    size_t to_goal; /* trials until within 1 % of the best; 0: never */
} course;

/* Two hills of times, over parameters of names that the model knows nothing of, and a slow template beside
 * them if `beside` is given. */
void course_hills(field *f, const char *beside);
/* A search with `window` trials under way at once, of `most` trials. */
void course_play(course *c, field *f, const tt__strategy *s, uint64_t seed, size_t window, size_t most);

#endif
