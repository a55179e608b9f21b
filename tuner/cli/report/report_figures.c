/*
 * Thousands of trials are one path of at most some hundred dots: those at one place are drawn once.
 */
#include "tuner/cli/report/report_figures.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/cli/report/report_svg.h"

/* ---- The search -------------------------------------------------------------------------------------- */

enum { SEARCH_HEIGHT = 230, SEARCH_BOTTOM = 196, FEW = 150, DOTS_MAX = 300 };

/* Draws a dot for each point of a grid that a trial is near, and returns how many. `out` may be NULL. */
static size_t put_dots(tt__str *out, const tt__details *d, const tt__axis *x, const tt__axis *y, int grid) {
    unsigned char drawn[SEARCH_HEIGHT][TT__FIGURE_WIDTH / 8 + 1] = {{0}}; /* bits */
    size_t n = 0;
    int from_x = 0, from_y = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (!(d->rows[i].worth > 0))
            continue;
        int at_x = (int)lround(tt__axis_at(x, (double)i + 1) / grid) * grid;
        int at_y = (int)lround(tt__axis_at(y, d->rows[i].worth) / grid) * grid;
        if (drawn[at_y][at_x / 8] >> at_x % 8 & 1)
            continue;
        if (out)
            tt__str_addf(out, "m%d %dh0", at_x - from_x, at_y - from_y);
        drawn[at_y][at_x / 8] |= (unsigned char)(1u << at_x % 8);
        n++;
        from_x = at_x;
        from_y = at_y;
    }
    return n;
}

/* The grid becomes coarser until there are few enough. */
static void add_dots(tt__str *out, const tt__details *d, const tt__axis *x, const tt__axis *y) {
    int grid = 1;
    while (grid < 8 && put_dots(NULL, d, x, y, grid) > DOTS_MAX)
        grid++;
    tt__str_addf(out, "<path class=\"dots%s\" d=\"", d->n < FEW || grid > 2 ? " few" : "");
    put_dots(out, d, x, y, grid);
    tt__str_add(out, "\"/>");
}

static void add_best(tt__str *out, const tt__details *d, const tt__axis *x, const tt__axis *y) {
    double best = INFINITY;
    size_t at = 0;
    tt__str_add(out, "<path class=\"best\" d=\"");
    for (size_t i = 0; i < d->n; i++)
        if (d->rows[i].worth > 0 && d->rows[i].worth < best) {
            double where = tt__axis_at(x, (double)i + 1);
            tt__str_addf(out, isinf(best) ? "M%.4g %.4g" : "H%.4gV%.4g", where,
                         tt__axis_at(y, d->rows[i].worth));
            best = d->rows[i].worth;
            at = i;
        }
    tt__str_addf(out, "H%.4g\"/>", x->to);
    tt__svg_dot(out, tt__axis_at(x, (double)at + 1), tt__axis_at(y, best), 4.5, "mark");
}

void tt__figure_search(tt__str *out, const tt__details *d) {
    tt__axis x = {1, (double)(d->n > 1 ? d->n : 2), 52, 352, false},
             y = {INFINITY, 0, SEARCH_BOTTOM, 8, true};
    double first = 0;
    size_t n = 0, found = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (!(d->rows[i].worth > 0))
            continue;
        first = n++ ? first : d->rows[i].worth;
        found = d->rows[i].worth < y.low ? i + 1 : found;
        y.low = fmin(y.low, d->rows[i].worth);
        y.high = fmax(y.high, d->rows[i].worth);
    }
    if (n == 0)
        return;
    char name[256];
    snprintf(name, sizeof name, "Best so far over %zu trials: from %s to %s, found in trial %zu", d->n,
             tt__cli_time(first).text, tt__cli_time(y.low).text, found);
    y.low *= 0.95;
    y.high *= 1.05;
    tt__figure_open(out, "Search",
                    d->weighed ? "Weighed time of each trial, and the best so far."
                               : "Time of each trial, and the best so far.");
    tt__svg_open(out, SEARCH_HEIGHT, name);
    tt__axis_draw_y(out, &y, &x, d->weighed ? "" : "us");
    tt__axis_draw_x(out, &x, SEARCH_BOTTOM + 16, "");
    tt__svg_text(out, (x.from + x.to) / 2, SEARCH_BOTTOM + 31, "tick mid", "trials");
    add_dots(out, d, &x, &y);
    add_best(out, d, &x, &y);
    tt__svg_close(out);
    tt__figure_close(out);
}

