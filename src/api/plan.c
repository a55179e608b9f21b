/*
 * The public functions of tt_plan, and tt_transpose and tt_permute, which make a plan for each problem, CUDA
 * context and pointer alignment when it is first used.
 */
#include <string.h>

#include "api/problem.h"
#include "api/sized.h"
#include "base/str.h"
#include "dispatch/first_use.h"
#include "dispatch/plan.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"

static tt_status no_plan(void) {
    return tt__fail(TT_E_INVALID, "the plan is NULL: tt_plan_create makes one");
}

tt_status tt_plan_create(tt_plan **out, tt_ctx *ctx, const tt_problem *problem) {
    tt__question q;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_plan_create: out is NULL");
    *out = NULL;
    TT_TRY(tt__question_of(&q, ctx, problem));
    tt__first_use(ctx, q.templates, &q.problem);
    TT_TRY(tt__plan_make(out, ctx, q.templates, &q.problem));
    (*out)->scratch = q.scratch;
    return TT_OK;
}

void tt_plan_free(tt_plan **plan) {
    if (!plan || !*plan)
        return;
    tt__plan_free(*plan);
    *plan = NULL;
}

const tt_choice *tt_plan_choice(const tt_plan *plan) {
    return plan ? &plan->choice : NULL;
}

/* ---- Arguments ----------------------------------------------------------------------------------------- */

size_t tt_plan_n_arguments(const tt_plan *plan) {
    return plan ? (size_t)plan->n_parameters : 0;
}

static tt_argument argument(const tt_plan *plan, size_t i) {
    const tt__parameter *p = &plan->parameters[i];
    return (tt_argument){.size = sizeof(tt_argument),
                         .name = p->name,
                         .type = tt__types[p->type].name,
                         .direction = tt__directions[p->direction],
                         .count = p->count,
                         .bytes = p->bytes};
}

tt_status tt_plan_argument(tt_argument *out, const tt_plan *plan, size_t i) {
    TT_TRY(tt__sized_check(out, "tt_argument"));
    if (!plan)
        return no_plan();
    if (i >= tt_plan_n_arguments(plan))
        return tt__fail(TT_E_INVALID, "argument %zu of a plan with %zu", i, tt_plan_n_arguments(plan));
    tt_argument a = argument(plan, i);
    tt__sized_out(out, &a, sizeof a);
    return TT_OK;
}

/* For programs built with version 0.1: an array of the structs of that time, and no arguments for a
 * transpose. */
TT_API size_t tt_plan_arguments(const tt_plan *plan, tt_argument *out, size_t n);
size_t tt_plan_arguments(const tt_plan *plan, tt_argument *out, size_t n) {
    size_t known = plan && plan->of_user ? (size_t)plan->n_parameters : 0;
    for (size_t i = 0; i < n && i < known && out; i++)
        out[i] = argument(plan, i);
    return known;
}

/* ---- Constants ------------------------------------------------------------------------------------------
 */

static tt_status no_constant(const tt_plan *plan, const char *name) {
    tt__suggest near = tt__suggest_for(name, strlen(name));
    for (int i = 0; i < plan->n_constants; i++)
        tt__suggest_try(&near, plan->parameters[plan->n_parameters + i].name);
    return tt__fail(TT_E_INVALID, "%s has no constant \"%.80s\"%s", plan->choice.kernel, name,
                    tt__suggest_text(&near));
}

tt_status tt_plan_set_constant(tt_plan *plan, const char *name, const void *data, size_t bytes) {
    if (!plan || !name || !data)
        return tt__fail(TT_E_INVALID, "tt_plan_set_constant: %s is NULL",
                        !plan   ? "the plan"
                        : !name ? "the name"
                                : "the data");
    int i = 0;
    while (i < plan->n_constants && strcmp(plan->parameters[plan->n_parameters + i].name, name) != 0)
        i++;
    if (i == plan->n_constants)
        return no_constant(plan, name);
    const tt__parameter *p = &plan->parameters[plan->n_parameters + i];
    if (bytes != p->bytes)
        return tt__fail(TT_E_INVALID, "%zu bytes for the constant %s, which has %zu: %lld elements of %s",
                        bytes, name, p->bytes, (long long)p->count, tt__types[p->type].name);
    CUdeviceptr at;
    TT_TRY(tt__kernel_constant(&at, &plan->kernel, plan->cu, name, bytes));
    if (at) {
        TT_TRY(tt__cu_check(plan->cu->cuMemcpyHtoD(at, data, bytes), "cuMemcpyHtoD (%s)", name));
        /* The copy from pageable memory may still run, and a CU_STREAM_NON_BLOCKING stream does not wait for
         * it. */
        TT_TRY(tt__cu_check(plan->cu->cuStreamSynchronize(CU_STREAM_LEGACY), "cuMemcpyHtoD (%s)", name));
    }
    plan->missing &= ~(UINT64_C(1) << i);
    return TT_OK;
}

