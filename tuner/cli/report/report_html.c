/*
 * The report as one HTML page: no script, no network. However many winners a store has, rows of the table and
 * details are only of those that come first. These are, of each operation, those with the most trials.
 */
#include "tuner/cli/report/report_html.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/cli/report/report_figures.h"
#include "tuner/cli/report/report_svg.h"
#include "tuner/cli/shell/files.h"

/* Winners in the table, those with a section, changes, rows of a figure, and GPUs or files with a part of
 * their own. */
enum { WINNERS_MAX = 200, DETAILS_MAX = 20, CHANGES_MAX = 100, ROWS_MAX = 12, SUBJECTS_MAX = 16 };

typedef struct page_item {
    const tt__subject *s;
    size_t at; /* of the subject's winners */
    tt__winner w;
    bool detailed; /* it has a section */
} page_item;

typedef struct html_page {
    const tt__report *r;
    size_t n_winners, n, n_detailed; /* n_winners: of the report; n: that are shown */
    page_item *items;                /* in the order of the report */
} html_page;

/* "4096x4096, warm, not verified". */
enum { PROBLEM_MAX = TT__PROBLEM_TEXT_MAX + 32 };
/* "NVIDIA H200", and the file if there are several. */
enum { SUBJECT_MAX = TT__GPU_NAME_MAX + TT__PATH_MAX + 48 };

/* ---- What the page shows ------------------------------------------------------------------------------- */

typedef struct candidate {
    const tt__subject *s;
    size_t at, place; /* place: of its operation, by trials */
} candidate;

