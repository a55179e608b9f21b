/*
 * There is one run at a time. The signal handler only counts signals.
 *
 * Progress without a terminal is a line when a phase begins, and one every few seconds. On a narrow terminal,
 * the bar has fewer parts. They go in this order: the curve, the count of failures, the best time, the time
 * left, the bar, the counts. A line is one write and never reaches the last column, so that it cannot wrap.
 */
#include "tuner/cli/shell/running.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/table.h"

/* ---- Progress ---------------------------------------------------------------------------------------------
 */

enum { BESTS_MAX = 12 };

typedef struct progress_bar {
    bool quiet;  /* show nothing */
    bool replay; /* marks every line as replayed */
    bool terminal;
    double last_s; /* when something was shown last; 0: never */
    size_t problem;
    char phase[16];
    bool curve;     /* the terminal can show the best so far as a curve */
    size_t n_bests; /* of this search; the last ones are kept */
    double bests[BESTS_MAX];
} progress_bar;

enum { LINE_MAX_BYTES = 512, BAR_MIN = 10, BAR_MAX = 40 };
static const double redraw_s = 0.1, plain_s = 5;

static const char wipe[] = "\r\033[K";
static volatile sig_atomic_t on_screen;

static void put_bytes(const char *text, size_t n) {
    while (n) {
        ssize_t sent = write(STDERR_FILENO, text, n);
        if (sent <= 0) /* a failure to show progress is ignored */
            return;
        text += sent;
        n -= (size_t)sent;
    }
}

static void bar_start(progress_bar *bar, bool quiet, bool replay) {
    const char *term = secure_getenv("TERM");
    *bar = (progress_bar){.quiet = quiet, .replay = replay};
    bar->terminal = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
    bar->curve = tt__spark_can(STDERR_FILENO);
}

static void bar_abandon(void) {
    if (on_screen)
        put_bytes(wipe, sizeof wipe - 1);
    on_screen = 0;
}

static void bar_end(progress_bar *bar) {
    bar_abandon();
    if (bar->terminal)
        bar->last_s = 0;
}

static void bar_note(progress_bar *bar, const char *line) {
    if (bar->quiet)
        return;
    bar_end(bar);
    fprintf(stderr, "tune: %s\n", line);
}

/* The parts of a line; "" if empty. */
typedef struct parts {
    char head[160], counts[48], failed[48], best[64], curve[TT__SPARK_BYTES], left[64];
} parts;

static void split(parts *out, const progress_bar *bar, const tt_progress *p) {
    *out = (parts){0};
    size_t n = 0;
    if (p->n_problems > 1)
        n = (size_t)snprintf(out->head, sizeof out->head, "[%zu/%zu] ", p->problem + 1, p->n_problems);
    snprintf(out->head + n, sizeof out->head - n, "%s%.100s %s", bar->replay ? "replay " : "", p->text,
             p->phase ? p->phase : "");
    if (p->total)
        snprintf(out->counts, sizeof out->counts, "%zu/%zu", p->done, p->total);
    if (p->failed)
        snprintf(out->failed, sizeof out->failed, "%zu failed", p->failed);
    if (p->best_us > 0)
        snprintf(out->best, sizeof out->best, "best %s", tt__cli_time(p->best_us).text);
    if (bar->curve && bar->n_bests > 1)
        tt__spark_line(out->curve, bar->bests, bar->n_bests);
    if (p->eta_s >= 0 && p->total)
        snprintf(out->left, sizeof out->left, "%s left", tt__cli_duration(p->eta_s).text);
}

static void join(char line[LINE_MAX_BYTES], const parts *s, const char *drawn) {
    const char *const by_place[] = {s->head, drawn, s->counts, s->failed, s->best, s->curve, s->left};
    line[0] = '\0';
    for (size_t i = 0, n = 0; i < sizeof by_place / sizeof *by_place; i++, n = strlen(line))
        snprintf(line + n, LINE_MAX_BYTES - n, "%s%s", n && *by_place[i] ? "  " : "", by_place[i]);
}

