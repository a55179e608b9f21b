/*
 * The two searches for a problem: its own, and one for the copy it is compared with.
 */
#ifndef TT_TUNER_SEARCH_SEARCHES_H
#define TT_TUNER_SEARCH_SEARCHES_H

#include "tuner/search/search.h"

typedef struct tt__searches {
    bool open;
    bool has_copy; /* false: there is no copy to compare with, and `copy` is empty */
    bool copy_done;
    tt__search copy, search;
} tt__searches;

/* How many of a problem's configurations to compile before its search, with a cost model and the default
 * strategy. Otherwise 0, because nobody knows which will be tried. */
size_t tt__searches_favourites(const tt__session *s, const tt__search *search);
/* Opens both searches. This and the other `n_left` - 1 problems share the rest of the budget. Close with
 * tt__searches_close, also after a failure. */
tt_status tt__searches_plan(tt__session *s, const tt__problem *p, size_t n_left, tt__searches *out);
/* The same, and compilers start to work ahead. After a failure nothing is open. */
tt_status tt__searches_open(tt__session *s, const tt__problem *p, size_t n_left, tt__searches *out);
void tt__searches_close(tt__searches *both);

/* tt__searches_run_copy runs the search of the copy if it has not run. tt__searches_run then runs the
 * problem's too. Their share of the budget starts now. */
tt_status tt__searches_run_copy(tt__session *s, tt__searches *both, size_t n_left);
tt_status tt__searches_run(tt__session *s, tt__searches *both, size_t n_left);

#endif