static tt_status missing_constant(const tt_plan *plan) {
    int i = 0;
    while (!(plan->missing >> i & 1))
        i++;
    return tt__fail(TT_E_INVALID, "the constant %s of %s has no data yet: tt_plan_set_constant gives it",
                    plan->parameters[plan->n_parameters + i].name, plan->choice.kernel);
}

/* ---- Launching ----------------------------------------------------------------------------------------- */

static tt_status launch(const tt_plan *plan, void *const *args, CUstream stream) {
    CUresult r =
        tt__kernel_launch_with(&plan->kernel, plan->cu, &plan->launch, plan->constants, args, stream);
    if (r != CUDA_SUCCESS)
        return tt__cu_check(r, "cuLaunchKernel (%s)", plan->choice.kernel);
    if (plan->tally)
        tt__tally_count(plan->tally);
    return TT_OK;
}

static tt_status bad_addresses(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src) {
    if (plan->n_buffers == 0 && !plan->needs_scratch)
        return tt__fail(TT_E_INVALID,
                        "%s does not go from one buffer to another: tt_plan_launch_args launches it",
                        plan->choice.kernel);
    if (!dst || !src)
        return tt__fail(TT_E_INVALID, "%s is 0x0: it must be a device address", dst ? "src" : "dst");
    if ((plan->n_buffers == 1 || plan->needs_scratch) && dst != src)
        return tt__fail(TT_E_INVALID, "dst is 0x%llx and src 0x%llx: in place they must be the same", dst,
                        src);
    if (plan->n_buffers == 2 && dst == src)
        return tt__fail(TT_E_INVALID,
                        "dst and src are both 0x%llx: dst needs memory of its own, unless a matrix is "
                        "transposed in place (tt_problem.in_place)",
                        dst);
    return tt__fail(TT_E_INVALID,
                    "dst 0x%llx or src 0x%llx is not a multiple of %llu bytes, which the plan was made for; "
                    "give the problem an `align` that both are multiples of",
                    dst, src, plan->misaligned + 1);
}

enum { SCRATCH_ALIGN = 16 }; /* whatever the data is aligned to */

static tt_status bad_address(const char *name, CUdeviceptr at, CUdeviceptr align) {
    return tt__fail(TT_E_INVALID,
                    "%s is 0x%llx: it must be a device address that is a multiple of %llu bytes", name, at,
                    align);
}

/* Kept out of line, so that other launches stay fast. */
static __attribute__((noinline)) tt_status launch_with(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src,
                                                       CUdeviceptr scratch, CUstream stream) {
    if (dst != src || !dst || (dst & plan->misaligned))
        return bad_addresses(plan, dst, src);
    if (scratch & (SCRATCH_ALIGN - 1))
        return bad_address("scratch", scratch, SCRATCH_ALIGN);
    if (!scratch)
        return tt__fail(TT_E_INVALID,
                        "%s needs %zu bytes of device memory: give their address in tt_problem.scratch, or "
                        "call tt_plan_launch_args",
                        plan->choice.kernel, plan->parameters[1].bytes);
    void *operands[] = {&dst, &scratch};
    return launch(plan, operands, stream);
}

tt_status tt_plan_launch(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    if (!plan)
        return no_plan();
    /* One branch for alignment and 0, because every launch comes here. */
    if (plan->n_buffers != 1 + (dst != src) || (((dst | src) & plan->misaligned) | !dst | !src))
        return plan->needs_scratch ? launch_with(plan, dst, src, plan->scratch, stream)
                                   : bad_addresses(plan, dst, src);
    if (plan->missing)
        return missing_constant(plan);
    void *operands[] = {&src, &dst}; /* declared in this order; in place both are the same */
    return launch(plan, operands, stream);
}