static void compose_bar(char line[LINE_MAX_BYTES], parts *s, const tt_progress *p, size_t width) {
    char *const by_need[] = {s->counts, s->left, s->best, s->failed, s->curve};
    size_t used = strlen(s->head), bar = BAR_MIN + 2; /* with its brackets */
    char drawn[BAR_MAX + 3] = "";
    for (size_t i = 0; i < sizeof by_need / sizeof *by_need; i++) {
        size_t more = *by_need[i] ? tt__spark_columns(by_need[i], SIZE_MAX) + 2 : 0;
        if (used + more + (i ? bar + 2 : 0) > width)
            by_need[i][0] = '\0';
        else
            used += more;
    }
    if (p->total && used + 2 + bar <= width) {
        size_t cells = width - used - 4 < BAR_MAX ? width - used - 4 : BAR_MAX;
        size_t full = p->done >= p->total ? cells : cells * p->done / p->total;
        drawn[0] = '[';
        memset(drawn + 1, '#', full);
        memset(drawn + 1 + full, '.', cells - full);
        drawn[cells + 1] = ']';
    }
    join(line, s, drawn);
    if (tt__spark_columns(line, SIZE_MAX) > width) /* only the head is left, which is ASCII */
        line[width] = '\0';
}

static void draw(progress_bar *bar, const tt_progress *p) {
    parts s;
    char line[LINE_MAX_BYTES], out[LINE_MAX_BYTES + 8];
    int wide = tt__cli_columns(STDERR_FILENO);
    size_t width = wide > 1 ? (size_t)wide - 1 : 1;
    split(&s, bar, p);
    compose_bar(line, &s, p, width < LINE_MAX_BYTES - 1 ? width : LINE_MAX_BYTES - 1);
    int n = snprintf(out, sizeof out, "\r%s\033[K", line);
    on_screen = 1;
    put_bytes(out, (size_t)n);
}

/* What a line of a log says about a phase that begins. Counts would look as if it had stopped there. */
static void describe(char out[LINE_MAX_BYTES], const tt_progress *p) {
    if (strcmp(p->phase, "copy") == 0)
        snprintf(out, LINE_MAX_BYTES, ": looking for the fastest copy of as many bytes");
    else if (strcmp(p->phase, "search") == 0)
        snprintf(out, LINE_MAX_BYTES,
                 p->done ? ": at most %zu configurations, %zu known already" : ": at most %zu configurations",
                 p->total, p->done);
    else
        snprintf(out, LINE_MAX_BYTES, "%s%s", p->best_us > 0 ? ": best so far " : "",
                 p->best_us > 0 ? tt__cli_time(p->best_us).text : "");
}

static void print_plain(const progress_bar *bar, const tt_progress *p, bool begins) {
    parts s;
    char more[LINE_MAX_BYTES] = "";
    split(&s, bar, p);
    if (begins && p->phase)
        describe(more, p);
    else
        snprintf(more, sizeof more, ": %zu of %zu tried%s%s%s%s%s%s", p->done, p->total,
                 *s.failed ? ", " : "", s.failed, *s.best ? ", " : "", s.best, *s.left ? ", " : "", s.left);
    fprintf(stderr, "%s%s\n", s.head, more);
}

/* Remembers each time that was the best. */
static void note_best(progress_bar *bar, double best_us) {
    if (!(best_us > 0) || (bar->n_bests && best_us >= bar->bests[bar->n_bests - 1]))
        return;
    if (bar->n_bests == BESTS_MAX)
        memmove(bar->bests, bar->bests + 1, --bar->n_bests * sizeof *bar->bests);
    bar->bests[bar->n_bests++] = best_us;
}

static void bar_update(progress_bar *bar, const tt_progress *p) {
    if (bar->quiet)
        return;
    const char *phase = p->phase ? p->phase : "";
    bool turned = p->problem != bar->problem || strncmp(phase, bar->phase, sizeof bar->phase - 1) != 0;
    if (turned && strcmp(phase, "finals") != 0)
        bar->n_bests = 0;
    note_best(bar, p->best_us);
    const double now = tt__now_s();
    if (bar->last_s > 0 && !turned && now - bar->last_s < (bar->terminal ? redraw_s : plain_s))
        return;
    bar->problem = p->problem;
    tt__copy(bar->phase, sizeof bar->phase, phase);
    bar->last_s = now;
    if (bar->terminal)
        draw(bar, p);
    else
        print_plain(bar, p, turned);
}

/* ---- The run ----------------------------------------------------------------------------------------------
 */

static volatile sig_atomic_t interrupts;

static void on_signal(int signal) {
    (void)signal;
    if (interrupts++) {
        bar_abandon();
        _exit(TT__EXIT_INTERRUPTED);
    }
}

/* A signal that was ignored at the start (nohup, a job in the background) stays ignored. */
static void catch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal}, old; /* no SA_RESTART: waits end early */
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
}

