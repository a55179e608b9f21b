/* The two searches of a problem: its own, and that of the copy it is compared with. */
#ifndef TT_TUNER_SEARCHES_H
#define TT_TUNER_SEARCHES_H

#include "tuner/search.h"

typedef struct tt__searches {
    bool open;
    bool has_copy; /* false: nothing to compare with, and `copy` is empty */
    bool copy_done;
    tt__search copy, search;
} tt__searches;

/* Opens both searches. `n_left` problems, with this one, share what is left of the budget. Release with
 * tt__searches_close, also on failure. */
tt_status tt__searches_plan(tt__session *s, const tt__problem *p, size_t n_left, tt__searches *out);
/* The same, and has compilers work ahead of it. On failure nothing is open. */
tt_status tt__searches_open(tt__session *s, const tt__problem *p, size_t n_left, tt__searches *out);
void tt__searches_close(tt__searches *both);

/* Runs the search of the copy, unless it has run; tt__searches_run then also that of the problem. Their part
 * of the budget counts from now. */
tt_status tt__searches_run_copy(tt__session *s, tt__searches *both, size_t n_left);
tt_status tt__searches_run(tt__session *s, tt__searches *both, size_t n_left);

#endif
