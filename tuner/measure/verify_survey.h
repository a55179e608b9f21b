/*
 * What the results of the reference tell.
 */
#ifndef TT_TUNER_MEASURE_VERIFY_SURVEY_H
#define TT_TUNER_MEASURE_VERIFY_SURVEY_H

#include "tuner/measure/verify_data.h"

/* Notes what the results of a user's reference leave unchecked, and whether it writes whole elements only.
 * TT_E_INVALID: it writes nothing of a result. */
tt_status tt__verify_survey(tt__verifier *v);

#endif
