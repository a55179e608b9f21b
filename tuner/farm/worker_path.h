/* Where the worker program and the scripts are. */
#ifndef TT_TUNER_FARM_WORKER_PATH_H
#define TT_TUNER_FARM_WORKER_PATH_H

#include "base/str.h"

/* $TILETUNE_WORKER if set, else `tiletune-worker` beside this library or program, else in
 * ../libexec/tiletune or ../../libexec/tiletune from there, else where it was installed. TT_E_IO lists the
 * places that were tried. */
tt_status tt__worker_path(tt__str *out);

/* A script that comes with tiletune, in the same places. */
tt_status tt__script_path(tt__str *out, const char *name);

#endif