static int compare(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int by_trials(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    const tt__listed *v = &x->s->winners[x->at], *w = &y->s->winners[y->at];
    if (x->s != y->s || v->op != w->op)
        return x->s != y->s ? compare((size_t)x->s, (size_t)y->s) : compare(v->op, w->op);
    return v->trials != w->trials ? (v->trials > w->trials ? -1 : 1) : compare(x->at, y->at);
}

static int by_place(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int order = compare(x->place, y->place);
    order = order ? order : compare((size_t)x->s, (size_t)y->s);
    return order ? order : compare(x->at, y->at);
}

static int by_report(const void *a, const void *b) {
    const page_item *x = a, *y = b;
    return x->s != y->s ? compare((size_t)x->s, (size_t)y->s) : compare(x->at, y->at);
}

static void sort(candidate *all, size_t n) {
    qsort(all, n, sizeof *all, by_trials);
    for (size_t i = 1; i < n; i++) {
        const candidate *last = &all[i - 1];
        bool same = last->s == all[i].s && last->s->winners[last->at].op == all[i].s->winners[all[i].at].op;
        all[i].place = same ? last->place + 1 : 0;
    }
    qsort(all, n, sizeof *all, by_place);
}

static void close_page(html_page *page) {
    free(page->items);
    *page = (html_page){0};
}

/* Close it, also after a failure. */
static tt_status open_page(html_page *page, const tt__report *r) {
    tt_status status = TT_OK;
    size_t n = 0;
    *page = (html_page){.r = r};
    for (size_t k = 0; k < r->n; k++)
        page->n_winners += r->subjects[k].n;
    page->n = page->n_winners < WINNERS_MAX ? page->n_winners : WINNERS_MAX;
    page->n_detailed = page->n < DETAILS_MAX ? page->n : DETAILS_MAX;
    page->items = calloc(page->n + 1, sizeof *page->items);
    candidate *all = calloc(page->n_winners + 1, sizeof *all);
    if (!all || !page->items)
        TT_GOTO(tt__fail_memory(page->n_winners * sizeof *all));
    for (size_t k = 0; k < r->n; k++)
        for (size_t i = 0; i < r->subjects[k].n; i++)
            all[n++] = (candidate){.s = &r->subjects[k], .at = i};
    sort(all, n);
    for (size_t i = 0; i < page->n; i++) {
        page->items[i] = (page_item){.s = all[i].s, .at = all[i].at, .detailed = i < page->n_detailed};
        TT_GOTO(tt__subject_winner(all[i].s, all[i].at, &page->items[i].w));
    }
    qsort(page->items, page->n, sizeof *page->items, by_report);
out:
    free(all);
    return status;
}

/* ---- Text -------------------------------------------------------------------------------------------- */

static const char *problem_name(char out[PROBLEM_MAX], const tt__problem *p) {
    char text[TT__PROBLEM_TEXT_MAX];
    snprintf(out, PROBLEM_MAX, "%s%s%s", tt__problem_text(text, p), tt__problem_regime(p),
             p->unverified ? ", not verified" : "");
    return out;
}

/* An item of a list of facts. */
static void __attribute__((format(printf, 3, 4)))
add_fact(tt__str *out, const char *term, const char *fmt, ...) {
    va_list args;
    tt__html_wrap(out, "<div><dt>", term, "</dt><dd>");
    va_start(args, fmt);
    tt__html_vtextf(out, fmt, args);
    va_end(args);
    tt__str_add(out, "</dd></div>");
}

/* The anchor of a winner's section. */
static void add_id(tt__str *out, const tt__report *r, const page_item *item) {
    tt__str_addf(out, "p%zu-%zu", (size_t)(item->s - r->subjects) + 1, item->at + 1);
}

static void subject_name(char out[SUBJECT_MAX], const tt__report *r, const tt__subject *s) {
    char gpu[TT__GPU_TEXT_MAX];
    snprintf(out, SUBJECT_MAX, "%s%s%s%s", tt__gpu_text(gpu, &s->gpu), r->n_sources > 1 ? " (" : "",
             r->n_sources > 1 ? s->source->name : "", r->n_sources > 1 ? ")" : "");
}

/* ---- Bandwidth over size ----------------------------------------------------------------------------- */

enum { LINES_MAX = 8, BAND_HEIGHT = 250, BAND_BOTTOM = 212 };

typedef struct band {
    char label[LINES_MAX][TT__GPU_NAME_MAX + TT__NAME_MAX + 32];
    size_t n_labels, n; /* lines, and the winners in them */
    size_t *line;       /* of each item of the page; LINES_MAX: none */
    tt__axis x, y;
} band;

static bool has_band(const page_item *item) {
    const tt__winner *w = &item->w;
    double gbps = tt__problem_gbps(&w->problem, w->time_us);
    return gbps > 0 && gbps < 1e9 && w->problem.moved_bytes >= 1 && w->problem.moved_bytes < 1e18;
}

/* Winners of a kind: a subject, an operation, bytes of an element. The line's number, or LINES_MAX: none. */
static size_t line_of(band *b, const tt__report *r, const page_item *item) {
    char label[sizeof b->label[0]];
    const tt__problem *p = &item->w.problem;
    const tt__subject *s = item->s;
    size_t i = 0;
    if (!has_band(item))
        return LINES_MAX;
    snprintf(label, sizeof label, "%s%s%s, %d-byte%s", r->n > 1 ? s->gpu.name : "", r->n > 1 ? ": " : "",
             p->op, tt__problem_elem_size(p), tt__problem_regime(p));
    if (r->n > 1 && r->n_sources > 1)
        snprintf(label, sizeof label, "%.40s: %s, %d-byte%s", s->source->name, p->op,
                 tt__problem_elem_size(p), tt__problem_regime(p));
    while (i < b->n_labels && strcmp(b->label[i], label) != 0)
        i++;
    if (i == b->n_labels && i < LINES_MAX)
        memcpy(b->label[b->n_labels++], label, sizeof label);
    return i;
}

static void measure_band(band *b, const html_page *page) {
    b->x = (tt__axis){INFINITY, 0, 44, 350, true};
    b->y = (tt__axis){0, 0, BAND_BOTTOM, 10, false};
    for (size_t i = 0; i < page->n; i++) {
        const tt__winner *w = &page->items[i].w;
        b->line[i] = line_of(b, page->r, &page->items[i]);
        if (b->line[i] == LINES_MAX)
            continue;
        b->n++;
        b->x.low = fmin(b->x.low, w->problem.moved_bytes / 1e6);
        b->x.high = fmax(b->x.high, w->problem.moved_bytes / 1e6);
        b->y.high = fmax(b->y.high, tt__problem_gbps(&w->problem, w->time_us));
        b->y.high = fmax(b->y.high, tt__problem_gbps(&w->problem, w->copy_us));
        b->y.high = fmax(b->y.high, page->items[i].s->gpu.peak_gbps);
    }
    b->y.high *= 1.04;
}

/* Winners come by size, so a line goes to the right; a step back begins a new one. */
static void draw_line(tt__str *out, const band *b, const html_page *page, size_t line, bool copy) {
    double last = INFINITY;
    tt__str_addf(out, "<path class=\"line s%zu%s\" d=\"", line, copy ? " copy" : "");
    for (size_t i = 0; i < page->n; i++) {
        const tt__winner *w = &page->items[i].w;
        double gbps = tt__problem_gbps(&w->problem, copy ? w->copy_us : w->time_us);
        if (!(gbps > 0) || b->line[i] != line)
            continue;
        tt__str_addf(out, "%c%.4g %.4g", w->problem.moved_bytes > last ? 'L' : 'M',
                     tt__axis_at(&b->x, w->problem.moved_bytes / 1e6), tt__axis_at(&b->y, gbps));
        last = w->problem.moved_bytes;
    }
    tt__str_add(out, "\"/>");
}

static void draw_points(tt__str *out, const band *b, const html_page *page) {
    for (size_t i = 0; i < page->n; i++) {
        const tt__winner *w = &page->items[i].w;
        char class[8];
        if (b->line[i] == LINES_MAX)
            continue;
        snprintf(class, sizeof class, "p s%zu", b->line[i]);
        tt__svg_dot(out, tt__axis_at(&b->x, w->problem.moved_bytes / 1e6),
                    tt__axis_at(&b->y, tt__problem_gbps(&w->problem, w->time_us)), 3.5, class);
    }
}

static void draw_legend(tt__str *out, const band *b, bool peak) {
    tt__str_add(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < b->n_labels; i++) {
        tt__str_addf(out, "<li class=\"s%zu\">", i);
        tt__html_text(out, b->label[i]);
        tt__str_add(out, "</li>");
    }
    tt__str_addf(out, "<li class=\"dashed\">tuned copy</li>%s</ul>\n",
                 peak ? "<li class=\"dotted\">theoretical peak</li>" : "");
}

static void figure_bandwidth(tt__str *out, const html_page *page) {
    const tt__report *r = page->r;
    band b = {.line = calloc(page->n + 1, sizeof *b.line)};
    if (!b.line) {
        out->failed = true;
        return;
    }
    measure_band(&b, page);
    if (b.n > 1 && b.x.high > b.x.low) {
        char name[160];
        double peak = r->subjects[0].gpu.peak_gbps;
        snprintf(name, sizeof name, "Bandwidth of %zu winners over the megabytes they move, up to %.0f GB/s",
                 b.n, b.y.high / 1.04);
        tt__figure_open(out, "Bandwidth over size",
                        "GB/s of each winner, over the megabytes read and written.");
        tt__svg_open(out, BAND_HEIGHT, name);
        tt__axis_draw_y(out, &b.y, &b.x, "");
        tt__axis_draw_x(out, &b.x, BAND_BOTTOM + 16, "");
        tt__svg_text(out, (b.x.from + b.x.to) / 2, BAND_BOTTOM + 32, "tick mid", "MB");
        for (size_t k = 0; k < r->n; k++)
            if (r->subjects[k].gpu.peak_gbps > 0) {
                double at = tt__axis_at(&b.y, r->subjects[k].gpu.peak_gbps);
                tt__svg_line(out, b.x.from, at, b.x.to, at, "peak");
            }
        for (size_t i = 0; i < b.n_labels; i++) {
            draw_line(out, &b, page, i, true);
            draw_line(out, &b, page, i, false);
        }
        draw_points(out, &b, page);
        tt__svg_close(out);
        draw_legend(out, &b, peak > 0);
        tt__figure_close(out);
    }
    free(b.line);
}

/* ---- Sections of the page ---------------------------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
add_cell(tt__str *out, const char *class, const char *fmt, ...) {
    va_list args;
    tt__str_addf(out, "<td%s%s>", *class ? " class=" : "", class);
    va_start(args, fmt);
    tt__html_vtextf(out, fmt, args);
    va_end(args);
    tt__str_add(out, "</td>");
}

/* Begins a table of this class, or of none (""). A title with a `#` is of numbers; NULL: no such column. */
static void open_table(tt__str *out, const char *name, const char *class, const char *const *titles,
                       size_t n) {
    tt__html_wrap(out, "<div class=scroll tabindex=0 role=region aria-label=\"", name, "\"><table");
    tt__str_addf(out, "%s%s><thead><tr>", *class ? " class=" : "", class);
    for (size_t i = 0; i < n; i++)
        if (titles[i])
            tt__str_addf(out, "<th scope=col%s>%s</th>", *titles[i] == '#' ? " class=num" : "",
                         titles[i] + (*titles[i] == '#'));
    tt__str_add(out, "</tr></thead><tbody>\n");
}

static void add_winner_row(tt__str *out, const tt__report *r, const page_item *item, bool defaults) {
    const tt__winner *w = &item->w;
    char text[PROBLEM_MAX];
    double gbps = tt__problem_gbps(&w->problem, w->time_us), peak = item->s->gpu.peak_gbps;
    tt__str_add(out, "<tr><td>");
    if (item->detailed) {
        tt__str_add(out, "<a href=\"#");
        add_id(out, r, item);
        tt__str_add(out, "\">");
    }
    tt__html_textf(out, "%s %s", w->problem.op, problem_name(text, &w->problem));
    tt__str_add(out, item->detailed ? "</a></td>" : "</td>");
    add_cell(out, "num", "%s", tt__cli_time(w->time_us).text);
    add_cell(out, "num", gbps > 0 ? "%.0f" : "-", gbps);
    add_cell(out, "num", "%s", tt__cli_percent(w->copy_fraction).text);
    add_cell(out, "num", "%s", tt__cli_percent(peak > 0 ? gbps / peak : 0).text);
    if (defaults)
        add_cell(out, "num", w->speedup_vs_default > 0 ? "%.2fx" : "-", w->speedup_vs_default);
    tt__html_wrap(out, "<td>", w->kernel, "<code class=config>");
    tt__html_wrap(out, "", w->config, "</code></td></tr>\n");
}

/* What the page has no room for. */
static void say_left_out(tt__str *out, const html_page *page) {
    if (page->n_detailed == page->n_winners)
        return;
    tt__str_addf(out, "<p>The page has details of %zu of %zu winners", page->n_detailed, page->n_winners);
    if (page->n < page->n_winners)
        tt__str_addf(out, ", and %zu of them in the table and figure", page->n);
    tt__str_add(out, ": of each operation, those with the most trials. Choose others with "
                     "<code>--sizes</code>, <code>--op</code> or <code>--kernel</code>. "
                     "<code>--csv</code> and <code>--json</code> have all.</p>\n");
}

static void add_winners(tt__str *out, const html_page *page, const tt__subject *s) {
    const char *titles[] = {"problem", "#time", "#GB/s", "#of copy", "#of peak", "#vs default", "winner"};
    char name[SUBJECT_MAX];
    bool defaults = false; /* a recording does not say */
    size_t rows = 0;
    for (size_t i = 0; i < page->n; i++)
        if (page->items[i].s == s) {
            rows++;
            defaults = defaults || page->items[i].w.speedup_vs_default > 0;
        }
    if (rows == 0)
        return;
    subject_name(name, page->r, s);
    if (page->r->n > 1)
        tt__html_wrap(out, "<h3>", name, "</h3>\n");
    titles[5] = defaults ? "#vs default" : NULL;
    open_table(out, name, "winners", titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < page->n; i++)
        if (page->items[i].s == s)
            add_winner_row(out, page->r, &page->items[i], defaults);
    tt__str_add(out, "</tbody></table></div>\n");
}

static void section_winners(tt__str *out, const html_page *page) {
    if (page->n == 0)
        return;
    tt__str_add(out, "<section id=winners><h2>All winners</h2>\n");
    say_left_out(out, page);
    tt__str_add(out, "<div class=beside>");
    figure_bandwidth(out, page);
    tt__str_add(out, "<div>");
    for (size_t k = 0; k < page->r->n; k++)
        add_winners(out, page, &page->r->subjects[k]);
    tt__str_add(out, "</div></div></section>\n");
}

/* Of two GPUs one is slower by what it is. That is no change to judge. */
static bool two_gpus(const tt__change *c) {
    return !tt__same_gpu(&c->before.gpu, &c->after.gpu);
}

static const char *const change_words[] = {"within the noise", "faster", "slower"}; /* by tt__change_kind */

static void add_change_row(tt__str *out, const tt__change *c) {
    static const char *const classes[] = {"same", "good", "worse"};
    char text[PROBLEM_MAX];
    const tt__winner *a = &c->before, *b = &c->after;
    tt__str_add(out, "<tr>");
    add_cell(out, "", "%s %s", a->problem.op, problem_name(text, &a->problem));
    add_cell(out, two_gpus(c) ? "" : classes[c->kind], "%s", change_words[c->kind]);
    add_cell(out, "", "%s", tt__change_what(c));
    add_cell(out, "num", "%s", tt__cli_time(a->time_us).text);
    add_cell(out, "num", "%s", tt__cli_time(b->time_us).text);
    add_cell(out, "num", "%+.1f%%", (c->ratio - 1) * 100);
    add_cell(out, "num", "\xc2\xb1%.1f%%", c->noise * 100);
    tt__str_add(out, "</tr>\n");
}

/* Problems that two subjects have: how many of each kind, and the first of those that changed and of the
 * others. */
typedef struct changes {
    size_t by_kind[3], n[2];
    tt__change first[2][CHANGES_MAX];
} changes;

static tt_status find_changes(changes *out, const tt__subject *before, const tt__subject *after) {
    for (size_t i = 0; i < before->n; i++) {
        tt__change c;
        bool both;
        TT_TRY(tt__report_change(&c, before, i, after, &both));
        const bool same = c.kind == TT__CHANGE_NONE;
        out->by_kind[c.kind] += both;
        if (both && out->n[same] < CHANGES_MAX)
            out->first[same][out->n[same]++] = c;
    }
    return TT_OK;
}

/* "1 problem is slower, 4 within the noise": kinds that no problem has are left out. */
static void say_changes(tt__str *out, const changes *c) {
    static const int order[] = {TT__CHANGE_FASTER, TT__CHANGE_SLOWER, TT__CHANGE_NONE};
    bool is_first = true;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const size_t n = c->by_kind[order[i]];
        if (n == 0)
            continue;
        tt__str_addf(out, "%s%zu%s %s", is_first ? "" : ", ", n,
                     !is_first ? ""
                     : n == 1  ? " problem is"
                               : " problems are",
                     change_words[order[i]]);
        is_first = false;
    }
}

