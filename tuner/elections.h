/*
 * Finals that go on beside the searches of later problems. They keep one of several GPUs busy, and the others
 * need not wait. No search depends on an earlier problem's winner.
 */
#ifndef TT_TUNER_ELECTIONS_H
#define TT_TUNER_ELECTIONS_H

#include "tuner/finals.h"
#include "tuner/searches.h"

typedef struct tt__election {
    tt__searches both;
    tt__finals finals;
    tt__heat heat; /* asked for */
    size_t at_problem;
    tt_result *result;
} tt__election;

typedef struct tt__elections {
    tt__election *places[TT__PLACES_MAX]; /* NULL: free */
    size_t n;
} tt__elections;

/* Can finals go on while the next problem is searched? With a budget they do not, so that it is kept. While
 * others go on they always can: these hold their GPUs until their turn comes, maybe the last GPU. */
bool tt__elections_possible(const tt__session *s);

/* Begins the election of a finished search, whose problem is open. Takes over `both`, which is then
 * closed. The result is filled in later. */
tt_status tt__elections_begin(tt__session *s, tt__searches *both, tt_result *result);
/* Goes on with finals that ended. Call it when the backend has waited for TT__NO_TRIAL. */
tt_status tt__elections_go_on(tt__session *s);
/* Waits for all. */
tt_status tt__elections_end(tt__session *s);
/* Abandons those that have not ended. Returns the first problem among them, or `none`. */
size_t tt__elections_abandon(tt__session *s, size_t none);

#endif
