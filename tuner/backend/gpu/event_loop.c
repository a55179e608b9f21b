/*
 * The event loop: requests to the workers, and what their replies change.
 */
#include "tuner/backend/gpu/event_loop.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"
#include "tuner/measure/energy.h"
#include "tuner/measure/verify.h"

tt__loop_lane *tt__loop_now(const tt__loop *l) {
    return l->lanes[l->at];
}

static const tt__task *task_of(const tt__loop *l, size_t gpu) {
    return &l->lanes[l->gpus[gpu].lane]->task;
}

static bool is_on_gpu(const tt__loop *l, size_t gpu) {
    const tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    return f->held == gpu + 1 && f->state == TT__FINALS_ON_GPU;
}

void tt__loop_finish(tt__job *j, tt__trial_status status, const char *reason) {
    j->state = TT__JOB_DONE;
    j->trial.status = status;
    tt__copy(j->trial.reason, sizeof j->trial.reason, reason);
}

/* Has it not reached a GPU? */
static bool is_awaited(const tt__job *j) {
    return j->state == TT__JOB_TO_COMPILE || j->state == TT__JOB_TO_TRY;
}

void tt__loop_promote(tt__loop *l) {
    for (int i = 0; i < TT__JOBS_MAX; i++) {
        tt__job *j = &l->jobs[i];
        if (is_awaited(j) && tt__now_s() >= l->lanes[j->lane]->await_s) {
            if (j->cubin->state == TT__CUBIN_IDLE)
                j->cubin->wanted = 0; /* others come first */
            tt__loop_finish(j, TT__TRIAL_SKIPPED, "");
        }
        if (j->state != TT__JOB_TO_COMPILE || j->cubin->state <= TT__CUBIN_COMPILING)
            continue;
        j->trial.compile_ms = j->cubin->compile_ms; /* the first trial with this cubin has its compile time */
        j->cubin->compile_ms = 0;
        if (j->cubin->state == TT__CUBIN_READY)
            j->state = TT__JOB_TO_TRY;
        else {
            j->trial.limit_s = j->cubin->limit_s;
            tt__loop_finish(j, j->cubin->status, j->cubin->reason);
        }
    }
}

int tt__loop_oldest(const tt__loop *l, tt__job_state state) {
    int best = TT__NO_JOB;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (l->jobs[i].state == state && (best == TT__NO_JOB || l->jobs[i].order < l->jobs[best].order))
            best = i;
    return best;
}

static void say(const tt__loop *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(const tt__loop *l, const char *fmt, ...) {
    char line[512];
    va_list args;
    if (!l->opts.on_message)
        return;
    va_start(args, fmt);
    tt__vformat(line, sizeof line, fmt, args);
    va_end(args);
    l->opts.on_message(l->opts.user, line);
}

static void say_lines(const tt__loop *l, const char *path, const char *lines) {
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        say(l, "%s: %.*s", path, (int)n, lines);
    }
}

static void note_falls(tt__loop *l, size_t gpu, const tt__clock_falls *falls) {
    if (falls->n == 0)
        return;
    tt__timeline_falls(&l->timeline, gpu, falls);
    if (l->n_falls == 0)
        say(l,
            "the GPU's clock fell from %u to %u MHz%s%s: samples are taken again, and the run takes longer",
            falls->usual_mhz, falls->lowest_mhz, falls->why[0] ? " because of " : "", falls->why);
    l->n_falls += falls->n;
}

/* ---- Which GPU works for which lane ----------------------------------------------------------- */

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
    const tt__task *task = task_of(l, gpu);
    for (int i = 0; i < tt__verify_parts(&task->problem, &task->work); i++)
        if (task->checkers[i]->state != TT__CUBIN_READY)
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

/* ---- GPU workers: started, given a problem and trials, lost, given up ------------------------- */

void tt__loop_drop_gpu(tt__loop *l, size_t gpu) {
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    tt__worker_stop(&l->workers.items[gpu]);
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (l->jobs[i].state == TT__JOB_TRYING && l->jobs[i].gpu == gpu)
            l->jobs[i].state = TT__JOB_TO_TRY;
}

/* Are there GPUs besides this one? */
static bool has_others(const tt__loop *l, size_t gpu) {
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (i != gpu && !l->gpus[i].given_up)
            return true;
    return false;
}

