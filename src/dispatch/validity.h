/* Does a stored winner still hold? */
#ifndef TT_DISPATCH_VALIDITY_H
#define TT_DISPATCH_VALIDITY_H

#include "db/store.h"
#include "template/template.h"

/*
 * Writes why the winner is stale, or "" if it holds. Whatever can change a result is either part of the key
 * that the winner was found by (GPU, problem) or compared here: the template's text, the method of measuring,
 * the driver, NVRTC. `driver` and `nvrtc` are those of the machine that has the winner's GPU; NULL or "" :
 * unknown, not compared. NVRTC counts only if the cubin that was measured is gone: give it then only.
 */
void tt__winner_staleness(char *why, size_t size, const tt__winner *w, const tt__template_set *templates,
                          const char *driver, const char *nvrtc);

#endif
