/*
 * The two searches of a problem: its own, and that of the copy it is compared with. They can be opened, and
 * the compilers told what to expect, before their turn comes.
 */
#ifndef TT_TUNER_PAIR_H
#define TT_TUNER_PAIR_H

#include "tuner/session.h"

typedef struct tt__pair {
    bool open;
    bool has_copy; /* a problem may be compared with no copy: then that search is empty */
    bool copy_done;
    tt__search copy, search;
} tt__pair;

/* Opens both, and says what to expect. `n_left` problems, with this one, share what is left of the budget. On
 * failure nothing is open. */
tt_status tt__pair_open(tt__session *s, const tt__problem *p, size_t n_left, tt__pair *out);
/* What of it does not need the store, for a GPU that may be presumed: says what to expect. */
tt_status tt__pair_foresee(tt__session *s, const tt__problem *p, size_t n_left);
void tt__pair_close(tt__pair *pair);

/* Searches the copy, unless that is done; then perhaps the problem. Of what is left of the budget they have
 * their part as of now. */
tt_status tt__pair_run_copy(tt__session *s, tt__pair *pair, size_t n_left);
tt_status tt__pair_run(tt__session *s, tt__pair *pair, size_t n_left);

#endif
