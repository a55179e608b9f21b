/*
 * Writes events in pieces. Each write also closes the JSON array, and the next write overwrites that end.
 */
#include "tuner/farm/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"

enum { PIECE_BYTES = 16 * 1024, PID = 1 };
static const char end_of_array[] = "\n]\n";

struct tt__trace {
    int fd, error; /* errno of the first write that failed */
    double started_s;
    off_t written; /* length without the end of the array */
    bool any;      /* was any event written? */
    bool begun;    /* until then events are kept, and the file is as it was */
    char *created; /* its path, if it was not there */
    tt__str pending;
};

static void flush(tt__trace *t) {
    if (!t->begun)
        return;
    size_t len = t->pending.len;
    tt__str_add(&t->pending, end_of_array);
    if (tt__str_check(&t->pending) != TT_OK)
        t->error = ENOMEM;
    for (size_t done = 0; !t->error && done < t->pending.len;) {
        ssize_t n = pwrite(t->fd, t->pending.text + done, t->pending.len - done, t->written + (off_t)done);
        if (n < 0 && errno != EINTR)
            t->error = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    t->written += (off_t)len;
    t->pending.len = 0;
}

/* Begins an event in a row. The caller ends its object with end_event. */
static tt__json begin_event(tt__trace *t, const char *phase, const char *name, int row) {
    tt__str_add(&t->pending, t->any ? ",\n" : "[\n");
    t->any = true;
    tt__json j = {.out = &t->pending};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "ph", phase);
    tt__json_string(&j, "name", name);
    tt__json_int(&j, "pid", PID);
    tt__json_int(&j, "tid", row);
    return j;
}

static void end_event(tt__trace *t, tt__json *j) {
    tt__json_close(j, '}');
    if (t->pending.len >= PIECE_BYTES)
        flush(t);
}

static void add_time(tt__json *j, const char *key, double s) {
    tt__json_number(j, key, s * 1e6, 12); /* the format uses microseconds */
}

/* An event that gives a process or thread a name, or its place in the order. */
static void describe(tt__trace *t, const char *what, int row, const char *name, int place) {
    tt__json j = begin_event(t, "M", what, row);
    tt__json_open(&j, "args", '{');
    if (name)
        tt__json_string(&j, "name", name);
    else
        tt__json_int(&j, "sort_index", place);
    tt__json_close(&j, '}');
    end_event(t, &j);
}

tt_status tt__trace_open(tt__trace **out, const char *path) {
    *out = NULL;
    tt__trace *t = calloc(1, sizeof *t);
    if (!t)
        return tt__fail_memory(sizeof *t);
    t->started_s = tt__now_s();
    t->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (t->fd >= 0)
        t->created = strdup(path);
    else if (errno == EEXIST)
        t->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (t->fd < 0) {
        tt_status status = tt__fail(TT_E_IO, "the trace %s cannot be written: %s", path, strerror(errno));
        free(t);
        return status;
    }
    describe(t, "process_name", 0, "tiletune", 0);
    *out = t;
    return TT_OK;
}

void tt__trace_begin(tt__trace *t) {
    if (!t || t->begun)
        return;
    t->begun = true;
    if (ftruncate(t->fd, 0) != 0 && errno != EINVAL) /* EINVAL: it is no file, as /dev/null */
        t->error = errno;
    flush(t);
}

int tt__trace_close(tt__trace **trace) {
    tt__trace *t = *trace;
    *trace = NULL;
    if (!t)
        return 0;
    flush(t);
    if (close(t->fd) != 0 && !t->error)
        t->error = errno;
    int error = t->error;
    if (t->created && !t->begun)
        unlink(t->created);
    free(t->created);
    tt__str_free(&t->pending);
    free(t);
    return error;
}

/* Rows are shown in the order of their numbers. */
static void name_row(tt__trace *t, int row, const char *name) {
    if (!t)
        return;
    describe(t, "thread_name", row, name, 0);
    describe(t, "thread_sort_index", row, NULL, row);
}

void tt__trace_span(tt__trace *t, const tt__span *span) {
    if (!t || span->begin_s <= 0 || span->end_s < span->begin_s)
        return;
    tt__json j = begin_event(t, "X", span->name, span->row);
    add_time(&j, "ts", span->begin_s - t->started_s);
    add_time(&j, "dur", span->end_s - span->begin_s);
    const struct {
        const char *key, *value;
    } args[] = {{"kernel", span->kernel}, {"config", span->config}, {"note", span->note}};
    tt__json_open(&j, "args", '{');
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (args[i].value)
            tt__json_string(&j, args[i].key, args[i].value);
    tt__json_close(&j, '}');
    end_event(t, &j);
}

typedef struct value {
    const char *name;
    int64_t number;
} value;

/* One counter with several values, from now on. */
static void set_counter(tt__trace *t, const char *name, const value *values, int n) {
    if (!t)
        return;
    tt__json j = begin_event(t, "C", name, 0);
    add_time(&j, "ts", tt__now_s() - t->started_s);
    tt__json_open(&j, "args", '{');
    for (int i = 0; i < n; i++)
        tt__json_int(&j, values[i].name, values[i].number);
    tt__json_close(&j, '}');
    end_event(t, &j);
}

/* ---- The workers' part. They report their own times, on a clock that all processes share ------ */

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
        name_row(trace, row_of(i), name);
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

void tt__timeline_tried(tt__timeline *t, size_t worker, const tt__configuration *c, const tt__msg_tried *m,
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
        set_counter(t->trace, "SM clock", &(value){"MHz", m->sm_mhz}, 1);
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
    const value values[] = {{"to compile", to_compile}, {"to measure", to_try}};
    set_counter(t->trace, "queues", values, 2);
}
