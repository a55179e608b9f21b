/* Compilers need to know for what: the GPU is presumed by its name until CUDA has started and can describe
 * it. */
#include "base/clock.h"
#include "tuner/live/live.h"

tt_status tt__live_name(tt__backend *b, char out[TT__GPU_NAME_MAX]) {
    tt__live *l = (tt__live *)b;
    l->started_s = tt__now_s();
    TT_TRY(tt__crew_start_all(&l->crew, out));
    l->cubins.nvrtc = l->crew.env.nvrtc;
    return TT_OK;
}

void tt__live_presume(tt__backend *b, const tt__gpu *gpu) {
    tt__live *l = (tt__live *)b;
    if (l->crew.compiling.status != TT_OK)
        return;
    l->crew.gpu = *gpu;
    l->cubins.cc = gpu->cc;
    l->presumed = true;
}

/* Cubins of a GPU that is not there, and whoever compiles one. */
static void forget_cubins(tt__live *l) {
    for (size_t w = TT__CREW_COMPILER; w < l->crew.n; w++) {
        if (l->compiling[w])
            tt__worker_stop(&l->crew.workers[w]);
        l->compiling[w] = NULL;
    }
    tt__cubins_close(&l->cubins);
    l->cubins = (tt__cubins){.store = l->opts.store, .nvrtc = l->crew.env.nvrtc};
}

static tt_status await_description(tt__live *l) {
    if (!l->presumed) { /* nothing is compiled yet */
        TT_TRY(tt__crew_wait_for(&l->crew, TT__CREW_GPU, TT__MSG_DESCRIBED));
        return tt__crew_described(&l->crew);
    }
    while (!l->described) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
    }
    return TT_OK;
}

tt_status tt__live_hello(tt__backend *b, tt__gpu *gpu, tt__env *env) {
    tt__live *l = (tt__live *)b;
    char unused[TT__GPU_NAME_MAX];
    if (l->started_s == 0)
        TT_TRY(tt__live_name(b, unused));
    TT_TRY(await_description(l));
    tt__timeline_span(&l->timeline, TT__CREW_GPU, "start", l->started_s, tt__now_s());
    *gpu = l->crew.gpu;
    *env = l->crew.env;
    if (l->mistaken || (l->presumed && l->cubins.cc != gpu->cc))
        forget_cubins(l);
    l->cubins.cc = gpu->cc;
    tt__cubins_expect_nothing(&l->cubins);
    l->expected = NULL;
    return TT_OK;
}
