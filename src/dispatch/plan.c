/*
 * Makes plans, which have everything that a launch needs.
 */
#include "dispatch/plan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "code/nvrtc.h"
#include "dispatch/first_use.h"
#include "dispatch/ladder.h"
#include "dispatch/modules.h"
#include "dispatch/snapshot.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/workload.h"

/* ---- Making a plan ---------------------------------------------------------------------------------------
 */

/* A plan that is being made. */
typedef struct making {
    const tt__template_set *templates;
    const tt__problem *problem;
    const tt__template *answered; /* by the ladder; another than the candidate's after choose_any_size */
    tt__problem *permutation;     /* or NULL; owned */
    tt__gpu gpu;
    tt__candidate candidate;
    tt__module_key key;
    tt__str cubin;     /* empty: not in the store */
    char refused[256]; /* why the stored cubin cannot be used, or "" */
} making;

/* If the store or the driver refuses a stored cubin, the kernel is compiled again. */
static tt_status refuse_stored(making *m, tt_status why, tt_status forgivable) {
    if (why != forgivable)
        return why;
    tt__copy(m->refused, sizeof m->refused, tt_last_error());
    tt__str_free(&m->cubin);
    return TT_OK;
}

static void make_key(making *m) {
    m->key = (tt__module_key){
        .t = m->candidate.configuration.t, .cc = m->gpu.cc, .elem_size = tt__problem_elem_size(m->problem)};
    tt__config_build(m->key.build, &m->candidate.configuration, m->problem);
}

static tt_status choose(tt_plan *plan, tt_ctx *ctx, making *m) {
    tt_choice *choice = &plan->choice;
    TT_TRY(tt__knowledge_gpu(ctx, &m->gpu));
    TT_TRY(tt__ladder(ctx, m->templates, &m->gpu, m->problem, choice, &m->candidate));
    m->answered = m->candidate.configuration.t;
    make_key(m);
    plan->launch = m->candidate.launch;
    return TT_OK;
}

/* Did nobody measure these sizes in any regime? */
static bool is_untuned(const tt_choice *choice, const making *m) {
    char text[TT__PROBLEM_TEXT_MAX];
    return choice->match > TT_MATCH_STALE && strcmp(choice->problem, tt__problem_text(text, m->problem)) != 0;
}

/* Is the cubin for this problem alone, although nobody tuned it? A program may ask for any number of these.
 */
static bool is_for_once(const tt_choice *choice, const making *m) {
    const tt__template *t = m->candidate.configuration.t;
    return t->operation && t->operation->macros && !t->sized_by_args && is_untuned(choice, m);
}

/* The plan works even if the store cannot be written (read-only, full). The next process must compile
 * again. */
static tt_status keep_cubin(tt_ctx *ctx, const tt_choice *choice, const making *m) {
    const tt__configuration *c = &m->candidate.configuration;
    char key[TT__HASH_SIZE];
    tt__str options = {0};
    int n;
    if (ctx->read_only || is_for_once(choice, m))
        return TT_OK;
    tt_status status = tt__config_options(&options, &n, c, m->problem);
    if (status == TT_OK) {
        tt__cubin_key(key, c->t->source, options.text, n, m->gpu.cc, tt__nvrtc_version());
        pthread_mutex_lock(&ctx->lock);
        status = tt__store_cubin_put(ctx->store, key, m->cubin.text, m->cubin.len);
        if (status == TT_OK)
            status =
                tt__store_cubin_link(ctx->store, c->t->hash, m->key.build, m->key.elem_size, m->key.cc, key);
        pthread_mutex_unlock(&ctx->lock);
    }
    tt__str_free(&options);
    return status == TT_E_DB ? TT_OK : status;
}

static tt_status compile_cubin(making *m) {
    const tt__configuration *c = &m->candidate.configuration;
    tt__str options = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, c, m->problem);
    if (status == TT_OK)
        status = tt__nvrtc_compile(&m->cubin, c->t->path, c->t->source, options.text, n, m->gpu.cc);
    tt__str_free(&options);
    if (status != TT_OK && m->refused[0])
        tt__fail_prefix(status, "the stored cubin cannot be used (%s), and compiling failed", m->refused);
    return status;
}

static tt_status load(tt_plan *plan, tt_ctx *ctx, const making *m) {
    tt__kernel loaded;
    TT_TRY(
        tt__kernel_load(&loaded, plan->cu, m->cubin.text, m->cubin.len, &m->key.t->symbols, &plan->launch));
    TT_TRY(tt__module_add(&plan->module, ctx->modules, plan->n_constants ? NULL : &m->key, plan->cu,
                          &plan->launch, &loaded));
    plan->kernel = loaded;
    return TT_OK;
}