tt_status tt__loop_give_up(tt__loop *l, size_t gpu, tt_status status) {
    if (status == TT_E_INTERRUPTED || !has_others(l, gpu))
        return status;
    tt__loop_drop_gpu(l, gpu);
    l->gpus[gpu].given_up = true;
    for (size_t i = 0; i < TT__LANES_MAX; i++) {
        if (!l->lanes[i] || l->lanes[i]->finals.held != gpu + 1)
            continue;
        if (l->lanes[i]->finals.state == TT__FINALS_ON_GPU)
            l->lanes[i]->finals.state = TT__FINALS_ASKED; /* another GPU holds them anew */
        tt__loop_release(l, i);
    }
    say(l, "device %d is left out from now on, the others go on: %s", l->workers.devices[gpu],
        tt_last_error());
    for (int i = 0; i < TT__JOBS_MAX; i++) /* the last GPU tries all jobs */
        if (l->jobs[i].lost_by && !has_others(l, l->jobs[i].lost_by - 1))
            l->jobs[i].lost_by = 0;
    return TT_OK;
}

tt_status tt__loop_adopt(tt__loop *l, size_t gpu, const tt__msg_done *done) {
    tt_status status = tt__workers_adopt(done);
    if (status == TT_E_CUDA)
        tt__loop_drop_gpu(l, gpu);
    return status;
}

/* A user's reference is simple, and runs three times, so it gets several times as long as a configuration. */
static double preparing_s(const tt__loop *l, const tt__task *task) {
    enum { TRIALS = 6 };
    return tt__problem_is_users(&task->problem) ? TRIALS * l->opts.trial_timeout_s
                                                : tt__workers_start_timeout_s;
}

/* A worker that dies while it prepares a problem is replaced. A reference that hangs is not tried again. */
static tt_status try_again(tt__loop *l, size_t gpu, tt_status status) {
    enum { TRIES = 3 };
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    const bool again = l->described && status == TT_E_IO && ++l->gpus[gpu].failures < TRIES;
    return again ? TT_OK : tt__loop_give_up(l, gpu, status);
}

static tt_status opened(tt__loop *l, size_t gpu) {
    const tt__msg_opened *m = (const tt__msg_opened *)l->workers.payload.text;
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    tt_status status = tt__loop_adopt(l, gpu, &m->done);
    if (status != TT_OK)
        return tt__loop_give_up(l, gpu, status);
    tt__task *task = &l->lanes[l->gpus[gpu].lane]->task;
    if (l->gpus[gpu].task == task->number && !task->noted) { /* by the first GPU */
        say_lines(l, task->reference ? task->reference->t->path : task->problem.op, m->notes);
        task->noted = true;
    }
    if (m->context_end_s > 0)
        tt__timeline_span(&l->timeline, gpu, "context", m->context_begin_s, m->context_end_s);
    tt__timeline_span(&l->timeline, gpu, "problem", m->begin_s, m->end_s);
    if (l->gpus[gpu].task == task_of(l, gpu)->number) /* else it changed meanwhile */
        l->gpus[gpu].state = TT__ARRAYS_OPEN;
    l->gpus[gpu].failures = 0;
    return TT_OK;
}

tt_status tt__loop_open_problem(tt__loop *l, size_t gpu) {
    const tt__task *task = task_of(l, gpu);
    if (!l->workers.items[gpu].pid) {
        l->gpus[gpu].started_s = tt__now_s();
        tt_status status = tt__workers_start(&l->workers, gpu);
        if (status != TT_OK)
            return try_again(l, gpu, status);
        l->gpus[gpu].state = TT__ARRAYS_STARTING;
        return TT_OK;
    }
    tt__workers_ask_problem(&l->workers, gpu, &task->problem, &task->work, l->opts.fresh_data, task->checkers,
                            task->reference, preparing_s(l, task));
    l->gpus[gpu].task = task->number;
    l->gpus[gpu].state = TT__ARRAYS_OPENING;
    return TT_OK;
}

/* A worker started during the run has told its GPU, which has to be the one of the search. */
static tt_status restarted(tt__loop *l, size_t gpu) {
    const tt__gpu searched = l->workers.gpu;
    tt_status status = tt__workers_described(&l->workers);
    if (status == TT_OK && !tt__same_gpu(&searched, &l->workers.gpu))
        status = tt__fail(TT_E_NO_DEVICE, "it is %s, not %s", l->workers.gpu.name, searched.name);
    l->workers.gpu = searched;
    if (status != TT_OK)
        return try_again(l, gpu, status);
    tt__timeline_span(&l->timeline, gpu, "start", l->gpus[gpu].started_s, tt__now_s());
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    return TT_OK;
}

