/*
 * The library that only looks up and launches: it has no search, no workers, and stores no trials.
 */
#include "api/tuner.h"

const tt__tune_fn tt__tuner = NULL;