static tt__interval_row interval_of(const tt__change *c) {
    static const char *const classes[] = {"other", "fill", "bad"};
    char text[PROBLEM_MAX];
    tt__interval_row row = {.at = c->ratio,
                            .low = c->ratio * (1 - c->noise),
                            .high = c->ratio * (1 + c->noise),
                            .class = two_gpus(c) ? "fill" : classes[c->kind]};
    snprintf(row.label, sizeof row.label, "%s %.60s", c->before.problem.op,
             problem_name(text, &c->before.problem));
    tt__format(row.value, sizeof row.value, "%+.1f%%", (c->ratio - 1) * 100);
    return row;
}

/* Those beyond the noise come first. */
static void draw_changes(tt__str *out, const char *name, const changes *c, size_t n, bool two) {
    const char *const titles[] = {"problem",
                                  "verdict",
                                  two ? "what differs" : "what changed",
                                  two ? "#first" : "#before",
                                  two ? "#second" : "#after",
                                  "#time",
                                  "#noise"};
    tt__interval_row rows[ROWS_MAX];
    size_t shown = 0;
    tt__str_add(out, "<div class=beside>");
    tt__figure_open(out, two ? "Time of the second GPU over the first" : "Time over before",
                    "Left of 1 is faster. The bar is the noise: both runs' spread, "
                    "and 1 % between processes.");
    for (int same = 0; same < 2; same++)
        for (size_t i = 0; i < c->n[same] && shown < ROWS_MAX; i++)
            rows[shown++] = interval_of(&c->first[same][i]);
    tt__svg_intervals(out, name, rows, shown);
    tt__figure_close(out);
    open_table(out, name, "", titles, sizeof titles / sizeof *titles);
    shown = 0;
    for (int same = 0; same < 2; same++)
        for (size_t i = 0; i < c->n[same] && shown < CHANGES_MAX; i++, shown++)
            add_change_row(out, &c->first[same][i]);
    if (shown < n)
        tt__str_addf(out, "<tr><td>and %zu more: <code>--csv</code> has all</td></tr>\n", n - shown);
    tt__str_add(out, "</tbody></table></div></div>\n");
}