/* Of a store, or of those that come with the library. */
static tt_status find_stored(tt_ctx *ctx, making *m, bool in_library) {
    bool found;
    if (in_library)
        return tt__shipped_find(&m->gpu, m->problem, &m->candidate.configuration, &m->cubin);
    pthread_mutex_lock(&ctx->lock);
    tt_status status =
        tt__layers_cubin(ctx, &m->gpu, m->problem, &m->candidate.configuration, &m->cubin, &found);
    if (status != TT_OK)
        status = refuse_stored(m, status, TT_E_DB);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

static tt_status load_ahead(tt_ctx *ctx, const tt__driver *cu, const tt__shipped_cubin *s,
                            const tt__template *t) {
    const tt__launch launch = {.n_passes = t->n_passes};
    tt__module_key key = {.t = t, .cc = s->cc, .elem_size = s->elem_size};
    tt__module *module = NULL;
    tt__kernel kernel;
    tt__str cubin = {0};
    tt_status status;
    tt__copy(key.build, sizeof key.build, s->build);
    TT_GOTO(tt__module_find(&module, &kernel, ctx->modules, &key, cu, &launch));
    if (!module) {
        TT_GOTO(tt__shipped_unpack(&cubin, s));
        TT_GOTO(tt__kernel_load(&kernel, cu, cubin.text, cubin.len, &t->symbols, &launch));
        TT_GOTO(tt__module_add(&module, ctx->modules, &key, cu, &launch, &kernel));
        tt__module_pin(module);
    }
    tt__module_release(module);
out:
    tt__str_free(&cubin);
    return status;
}

/* Loading takes some 0.3 ms a kernel. A program whose shapes change would wait for it now and then, so that
 * the first new shape waits for all of them at once. What cannot be loaded now is loaded when it is needed.
 */
static void load_family(tt_ctx *ctx, const tt__driver *cu, const making *m) {
    tt__module_family f = {.cc = m->key.cc, .elem_size = m->key.elem_size};
    tt__copy(f.op, sizeof f.op, m->candidate.configuration.t->op);
    if (!tt__modules_is_first(ctx->modules, &f))
        return;
    for (size_t i = 0; i < tt__n_shipped_cubins; i++) {
        const tt__shipped_cubin *s = &tt__shipped_cubins[i];
        if (s->cc != f.cc || s->elem_size != f.elem_size)
            continue;
        for (size_t k = 0; k < m->templates->n; k++) {
            const tt__template *t = m->templates->items[k];
            if (strcmp(t->op, f.op) == 0 && strcmp(t->hash, s->hash) == 0 &&
                (tt__template_read(&t) != TT_OK || load_ahead(ctx, cu, s, t) != TT_OK))
                return;
        }
    }
}

/* Notes the arguments that the caller must give. */
static tt_status take_parameters(tt_plan *plan, const tt__workload *w) {
    free(plan->parameters);
    plan->n_parameters = plan->n_constants = plan->n_buffers = 0;
    plan->missing = 0;
    plan->parameters = calloc((size_t)w->n + 1, sizeof *plan->parameters);
    if (!plan->parameters)
        return tt__fail_memory((size_t)w->n * sizeof *plan->parameters);
    for (int i = 0; i < w->n && !w->arrays[i].aside; i++) { /* those are last */
        const tt__array *a = &w->arrays[i];
        if (a->direction == TT__CONSTANT)
            plan->missing |= UINT64_C(1) << plan->n_constants++;
        else
            plan->n_parameters++;
        tt__parameter *p = &plan->parameters[i];
        *p = (tt__parameter){.type = a->type,
                             .direction = a->direction,
                             .count = a->count,
                             .bytes = (size_t)tt__array_bytes(a)};
        tt__copy(p->name, sizeof p->name, a->name);
    }
    if (plan->n_parameters == 2 && w->arrays[0].direction == TT__IN && w->arrays[1].direction == TT__OUT)
        plan->n_buffers = 2;
    else if (plan->n_parameters == 1 && w->arrays[0].direction == TT__INOUT)
        plan->n_buffers = 1;
    plan->needs_scratch = plan->n_parameters == 2 && w->arrays[0].direction == TT__INOUT &&
                          w->arrays[1].direction == TT__SCRATCH && !plan->of_user;
    return TT_OK;
}

static tt_status note_parameters(tt_plan *plan, const making *m) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_arrays(w, m->candidate.configuration.t, &m->gpu, m->problem,
                                               m->candidate.configuration.config)
                         : tt__fail_memory(sizeof *w);
    if (status == TT_OK)
        status = take_parameters(plan, w);
    free(w);
    return status;
}

