/*
 * Does a row of a winner's results change when rows are added? A kernel's file says which variable counts
 * them
 * (`batch`).
 */
#ifndef TT_TUNER_RUN_BATCH_H
#define TT_TUNER_RUN_BATCH_H

#include "tuner/session/session.h"

/* Measures the winners of the run's problems, says what it finds, and stores it. Nothing may be under way. A
 * problem that cannot be told stays unknown. Only TT_E_INTERRUPTED and failures of the store are returned. */
tt_status tt__batches_measure(tt__session *s, tt_result *results);

#endif