static tt_status section_changes(tt__str *out, const html_page *page) {
    const tt__report *r = page->r;
    char from[SUBJECT_MAX], to[sizeof from], name[2 * sizeof from + 32];
    subject_name(from, r, &r->subjects[0]);
    for (size_t k = 1; k < r->n && k < SUBJECTS_MAX; k++) {
        changes *c = calloc(1, sizeof *c);
        if (!c)
            return tt__fail_memory(sizeof *c);
        subject_name(to, r, &r->subjects[k]);
        const bool two = !tt__same_gpu(&r->subjects[0].gpu, &r->subjects[k].gpu);
        snprintf(name, sizeof name, two ? "%s, and beside it %s" : "From %s to %s", from, to);
        tt_status status = find_changes(c, &r->subjects[0], &r->subjects[k]);
        const size_t n =
            c->by_kind[TT__CHANGE_FASTER] + c->by_kind[TT__CHANGE_SLOWER] + c->by_kind[TT__CHANGE_NONE];
        tt__str_addf(out, "<section%s><h2>%s</h2>\n<p>", k == 1 ? " id=changes" : "",
                     two ? "Two GPUs compared" : "What changed");
        tt__html_text(out, name);
        if (n) {
            tt__str_add(out, two ? ": on the second GPU, " : ": ");
            say_changes(out, c);
            tt__str_add(out, ".</p>\n");
            draw_changes(out, name, c, n, two);
        } else {
            tt__str_add(out, ": they have no problem in common.</p>\n");
        }
        tt__str_add(out, "</section>\n");
        free(c);
        TT_TRY(status);
    }
    return TT_OK;
}

