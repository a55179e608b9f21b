/*
 * Compile workers: what they compile next, and what becomes of it.
 */
#ifndef TT_TUNER_BACKEND_GPU_COMPILERS_H
#define TT_TUNER_BACKEND_GPU_COMPILERS_H

#include "tuner/backend/gpu/loop.h"

/* Gives idle compilers the next cubin. */
tt_status tt__loop_feed_compilers(tt__loop *l);
/* A cubin has arrived or failed. */
tt_status tt__loop_compiled(tt__loop *l, size_t worker);
/* A compiler died, or took too long. */
tt_status tt__loop_lost_compiler(tt__loop *l, const tt__event *e);

#endif
