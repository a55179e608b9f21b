/*
 * The layers below the user's store.
 */
#include "dispatch/store_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/space.h"

const char *const tt__layer_names[TT__LAYER_COUNT] = {"user", "system", "shipped"};

tt__store *tt__layer_store(const tt_ctx *ctx, tt__layer layer) {
    return layer == TT__LAYER_USER ? ctx->store : layer == TT__LAYER_SYSTEM ? ctx->system : NULL;
}

tt_status tt__system_path(tt__str *out, bool *named) {
    const char *path = secure_getenv("TILETUNE_SYSTEM_DB");
    *named = path != NULL;
    tt__str_add(out, path ? path : "/etc/tiletune/tiletune.db");
    return tt__str_check(out);
}

tt_status tt__system_open(tt__store **out) {
    tt__str path = {0};
    bool named;
    *out = NULL;
    tt_status status = tt__system_path(&path, &named);
    if (status == TT_OK && *tt__str_text(&path) && (named || access(path.text, F_OK) == 0)) {
        status = tt__store_open(out, path.text, TT__STORE_READ_ONLY);
        if (status != TT_OK && named)
            tt__fail_prefix(status, "TILETUNE_SYSTEM_DB");
        else
            status = TT_OK;
    }
    tt__str_free(&path);
    return status;
}

/* The first GPU with this name; if there is none, one with a name that contains it. Do several? */
static const tt__gpu *shipped_gpu(const char *name, bool *several) {
    const tt__gpu *found = NULL;
    *several = false;
    for (size_t i = 0; i < tt__n_shipped; i++) {
        const tt__gpu *gpu = &tt__shipped[i].gpu;
        if (tt__same_letters(gpu->name, name)) {
            *several = false;
            return gpu;
        }
        if (!tt__has_letters(gpu->name, name))
            continue;
        *several |= found && strcmp(found->name, gpu->name) != 0;
        found = found ? found : gpu;
    }
    return found;
}

void tt__shipped_names(tt__str *out) {
    for (size_t i = 0; i < tt__n_shipped; i++) {
        size_t first = 0; /* winners of a GPU are not all side by side */
        while (strcmp(tt__shipped[first].gpu.name, tt__shipped[i].gpu.name) != 0)
            first++;
        if (first == i)
            tt__str_addf(out, "%s%s", i ? ", " : "", tt__shipped[i].gpu.name);
    }
    if (!tt__n_shipped)
        tt__str_add(out, "none");
}

bool tt__shipped_winner(const tt__gpu *gpu, const tt__problem *p, tt__winner *out) {
    for (size_t i = 0; i < tt__n_shipped; i++)
        if (tt__same_gpu(&tt__shipped[i].gpu, gpu) && tt__problem_same(&tt__shipped[i].problem, p)) {
            *out = tt__shipped[i];
            return true;
        }
    return false;
}

/* A part of a name that several GPUs of one layer have may still be the whole name of another layer's. */
tt_status tt__stores_find_gpu(tt__store *user, tt__store *system_store, const char *name, tt__gpu *gpu,
                              int64_t *gpu_id) {
    int64_t id;
    *gpu = (tt__gpu){0};
    *gpu_id = -1;
    tt_status status = user ? tt__store_find_gpu(user, name, gpu, gpu_id)
                            : tt__fail(TT_E_INVALID, "GPU \"%s\": nothing is tuned yet", name);
    if (status != TT_E_INVALID)
        return status;
    bool several = *gpu->name, several_shipped;
    const tt__gpu *found = shipped_gpu(name, &several_shipped);
    tt__gpu system = {0};
    tt__str why = {0};
    tt__str_add(&why, tt_last_error()); /* report the failure of the user's store */
    if (system_store && tt__store_find_gpu(system_store, name, &system, &id) == TT_OK)
        found = several && !tt__same_letters(system.name, name) ? found : &system;
    else if (!several && *system.name) {
        several = true;
        *gpu = system;
        why.len = 0;
        tt__str_add(&why, tt_last_error());
    }
    if (found &&
        (!(several || (several_shipped && found != &system)) || tt__same_letters(found->name, name))) {
        *gpu = *found;
        status = user ? tt__store_known_gpu(user, gpu, gpu_id) : TT_OK;
    } else if (several) {
        tt__fail(status, "%s", tt__str_text(&why));
    } else {
        tt__str names = {0};
        tt__shipped_names(&names);
        if (several_shipped) {
            *gpu = *found;
            tt__fail(status, "GPU \"%s\": several GPUs that come with tiletune match: %s", name,
                     tt__str_text(&names));
        } else {
            tt__fail(status, user ? "%s (with tiletune come: %s)" : "%s; with tiletune come: %s",
                     tt__str_text(&why), tt__str_text(&names));
        }
        tt__str_free(&names);
    }
    tt__str_free(&why);
    return status;
}

tt_status tt__layers_find_gpu(tt_ctx *ctx, const char *name, tt__gpu *gpu, int64_t *gpu_id) {
    return tt__stores_find_gpu(ctx->store, ctx->system, name, gpu, gpu_id);
}

static tt_status cubin_in(tt__store *store, const tt__gpu *gpu, const tt__problem *p,
                          const tt__configuration *c, tt__str *out, bool *found) {
    tt__str key = {0};
    char build[TT__BUILD_MAX];
    tt__config_build(build, c, p);
    tt_status status =
        tt__store_cubin_find(store, c->t->hash, build, tt__problem_elem_size(p), gpu->cc, &key, found);
    if (status == TT_OK && *found)
        status = tt__store_cubin_get(store, tt__str_text(&key), out, found);
    tt__str_free(&key);
    return status;
}

tt_status tt__layers_cubin(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt__configuration *c,
                           tt__str *out, bool *found) {
    tt_status status = cubin_in(ctx->store, gpu, p, c, out, found);
    if ((status == TT_OK || status == TT_E_DB) && !*found && ctx->system) {
        const tt_status of_system = cubin_in(ctx->system, gpu, p, c, out, found);
        status = *found || status == TT_OK ? of_system : status;
    }
    return status;
}

/* A damaged one is as good as none: the kernel is compiled. */
tt_status tt__shipped_unpack(tt__str *out, const tt__shipped_cubin *s) {
    uLongf n = s->bytes;
    char *cubin = malloc(n);
    if (!cubin)
        return tt__fail_memory(n);
    if (uncompress((Bytef *)cubin, &n, tt__shipped_code + s->at, s->packed_bytes) == Z_OK)
        tt__str_addn(out, cubin, n);
    free(cubin);
    return tt__str_check(out);
}

tt_status tt__shipped_find(const tt__gpu *gpu, const tt__problem *p, const tt__configuration *c,
                           tt__str *out) {
    char build[TT__BUILD_MAX];
    const int elem_size = tt__problem_elem_size(p);
    tt__config_build(build, c, p);
    for (size_t i = 0; i < tt__n_shipped_cubins; i++) {
        const tt__shipped_cubin *s = &tt__shipped_cubins[i];
        if (s->cc == gpu->cc && s->elem_size == elem_size && strcmp(s->build, build) == 0 &&
            strcmp(s->hash, c->t->hash) == 0)
            return tt__shipped_unpack(out, s);
    }
    return TT_OK;
}

/* ---- Is a winner still valid? ----------------------------------------------------------------------------
 */

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
