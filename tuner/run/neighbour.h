/*
 * Is a user's kernel right for other sizes, too? A winner is verified for a neighbouring problem, and
 * look-ups serve it only for sizes that this has covered (dispatch/ladder.c).
 */
#ifndef TT_TUNER_RUN_NEIGHBOUR_H
#define TT_TUNER_RUN_NEIGHBOUR_H

#include "kernel/model/template.h"
#include "tuner/session/session.h"

/* How many neighbours a problem of so many variables has. */
size_t tt__neighbours(const tt__problem *p);
/* The k-th neighbour: with 1 more of each number, so that no tile fits; with a tile more of each; then the
 * same of single numbers. False: the operation forbids it, or it is none. */
bool tt__neighbour(tt__problem *out, const tt__template *t, const tt__problem *p, size_t k);

/* Tries n configurations for it, while nothing else is under way in the current lane. A failure is one of the
 * reference, or TT_E_INTERRUPTED. */
tt_status tt__neighbour_try(tt__session *s, const tt__problem *near, const tt__candidate *c, size_t n,
                            tt__trial *trials);

/* Verifies the winners of the run's problems for a neighbour, and says which are wrong there. Nothing may be
 * under way. Only TT_E_INTERRUPTED and failures of the store are returned. */
tt_status tt__neighbours_verify(tt__session *s);

#endif