/* A stored cubin of a tuned problem is preferred, even from another version of NVRTC, because it was
 * measured. For other problems the library is asked first, which needs neither SQL nor a lock. */
static tt_status load_stored(tt_plan *plan, tt_ctx *ctx, making *m) {
    const bool is_tuned = plan->choice.match <= TT_MATCH_STALE;
    for (int i = 0; i < 2; i++) {
        TT_TRY(find_stored(ctx, m, is_tuned == (i == 1)));
        if (!m->cubin.len)
            continue;
        const tt_status status = load(plan, ctx, m);
        if (status == TT_OK && i == 0 && !is_tuned)
            load_family(ctx, plan->cu, m);
        if (status == TT_OK)
            return TT_OK;
        TT_TRY(refuse_stored(m, status, TT_E_CUDA));
    }
    return TT_OK;
}

/* The code that another plan has loaded, or stored code. */
static tt_status find_code(tt_plan *plan, tt_ctx *ctx, making *m) {
    if (!plan->n_constants)
        TT_TRY(tt__module_find(&plan->module, &plan->kernel, ctx->modules, &m->key, plan->cu, &plan->launch));
    return plan->module ? TT_OK : load_stored(plan, ctx, m);
}

/* Nobody waits for a compiler because of a size that was not measured. */
static tt_status choose_any_size(tt_plan *plan, tt_ctx *ctx, making *m) {
    bool found;
    m->permutation = malloc(sizeof *m->permutation); /* large for a stack */
    if (!m->permutation)
        return tt__fail_memory(sizeof *m->permutation);
    TT_TRY(tt__ladder_any_size(&found, m->permutation, &plan->choice, &m->candidate, ctx, m->templates,
                               &m->gpu, m->problem));
    if (!found)
        return TT_OK;
    m->problem = m->permutation;
    make_key(m);
    plan->launch = m->candidate.launch;
    TT_TRY(note_parameters(plan, m));
    return find_code(plan, ctx, m);
}

/* Others that need the same code wait for it. The store is written when nobody does: its lock may be held by
 * one that waits. */
static tt_status compile_and_load(tt_plan *plan, tt_ctx *ctx, making *m) {
    tt__module_maker me = {.key = &m->key};
    const bool shared = !plan->n_constants;
    tt_status status = TT_OK;
    if (shared) {
        tt__module_compile_begin(ctx->modules, &me);
        status =
            tt__module_find(&plan->module, &plan->kernel, ctx->modules, &m->key, plan->cu, &plan->launch);
    }
    if (status == TT_OK && !plan->module)
        status = compile_cubin(m);
    if (status == TT_OK && !plan->module)
        status = load(plan, ctx, m);
    if (shared)
        tt__module_compile_end(ctx->modules, &me);
    return status == TT_OK && m->cubin.len ? keep_cubin(ctx, &plan->choice, m) : status;
}

/* Found or new. Constants are data in the code, so a plan with constants shares none. Relaxed mode: the
 * driver's allocations while loading must not disturb a capture in any thread. */
static tt_status get_code(tt_plan *plan, tt_ctx *ctx, making *m) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    TT_TRY(tt__cu_check(plan->cu->cuThreadExchangeStreamCaptureMode(&mode),
                        "cuThreadExchangeStreamCaptureMode"));
    tt_status status = find_code(plan, ctx, m);
    if (status == TT_OK && !plan->module && !ctx->locked && is_untuned(&plan->choice, m))
        status = choose_any_size(plan, ctx, m);
    if (status == TT_OK && !plan->module)
        status = compile_and_load(plan, ctx, m);
    plan->cu->cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

/* Bytes that a launch moves: as the operation counts them, else each buffer once for each direction. */
static double moved_bytes(const tt_plan *plan, const tt__problem *p) {
    double sum = 0;
    for (int i = 0; i < plan->n_parameters; i++) {
        const tt__parameter *a = &plan->parameters[i];
        if (a->direction != TT__SCALAR && a->direction != TT__SCRATCH)
            sum += (double)a->bytes * (a->direction == TT__INOUT ? 2 : 1);
    }
    return p->moved_bytes > 0 ? p->moved_bytes : sum;
}

