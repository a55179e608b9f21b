/*
 * Finals: each has a GPU for itself, while the others try configurations.
 */
#include "tuner/backend/gpu/loop.h"

#include "base/clock.h"
#include "tuner/measure/energy.h"

/* How well a free GPU suits the finals of a lane. One whose last finals were late is the last choice. The
 * lane's arrays are best, and other lanes' trials should not lose theirs. */
static int suits(const tt__loop *l, size_t gpu, size_t lane) {
    const tt__loop_gpu *g = &l->gpus[gpu];
    if (g->late > 0)
        return -g->late;
    if (g->state == TT__ARRAYS_OPEN && g->task == l->lanes[lane]->task.number)
        return 3;
    return l->workers.items[gpu].busy ? 1 : 2;
}

size_t tt__loop_choose_gpu(tt__loop *l, size_t lane) {
    const double alike = 0.98;
    unsigned highest = 0;
    size_t chosen = TT__GPUS_MAX;
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (!l->gpus[i].given_up && l->gpus[i].sm_mhz > highest)
            highest = l->gpus[i].sm_mhz;
    for (size_t i = 0; i < l->workers.n_gpus; i++) {
        tt__loop_gpu *g = &l->gpus[i];
        if (g->given_up)
            continue;
        if (!g->sm_mhz || g->sm_mhz >= alike * highest) {
            if (!g->holds_finals && (chosen == TT__GPUS_MAX || suits(l, i, lane) > suits(l, chosen, lane)))
                chosen = i;
            continue;
        }
        if (!g->is_slow)
            tt__loop_say(l, "device %d runs at %u MHz, its twins at %u MHz: it holds no finals",
                         l->workers.devices[i], g->sm_mhz, highest);
        g->is_slow = true;
    }
    return chosen;
}

void tt__loop_release(tt__loop *l, size_t lane) {
    tt__lane_finals *f = &l->lanes[lane]->finals;
    if (f->held)
        l->gpus[f->held - 1].holds_finals = false;
    f->held = 0;
}

/* Twice what they should take, and a trial's limit for each candidate and load. */
static double limit_s(const tt__loop *l, const tt__lane_finals *f) {
    const double laps = f->rounds.least + f->rounds.loads + 1;
    const double trains_s = f->train_s > 0 ? tt__energy_most_s(f->n, f->train_s, f->lap_us) : 0;
    return l->opts.trial_timeout_s * (double)(f->n + (size_t)f->rounds.loads) +
           2 * (f->rounds.worth_s + laps * f->lap_us * 1e-6 + trains_s);
}

/* Goes on when the GPU has ended what it does. */
static tt_status feed(tt__loop *l, size_t lane) {
    tt__lane_finals *f = &l->lanes[lane]->finals;
    const size_t gpu = f->held ? f->held - 1 : tt__loop_choose_gpu(l, lane);
    if (gpu == TT__GPUS_MAX)
        return TT_OK; /* until other finals are over */
    tt__loop_gpu *g = &l->gpus[gpu];
    const tt__worker *w = &l->workers.items[gpu];
    g->holds_finals = true;
    f->held = gpu + 1;
    if (w->busy)
        return TT_OK;
    g->lane = lane;
    if (tt__worker_gone(w))
        tt__loop_drop_gpu(l, gpu);
    if (g->state == TT__ARRAYS_OPEN && g->task != l->lanes[lane]->task.number)
        g->state = TT__ARRAYS_CLOSED;
    if (g->state == TT__ARRAYS_CLOSED)
        return tt__loop_open_problem(l, gpu);
    if (g->state != TT__ARRAYS_OPEN)
        return TT_OK;
    f->begin_s = tt__now_s();
    f->state = TT__FINALS_ON_GPU;
    tt__workers_ask_finals(&l->workers, gpu, limit_s(l, f), f->c, f->cubins, f->n, f->rounds, f->train_s);
    return TT_OK;
}

tt_status tt__loop_feed_finals(tt__loop *l) {
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        if (l->lanes[i] && l->lanes[i]->finals.state == TT__FINALS_ASKED)
            TT_TRY(feed(l, i));
    return TT_OK;
}

/* They end without trials. */
static void fail(tt__loop *l, size_t gpu, tt_status status) {
    tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    tt__loop_drop_gpu(l, gpu);
    f->state = TT__FINALS_DONE;
    tt__fill_done(&f->done, status);
}

tt_status tt__loop_lost_finals(tt__loop *l, size_t gpu, tt_status status) {
    const tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    tt__timeline_span(&l->timeline, gpu, "finals", f->begin_s, tt__now_s());
    if (tt__loop_give_up(l, gpu, status) != TT_OK)
        fail(l, gpu, status);
    return TT_OK;
}

/* Is there a GPU whose last finals were not late? Else the kernels may be slow. */
static bool is_any_in_time(const tt__loop *l) {
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (!l->gpus[i].given_up && l->gpus[i].late == 0)
            return true;
    return false;
}

tt_status tt__loop_late_finals(tt__loop *l, size_t gpu) {
    enum { LATE = 2 };
    const tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    if (++l->gpus[gpu].late >= LATE && is_any_in_time(l))
        return tt__loop_lost_finals(l, gpu,
                                    tt__fail(TT_E_IO,
                                             "its last %d finals took too long, the latest more than %.0f s",
                                             l->gpus[gpu].late, limit_s(l, f)));
    tt__timeline_span(&l->timeline, gpu, "finals", f->begin_s, tt__now_s());
    fail(l, gpu,
         tt__fail(TT_E_IO, "the measurements took longer than %.0f s: %s", limit_s(l, f),
                  tt__trial_advice(TT__TRIAL_TIMEOUT)));
    return TT_OK;
}

tt_status tt__loop_finished(tt__loop *l, size_t gpu) {
    const tt__msg_finished *m = (const tt__msg_finished *)l->workers.payload.text;
    tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    if (!tt__loop_is_on_gpu(l, gpu))
        return tt__fail(TT_E_INTERNAL, "finals have ended that did not begin");
    l->gpus[gpu].late = 0;
    size_t size = l->workers.payload.len - sizeof *m;
    f->done = m->done;
    memcpy(f->trials, m + 1, size < sizeof f->trials ? size : sizeof f->trials);
    tt__loop_note_falls(l, gpu, &m->falls);
    tt_status status = tt__loop_adopt(l, gpu, &f->done);
    if (status == TT_E_CUDA)
        return tt__loop_lost_finals(l, gpu, status);
    tt__timeline_span(&l->timeline, gpu, "finals", f->begin_s, tt__now_s());
    f->state = TT__FINALS_DONE;
    return TT_OK;
}
