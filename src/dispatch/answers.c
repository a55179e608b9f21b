/*
 * A hash table with one place for each hash value. A new answer replaces the old one in its place, so the
 * table never grows.
 */
#include "dispatch/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dispatch/layers.h"

enum { PLACES = 1024 };
static const double look_again_s = 1;

typedef struct answer {
    bool used;
    tt__gpu gpu; /* all zero: the context's GPU */
    tt__problem problem;
    tt_choice choice;
} answer;

typedef struct tt__answers {
    double looked_s;     /* when the stores' versions were last read */
    int64_t versions[2]; /* of the user's and the system's store at that time */
    bool knows_gpu;
    tt__gpu gpu; /* the GPU named in tt_open */
    int64_t gpu_id;
    answer places[PLACES];
} answers;

static void forget(answers *a) {
    a->knows_gpu = false;
    for (size_t i = 0; i < PLACES; i++)
        a->places[i].used = false;
}

static bool versions(tt_ctx *ctx, int64_t out[2]) {
    out[1] = 0;
    return tt__store_version(ctx->store, &out[0]) == TT_OK &&
           (!ctx->system || tt__store_version(ctx->system, &out[1]) == TT_OK);
}

/* The table, emptied if a store has changed and created on first use. NULL: out of memory, or a store cannot
 * be read. */
static answers *fresh(tt_ctx *ctx) {
    answers *a = ctx->answers;
    double now = tt__now_s();
    int64_t now_at[2];
    if (a && now - a->looked_s < look_again_s)
        return a;
    if (!a)
        a = ctx->answers = calloc(1, sizeof *a);
    if (!a || !versions(ctx, now_at))
        return NULL;
    if (memcmp(now_at, a->versions, sizeof now_at) != 0)
        forget(a);
    memcpy(a->versions, now_at, sizeof now_at);
    a->looked_s = now;
    return a;
}

static bool is_for(const answer *at, const tt__gpu *gpu, const tt__problem *p) {
    return at->used && tt__problem_same(&at->problem, p) && (gpu ? tt__same_gpu(&at->gpu, gpu) : !at->gpu.cc);
}

tt_status tt__answers_gpu(tt_ctx *ctx, tt__gpu *gpu, int64_t *gpu_id) {
    answers *a = ctx->gpu_name[0] ? fresh(ctx) : NULL;
    if (!a || !a->knows_gpu) {
        TT_TRY(tt__layers_gpu(ctx, gpu, gpu_id));
        if (a) {
            a->gpu = *gpu;
            a->gpu_id = *gpu_id;
            a->knows_gpu = true;
        }
        return TT_OK;
    }
    *gpu = a->gpu;
    *gpu_id = a->gpu_id;
    return TT_OK;
}

const tt_choice *tt__answers_get(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p) {
    answers *a = fresh(ctx);
    const answer *at = a ? &a->places[tt__problem_hash(p) % PLACES] : NULL;
    return at && is_for(at, gpu, p) ? &at->choice : NULL;
}

void tt__answers_put(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt_choice *choice) {
    answers *a = fresh(ctx);
    if (!a)
        return;
    answer new = {.used = true, .problem = *p, .choice = *choice};
    if (gpu)
        new.gpu = *gpu;
    a->places[tt__problem_hash(p) % PLACES] = new;
}

void tt__answers_forget(tt_ctx *ctx) {
    pthread_mutex_lock(&ctx->lock);
    if (ctx->answers)
        forget(ctx->answers);
    pthread_mutex_unlock(&ctx->lock);
}