static tt_status described(tt__loop *l, size_t gpu) {
    if (l->described)
        return restarted(l, gpu);
    tt_status status = tt__workers_described(&l->workers);
    if (status == TT_E_CUDA || status == TT_E_NO_DEVICE)
        return tt__loop_give_up(l, gpu, status);
    TT_TRY(status); /* what all of them lack */
    tt__timeline_span(&l->timeline, gpu, "start", l->gpus[gpu].started_s, tt__now_s());
    l->described = true;
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    return TT_OK;
}

static void ask_trial(tt__loop *l, size_t gpu, size_t at, const char *waited_for) {
    tt__job *j = &l->jobs[at];
    tt__workers_ask_trial(&l->workers, gpu, at, l->opts.trial_timeout_s, j->c, &j->launch, j->cubin,
                          &j->checks, l->lanes[j->lane]->cutoff_us);
    j->waited_for = waited_for;
    j->gpu = gpu;
    j->state = TT__JOB_TRYING;
}

/* A trial was lost with its worker, because of the configuration or of the GPU. Another GPU, if there is one,
 * shows which. */
static void lost_trial(tt__loop *l, tt__job *j, tt__trial_status status, const char *reason) {
    if (!j->lost_by && has_others(l, j->gpu)) {
        j->lost_by = j->gpu + 1;
        j->state = TT__JOB_TO_TRY;
    } else {
        tt__loop_finish(j, status, reason);
    }
}

/* Another GPU did the trial that this one lost. */
static tt_status strike(tt__loop *l, size_t gpu) {
    enum { STRIKES = 2 };
    if (++l->gpus[gpu].strikes < STRIKES || l->gpus[gpu].given_up)
        return TT_OK;
    return tt__loop_give_up(l, gpu,
                            tt__fail(TT_E_CUDA, "it lost %d trials that others did", l->gpus[gpu].strikes));
}

static tt_status tried(tt__loop *l, size_t gpu, tt__job *j) {
    const tt__msg_tried *m = (const tt__msg_tried *)l->workers.payload.text;
    tt__trial trial = m->trial;
    trial.compile_ms = j->trial.compile_ms;
    tt__timeline_tried(&l->timeline, gpu, j->c, m, j->waited_for);
    note_falls(l, gpu, &m->falls);
    l->gpus[gpu].sm_mhz = m->sm_mhz;
    if (trial.status == TT__TRIAL_CRASHED) { /* the worker has lost its CUDA context, and exits */
        lost_trial(l, j, trial.status, trial.reason);
        if (j->state == TT__JOB_DONE)
            j->trial = trial;
        tt__loop_drop_gpu(l, gpu);
        return TT_OK;
    }
    j->trial = trial;
    j->state = TT__JOB_DONE;
    return j->lost_by ? strike(l, j->lost_by - 1) : TT_OK;
}

/* The worker died while it started, or prepared the arrays and, perhaps, ran the user's reference. */
static tt_status lost_opening(tt__loop *l, const tt__event *e) {
    const tt__task *task = task_of(l, e->worker);
    const bool opening = l->gpus[e->worker].state == TT__ARRAYS_OPENING,
               timeout = e->kind == TT__EVENT_TIMEOUT, own = tt__problem_is_users(&task->problem);
    const char *reference = opening && own && task->work.launch.n_passes ? task->work.reference.name[0] : "";
    tt__loop_drop_gpu(l, e->worker);
    if (opening && timeout && own)
        return tt__loop_give_up(
            l, e->worker,
            tt__fail(TT_E_CUDA,
                     "preparing the arrays%s%s took longer than %g s, six times the limit of a trial%s",
                     *reference ? " and running the reference " : "", reference, preparing_s(l, task),
                     *reference ? ": does it end?" : ""));
    return try_again(l, e->worker,
                     tt__fail(TT_E_IO, "the GPU worker %s%s%s", e->reason,
                              *reference ? ", maybe because of the reference " : "", reference));
}

