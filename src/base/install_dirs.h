/* Where the files are that come with tiletune: the worker, the scripts, and NVRTC if it was installed with
 * it. */
#ifndef TT_BASE_INSTALL_DIRS_H
#define TT_BASE_INSTALL_DIRS_H

#include "base/str.h"

enum { TT__PLACES = 4 };

/* Appends folder `i` of TT__PLACES: that of this library or program, ../libexec/tiletune and
 * ../../libexec/tiletune from there, and where tiletune was installed. */
void tt__install_folder(tt__str *out, int i);

/* $TILETUNE_WORKER if set, else `tiletune-worker` in the first folder that has it. TT_E_IO lists the places
 * that were tried. */
tt_status tt__worker_path(tt__str *out);

/* A script, in the same places. */
tt_status tt__script_path(tt__str *out, const char *name);

#endif