static void section_environment(tt__str *out, const html_page *page) {
    const tt__report *r = page->r;
    tt__str_add(out, "<section id=environment><h2>Environment</h2>\n");
    for (size_t k = 0; k < r->n && k < SUBJECTS_MAX; k++) {
        const tt__subject *s = &r->subjects[k];
        const tt__winner *w = &s->newest;
        char gpu[TT__GPU_TEXT_MAX];
        tt__str_add(out, "<dl class=facts>");
        add_fact(out, "file", "%s", s->source->name);
        add_fact(out, "GPU", "%s", tt__gpu_text(gpu, &s->gpu));
        add_fact(out, "compute capability", "%d.%d, %d SMs", s->gpu.cc / 10, s->gpu.cc % 10, s->gpu.sm_count);
        add_fact(out, "memory", "%.0f GB, L2 %.0f MB", (double)s->gpu.memory_bytes / 1e9,
                 (double)s->gpu.l2_bytes / 1e6);
        if (s->gpu.peak_gbps > 0)
            add_fact(out, "theoretical peak", "%.0f GB/s", s->gpu.peak_gbps);
        if (s->n) {
            add_fact(out, "driver", "%s, NVRTC %s, method %s", w->env.driver, w->env.nvrtc, w->env.library);
            add_fact(out, "newest winner", "%s, %s", w->source,
                     tt__cli_when(TT__REPORT_WHEN, w->unix_ms).text);
        }
        tt__str_add(out, "</dl>\n");
    }
    tt__str_add(out, "</section>\n");
}