/* ---- Effects ----------------------------------------------------------------------------------------- */

enum { PANEL = 112, PANEL_PLOT = 66, LABELS_MAX = 6, LABEL_CHARS = 7, PANELS_MAX = 6 };

/* The mean with this value over that with the best one, as the forest has it. */
static double on_average(const tt__details *d, size_t p, size_t v) {
    double least = INFINITY;
    for (size_t i = 0; i < d->params[p].n; i++)
        least = fmin(least, d->importance->effect[p][i]);
    return exp(d->importance->effect[p][v] - least);
}

/* The value that the winner has; param->n: none of these. */
static size_t winners_value(const tt__details *d, const tt__report_param *param) {
    char one[2 * TT__NAME_MAX + 4], whole[TT__CONFIG_MAX + 2];
    size_t v = 0;
    snprintf(whole, sizeof whole, " %s ", d->w->config);
    for (; v < param->n; v++) {
        snprintf(one, sizeof one, " %s=%s ", param->name, param->values[v].text);
        if (strstr(whole, one))
            break;
    }
    return v;
}

static void draw_panel(tt__str *out, const tt__details *d, size_t p, double left, double top, double high) {
    const tt__report_param *param = &d->params[p];
    tt__axis y = {1, high, top + 24 + PANEL_PLOT - 8, top + 28, true};
    tt__axis x = {0, (double)param->n - 1, left + 14, left + 150, false};
    double best = param->values[param->best].best;
    const size_t chosen = winners_value(d, param);
    tt__svg_text(out, left, top + 13, "label", "%.14s", param->name);
    tt__svg_text(out, left + 164, top + 13, "value end", "+%.0f%%", (param->cost - 1) * 100);
    tt__svg_line(out, left, y.from, left + 164, y.from, "grid");
    tt__str_add(out, "<path class=\"mean\" d=\"");
    for (size_t v = 0; v < param->n; v++)
        tt__str_addf(out, "%c%.4g %.4g", v ? 'L' : 'M', tt__axis_at(&x, (double)v),
                     tt__axis_at(&y, on_average(d, p, v)));
    tt__str_add(out, "\"/><path class=\"best\" d=\"");
    for (size_t v = 0; v < param->n; v++)
        tt__str_addf(out, "%c%.4g %.4g", v ? 'L' : 'M', tt__axis_at(&x, (double)v),
                     tt__axis_at(&y, param->values[v].best / best));
    tt__str_add(out, "\"/>");
    size_t every = (param->n + LABELS_MAX - 1) / LABELS_MAX;
    for (size_t v = 0; v < param->n; v++) {
        double at = tt__axis_at(&x, (double)v);
        if (v == chosen || param->n <= 24)
            tt__svg_dot(out, at, tt__axis_at(&y, param->values[v].best / best), v == chosen ? 4 : 2.5,
                        v == chosen ? "mark" : "fill");
        if (v % every == 0)
            tt__svg_text(out, at, top + 24 + PANEL_PLOT + 8, v == chosen ? "tick mid chosen" : "tick mid",
                         "%.*s", LABEL_CHARS, param->values[v].text);
    }
}