tt_status tt__loop_lost_gpu(tt__loop *l, const tt__event *e) {
    const tt__arrays_state state = l->gpus[e->worker].state;
    const bool timeout = e->kind == TT__EVENT_TIMEOUT;
    tt__job *j = &l->jobs[e->job];
    char reason[256];
    if (state == TT__ARRAYS_OPENING || state == TT__ARRAYS_STARTING)
        return lost_opening(l, e);
    if (is_on_gpu(l, e->worker))
        return timeout
                   ? tt__loop_late_finals(l, e->worker)
                   : tt__loop_lost_finals(l, e->worker, tt__fail(TT_E_IO, "the GPU worker %s", e->reason));
    if (j->state != TT__JOB_TRYING || j->gpu != e->worker)
        return tt__fail(TT_E_IO, "the GPU worker %s", e->reason);
    if (timeout)
        tt__format(reason, sizeof reason, "ran longer than %g s", l->opts.trial_timeout_s);
    else
        snprintf(reason, sizeof reason, "its GPU worker %s", e->reason);
    tt__timeline_lost(&l->timeline, e->worker, j->c->t->kernel, j->c->config, reason);
    j->trial.limit_s = timeout ? l->opts.trial_timeout_s : 0;
    lost_trial(l, j, timeout ? TT__TRIAL_TIMEOUT : TT__TRIAL_CRASHED, reason);
    tt__loop_drop_gpu(l, e->worker);
    return TT_OK;
}

/* ---- Finals: each has a GPU for itself, while the others try configurations ------------------- */

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
            say(l, "device %d runs at %u MHz, its twins at %u MHz: it holds no finals", l->workers.devices[i],
                g->sm_mhz, highest);
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
static tt_status feed_lane(tt__loop *l, size_t lane) {
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
    tt__workers_ask_finals(&l->workers, gpu, limit_s(l, f), f->c, f->launches, f->cubins, f->n, f->rounds,
                           f->train_s);
    return TT_OK;
}

tt_status tt__loop_feed_finals(tt__loop *l) {
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        if (l->lanes[i] && l->lanes[i]->finals.state == TT__FINALS_ASKED)
            TT_TRY(feed_lane(l, i));
    return TT_OK;
}

/* They end without trials. */
static void fail_finals(tt__loop *l, size_t gpu, tt_status status) {
    tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    tt__loop_drop_gpu(l, gpu);
    f->state = TT__FINALS_DONE;
    tt__fill_done(&f->done, status);
}

tt_status tt__loop_lost_finals(tt__loop *l, size_t gpu, tt_status status) {
    const tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    tt__timeline_span(&l->timeline, gpu, "finals", f->begin_s, tt__now_s());
    if (tt__loop_give_up(l, gpu, status) != TT_OK)
        fail_finals(l, gpu, status);
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
    fail_finals(l, gpu,
                tt__fail(TT_E_IO, "the measurements took longer than %.0f s: %s", limit_s(l, f),
                         tt__trial_advice(TT__TRIAL_TIMEOUT)));
    return TT_OK;
}

tt_status tt__loop_finished(tt__loop *l, size_t gpu) {
    const tt__msg_finished *m = (const tt__msg_finished *)l->workers.payload.text;
    tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    if (!is_on_gpu(l, gpu))
        return tt__fail(TT_E_INTERNAL, "finals have ended that did not begin");
    l->gpus[gpu].late = 0;
    size_t size = l->workers.payload.len - sizeof *m;
    f->done = m->done;
    memcpy(f->trials, m + 1, size < sizeof f->trials ? size : sizeof f->trials);
    note_falls(l, gpu, &m->falls);
    tt_status status = tt__loop_adopt(l, gpu, &f->done);
    if (status == TT_E_CUDA)
        return tt__loop_lost_finals(l, gpu, status);
    tt__timeline_span(&l->timeline, gpu, "finals", f->begin_s, tt__now_s());
    f->state = TT__FINALS_DONE;
    return TT_OK;
}

/* ---- Compile workers: what they compile next, and what becomes of it -------------------------- */

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