typedef struct session {
    const tt__cli_args *args;
    progress_bar bar;
    char problem[TT__PROBLEM_TEXT_MAX]; /* the last one whose progress was shown, in the library's words */
    bool told;                          /* the interrupt was reported */
} session;

static void on_progress(void *user, const tt_progress *p) {
    session *s = user;
    char words[TT__WORDS_MAX];
    tt_progress asked = *p;
    tt__copy(s->problem, sizeof s->problem, p->text);
    asked.text = tt__cli_asked(words, s->args, p->text);
    bar_update(&s->bar, &asked);
}

static void on_message(void *user, const char *line) {
    session *s = user;
    char words[TT__WORDS_MAX], whole[2 * TT__WORDS_MAX];
    const size_t n = strlen(s->problem);
    const bool begins = n && strncmp(line, s->problem, n) == 0 && line[n] == ':';
    snprintf(whole, sizeof whole, "%s%s", begins ? tt__cli_asked(words, s->args, s->problem) : "",
             begins ? line + n : tt__cli_words(words, s->args, line));
    bar_note(&s->bar, whole);
}

static int should_stop(void *user) {
    session *s = user;
    if (interrupts && !s->told) {
        s->told = true;
        bar_note(&s->bar, "stopping; once more to leave at once");
    }
    return interrupts > 0;
}

/* --device all. TT_E_NO_DEVICE if there is none. */
static tt_status find_devices(int *devices, size_t most, size_t *n) {
    int count = tt__nvml_alike();
    if (count == 0)
        TT_TRY(tt__device_count(&count));
    if (count == 0)
        return tt__fail(TT_E_NO_DEVICE, "no CUDA device is visible: see nvidia-smi, CUDA_VISIBLE_DEVICES");
    for (*n = 0; *n < most && *n < (size_t)count; ++*n)
        devices[*n] = (int)*n;
    return TT_OK;
}

tt_status tt__cli_running(const tt__cli_args *args, tt__running_fn fn, void *user) {
    session s = {.args = args};
    int devices[sizeof args->devices / sizeof *args->devices];
    tt_ctx *ctx = NULL;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    open.db_path = args->db ? args->db : args->replay ? ":memory:" : NULL;
    open.read_only = args->reads;
    opts.device = args->device;
    opts.devices = args->devices;
    opts.n_devices = args->n_devices;
    opts.replay = args->replay;
    opts.templates = args->templates;
    opts.n_templates = args->n_templates;
    opts.jobs = args->jobs;
    opts.force = args->force;
    opts.trial_timeout_s = args->trial_timeout_s;
    opts.compile_timeout_s = args->compile_timeout_s;
    opts.only = (const char *const *)args->only;
    opts.n_only = args->n_only;
    opts.trace_path = args->trace;
    opts.effort = args->effort;
    opts.budget_s = args->budget_s;
    opts.max_trials = (size_t)args->max_trials;
    opts.seed = (uint64_t)args->seed;
    opts.strategy = args->strategy;
    opts.unverified = args->unverified;
    opts.same_bits = args->same_bits;
    opts.class_of = args->class_of;
    opts.on_progress = on_progress;
    opts.on_message = on_message;
    opts.should_stop = should_stop;
    opts.user = &s;
    bar_start(&s.bar, args->quiet, args->replay != NULL);
    catch_signals();
    tt__store_stop_when(should_stop, &s);
    tt_status status = TT_OK;
    if (args->all_devices) {
        status = find_devices(devices, sizeof devices / sizeof *devices, &opts.n_devices);
        opts.devices = devices;
    }
    if (status == TT_OK)
        status = tt_open(&ctx, &open);
    if (status == TT_OK)
        status = fn(user, ctx, &opts);
    tt__store_stop_when(NULL, NULL);
    bar_end(&s.bar);
    tt_close(&ctx);
    return tt__cli_reword(status, args);
}

int tt__cli_interrupted(const tt__cli_args *args, bool goes_on) {
    const char *db = args->db ? args->db : args->replay ? ":memory:" : "";
    if (strcmp(db, ":memory:") == 0)
        fprintf(stderr, "tune: interrupted; nothing is kept without a store\n");
    else if (!goes_on)
        fprintf(stderr, "tune: interrupted; trials and winners are kept, but the same command starts over\n");
    else
        fprintf(stderr,
                "tune: interrupted; what was measured is kept: run the same command again%s to go on\n",
                args->force ? " without --force" : "");
    return TT__EXIT_INTERRUPTED;
}
