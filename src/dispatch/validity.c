/*
 * Compares a winner's template, method and driver with today's.
 */
#include "dispatch/validity.h"

#include "kernel/load/set.h"

#include <stdio.h>

static bool differs(const char *then, const char *now) {
    return now && *now && strcmp(then, now) != 0;
}

void tt__winner_staleness(char *why, size_t size, const tt__winner *w, const tt__template_set *templates,
                          const char *driver, const char *nvrtc) {
    const tt__template *t = tt__template_set_find(templates, w->kernel);
    why[0] = '\0';
    bool users = w->problem.text[0] != '\0'; /* the file of a user's operation may not be loaded */
    if (!t && !users)
        snprintf(why, size, "no template %s here", w->kernel);
    else if (differs(w->env.library, TT__METHOD))
        snprintf(why, size, "measured by method %s, this is %s", *w->env.library ? w->env.library : "unknown",
                 TT__METHOD);
    else if (t && strcmp(t->hash, w->hash) != 0)
        snprintf(why, size, "template changed since");
    else if (differs(w->env.driver, driver))
        snprintf(why, size, "measured under driver %s, this is %s",
                 *w->env.driver ? w->env.driver : "unknown", driver);
    else if (differs(w->env.nvrtc, nvrtc))
        snprintf(why, size, "compiled by NVRTC %s, this is %s, and the cubin is gone", w->env.nvrtc, nvrtc);
}