static tt_status feed_compilers(tt__loop *l) {
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
    say_lines(l, cubin->t->path, tt__str_text(&warnings));
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

static tt_status lost_compiler(tt__loop *l, const tt__event *e) {
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

/* ---- The loop --------------------------------------------------------------------------------- */

/* The oldest job that this GPU may try. */
static int oldest_for(const tt__loop *l, size_t gpu) {
    int best = TT__NO_JOB;
    for (int i = 0; i < TT__JOBS_MAX && !l->gpus[gpu].holds_finals; i++)
        if (l->jobs[i].state == TT__JOB_TO_TRY && l->jobs[i].lane == l->gpus[gpu].lane &&
            l->jobs[i].lost_by != gpu + 1 && (best == TT__NO_JOB || l->jobs[i].order < l->jobs[best].order))
            best = i;
    return best;
}

/* A busy GPU's next trial. */
static void feed_next(tt__loop *l, size_t gpu) {
    const tt__worker *w = &l->workers.items[gpu];
    int at = oldest_for(l, gpu);
    if (at != TT__NO_JOB && w->busy && !w->ahead && !tt__loop_is_called(l, gpu) &&
        sizeof(tt__msg_trial) + l->jobs[at].cubin->image.len < w->ahead_bytes)
        ask_trial(l, gpu, (size_t)at, "the next request");
}

static const char the_session[] = "the session";

/* What the GPU has waited for. */
static const char *take_lacked(tt__loop_gpu *gpu) {
    const char *lacked = gpu->lacked ? gpu->lacked : the_session;
    gpu->lacked = NULL;
    return lacked;
}

tt_status tt__loop_feed_gpu(tt__loop *l) {
    const size_t n = l->workers.n_gpus;
    const bool more = tt__loop_oldest(l, TT__JOB_TO_COMPILE) != TT__NO_JOB;
    for (size_t gpu = 0; gpu < n; gpu++)
        if (!l->workers.items[gpu].busy && !l->gpus[gpu].holds_finals && oldest_for(l, gpu) == TT__NO_JOB)
            l->gpus[gpu].lacked = more ? "a cubin" : the_session;
    if (tt__loop_oldest(l, TT__JOB_TO_TRY) == TT__NO_JOB && !more)
        return TT_OK;
    TT_TRY(tt__loop_prepare(l));
    for (size_t gpu = 0; gpu < n; gpu++) { /* all idle ones before any gets a second trial */
        int at = oldest_for(l, gpu);
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN && !l->workers.items[gpu].busy && at != TT__NO_JOB)
            ask_trial(l, gpu, (size_t)at, take_lacked(&l->gpus[gpu]));
    }
    for (size_t gpu = 0; gpu < n; gpu++)
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN)
            feed_next(l, gpu);
    return TT_OK;
}

static tt_status greeted(tt__loop *l, size_t worker) {
    const tt__msg_hello *hello = (const tt__msg_hello *)l->workers.payload.text;
    if (worker >= l->workers.n_gpus)
        return tt__workers_adopt(&hello->done);
    if (!l->greeted)
        tt__copy(l->presumed_name, sizeof l->presumed_name, hello->gpu_name);
    l->greeted = true;
    tt__workers_ask_description(&l->workers, worker);
    return TT_OK;
}

static tt_status replied(tt__loop *l, const tt__event *e) {
    switch (e->type) {
    case TT__MSG_HELLO:
        return greeted(l, e->worker);
    case TT__MSG_DESCRIBED:
        return described(l, e->worker);
    case TT__MSG_COMPILED:
        return tt__loop_compiled(l, e->worker);
    case TT__MSG_OPENED:
        return opened(l, e->worker);
    case TT__MSG_TRIED:
        return tried(l, e->worker, &l->jobs[e->job]);
    case TT__MSG_FINISHED:
        return tt__loop_finished(l, e->worker);
    case TT__MSG_PEAKED:
    case TT__MSG_COUNTED:
    case TT__MSG_BITS_FOUND:
        l->at_count = false;
        return TT_OK;
    default:
        return tt__fail(TT_E_INTERNAL, "an unexpected message of type %u", e->type);
    }
}

static void count_queues(tt__loop *l) {
    int64_t to_try = 0;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        to_try += l->jobs[i].state == TT__JOB_TO_TRY || l->jobs[i].state == TT__JOB_TRYING;
    tt__timeline_queues(&l->timeline, (int64_t)(l->cubins.n_idle + tt__expected_left(l->opts.expected)),
                        to_try);
}

/* How long to wait for an event. */
static double patience_s(const tt__loop *l) {
    double until_s = tt__now_s() + tt__workers_poll_s;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (is_awaited(&l->jobs[i]))
            until_s = fmin(until_s, l->lanes[l->jobs[i].lane]->await_s);
    return fmax(until_s - tt__now_s(), 0);
}

tt_status tt__loop_turn(tt__loop *l) {
    tt__event e;
    TT_TRY(tt__workers_stop_asked(&l->workers));
    tt__loop_promote(l);
    TT_TRY(tt__loop_feed_finals(l));
    TT_TRY(tt__loop_feed_gpu(l));
    TT_TRY(feed_compilers(l));
    TT_TRY(tt__cubins_save(&l->cubins, false));
    count_queues(l);
    TT_TRY(tt__worker_wait_any(l->workers.items, l->workers.n, patience_s(l), &e, &l->workers.payload));
    if (e.kind == TT__EVENT_NONE)
        return TT_OK;
    if (e.kind == TT__EVENT_REPLY)
        return replied(l, &e);
    return e.worker < l->workers.n_gpus ? tt__loop_lost_gpu(l, &e) : lost_compiler(l, &e);
}