/* What a launch takes: as many bytes at the rate of the problem that it was measured for, else at that of the
 * memory. */
static double estimate_us(const tt_plan *plan, const making *m) {
    const double least_us = 2, usual_gbps = 1000, bytes = moved_bytes(plan, m->problem);
    const tt_choice *c = &plan->choice;
    const double gbps = c->gbps > 0 ? c->gbps : m->gpu.peak_gbps > 0 ? m->gpu.peak_gbps : usual_gbps;
    const double us = c->time_us > 0 && !(c->gbps > 0) ? c->time_us : bytes / (gbps * 1e3);
    return us > least_us ? us : least_us;
}

static void collect(tt_plan *plan, const tt_ctx *ctx, const making *m, const tt__problem *asked) {
    const tt__template *t = m->answered;
    if (ctx->collector && plan->choice.match != TT_MATCH_EXACT)
        plan->tally =
            tt__tally_of(ctx->collector, asked, t->operation, t->path, &m->gpu, estimate_us(plan, m));
}

tt_status tt__plan_make(tt_plan **out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p) {
    making m = {.templates = templates, .problem = p};
    *out = NULL;
    tt_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tt__fail_memory(sizeof *plan);
    tt_status status;
    plan->choice.size = sizeof plan->choice;
    plan->misaligned = (CUdeviceptr)tt__problem_align(p) - 1;
    plan->of_user = p->text[0] != '\0';
    TT_GOTO(tt__driver_open(&plan->cu));
    TT_GOTO(choose(plan, ctx, &m));
    TT_GOTO(note_parameters(plan, &m));
    TT_GOTO(get_code(plan, ctx, &m));
    for (int i = 0; i < plan->launch.n_passes; i++)
        plan->launch.passes[i].early &= !ctx->no_early_launch;
    tt__kernel_constants(plan->constants, &plan->launch);
    if (plan->choice.match > TT_MATCH_STALE && ctx->tune_budget_s > 0) {
        pthread_mutex_lock(&ctx->lock);
        tt__first_use_note(ctx, templates, p, plan->choice.why, sizeof plan->choice.why);
        pthread_mutex_unlock(&ctx->lock);
    }
    collect(plan, ctx, &m, p);
    *out = plan;
out:
    free(m.permutation);
    tt__str_free(&m.cubin);
    if (status != TT_OK)
        tt__plan_free(plan);
    return status;
}

void tt__plan_free(tt_plan *plan) {
    tt__tally_release(plan->tally);
    tt__module_release(plan->module);
    free(plan->parameters);
    free(plan);
}

/* ---- Code that is not loaded --------------------------------------------------------------------------- */

static tt_status compile_ptx(tt__plan_code *out, const making *m) {
    const tt__candidate *c = &m->candidate;
    tt__str options = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, &c->configuration, m->problem);
    if (status == TT_OK)
        status = tt__nvrtc_ptx(&out->ptx, c->configuration.t->path, c->configuration.t->source, options.text,
                               n, m->gpu.cc);
    tt__str_free(&options);
    if (status != TT_E_NO_NVRTC && status != TT_E_UNSUPPORTED && status != TT_E_COMPILE)
        return status;
    tt__copy_short(out->no_ptx, sizeof out->no_ptx, tt_last_error());
    tt__str_free(&out->ptx);
    return TT_OK;
}

tt_status tt__plan_code_make(tt__plan_code *out, tt_ctx *ctx, const tt__template_set *templates,
                             const tt__gpu *gpu, const tt__problem *p) {
    making m = {.templates = templates, .problem = p, .gpu = *gpu};
    *out = (tt__plan_code){.choice = TT_INIT(tt_choice)};
    tt_status status;
    TT_GOTO(tt__ladder(ctx, templates, gpu, p, &out->choice, &m.candidate));
    make_key(&m);
    TT_GOTO(find_stored(ctx, &m, false));
    if (!m.cubin.len)
        TT_GOTO(find_stored(ctx, &m, true));
    if (!m.cubin.len) {
        TT_GOTO(compile_cubin(&m));
        TT_GOTO(keep_cubin(ctx, &out->choice, &m));
    }
    TT_GOTO(compile_ptx(out, &m));
    out->candidate = m.candidate;
out:
    out->cubin = m.cubin;
    return status;
}

void tt__plan_code_free(tt__plan_code *code) {
    tt__str_free(&code->cubin);
    tt__str_free(&code->ptx);
}
