/*
 * Without a terminal, a line says when a phase begins, and every few seconds how far it is.
 *
 * A narrow terminal shows fewer parts. They go in this order: the curve, the count of failures, the best
 * time, the time left, the bar, the counts. A line is one write and never reaches the last column, so that it
 * cannot wrap.
 */
#include "tuner/cli/shell/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/spark.h"

enum { LINE_MAX_BYTES = 512, BAR_MIN = 10, BAR_MAX = 40 };
static const double redraw_s = 0.1, plain_s = 5;

static const char wipe[] = "\r\033[K";
static volatile sig_atomic_t on_screen;

static void send(const char *text, size_t n) {
    while (n) {
        ssize_t sent = write(STDERR_FILENO, text, n);
        if (sent <= 0) /* a failure to show progress is ignored */
            return;
        text += sent;
        n -= (size_t)sent;
    }
}

void tt__bar_start(tt__bar *bar, bool quiet, bool replay) {
    const char *term = secure_getenv("TERM");
    *bar = (tt__bar){.quiet = quiet, .replay = replay};
    bar->terminal = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
    bar->curve = tt__spark_can(STDERR_FILENO);
}

void tt__bar_abandon(void) {
    if (on_screen)
        send(wipe, sizeof wipe - 1);
    on_screen = 0;
}

void tt__bar_end(tt__bar *bar) {
    tt__bar_abandon();
    if (bar->terminal)
        bar->last_s = 0;
}

void tt__bar_note(tt__bar *bar, const char *line) {
    if (bar->quiet)
        return;
    tt__bar_end(bar);
    fprintf(stderr, "tune: %s\n", line);
}

/* The parts of a line; "" if empty. */
typedef struct parts {
    char head[160], counts[48], failed[48], best[64], curve[TT__SPARK_BYTES], left[64];
} parts;

static void split(parts *out, const tt__bar *bar, const tt_progress *p) {
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

static void draw(tt__bar *bar, const tt_progress *p) {
    parts s;
    char line[LINE_MAX_BYTES], out[LINE_MAX_BYTES + 8];
    int wide = tt__cli_columns(STDERR_FILENO);
    size_t width = wide > 1 ? (size_t)wide - 1 : 1;
    split(&s, bar, p);
    compose_bar(line, &s, p, width < LINE_MAX_BYTES - 1 ? width : LINE_MAX_BYTES - 1);
    int n = snprintf(out, sizeof out, "\r%s\033[K", line);
    on_screen = 1;
    send(out, (size_t)n);
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

static void print_plain(const tt__bar *bar, const tt_progress *p, bool begins) {
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
static void note_best(tt__bar *bar, double best_us) {
    if (!(best_us > 0) || (bar->n_bests && best_us >= bar->bests[bar->n_bests - 1]))
        return;
    if (bar->n_bests == TT__BAR_BESTS)
        memmove(bar->bests, bar->bests + 1, --bar->n_bests * sizeof *bar->bests);
    bar->bests[bar->n_bests++] = best_us;
}

void tt__bar_update(tt__bar *bar, const tt_progress *p) {
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
