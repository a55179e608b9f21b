/*
 * tt_permute: as tt_transpose, with a plan for each permutation, CUDA context and pointer alignment.
 */
#include "api/matrix.h"
#include "api/permutation.h"
#include "api/sized.h"
#include "api/transpose.h"

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
static void make_key(tt__plan_key *key, const tt_permutation *p, unsigned long long context, int align) {
    *key = (tt__plan_key){{0}};
    mix(key->words, (uint64_t)(unsigned)p->elem_size << 32 | (unsigned)p->rank << 16 | (unsigned)align << 4 |
                        (unsigned)(p->strides != NULL) << 1 | (p->warm != 0));
    for (int i = 0; i < p->rank; i++) {
        mix(key->words, (uint64_t)p->dims[i]);
        mix(key->words, (uint64_t)(unsigned)p->perm[i] | UINT64_C(1) << 63); /* no matrix's key */
        if (p->strides)
            mix(key->words, (uint64_t)p->strides[i]);
    }
    key->words[TT__PLAN_KEY_CONTEXT] = context;
}

/* Kept out of line, so that a launch with a cached plan stays fast. */
static __attribute__((noinline)) tt_status new_plan(tt_ctx *ctx, const tt_permutation *p,
                                                    const tt__plan_key *key, int align, CUstream stream,
                                                    tt_plan **out) {
    const tt__driver *cu;
    tt__problem problem;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__permutation_problem(&problem, p, align));
    TT_TRY(tt__not_capturing(cu, &problem, "tt_permute", stream));
    return tt__new_plan(ctx, key, key, &problem, out);
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
    int align = tt__align_of(dst, src);
    const bool known_align = !p.align || tt__power_of_two_to_16(p.align);
    if (p.align && p.align < align)
        align = p.align;
    if (p.rank < 1 || p.rank > TT_RANK_MAX || !p.dims || !p.perm || !known_align) {
        tt__canonical none;
        return tt__permutation_canonical(&none, &p, align); /* it says what is wrong */
    }
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__device_context_id(&context, cu));
    make_key(&key, &p, context, align);
    tt_plan *plan = tt__plan_cache_enter(&ctx->plans, &key);
    if (!plan)
        TT_TRY(new_plan(ctx, &p, &key, align, stream, &plan));
    const tt_status status = tt_plan_launch(plan, dst, src, stream);
    tt__plan_cache_leave();
    return status;
}
