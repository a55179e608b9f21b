/* The backend that looks trials up in a recording. */
#ifndef TT_TUNER_BACKEND_REPLAY_BACKEND_REPLAY_H
#define TT_TUNER_BACKEND_REPLAY_BACKEND_REPLAY_H

#include "db/exchange/recording.h"
#include "kernel/model/template.h"
#include "tuner/backend/backend.h"

/* A recording; compiles and launches nothing. `foreign` as for tt__recording_open_t4; `should_stop` may be
 * NULL. */
tt_status tt__backend_replay(tt__backend **out, const char *path, const tt__foreign *foreign,
                             int (*should_stop)(void *user), void *user);
/* TT_E_INVALID if the backend's recording lacks the problem. The message says what it has. */
tt_status tt__backend_replay_check(const tt__backend *b, const tt__problem *p);

/* What was left out of the recording, and why: "2 members are left out, the first: ...". "": nothing. */
const char *tt__backend_replay_left_out(const tt__backend *b);
/* The number of devices that share the trials, as in FILE*8; otherwise 1. */
size_t tt__backend_replay_devices(const tt__backend *b);

/* ---- Facts for reading files of other tuners: the GPU, and the kernel. Results must be in its space ------
 */

/* A GPU for when none is known. */
tt__gpu tt__typical_gpu(void);

/* Facts of a template and problem; all borrowed. A GPU without a name gets the file's. */
tt__foreign tt__foreign_of(const tt__template *t, const tt__problem *p, const tt__gpu *gpu);

#endif
