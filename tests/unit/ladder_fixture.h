/* Shared by the tests of the look-up ladder: stores with winners, and what tt_best answers. */
#ifndef TT_TESTS_LADDER_FIXTURE_H
#define TT_TESTS_LADDER_FIXTURE_H

#include "problem_fixture.h"
#include "store_fixture.h"

/* Like an H100, but no winners ship for it. */
extern const tt__gpu h800;
/* A configuration of the classic kernel that is not its default. */
extern const char small_config[];

tt_ctx *ctx_of(const char *db, const char *gpu);

/* Makes this configuration (NULL: the default one) the winner of a problem in a store. */
void crown_of(tt__store *s, const char *source, const tt__gpu *gpu, const tt__problem *p, const char *hash,
              const char *config, double time_us);
/* The same in the store at this path, as measured. */
void crown_in(const char *path, const tt__gpu *gpu, const tt__problem *p, const char *hash,
              const char *config, double time_us);

tt_choice best(tt_ctx *ctx, const tt__problem *p);

#endif