static tt_status check_argument(const tt_plan *plan, void *const *args, int i) {
    const tt__parameter *p = &plan->parameters[i];
    bool scalar = p->direction == TT__SCALAR;
    if (!args || !args[i])
        return tt__fail(TT_E_INVALID, "argument %d, %s, is NULL: it must point to %s", i, p->name,
                        scalar ? "the scalar" : "the address of the buffer");
    if (scalar)
        return TT_OK;
    const CUdeviceptr at = *(const CUdeviceptr *)args[i];
    const CUdeviceptr align = p->direction == TT__SCRATCH ? SCRATCH_ALIGN : plan->misaligned + 1;
    return !at || at % align ? bad_address(p->name, at, align) : TT_OK;
}

/* A buffer that the kernel writes is no other one. Configurations were verified with separate arrays. */
static tt_status check_separate(const tt_plan *plan, void *const *args, int i) {
    const tt__parameter *p = plan->parameters;
    const CUdeviceptr at = *(const CUdeviceptr *)args[i];
    for (int k = 0; k < plan->n_parameters; k++)
        if (k != i && p[k].direction != TT__SCALAR && *(const CUdeviceptr *)args[k] == at)
            return tt__fail(TT_E_INVALID,
                            "%s and %s are both 0x%llx, and %s is written: it needs memory of its own",
                            p[k < i ? k : i].name, p[k < i ? i : k].name, at, p[i].name);
    return TT_OK;
}

tt_status tt_plan_launch_args(const tt_plan *plan, void *const *args, size_t n, CUstream stream) {
    if (!plan)
        return no_plan();
    if (n != (size_t)plan->n_parameters)
        return tt__fail(TT_E_INVALID, "%zu arguments for %s, which takes %d: %s first", n,
                        plan->choice.kernel, plan->n_parameters, plan->parameters[0].name);
    for (int i = 0; i < plan->n_parameters; i++)
        TT_TRY(check_argument(plan, args, i));
    for (int i = 0; i < plan->n_parameters; i++)
        if (plan->parameters[i].direction != TT__IN && plan->parameters[i].direction != TT__SCALAR)
            TT_TRY(check_separate(plan, args, i));
    if (plan->missing)
        return missing_constant(plan);
    return launch(plan, args, stream);
}

/* ---- Plans of the cache ------------------------------------------------------------------------ */

/* The largest power of two up to 16 that divides both addresses. */
static int align_of(CUdeviceptr dst, CUdeviceptr src) {
    CUdeviceptr bits = dst | src | 16;
    return (int)(bits & -bits);
}

/* A captured kernel must be loaded before, and a capture is no time for loading, compiling or tuning. */
static tt_status not_capturing(const tt__driver *cu, const tt__problem *p, const char *call,
                               CUstream stream) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    char text[TT__PROBLEM_TEXT_MAX];
    CUresult r = cu->cuStreamIsCapturing(stream, &capture);
    if (r == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE)
        return TT_OK;
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return tt__cu_check(r, "cuStreamIsCapturing");
    return tt__fail(
        TT_E_CAPTURE,
        "a graph is being captured and there is no plan yet for %s of %d-byte elements aligned to "
        "%d bytes; call %s once before the capture, or capture tt_plan_launch",
        tt__problem_text(text, p), tt__problem_elem_size(p), tt__problem_align(p), call);
}

/* If memory is short, the other plans are given up. */
static tt_status make_plan(tt_ctx *ctx, const tt__problem *p, tt_plan **out) {
    tt_status status = tt__plan_make(out, ctx, &ctx->templates, p);
    if (status != TT_E_NO_MEMORY)
        return status;
    pthread_mutex_lock(&ctx->making);
    tt__plan_cache_clear(&ctx->plans);
    pthread_mutex_unlock(&ctx->making);
    return tt__plan_make(out, ctx, &ctx->templates, p);
}

/* A thread that makes the plan of a key. Others may make those of other keys meanwhile: one may wait for a
 * compiler. */
typedef struct tt__plan_maker {
    const tt__plan_key *key;
    struct tt__plan_maker *next;
} maker;