void tt__figure_effects(tt__str *out, const tt__details *d) {
    size_t shown[PANELS_MAX], n = 0, all = 0;
    double high = 1.05;
    for (size_t i = 0; i < d->n_params; i++) {
        size_t p = d->order[i];
        if (d->params[p].n < 2 || all++ >= PANELS_MAX)
            continue;
        shown[n++] = p;
        high = fmax(high, d->params[p].cost);
        for (size_t v = 0; v < d->params[p].n; v++)
            high = fmax(high, on_average(d, p, v));
    }
    if (n == 0)
        return;
    char name[256];
    const tt__report_param *first = &d->params[shown[0]];
    snprintf(name, sizeof name,
             "Effect of %zu parameters. %s matters most: %s is best, the worst value costs %.0f%%", n,
             first->name, first->values[first->best].text, (first->cost - 1) * 100);
    tt__figure_open(
        out, n < all ? "Effect of the six that matter most" : "Effect of each parameter",
        "Solid: the best trial with each value. Dotted: the average. Higher is slower, on one scale. "
        "Bold is the winner's value. The number is what the worst value costs when all else is tuned.");
    tt__svg_open(out, (double)((n + 1) / 2 * PANEL), name);
    for (size_t i = 0; i < n; i++)
        draw_panel(out, d, shown[i], i % 2 ? 190 : 0, (double)(i / 2 * PANEL), high);
    tt__svg_close(out);
    tt__figure_close(out);
}

/* ---- Heat map ---------------------------------------------------------------------------------------- */

enum { CELLS_MAX = 24, HEAT_LEFT = 46, HEAT_ROW = 30, HEAT_HEAD = 20 };

typedef struct heat {
    size_t across, down, nx, ny; /* parameters, and cells; long lists of values share cells */
    double best[CELLS_MAX * CELLS_MAX], low, high;
} heat;

static size_t cell_of(size_t level, size_t n_levels, size_t n) {
    return level * n / n_levels;
}

static void fill_heat(heat *h, const tt__details *d) {
    const tt__report_param *x = &d->params[h->across], *y = &d->params[h->down];
    h->nx = x->n < CELLS_MAX ? x->n : CELLS_MAX;
    h->ny = y->n < CELLS_MAX ? y->n : CELLS_MAX;
    h->low = INFINITY;
    for (size_t i = 0; i < d->n_own; i++) {
        const unsigned char *level = &d->level[i * d->n_params];
        double *best =
            &h->best[cell_of(level[h->down], y->n, h->ny) * h->nx + cell_of(level[h->across], x->n, h->nx)];
        *best = *best > 0 ? fmin(*best, d->own[i]) : d->own[i];
        h->low = fmin(h->low, d->own[i]);
    }
    for (size_t i = 0; i < h->nx * h->ny; i++)
        h->high = fmax(h->high, h->best[i]);
}

static void draw_cell(tt__str *out, const heat *h, size_t i, double x, double y, double width) {
    if (!(h->best[i] > 0)) {
        tt__svg_rect(out, x + 1, y + 1, width - 2, HEAT_ROW - 2, "none");
        return;
    }
    double ratio = h->best[i] / h->low, span = log(h->high / h->low);
    double warmth = span > 0 ? 1 - log(ratio) / span : 1;
    int step = (int)lround(warmth * 8);
    char class[16];
    snprintf(class, sizeof class, "heat h%d", step);
    tt__svg_rect(out, x + 1, y + 1, width - 2, HEAT_ROW - 2, class);
    if (width >= 30)
        tt__svg_text(out, x + width / 2, y + HEAT_ROW / 2.0 + 4, step >= 5 ? "tick mid on" : "tick mid ink",
                     ratio < 9.995 ? "%.2f" : "%.0f", ratio);
}