/* Problems that were tried and have no winner: the first reason, and what may help. */
enum { UNSOLVED_MAX = 50 };

typedef struct unsolved_rows {
    tt__str *out;
    size_t n;
} unsolved_rows;

static tt_status add_unsolved_row(void *user, const tt__unsolved *u) {
    unsolved_rows *rows = user;
    tt__str *out = rows->out;
    char text[PROBLEM_MAX];
    tt__str command = {0};
    bool passed = u->passed > 0;
    if (rows->n == UNSOLVED_MAX)
        return TT_OK;
    rows->n++;
    tt__str_add(out, "<tr><td>");
    tt__html_textf(out, "%s %s", u->problem.op, problem_name(text, &u->problem));
    tt__str_addf(out, "</td><td class=num>%lld</td><td class=num>%lld</td><td class=config>",
                 (long long)u->tried, (long long)(u->tried - u->passed));
    if (passed)
        tt__str_add(out, "the run ended before its finals");
    else
        tt__html_textf(out, "%s: %.400s", tt__trial_status_name(u->status), u->reason);
    tt__str_add(out, "</td><td class=config>");
    if (!passed)
        tt__html_textf(out, "%s; then ", tt__trial_advice(u->status));
    if (tt__report_command(&command, &u->problem, *u->problem.text ? "FILE.cu" : NULL) == TT_OK)
        tt__html_wrap(out, "<code>", tt__str_text(&command), "</code>");
    out->failed |= command.failed;
    tt__str_free(&command);
    tt__str_add(out, "</td></tr>\n");
    return TT_OK;
}