static bool is_being_made(const tt_ctx *ctx, const tt__plan_key *key) {
    const maker *m = ctx->makers;
    while (m && memcmp(m->key, key, sizeof *key) != 0)
        m = m->next;
    return m;
}

/* Makes a plan and enters it. Call with ctx->making held, which is not held while the plan is made. */
static tt_status add_plan(tt_ctx *ctx, const tt__plan_key *asked, const tt__plan_key *full,
                          const tt__problem *p, tt_plan **out, atomic_uint **inside) {
    maker me = {full, ctx->makers}, **at = &ctx->makers;
    ctx->makers = &me;
    pthread_mutex_unlock(&ctx->making);
    const tt_status status = make_plan(ctx, p, out);
    pthread_mutex_lock(&ctx->making);
    while (*at != &me)
        at = &(*at)->next;
    *at = me.next;
    pthread_cond_broadcast(&ctx->made);
    if (status != TT_OK)
        return status;
    tt__module_pin((*out)->module); /* a graph that captured the plan may outlive it */
    tt__plan_cache_add(&ctx->plans, full, *out);
    *out = tt__plan_cache_enter_any(&ctx->plans, asked, full, inside);
    return TT_OK;
}

static bool has_plan(tt_ctx *ctx, const tt__plan_key *key) {
    atomic_uint *inside;
    const bool yes = tt__plan_cache_enter(&ctx->plans, key, &inside);
    if (yes)
        tt__plan_cache_leave(inside);
    return yes;
}

/* Tunes the problem if the context says so, and makes its plan. Adds it under the key `full`, and under the
 * key as the caller wrote it, and enters as tt__plan_cache_enter. The plan may exist already: another thread
 * made it, or the caller described the same problem with other fields before. */
static tt_status use_plan(tt_ctx *ctx, const tt__plan_key *asked, const tt__plan_key *full,
                          const tt__problem *p, tt_plan **out, atomic_uint **inside) {
    tt_status status = TT_OK;
    if (!has_plan(ctx, full))
        tt__first_use(ctx, &ctx->templates, p);
    pthread_mutex_lock(&ctx->making);
    while (is_being_made(ctx, full) || ctx->tune_waits)
        pthread_cond_wait(&ctx->made, &ctx->making);
    *out = tt__plan_cache_enter_any(&ctx->plans, asked, full, inside);
    if (!*out)
        status = add_plan(ctx, asked, full, p, out, inside);
    pthread_mutex_unlock(&ctx->making);
    return status;
}

/* Kept out of line, so that a launch with a cached plan stays fast. */
static __attribute__((noinline)) tt_status plan_of_matrix(tt_ctx *ctx, const tt_problem *problem,
                                                          const tt__plan_key *asked, int base_align,
                                                          CUstream stream, tt_plan **out,
                                                          atomic_uint **inside) {
    const tt__driver *cu;
    tt__plan_key full;
    tt__problem p;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__matrix_problem(&p, problem));
    TT_TRY(tt__matrix_align(&p, base_align));
    tt_problem matrix = tt__matrix_of(&p);
    tt__matrix_key(&full, &matrix, asked->words[TT__PLAN_KEY_CONTEXT], matrix.align);
    if (!has_plan(ctx, &full))
        TT_TRY(not_capturing(cu, &p, "tt_transpose", stream));
    return use_plan(ctx, asked, &full, &p, out, inside);
}

/* A struct of another size, or a problem that is no matrix. */
static __attribute__((noinline)) tt_status take_problem(tt_problem *out, tt_ctx *ctx, const tt_problem *in) {
    if (!ctx)
        return tt__fail(TT_E_INVALID, "the context is NULL: tt_open makes one");
    TT_TRY(TT__SIZED_IN(out, in, 0, tt_problem));
    if (!out->op && !out->values && !out->kernel && !out->permutation)
        return TT_OK;
    return tt__fail(TT_E_INVALID, "tt_transpose is for matrices: leave the other fields out, or make a "
                                  "plan (tt_plan_create)");
}

