/*
 * Is a stored winner still valid?
 */
#ifndef TT_DISPATCH_VALIDITY_H
#define TT_DISPATCH_VALIDITY_H

#include "db/store.h"
#include "kernel/load/set.h"
#include "kernel/model/template.h"

/*
 * Writes why the winner is stale, or "" if it is valid. The GPU and the problem were compared by the look-up.
 * Compared here are the template's text, the measuring method, the driver and NVRTC. `driver` and `nvrtc` are
 * those of the machine that has the winner's GPU; NULL or "" are not compared. Give `nvrtc` only if the
 * measured cubin is gone.
 */
void tt__winner_staleness(char *why, size_t size, const tt__winner *w, const tt__template_set *templates,
                          const char *driver, const char *nvrtc);

#endif
