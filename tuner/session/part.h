/*
 * The part of a space that one shard of a run tries.
 */
#ifndef TT_TUNER_SESSION_PART_H
#define TT_TUNER_SESSION_PART_H

#include "kernel/model/template.h"
#include "kernel/space/space.h"

typedef struct tt__space_part {
    int64_t index, of; /* from 0; of 0: the whole space */
} tt__space_part;

/* Removes configurations that belong to other parts. Those that share a cubin stay together. */
tt_status tt__part_keep(const tt__space_part *part, const tt__problem *p, tt__space *space);

#endif
