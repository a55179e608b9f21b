/*
 * Decides when a problem is tuned on first use: it was never measured, and this context has not tried it yet.
 * One problem at a time is tuned in a process and, by a lock file beside the store, among all processes with
 * this store. A wait for another tuning never exceeds the budget. The context's `tune` does the tuning.
 */
#include "dispatch/first_use.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "dispatch/ladder.h"
#include "dispatch/snapshot.h"
#include "gpu/device.h"
#include "kernel/space/space.h"

/* A problem that was tried. Writing needs both `tuning` and `lock`, reading one of them. */
typedef struct tt__tuned {
    struct tt__tuned *next;
    int device;
    tt__problem problem;
    char note[128]; /* why it has no winner, or "" */
} tuned;

enum { WAIT_US = 10000 }; /* between two attempts to lock */

/* The problem to tune, and where. */
typedef struct use {
    tt_ctx *ctx;
    const tt__template_set *templates;
    const tt__problem *problem;
    int device;
} use;

static tuned *find(const use *u) {
    for (tuned *t = u->ctx->tuned; t; t = t->next)
        if (t->device == u->device && tt__problem_same(&t->problem, u->problem))
            return t;
    return NULL;
}

/* Was the problem tried or measured before? */
static bool settled(const use *u) {
    tt_ctx *ctx = u->ctx;
    tt__gpu gpu;
    tt__candidate candidate;
    tt_choice choice = TT_INIT(tt_choice);
    pthread_mutex_lock(&ctx->lock);
    const bool tried = find(u);
    pthread_mutex_unlock(&ctx->lock);
    if (tried || tt__knowledge_gpu(ctx, &gpu) != TT_OK)
        return true;
    tt_status status = tt__ladder(ctx, u->templates, &gpu, u->problem, &choice, &candidate);
    /* Where the default failed, another configuration may win. */
    return status == TT_OK ? choice.match <= TT_MATCH_STALE : status != TT_E_NO_WINNER;
}

/* Best effort: it misses a stream that does not synchronize with the default one. Tuning would not disturb
 * that capture, since it runs in another process. It would only delay it. */
static bool capturing(void) {
    const tt__driver *cu;
    CUstreamCaptureStatus capture;
    return tt__driver_open(&cu) != TT_OK ||
           cu->cuStreamIsCapturing(CU_STREAM_LEGACY, &capture) != CUDA_SUCCESS;
}

/* As lock_store does: pthread_mutex_timedlock waits by the time of day, which may jump. */
static bool lock_until(pthread_mutex_t *mutex, double until_s) {
    while (pthread_mutex_trylock(mutex) != 0) {
        if (tt__now_s() > until_s)
            return false;
        usleep(WAIT_US);
    }
    return true;
}

/* A lock file of its own: a lock on the store would be lost when SQLite closes the store. The lock ends with
 * the process. *fd is -1 if the store has no file. */
static tt_status lock_store(const char *store, double until_s, int *fd) {
    tt__str path = {0};
    *fd = -1;
    if (strcmp(store, ":memory:") == 0)
        return TT_OK;
    tt__str_addf(&path, "%s-tuning", store);
    tt_status status;
    TT_GOTO(tt__str_check(&path));
    *fd = open(tt__str_text(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        status = tt__fail(TT_E_IO, "%s: %s", tt__str_text(&path), strerror(errno));
    while (status == TT_OK && flock(*fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            status = tt__fail(TT_E_IO, "%s: %s", tt__str_text(&path), strerror(errno));
        else if (tt__now_s() > until_s)
            status = tt__fail(TT_E_IO, "another process was tuning all the while");
        else
            usleep(WAIT_US);
    }
out:
    tt__str_free(&path);
    if (status != TT_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

/* Call with `tuning` held. */
static void tune(const use *u, double until_s) {
    tt_ctx *ctx = u->ctx;
    int fd = -1;
    tuned *t = calloc(1, sizeof *t);
    if (!t)
        return;
    tt_status status = lock_store(tt__store_path(ctx->store), until_s, &fd);
    double left_s = until_s - tt__now_s();
    if (status == TT_OK)
        tt__knowledge_forget(ctx); /* another process may have tuned it while we waited */
    if (status == TT_OK && !settled(u))
        status = ctx->tune(ctx, u->templates, u->problem, u->device, left_s > 1e-3 ? left_s : 1e-3);
    if (status != TT_OK)
        snprintf(t->note, sizeof t->note, "tuning failed: %.100s", tt_last_error());
    t->device = u->device;
    t->problem = *u->problem;
    if (fd >= 0) {
        flock(fd, LOCK_UN); /* a child has the descriptor, too, if the program forked meanwhile */
        close(fd);
    }
    pthread_mutex_lock(&ctx->lock);
    t->next = ctx->tuned;
    ctx->tuned = t;
    pthread_mutex_unlock(&ctx->lock);
}

void tt__first_use(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p) {
    use u = {.ctx = ctx, .templates = templates, .problem = p};
    if (!(ctx->tune_budget_s > 0) || ctx->read_only || ctx->gpu_name[0] || p->unverified ||
        tt__device_current_ordinal(&u.device) != TT_OK || settled(&u) || capturing())
        return;
    double until_s = tt__now_s() + ctx->tune_budget_s;
    if (!lock_until(&ctx->tuning, until_s))
        return;
    if (!settled(&u))
        tune(&u, until_s);
    pthread_mutex_unlock(&ctx->tuning);
}

void tt__first_use_note(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p, char *why,
                        size_t size) {
    use u = {.ctx = ctx, .templates = templates, .problem = p};
    const tuned *t = ctx->tuned && tt__device_current_ordinal(&u.device) == TT_OK ? find(&u) : NULL;
    char text[512];
    if (!t || !t->note[0])
        return;
    snprintf(text, sizeof text, "%s%s%s", t->note, *why ? "; " : "",
             why); /* what may be cut off comes last */
    tt__copy_short(why, size, text);
}

void tt__first_use_free(tt_ctx *ctx) {
    while (ctx->tuned) {
        tuned *next = ctx->tuned->next;
        free(ctx->tuned);
        ctx->tuned = next;
    }
}
