/*
 * Finals: each has a GPU for itself, while the others try configurations.
 */
#ifndef TT_TUNER_BACKEND_GPU_FINALS_H
#define TT_TUNER_BACKEND_GPU_FINALS_H

#include "tuner/backend/gpu/loop.h"

/* A GPU for finals, if possible one with the lane's arrays; TT__GPUS_MAX: none is free. A clock below its
 * twins' rules a GPU out, because medians would differ. */
size_t tt__loop_choose_gpu(tt__loop *l, size_t lane);
/* Goes on with finals that wait for a GPU, or for its arrays. */
tt_status tt__loop_feed_finals(tt__loop *l);
/* A GPU's finals have ended: the reply is in `payload`. */
tt_status tt__loop_finished(tt__loop *l, size_t gpu);
/* A GPU was lost during finals. Another one holds them anew. If it was the last, they fail. */
tt_status tt__loop_lost_finals(tt__loop *l, size_t gpu, tt_status status);
/* A GPU's finals took too long, and fail. The GPU stays, as the others would take as long. If it is late
 * again and another GPU was not, it is given up. */
tt_status tt__loop_late_finals(tt__loop *l, size_t gpu);
/* The GPU of the lane's finals does none any more. */
void tt__loop_release(tt__loop *l, size_t lane);

#endif
