/*
 * Compile workers: what they compile next, and what becomes of it.
 */
#include "tuner/backend/gpu/loop.h"

#include <stdio.h>

#include "base/str.h"
#include "tuner/measure/verify.h"
#include "tuner/session/limits.h"

/* The list from which one more compiler may take work, or NULL. */
static tt__expected *work_ahead(const tt__loop *l) {
    size_t n = 0;
    for (size_t w = l->workers.n_gpus; w < l->workers.n; w++)
        n += l->workers.items[w].busy && l->compiling[w] && !l->compiling[w]->wanted;
    return !l->mistaken && n < tt__expected_compilers(tt__workers_compilers(&l->workers)) ? l->opts.expected
                                                                                          : NULL;
}

/* Is it the reference of a problem under way? */
static bool is_reference(const tt__loop *l, const tt__cubin *cubin) {
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        if (l->lanes[i] && l->lanes[i]->task.reference == cubin)
            return true;
    return false;
}

/* Without its default and its reference, a kernel cannot be tuned. Operations with a cost model have more
 * than one template. */
static double compile_timeout_s(const tt__loop *l, const tt__cubin *cubin) {
    bool is_default =
        cubin->t && !cubin->t->operation->moves && strcmp(cubin->config, cubin->t->default_config) == 0;
    const bool is_needed = is_default || is_reference(l, cubin);
    return is_needed && l->opts.needed_timeout_s > 0 ? l->opts.needed_timeout_s : l->opts.compile_timeout_s;
}

tt_status tt__loop_feed_compilers(tt__loop *l) {
    tt__workers *workers = &l->workers;
    for (size_t w = workers->n_gpus; w < workers->n; w++) {
        tt__cubin *cubin;
        if (workers->items[w].busy)
            continue;
        TT_TRY(tt__cubins_next(&l->cubins, work_ahead(l), &cubin));
        if (!cubin)
            break;
        if (tt__worker_gone(&workers->items[w]))
            tt__worker_stop(&workers->items[w]);
        if (!workers->items[w].pid)
            TT_TRY(tt__workers_start(workers, w));
        l->compiling[w] = cubin;
        tt__workers_ask_compile(workers, w, cubin->t ? cubin->t->path : tt__checker[0].name,
                                cubin->t ? cubin->t->source : tt__checker[0].source, &cubin->options,
                                cubin->n_options, compile_timeout_s(l, cubin));
    }
    return TT_OK;
}

/* Once, although each problem may have a default of its own. */
static void warn_of_unfilled(tt__loop *l, const tt__cubin *cubin) {
    tt__str warnings = {0};
    if (!cubin->t || !cubin->t->own || cubin->t == l->warned ||
        strcmp(cubin->config, cubin->t->default_config) != 0)
        return;
    l->warned = cubin->t;
    tt__cubins_unfilled(&warnings, cubin->t, cubin->image.text, cubin->image.len);
    tt__loop_say_lines(l, cubin->t->path, tt__str_text(&warnings));
    tt__str_free(&warnings);
}

tt_status tt__loop_compiled(tt__loop *l, size_t worker) {
    const tt__msg_compiled *m = (const tt__msg_compiled *)l->workers.payload.text;
    tt__cubin *cubin = l->compiling[worker];
    l->compiling[worker] = NULL;
    cubin->compile_ms = (m->end_s - m->begin_s) * 1e3;
    tt__timeline_compiled(&l->timeline, worker, cubin, m);
    if (m->done.status == TT_E_COMPILE && (cubin->t || cubin == l->peaks)) {
        tt__cubin_failed(cubin, TT__TRIAL_COMPILE_ERROR, m->done.error);
        return TT_OK;
    }
    if (m->done.status != TT_OK && l->presumed &&
        !l->described) { /* compiled for a GPU that may not be there */
        l->mistaken = true;
        return TT_OK;
    }
    TT_TRY(tt__workers_adopt(
        &m->done)); /* NVRTC itself does not work, so that every other configuration would fail */
    TT_TRY(tt__cubins_ready(&l->cubins, cubin, l->workers.payload.text + sizeof *m,
                            l->workers.payload.len - sizeof *m));
    warn_of_unfilled(l, cubin);
    return TT_OK;
}

/* Every trial needs this cubin. Its compiler may have run out of memory, so it is tried again. */
static bool is_tried_again(const tt__loop *l, tt__cubin *cubin) {
    enum { TRIES = 3 };
    /* The reference of a built-in operation may be compiled ahead. */
    bool needed = !cubin->t || is_reference(l, cubin) || cubin->t->n_defines;
    return needed && ++cubin->lost < TRIES;
}

tt_status tt__loop_lost_compiler(tt__loop *l, const tt__event *e) {
    const bool timeout = e->kind == TT__EVENT_TIMEOUT;
    tt__cubin *cubin = l->compiling[e->worker];
    const bool again = cubin && !timeout && is_tried_again(l, cubin);
    char reason[256];
    if (!cubin)
        return tt__fail(TT_E_IO, "a compile worker %s", e->reason);
    if (!cubin->t && timeout)
        return tt__fail(TT_E_IO,
                        "the verifier's own kernels compiled longer than %g s, the limit of a compile: allow "
                        "more with --compile-timeout, or a longer --budget",
                        compile_timeout_s(l, cubin));
    if (!cubin->t && !again)
        return tt__fail(TT_E_IO,
                        "a compile worker %s, as did %d before it, over the verifier's own kernels: is there "
                        "memory enough for %zu compilers? Fewer: --jobs N",
                        e->reason, cubin->lost - 1, tt__workers_compilers(&l->workers));
    l->compiling[e->worker] = NULL;
    if (timeout) {
        cubin->limit_s = compile_timeout_s(l, cubin);
        cubin->compile_ms = cubin->limit_s * 1e3;
        tt__format(reason, sizeof reason, "compiled longer than %g s", compile_timeout_s(l, cubin));
    } else
        snprintf(reason, sizeof reason, "its compiler %s", e->reason);
    tt__timeline_lost(&l->timeline, e->worker, tt__cubin_kernel(cubin), cubin->config, reason);
    if (again)
        tt__cubins_again(&l->cubins, cubin);
    else
        tt__cubin_failed(cubin, timeout ? TT__TRIAL_COMPILE_TIMEOUT : TT__TRIAL_COMPILER_CRASHED, reason);
    return TT_OK;
}
