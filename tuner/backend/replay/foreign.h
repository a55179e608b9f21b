/*
 * Facts for reading files of other tuners: the GPU, and the kernel. Results must be in the kernel's space.
 */
#ifndef TT_TUNER_BACKEND_REPLAY_FOREIGN_H
#define TT_TUNER_BACKEND_REPLAY_FOREIGN_H

#include "db/exchange/recording.h"
#include "kernel/model/template.h"

/* A GPU for when none is known. */
tt__gpu tt__typical_gpu(void);

/* Facts of a template and problem; all borrowed. A GPU without a name gets the file's. */
tt__foreign tt__foreign_of(const tt__template *t, const tt__problem *p, const tt__gpu *gpu);

#endif