static tt_status section_unsolved(tt__str *out, const html_page *page) {
    static const char *const titles[] = {"problem", "#tried", "#failed", "the first reason", "what to do"};
    unsolved_rows rows = {.out = out};
    size_t n = 0;
    for (size_t k = 0; k < page->r->n; k++)
        n += page->r->subjects[k].n_unsolved;
    if (n == 0)
        return TT_OK;
    tt__str_addf(
        out, "<section id=unsolved><h2>Without a winner</h2>\n<p>%zu problem%s tried, and nothing won.</p>\n",
        n, n == 1 ? " was" : "s were");
    open_table(out, "Problems without a winner", "", titles, sizeof titles / sizeof *titles);
    for (size_t k = 0; k < page->r->n; k++)
        TT_TRY(tt__subject_unsolved(&page->r->subjects[k], add_unsolved_row, &rows));
    if (rows.n < n)
        tt__str_addf(out, "<tr><td>and %zu more: <code>--csv</code> has all</td></tr>\n", n - rows.n);
    tt__str_add(out, "</tbody></table></div></section>\n");
    return TT_OK;
}

static void add_facts(tt__str *out, const tt__details *d) {
    const tt__winner *w = d->w;
    double gbps = tt__problem_gbps(&w->problem, w->time_us), peak = d->subject->gpu.peak_gbps;
    char bits[TT__BITS_TEXT_MAX];
    tt__str_add(out, "<dl>");
    add_fact(out, "time", "%s", tt__cli_time(w->time_us).text);
    if (gbps > 0)
        add_fact(out, "GB/s", "%.0f", gbps);
    if (w->bits && w->bits != TT__BITS_EXACT)
        add_fact(out, "class of equal bits", "%s%s", tt__bits_text(bits, w->bits),
                 tt__cli_batch(w->batch_invariant));
    if (w->copy_fraction > 0)
        add_fact(out, "of copy", "%s", tt__cli_percent(w->copy_fraction).text);
    if (gbps > 0 && peak > 0)
        add_fact(out, "of peak", "%s", tt__cli_percent(gbps / peak).text);
    if (w->speedup_vs_default > 0)
        add_fact(out, "vs default", "%.2fx", w->speedup_vs_default);
    add_fact(out, "tried", "%lld", (long long)w->trials);
    add_fact(out, "failed", "%lld", (long long)w->failed);
    tt__str_add(out, "</dl>\n");
}

/* The settings, each unbreakable. */
static void add_config(tt__str *out, const char *config) {
    char one[TT__CONFIG_MAX];
    for (size_t n; *config; config += n + strspn(config + n, " ")) {
        n = strcspn(config, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, config);
        tt__html_wrap(out, "<code>", one, "</code> ");
    }
}

static tt_status section_problem(tt__str *out, const tt__report *r, const page_item *item) {
    const tt__winner *w = &item->w;
    const tt__subject *s = item->s;
    char text[PROBLEM_MAX], where[SUBJECT_MAX];
    tt__details *d;
    tt_status status = tt__details_open(&d, s, w);
    if (status == TT_OK) {
        tt__str_add(out, "<section class=problem id=");
        add_id(out, r, item);
        tt__str_add(out, "><h2>");
        tt__html_textf(out, "%s %s", w->problem.op, problem_name(text, &w->problem));
        if (r->n > 1) {
            subject_name(where, r, s);
            tt__html_wrap(out, " <small>", where, "</small>");
        }
        tt__html_wrap(out, "</h2>\n<p class=winner><b>", w->kernel, "</b> ");
        add_config(out, w->config);
        tt__str_add(out, "</p>\n");
        add_facts(out, d);
        if (d->n == 0)
            tt__str_add(out, "<p>The file has no trials of it: tune it again with --force.</p>\n");
        tt__str_add(out, "<div class=figures>\n");
        tt__figures(out, d);
        tt__str_add(out, "</div></section>\n");
    }
    tt__details_close(&d);
    return status;
}

