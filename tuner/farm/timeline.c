/*
 * Writes the workers' part of the trace. Workers report their own times, on a clock that all processes share.
 */
#include "tuner/farm/timeline.h"

#include <stdio.h>

#include "base/clock.h"

/* Row 0 is the tuner. */
static int row_of(size_t worker) {
    return (int)worker + 1;
}

void tt__timeline_open(tt__timeline *t, tt__trace *trace, const tt__workers *workers) {
    *t = (tt__timeline){.trace = trace, .to_compile = -1};
    const size_t n_gpus = workers->n_gpus;
    for (size_t i = 0; i < workers->n; i++) {
        char name[32] = "GPU";
        if (i >= n_gpus)
            snprintf(name, sizeof name, "compiler %zu", i - n_gpus + 1);
        else if (n_gpus > 1)
            snprintf(name, sizeof name, "GPU %d", workers->devices[i]);
        tt__trace_row(trace, row_of(i), name);
    }
}

void tt__timeline_span(tt__timeline *t, size_t worker, const char *name, double begin_s, double end_s) {
    tt__trace_span(t->trace, &(tt__span){row_of(worker), name, begin_s, end_s, NULL, NULL, NULL});
}

void tt__timeline_compiled(tt__timeline *t, size_t worker, const tt__cubin *cubin,
                           const tt__msg_compiled *m) {
    tt__trace_span(t->trace,
                   &(tt__span){row_of(worker), "compile", m->begin_s, m->end_s, tt__cubin_kernel(cubin),
                               cubin->config, m->done.status == TT_OK ? NULL : "failed"});
}

void tt__timeline_tried(tt__timeline *t, size_t worker, const tt__candidate *c, const tt__msg_tried *m,
                        const char *waited_for) {
    const tt__trial_times *times = &m->times;
    const struct {
        const char *name;
        double begin_s, end_s;
        const char *note;
    } spans[] = {
        {"wait", times->idle_s, times->begin_s, waited_for},
        {"load", times->begin_s, times->loaded_s, NULL},
        {"verify", times->loaded_s, times->verified_s, NULL},
        {"measure", times->verified_s, times->end_s, NULL},
    };
    for (size_t i = 0; i < TT__COUNT(spans); i++)
        if (spans[i].end_s > spans[i].begin_s)
            tt__trace_span(t->trace, &(tt__span){row_of(worker), spans[i].name, spans[i].begin_s,
                                                 spans[i].end_s, c->t->kernel, c->config, spans[i].note});
    if (m->sm_mhz && m->sm_mhz != t->sm_mhz[worker])
        tt__trace_count(t->trace, "SM clock", &(tt__count){"MHz", m->sm_mhz}, 1);
    t->sm_mhz[worker] = m->sm_mhz;
}

void tt__timeline_lost(tt__timeline *t, size_t worker, const char *kernel, const char *config,
                       const char *reason) {
    double now_s = tt__now_s();
    tt__trace_span(t->trace, &(tt__span){row_of(worker), "lost", now_s, now_s, kernel, config, reason});
}

void tt__timeline_falls(tt__timeline *t, size_t worker, const tt__clock_falls *falls) {
    char note[96];
    double now_s = tt__now_s();
    snprintf(note, sizeof note, "%d times, from %u to %u MHz", falls->n, falls->usual_mhz, falls->lowest_mhz);
    tt__trace_span(t->trace, &(tt__span){row_of(worker), "clocks fell", now_s, now_s, .note = note});
}

void tt__timeline_queues(tt__timeline *t, int64_t to_compile, int64_t to_try) {
    if (to_compile == t->to_compile && to_try == t->to_try)
        return;
    t->to_compile = to_compile;
    t->to_try = to_try;
    const tt__count counts[] = {{"to compile", to_compile}, {"to measure", to_try}};
    tt__trace_count(t->trace, "queues", counts, 2);
}

void tt__timeline_starved(tt__timeline *t, size_t gpu, bool for_cubin) {
    t->lacked[gpu] = for_cubin ? "a cubin" : "the session";
}

const char *tt__timeline_lacked(tt__timeline *t, size_t gpu) {
    const char *lacked = t->lacked[gpu] ? t->lacked[gpu] : "the session";
    t->lacked[gpu] = NULL;
    return lacked;
}
