/*
 * The library's tuner, for tuning on first use.
 */
#ifndef TT_API_TUNER_H
#define TT_API_TUNER_H

#include "dispatch/context.h"

extern const tt__tune_fn tt__tuner; /* NULL: the library has none */

#endif
