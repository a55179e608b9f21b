/*
 * Which GPU works for which lane.
 */
#include "tuner/backend/gpu/loop.h"

static tt_status no_reference(const tt__task *task) {
    const bool fills = !task->work.launch.n_passes; /* the data's kernels are what is needed */
    return tt__fail(TT_E_COMPILE, "%s: %s %s cannot be compiled with the default configuration: %s: %s",
                    task->reference->t->path, fills ? "the data's kernel" : "the reference",
                    fills ? task->work.data.name[0] : task->work.reference.name[0],
                    tt__trial_status_name(task->reference->status), task->reference->reason);
}

/* What a lane has for a GPU. */
typedef struct need {
    size_t n;        /* trials that the GPU may do, and that none does */
    uint64_t oldest; /* of them; 0: one is calling */
} need;

/* Was this trial lost by a GPU, and has no other one come for it? Until it is done, nothing tells whether the
 * configuration or the GPU is to blame. */
static bool is_calling(const tt__loop *l, const tt__job *j) {
    if (!j->lost_by)
        return false;
    for (size_t i = 0; i < l->workers.n_gpus; i++) {
        const tt__loop_gpu *g = &l->gpus[i];
        const bool is_there = g->state == TT__ARRAYS_OPENING || g->state == TT__ARRAYS_OPEN;
        if (i != j->lost_by - 1 && g->lane == j->lane && is_there && !g->given_up && !g->holds_finals)
            return false;
    }
    return true;
}

static need need_of(const tt__loop *l, size_t lane, size_t gpu) {
    need of = {.n = l->lanes[lane]->is_fresh, .oldest = UINT64_MAX};
    for (int i = 0; i < TT__JOBS_MAX; i++) {
        const tt__job *j = &l->jobs[i];
        if (j->lane != lane || j->lost_by == gpu + 1 ||
            (j->state != TT__JOB_TO_COMPILE && j->state != TT__JOB_TO_TRY))
            continue;
        of.n++;
        const uint64_t order = is_calling(l, j) ? 0 : j->order;
        of.oldest = order < of.oldest ? order : of.oldest;
    }
    return of;
}

/* The number of GPUs that have a lane's arrays, or will. */
static size_t n_gpus_on(const tt__loop *l, size_t lane) {
    size_t n = 0;
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        n += l->gpus[i].lane == lane && l->gpus[i].state != TT__ARRAYS_CLOSED && !l->gpus[i].given_up;
    return n;
}

/* A call of its own lane comes first. Else a GPU that is left alone with calls of two lanes would go from one
 * to the other for ever. */
bool tt__loop_is_called(const tt__loop *l, size_t gpu) {
    bool called = false;
    for (int i = 0; i < TT__JOBS_MAX; i++) {
        const tt__job *j = &l->jobs[i];
        if (j->state != TT__JOB_TO_TRY || !j->lost_by || j->lost_by == gpu + 1)
            continue;
        if (j->lane == l->gpus[gpu].lane)
            return false;
        called |= is_calling(l, j);
    }
    return called;
}

bool tt__loop_find_work(tt__loop *l, size_t gpu) {
    enum { WORTH = 2 }; /* opening arrays takes as long as several trials */
    tt__loop_gpu *g = &l->gpus[gpu];
    size_t best = TT__LANES_MAX, fewest = SIZE_MAX;
    uint64_t oldest = UINT64_MAX;
    if (g->state == TT__ARRAYS_OPEN && need_of(l, g->lane, gpu).n > 0 && !tt__loop_is_called(l, gpu))
        return true;
    for (size_t i = 0; i < TT__LANES_MAX; i++) {
        if (!l->lanes[i])
            continue;
        const need of = need_of(l, i, gpu);
        const size_t on = of.oldest == 0 ? 0 : n_gpus_on(l, i);
        if (of.n <= WORTH * on || on > fewest ||
            (on == fewest && of.oldest >= oldest && best < TT__LANES_MAX))
            continue;
        best = i;
        fewest = on;
        oldest = of.oldest;
    }
    if (best == TT__LANES_MAX)
        return false;
    if (best != g->lane)
        g->state = TT__ARRAYS_CLOSED;
    g->lane = best;
    return true;
}

/* Opens the arrays of a GPU's lane, if their kernels are there. */
static tt_status open_arrays(tt__loop *l, size_t gpu) {
    const tt__task *task = tt__loop_task(l, gpu);
    if (task->checker->state != TT__CUBIN_READY)
        return TT_OK;
    if (task->reference && task->reference->state != TT__CUBIN_READY)
        return task->reference->state == TT__CUBIN_FAILED ? no_reference(task) : TT_OK;
    return tt__loop_open_problem(l, gpu);
}

tt_status tt__loop_prepare(tt__loop *l) {
    for (size_t gpu = 0; gpu < l->workers.n_gpus; gpu++) {
        const tt__loop_gpu *g = &l->gpus[gpu];
        if (g->given_up || g->holds_finals || l->workers.items[gpu].busy || !tt__loop_find_work(l, gpu))
            continue;
        if (tt__worker_gone(&l->workers.items[gpu]))
            tt__loop_drop_gpu(l, gpu);
        if (g->state == TT__ARRAYS_CLOSED)
            TT_TRY(open_arrays(l, gpu));
    }
    return TT_OK;
}