void tt__figure_heat(tt__str *out, const tt__details *d) {
    heat h = {.across = d->pair[0], .down = d->pair[1]};
    if (d->n_params < 2 || h.across == h.down)
        return;
    if (d->params[h.across].n < d->params[h.down].n)
        h = (heat){.across = d->pair[1], .down = d->pair[0]};
    fill_heat(&h, d);
    const tt__report_param *x = &d->params[h.across], *y = &d->params[h.down];
    double width = (double)(TT__FIGURE_WIDTH - HEAT_LEFT) / (double)h.nx;
    char name[320];
    snprintf(name, sizeof name,
             "Best time by %s and %s, over the best of all; %s=%s and %s=%s are best alone", x->name, y->name,
             x->name, x->values[x->best].text, y->name, y->values[y->best].text);
    tt__figure_open(
        out, "The two that matter most",
        "The best time with both values, over the best of all. Dashed: not tried, illegal or failed.");
    tt__svg_open(out, HEAT_HEAD + (double)h.ny * HEAT_ROW + 36, name);
    tt__svg_text(out, 0, 12, "label", "%s", y->name);
    for (size_t j = 0; j < h.ny; j++) {
        double top = HEAT_HEAD + (double)j * HEAT_ROW;
        tt__svg_text(out, HEAT_LEFT - 6, top + HEAT_ROW / 2.0 + 4, "tick end", "%.6s",
                     y->values[(j * y->n + h.ny - 1) / h.ny].text);
        for (size_t i = 0; i < h.nx; i++)
            draw_cell(out, &h, j * h.nx + i, HEAT_LEFT + (double)i * width, top, width);
    }
    double bottom = HEAT_HEAD + (double)h.ny * HEAT_ROW;
    for (size_t i = 0; i < h.nx; i++)
        if (i % ((h.nx + 9) / 10) == 0)
            tt__svg_text(out, HEAT_LEFT + ((double)i + 0.5) * width, bottom + 15, "tick mid", "%.6s",
                         x->values[(i * x->n + h.nx - 1) / h.nx].text);
    tt__svg_text(out, TT__FIGURE_WIDTH, bottom + 32, "label end", "%s", x->name);
    tt__svg_close(out);
    tt__figure_close(out);
}

/* ---- Bandwidth over size ----------------------------------------------------------------------------- */

enum { LINES_MAX = 8, BAND_HEIGHT = 250, BAND_BOTTOM = 212 };

typedef struct band {
    char label[LINES_MAX][TT__GPU_NAME_MAX + TT__NAME_MAX + 32];
    size_t n_labels, n; /* lines, and the winners in them */
    size_t *line;       /* of each item of the page; LINES_MAX: none */
    tt__axis x, y;
} band;

static bool has_band(const tt__page_item *item) {
    const tt__winner *w = &item->w;
    double gbps = tt__problem_gbps(&w->problem, w->time_us);
    return gbps > 0 && gbps < 1e9 && w->problem.moved_bytes >= 1 && w->problem.moved_bytes < 1e18;
}

/* Winners of a kind: a subject, an operation, bytes of an element. The line's number, or LINES_MAX: none. */
static size_t line_of(band *b, const tt__report *r, const tt__page_item *item) {
    char label[sizeof b->label[0]];
    const tt__problem *p = &item->w.problem;
    const tt__subject *s = item->s;
    size_t i = 0;
    if (!has_band(item))
        return LINES_MAX;
    snprintf(label, sizeof label, "%s%s%s, %d-byte%s", r->n > 1 ? s->gpu.name : "", r->n > 1 ? ": " : "",
             p->op, tt__problem_elem_size(p), p->warm ? ", warm" : "");
    if (r->n > 1 && r->n_sources > 1)
        snprintf(label, sizeof label, "%.40s: %s, %d-byte%s", s->source->name, p->op,
                 tt__problem_elem_size(p), p->warm ? ", warm" : "");
    while (i < b->n_labels && strcmp(b->label[i], label) != 0)
        i++;
    if (i == b->n_labels && i < LINES_MAX)
        memcpy(b->label[b->n_labels++], label, sizeof label);
    return i;
}

static void measure_band(band *b, const tt__page *page) {
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
static void draw_line(tt__str *out, const band *b, const tt__page *page, size_t line, bool copy) {
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

static void draw_points(tt__str *out, const band *b, const tt__page *page) {
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

void tt__figure_bandwidth(tt__str *out, const tt__page *page) {
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
