/*
 * Finals: each has a GPU for itself, while the others try configurations.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/number.h"
#include "tuner/energy.h"
#include "tuner/gpu_backend/loop.h"

size_t tt__loop_choose_gpu(tt__loop *l) {
    const double alike = 0.98;
    unsigned highest = 0;
    size_t chosen = TT__GPUS_MAX;
    char line[256];
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (!l->gpus[i].given_up && l->gpus[i].sm_mhz > highest)
            highest = l->gpus[i].sm_mhz;
    for (size_t i = 0; i < l->workers.n_gpus; i++) {
        tt__loop_gpu *g = &l->gpus[i];
        if (g->given_up)
            continue;
        if (!g->sm_mhz || g->sm_mhz >= alike * highest) {
            if (!g->place && chosen == TT__GPUS_MAX)
                chosen = i;
            continue;
        }
        if (!g->is_slow && l->opts.on_message) {
            snprintf(line, sizeof line, "device %d runs at %u MHz, its twins at %u MHz: it holds no finals",
                     l->workers.devices[i], g->sm_mhz, highest);
            l->opts.on_message(l->opts.user, line);
        }
        g->is_slow = true;
    }
    return chosen;
}

void tt__loop_release(tt__loop *l, tt__place *p) {
    if (!p->held)
        return;
    tt__loop_gpu *g = &l->gpus[p->held - 1];
    p->held = 0;
    g->place = NULL;
    if (g->state == TT__ARRAYS_OPEN && g->task != l->now.number)
        g->state = TT__ARRAYS_CLOSED;
}

/* Goes on when the GPU has ended what it does. */
static tt_status feed(tt__loop *l, tt__place *p) {
    const size_t gpu = p->held ? p->held - 1 : tt__loop_choose_gpu(l);
    if (gpu == TT__GPUS_MAX)
        return TT_OK; /* until other finals are over */
    tt__loop_gpu *g = &l->gpus[gpu];
    const tt__worker *w = &l->workers.items[gpu];
    g->place = p;
    p->held = gpu + 1;
    if (w->busy)
        return TT_OK;
    if (tt__worker_gone(w))
        tt__loop_drop_gpu(l, gpu);
    if (g->state == TT__ARRAYS_OPEN && g->task != p->task.number)
        g->state = TT__ARRAYS_CLOSED;
    if (g->state == TT__ARRAYS_CLOSED)
        return tt__loop_open_problem(l, gpu);
    if (g->state != TT__ARRAYS_OPEN)
        return TT_OK;
    double timeout_s =
        l->opts.trial_timeout_s * (double)(p->n + (size_t)p->rounds.loads) + 2 * p->rounds.worth_s;
    if (p->train_s > 0)
        timeout_s += 60 + 2 * TT__ENERGY_TURNS * (double)(p->n + 1) * p->train_s;
    p->begin_s = tt__now_s();
    p->state = TT__PLACE_ON_GPU;
    tt__workers_ask_finals(&l->workers, gpu, timeout_s, p->c, p->cubins, p->n, p->rounds, p->train_s);
    return TT_OK;
}

tt_status tt__loop_feed_places(tt__loop *l) {
    for (size_t i = 0; i <= TT__PLACES_MAX; i++)
        if (l->places[i] && l->places[i]->state == TT__PLACE_ASKED)
            TT_TRY(feed(l, l->places[i]));
    return TT_OK;
}

tt_status tt__loop_lost_finals(tt__loop *l, size_t gpu, tt_status status) {
    tt__place *p = l->gpus[gpu].place;
    tt__timeline_span(&l->timeline, gpu, "finals", p->begin_s, tt__now_s());
    if (tt__loop_give_up(l, gpu, status) == TT_OK)
        return TT_OK;
    tt__loop_drop_gpu(l, gpu);
    p->state = TT__PLACE_DONE;
    p->done.status = status;
    tt__copy(p->done.error, sizeof p->done.error, tt_last_error());
    return TT_OK;
}

tt_status tt__loop_finished(tt__loop *l, size_t gpu) {
    const char *at = l->workers.payload.text;
    tt__place *p = l->gpus[gpu].place;
    tt__clock_falls falls;
    if (!p || p->state != TT__PLACE_ON_GPU)
        return tt__fail(TT_E_INTERNAL, "finals have ended that did not begin");
    memcpy(&p->done, at, sizeof p->done);
    memcpy(&falls, at += sizeof p->done, sizeof falls);
    at += sizeof falls;
    size_t size = (size_t)(l->workers.payload.text + l->workers.payload.len - at);
    memcpy(p->trials, at, size < sizeof p->trials ? size : sizeof p->trials);
    tt__loop_note_falls(l, gpu, &falls);
    tt_status status = tt__loop_adopt(l, gpu, &p->done);
    if (status != TT_OK)
        return tt__loop_lost_finals(l, gpu, status);
    tt__timeline_span(&l->timeline, gpu, "finals", p->begin_s, tt__now_s());
    p->state = TT__PLACE_DONE;
    return TT_OK;
}