tt_status tt_transpose(tt_ctx *ctx, const tt_problem *problem, CUdeviceptr dst, CUdeviceptr src,
                       CUstream stream) {
    const tt__driver *cu;
    unsigned long long context;
    tt__plan_key key;
    tt_problem copy;
    int base_align = align_of(dst, src);
    if (!ctx || !problem || problem->size != sizeof *problem || problem->op || problem->values ||
        problem->kernel || problem->permutation) {
        TT_TRY(take_problem(&copy, ctx, problem));
        problem = &copy;
    }
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__device_context_id(&context, cu));
    tt__matrix_key(&key, problem, context, base_align);
    atomic_uint *inside;
    tt_plan *plan = tt__plan_cache_enter(&ctx->plans, &key, &inside);
    if (!plan)
        TT_TRY(plan_of_matrix(ctx, problem, &key, base_align, stream, &plan, &inside));
    const tt_status status = plan->needs_scratch ? launch_with(plan, dst, src, problem->scratch, stream)
                                                 : tt_plan_launch(plan, dst, src, stream);
    tt__plan_cache_leave(inside);
    return status;
}

/* ---- tt_permute -------------------------------------------------------------------------------- */

/* Words of a key that are hashes. They cover up to 64 dimensions, and a collision of all is out of question.
 */
enum { HASHES = TT__PLAN_KEY_CONTEXT };

static void mix(uint64_t h[HASHES], uint64_t word) {
    static const uint64_t odd[HASHES] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                         0xd6e8feb86659fd93, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53,
                                         0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3};
    for (int i = 0; i < HASHES; i++) {
        h[i] = (h[i] ^ word) * odd[i];
        h[i] ^= h[i] >> 29;
    }
}

/* rank and align fit their bits: tt_permute checks them. elem_size may be any number. */
static void permutation_key(tt__plan_key *key, const tt_permutation *p, unsigned long long context,
                            int align) {
    *key = (tt__plan_key){{0}};
    mix(key->words, (uint64_t)(unsigned)p->elem_size << 32 | (unsigned)p->rank << 16 | (unsigned)align << 4 |
                        (unsigned)(p->in_graph != 0) << 2 | (unsigned)(p->strides != NULL) << 1 |
                        (p->warm != 0));
    for (int i = 0; i < p->rank; i++) {
        mix(key->words, (uint64_t)p->dims[i]);
        mix(key->words, (uint64_t)(unsigned)p->perm[i] | UINT64_C(1) << 63); /* no matrix's key */
        if (p->strides)
            mix(key->words, (uint64_t)p->strides[i]);
    }
    key->words[TT__PLAN_KEY_CONTEXT] = context;
}

/* Kept out of line, so that a launch with a cached plan stays fast. */
static __attribute__((noinline)) tt_status plan_of_permutation(tt_ctx *ctx, const tt_permutation *p,
                                                               const tt__plan_key *key, int align,
                                                               CUstream stream, tt_plan **out,
                                                               atomic_uint **inside) {
    const tt__driver *cu;
    tt__problem problem;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__permutation_problem(&problem, p, align));
    TT_TRY(not_capturing(cu, &problem, "tt_permute", stream));
    return use_plan(ctx, key, key, &problem, out, inside);
}

tt_status tt_permute(tt_ctx *ctx, const tt_permutation *permutation, CUdeviceptr dst, CUdeviceptr src,
                     CUstream stream) {
    const tt__driver *cu;
    unsigned long long context;
    tt_permutation p;
    tt__plan_key key;
    if (!ctx)
        return tt__fail(TT_E_INVALID, "the context is NULL: tt_open makes one");
    TT_TRY(TT__SIZED_IN(&p, permutation, 0, tt_permutation));
    int align = align_of(dst, src);
    const bool known_align = !p.align || tt__power_of_two_to_16(p.align);
    if (p.align && p.align < align)
        align = p.align;
    if (p.rank < 1 || p.rank > TT_RANK_MAX || !p.dims || !p.perm || !known_align) {
        tt__problem none;
        return tt__permutation_problem(&none, &p, align); /* it says what is wrong */
    }
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__device_context_id(&context, cu));
    permutation_key(&key, &p, context, align);
    atomic_uint *inside;
    tt_plan *plan = tt__plan_cache_enter(&ctx->plans, &key, &inside);
    if (!plan)
        TT_TRY(plan_of_permutation(ctx, &p, &key, align, stream, &plan, &inside));
    const tt_status status = tt_plan_launch(plan, dst, src, stream);
    tt__plan_cache_leave(inside);
    return status;
}