static void section_head(tt__str *out, const html_page *page) {
    const tt__report *r = page->r;
    char name[SUBJECT_MAX];
    tt__str_add(out, "<header><p class=brand>tiletune report</p><h1>");
    for (size_t k = 0; k < r->n && k < SUBJECTS_MAX; k++) {
        subject_name(name, r, &r->subjects[k]);
        tt__html_textf(out, "%s%s", k ? ", " : "", name);
    }
    if (r->n > SUBJECTS_MAX)
        tt__str_addf(out, " and %zu more", r->n - SUBJECTS_MAX);
    tt__str_add(out, "</h1><p>");
    tt__html_textf(out, "%zu winner%s.", page->n_winners, page->n_winners == 1 ? "" : "s");
    if (page->n) {
        const tt__env *env = &page->items[0].w.env;
        tt__html_textf(out, " Driver %s, NVRTC %s.", *env->driver ? env->driver : "unknown",
                       *env->nvrtc ? env->nvrtc : "unknown");
    }
    tt__str_add(out, "</p></header>\n");
}

static void add_link(tt__str *out, bool there, const char *id, const char *text) {
    if (there)
        tt__str_addf(out, "<a href=\"#%s\">%s</a>\n", id, text);
}

static void section_index(tt__str *out, const html_page *page) {
    const tt__report *r = page->r;
    char text[PROBLEM_MAX], where[SUBJECT_MAX];
    size_t n_unsolved = 0;
    for (size_t k = 0; k < r->n; k++)
        n_unsolved += r->subjects[k].n_unsolved;
    tt__str_add(out, "<nav aria-label=Contents>\n");
    add_link(out, r->n > 1, "changes", "Compared");
    add_link(out, page->n > 0, "winners", "All winners");
    add_link(out, n_unsolved > 0, "unsolved", "Without a winner");
    add_link(out, true, "environment", "Environment");
    if (page->n_detailed)
        tt__str_addf(out, "<details><summary>%zu problem%s in detail</summary><ul>\n", page->n_detailed,
                     page->n_detailed == 1 ? "" : "s");
    for (size_t i = 0; i < page->n; i++) {
        const page_item *item = &page->items[i];
        if (!item->detailed)
            continue;
        subject_name(where, r, item->s);
        tt__str_add(out, "<li><a href=\"#");
        add_id(out, r, item);
        tt__str_add(out, "\">");
        tt__html_textf(out, "%s %s%s%s", item->w.problem.op, problem_name(text, &item->w.problem),
                       r->n > 1 ? " on " : "", r->n > 1 ? where : "");
        tt__str_add(out, "</a></li>\n");
    }
    tt__str_add(out, page->n_detailed ? "</ul></details></nav>\n" : "</nav>\n");
}

static tt_status add_page(tt__str *out, const html_page *page) {
    tt__str_add(out, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                     "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=color-scheme content=\"light dark\">\n"
                     "<link rel=icon href=\"data:,\">\n<title>tiletune report: ");
    tt__html_text(out, page->r->subjects[0].gpu.name);
    tt__str_addf(out, "</title>\n<style>\n%s</style></head>\n<body><main>\n",
                 tt__cli_files[TT__FILE_REPORT_CSS].source);
    section_head(out, page);
    section_index(out, page);
    TT_TRY(section_changes(out, page));
    section_winners(out, page);
    for (size_t i = 0; i < page->n; i++)
        if (page->items[i].detailed)
            TT_TRY(section_problem(out, page->r, &page->items[i]));
    TT_TRY(section_unsolved(out, page));
    section_environment(out, page);
    tt__str_add(out, "</main></body></html>\n");
    return tt__str_check(out);
}

tt_status tt__report_html(tt__str *out, const tt__report *r) {
    html_page page;
    tt_status status = open_page(&page, r);
    if (status == TT_OK)
        status = add_page(out, &page);
    close_page(&page);
    return status;
}
