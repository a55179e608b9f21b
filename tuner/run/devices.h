/*
 * The devices of a run, by kind.
 */
#ifndef TT_TUNER_RUN_DEVICES_H
#define TT_TUNER_RUN_DEVICES_H

#include "base/model.h"
#include "tiletune.h"
#include "tuner/farm/workers.h"

enum { TT__KINDS_MAX = 8 };

/* Devices whose results are exact for each other. */
typedef struct tt__devices {
    size_t n_kinds;
    struct {
        tt__gpu gpu; /* empty if there is only one kind: a worker describes it */
        int ordinals[TT__GPUS_MAX];
        size_t n;
    } kinds[TT__KINDS_MAX];
} tt__devices;

/* The devices of the options. One that cannot be used is left out with a message, if others can. */
tt_status tt__devices_of(tt__devices *out, const tt_tune_opts *opts);

#endif
