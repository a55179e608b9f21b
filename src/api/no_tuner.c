/* A library that looks up and launches, without search, workers and store of trials. */
#include "api/tuner.h"

const tt__tune_fn tt__tuner = NULL;
