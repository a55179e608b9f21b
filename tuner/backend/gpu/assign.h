/*
 * Which GPU works for which lane.
 */
#ifndef TT_TUNER_BACKEND_GPU_ASSIGN_H
#define TT_TUNER_BACKEND_GPU_ASSIGN_H

#include "tuner/backend/gpu/loop.h"

/* Has another lane a lost trial for which no other GPU has come, and its own lane none for this one? */
bool tt__loop_is_called(const tt__loop *l, size_t gpu);
/* Keeps a GPU in its lane if that has trials for it. Otherwise it goes to the lane that has fewest GPUs, and
 * then to the oldest trial. False: there is nothing for it. */
bool tt__loop_find_work(tt__loop *l, size_t gpu);
/* Requests arrays where the kernels that fill and check them are ready. */
tt_status tt__loop_prepare(tt__loop *l);

#endif
