/*
 * Collects facts about this machine once, then judges winners one by one.
 */
#include "tuner/cli/commands/judge.h"

#include <string.h>

#include "code/nvrtc.h"
#include "dispatch/layers.h"
#include "gpu/device.h"
#include "gpu/driver.h"
#include "kernel/space/config.h"

bool tt__judge_here(const tt__judge *j, const tt__gpu *gpu) {
    for (size_t i = 0; i < j->n_here; i++)
        if (tt__same_gpu(&j->here[i], gpu))
            return true;
    return false;
}

static void look_around(tt__judge *j) {
    if (tt__device_count(&j->n_devices) != TT_OK)
        return;
    for (int i = 0; i < j->n_devices; i++) {
        tt__gpu gpu;
        if (tt__device_gpu(&gpu, i) != TT_OK)
            continue;
        if (!tt__judge_here(j, &gpu) && j->n_here < TT__HERE_MAX)
            j->here[j->n_here++] = gpu;
        j->n_read += tt__judge_here(j, &gpu);
    }
    tt__driver_version(j->driver, sizeof j->driver);
    if (tt__nvrtc_open() == TT_OK)
        tt__copy(j->nvrtc, sizeof j->nvrtc, tt__nvrtc_version());
}

tt_status tt__judge_open(tt__judge *out, tt__store *store, const tt__cli_args *args) {
    *out = (tt__judge){.store = store};
    TT_TRY(tt__template_set_open(&out->templates, args->templates, args->n_templates));
    look_around(out);
    return TT_OK;
}

void tt__judge_close(tt__judge *j) {
    tt__template_set_close(&j->templates);
}

/* If a kernel's file is missing, any cubin with that configuration counts, whatever its derived values. */
static bool has_cubin(const tt__judge *j, const tt__winner *w) {
    const tt__template *t = tt__template_set_find(&j->templates, w->kernel);
    tt__candidate c = {0};
    bool found = false;
    char build[TT__BUILD_MAX];
    if (!t || tt__space_resolve(&c, t, &w->gpu, &w->problem, w->config) != TT_OK) {
        c = (tt__candidate){0};
        tt__copy(c.config, sizeof c.config, w->config);
    }
    tt__config_build(build, &c, &w->problem);
    tt_status status = tt__store_cubin_linked(j->store, w->hash, build, tt__problem_elem_size(&w->problem),
                                              w->gpu.cc, &found);
    return status == TT_OK && found;
}

void tt__judge_winner(const tt__judge *j, const tt__winner *w, char *why, size_t size) {
    bool here = tt__judge_here(j, &w->gpu);
    const char *nvrtc = here && strcmp(w->env.nvrtc, j->nvrtc) != 0 && !has_cubin(j, w) ? j->nvrtc : NULL;
    tt__winner_staleness(why, size, w, &j->templates, here ? j->driver : NULL, nvrtc);
}
