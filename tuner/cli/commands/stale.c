/*
 * Collects facts about this machine once, then judges winners one by one.
 */
#include "tuner/cli/commands/stale.h"

#include <string.h>

#include "code/nvrtc.h"
#include "dispatch/store_layers.h"
#include "gpu/device.h"
#include "gpu/driver.h"
#include "kernel/space/config.h"

bool tt__stale_here(const tt__stale *s, const tt__gpu *gpu) {
    for (size_t i = 0; i < s->n_here; i++)
        if (tt__same_gpu(&s->here[i], gpu))
            return true;
    return false;
}

static void look_around(tt__stale *s) {
    if (tt__device_count(&s->n_devices) != TT_OK)
        return;
    for (int i = 0; i < s->n_devices; i++) {
        tt__gpu gpu;
        if (tt__device_gpu(&gpu, i) != TT_OK)
            continue;
        if (!tt__stale_here(s, &gpu) && s->n_here < TT__HERE_MAX)
            s->here[s->n_here++] = gpu;
        s->n_read += tt__stale_here(s, &gpu);
    }
    tt__driver_version(s->driver, sizeof s->driver);
    if (tt__nvrtc_open() == TT_OK)
        tt__copy(s->nvrtc, sizeof s->nvrtc, tt__nvrtc_version());
}

tt_status tt__stale_open(tt__stale *out, tt__store *store, const tt__cli_args *args) {
    *out = (tt__stale){.store = store};
    TT_TRY(tt__template_set_open(&out->templates, args->templates, args->n_templates));
    look_around(out);
    return TT_OK;
}

void tt__stale_close(tt__stale *s) {
    tt__template_set_close(&s->templates);
}

/* If a kernel's file is missing, any cubin with that configuration counts, whatever its derived values. */
static bool has_cubin(const tt__stale *s, const tt__winner *w) {
    const tt__template *t = tt__template_set_find(&s->templates, w->kernel);
    tt__candidate c = {0};
    bool found = false;
    char build[TT__BUILD_MAX];
    if (!t || tt__space_resolve(&c, t, &w->gpu, &w->problem, w->config) != TT_OK) {
        c = (tt__candidate){0};
        tt__copy(c.configuration.config, sizeof c.configuration.config, w->config);
    }
    tt__config_build(build, &c.configuration, &w->problem);
    tt_status status = tt__store_cubin_linked(s->store, w->hash, build, tt__problem_elem_size(&w->problem),
                                              w->gpu.cc, &found);
    return status == TT_OK && found;
}

void tt__stale_why(const tt__stale *s, const tt__winner *w, char *why, size_t size) {
    const bool here = tt__stale_here(s, &w->gpu), shipped = strcmp(w->source, "shipped") == 0;
    const char *nvrtc =
        here && !shipped && strcmp(w->env.nvrtc, s->nvrtc) != 0 && !has_cubin(s, w) ? s->nvrtc : NULL;
    tt__winner_staleness(why, size, w, &s->templates, here ? s->driver : NULL, nvrtc);
}
