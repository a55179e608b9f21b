/*
 * The figures about one problem. Thousands of trials are one path of at most some hundred dots: those at one
 * place are drawn once. A figure writes nothing if it has nothing to say.
 */
#include "tuner/cli/report/report_figures.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
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

static void figure_search(tt__str *out, const tt__details *d) {
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

static void figure_effects(tt__str *out, const tt__details *d) {
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

static void figure_heat(tt__str *out, const tt__details *d) {
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

/* ---- The roofline ------------------------------------------------------------------------------------ */

enum { ROOF_HEIGHT = 250, ROOF_BOTTOM = 206, LABEL_HEIGHT = 13 };

typedef struct roof {
    tt__axis x, y; /* operations a byte, and TFLOP/s */
    double copy_gbps, top_tflops;
    double intensity, tflops; /* of the winner */
} roof;

/* What bounds from above. The highest comes first. */
static const struct {
    const char *label;
    size_t offset;
} ceilings[] = {{"fp16, tensor cores", offsetof(tt__peaks, tensor_gflops)},
                {"fp16", offsetof(tt__peaks, fp16_gflops)},
                {"fp32", offsetof(tt__peaks, fp32_gflops)},
                {"fp64", offsetof(tt__peaks, fp64_gflops)}};
enum { CEILINGS = sizeof ceilings / sizeof *ceilings };

static double ceiling(const tt__peaks *p, size_t i) {
    return *(const double *)((const char *)p + ceilings[i].offset) * 1e-3;
}

static bool measure_roof(roof *r, const tt__details *d) {
    const tt__winner *w = d->w;
    const tt__peaks *p = &d->subject->peaks;
    *r = (roof){.copy_gbps = tt__problem_gbps(&w->problem, w->copy_us)};
    if (!(r->copy_gbps > 0))
        r->copy_gbps = p->copy_gbps;
    if (!(d->flop > 0) || !(w->problem.moved_bytes > 0) || !(w->time_us > 0) || !(r->copy_gbps > 0))
        return false;
    r->intensity = d->flop / w->problem.moved_bytes;
    r->tflops = d->flop / w->time_us * 1e-6;
    r->top_tflops = r->tflops;
    for (size_t i = 0; i < CEILINGS; i++)
        r->top_tflops = fmax(r->top_tflops, ceiling(p, i));
    double ridge = r->top_tflops * 1e3 / r->copy_gbps;
    r->x = (tt__axis){fmin(r->intensity, ridge) / 4, fmax(r->intensity, ridge) * 4, 44, 352, true};
    r->y = (tt__axis){fmin(r->tflops, r->copy_gbps * r->x.low * 1e-3) / 1.5, r->top_tflops * 1.8, ROOF_BOTTOM,
                      8, true};
    return true;
}

/* Bytes a second are a slope, up to the highest ceiling. */
static void draw_slope(tt__str *out, const roof *r, double gbps, const char *class) {
    double low = fmax(r->x.low, r->y.low * 1e3 / gbps), high = fmin(r->x.high, r->top_tflops * 1e3 / gbps);
    if (!(gbps > 0) || high <= low)
        return;
    tt__svg_line(out, tt__axis_at(&r->x, low), tt__axis_at(&r->y, low * gbps * 1e-3),
                 tt__axis_at(&r->x, high), tt__axis_at(&r->y, high * gbps * 1e-3), class);
}

static void draw_ceilings(tt__str *out, const roof *r, const tt__peaks *p) {
    double last = -LABEL_HEIGHT;
    for (size_t i = 0; i < CEILINGS; i++) {
        double tflops = ceiling(p, i), at = tt__axis_at(&r->y, tflops);
        if (!(tflops > 0) || tflops < r->y.low)
            continue;
        double from = fmax(r->x.low, tflops * 1e3 / r->copy_gbps);
        tt__svg_line(out, tt__axis_at(&r->x, from), at, r->x.to, at, "rule");
        if (at - last < LABEL_HEIGHT)
            continue; /* its label would cover the one above */
        tt__svg_text(out, r->x.to, at - 3, "tick end", "%s", ceilings[i].label);
        last = at;
    }
}

static void figure_roofline(tt__str *out, const tt__details *d) {
    const tt__peaks *p = &d->subject->peaks;
    bool measured = p->fp32_gflops > 0;
    char name[240], note[300];
    roof r;
    if (!measure_roof(&r, d))
        return;
    tt__format(name, sizeof name,
               "Roofline: the winner does %.3g TFLOP/s with %.3g operations a byte; a copy moves %.0f GB/s",
               r.tflops, r.intensity, r.copy_gbps);
    tt__format(
        note, sizeof note,
        "TFLOP/s over operations for each byte. The slope is the tuned copy%s; the dot is the winner.%s",
        p->l2_gbps > 0 ? " (dotted: the L2 cache)" : "",
        measured ? " Level lines are measured peaks." : " Peaks are unknown: run tune explain.");
    tt__figure_open(out, "Roofline", note);
    tt__svg_open(out, ROOF_HEIGHT, name);
    tt__axis_draw_y(out, &r.y, &r.x, "");
    tt__axis_draw_x(out, &r.x, ROOF_BOTTOM + 16, "");
    tt__svg_text(out, (r.x.from + r.x.to) / 2, ROOF_BOTTOM + 32, "tick mid", "operations a byte");
    draw_slope(out, &r, p->l2_gbps, "peak");
    draw_slope(out, &r, r.copy_gbps, "rule");
    draw_ceilings(out, &r, p);
    tt__svg_dot(out, tt__axis_at(&r.x, r.intensity), tt__axis_at(&r.y, r.tflops), 5, "mark");
    tt__svg_close(out);
    tt__figure_close(out);
}

/* ---- Time against energy ----------------------------------------------------------------------------- */

enum { FRONT_HEIGHT = 230, FRONT_BOTTOM = 190 };

static void figure_energy(tt__str *out, const tt__details *d) {
    tt__axis x = {INFINITY, 0, 62, 340, false}, y = {INFINITY, 0, FRONT_BOTTOM, 10, false};
    double least = INFINITY;
    char name[240];
    if (d->n_energies < 2)
        return;
    for (size_t i = 0; i < d->n_energies; i++) {
        const tt__energy *e = &d->energies[i].energy;
        x.low = fmin(x.low, e->time_us);
        x.high = fmax(x.high, e->time_us);
        y.low = fmin(y.low, (e->joules - e->noise) * 1e3);
        y.high = fmax(y.high, (e->joules + e->noise) * 1e3);
    }
    tt__format(name, sizeof name, "Energy of a launch over its time, of %zu configurations: %.4g to %.4g mJ",
               d->n_energies, y.low, y.high);
    double wide = fmax(x.high - x.low, x.high * 1e-3), high = fmax(y.high - y.low, y.high * 1e-3);
    x.low -= wide * 0.08;
    x.high += wide * 0.08;
    y.low = fmax(y.low - high * 0.08, 0);
    y.high += high * 0.08;
    tt__figure_open(out, "Time against energy",
                    "Millijoules of a launch, without idle power, over its time in us, with 95 % intervals. "
                    "The line is the front: nothing is both faster and takes less. Large: the winner.");
    tt__svg_open(out, FRONT_HEIGHT, name);
    tt__axis_draw_y(out, &y, &x, "");
    tt__axis_draw_x(out, &x, FRONT_BOTTOM + 16, "");
    tt__svg_text(out, (x.from + x.to) / 2, FRONT_BOTTOM + 32, "tick mid", "us");
    tt__str_add(out, "<path class=best d=\"");
    for (size_t i = 0; i < d->n_energies; i++) { /* they come by time */
        const tt__energy *e = &d->energies[i].energy;
        if (e->joules >= least)
            continue;
        tt__str_addf(out, isinf(least) ? "M%.4g %.4g" : "H%.4gV%.4g", tt__axis_at(&x, e->time_us),
                     tt__axis_at(&y, e->joules * 1e3));
        least = e->joules;
    }
    tt__str_add(out, "\"/>");
    for (size_t i = 0; i < d->n_energies; i++) {
        const tt__report_energy *of = &d->energies[i];
        const tt__energy *e = &of->energy;
        double at = tt__axis_at(&x, e->time_us);
        tt__svg_line(out, at, tt__axis_at(&y, (e->joules - e->noise) * 1e3), at,
                     tt__axis_at(&y, (e->joules + e->noise) * 1e3), "rule");
        bool winner = strcmp(of->kernel, d->w->kernel) == 0 && strcmp(of->config, d->w->config) == 0;
        tt__svg_dot(out, at, tt__axis_at(&y, e->joules * 1e3), winner ? 5 : 3.5, winner ? "mark" : "other");
    }
    tt__svg_close(out);
    tt__figure_close(out);
}

/* ---- Bars and intervals ------------------------------------------------------------------------------ */

enum { BARS_MAX = 10 };

static void figure_limits(tt__str *out, const tt__details *d) {
    const tt__winner *w = d->w;
    double peak = d->subject->gpu.peak_gbps, gbps = tt__problem_gbps(&w->problem, w->time_us);
    double copy = tt__problem_gbps(&w->problem, w->copy_us), l2 = d->subject->peaks.l2_gbps;
    tt__bar_row rows[5];
    char name[200], note[200];
    size_t n = 0;
    if (!(gbps > 0))
        return;
    const struct {
        const char *label, *class;
        double gbps;
    } bars[] = {
        {"winner", "fill", gbps},
        {"tuned copy", "other", copy},
        {"default configuration", "other", w->speedup_vs_default > 0 ? gbps / w->speedup_vs_default : 0},
        {"theoretical peak", "other", peak},
        {"L2 cache", "other", l2}};
    double most = fmax(fmax(fmax(peak, copy), gbps), l2);
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
        if (bars[i].gbps > 0) {
            rows[n] = (tt__bar_row){.size = bars[i].gbps / most, .class = bars[i].class};
            tt__copy(rows[n].label, sizeof rows[n].label, bars[i].label);
            snprintf(rows[n++].value, sizeof rows[n].value, "%.0f GB/s", bars[i].gbps);
        }
    snprintf(name, sizeof name,
             "The winner reaches %.0f GB/s; the tuned copy %.0f, the theoretical peak is %.0f", gbps, copy,
             peak);
    snprintf(note, sizeof note, "Bytes read and written a second. The tuned copy is the practical limit.%s",
             l2 > 0 ? "" : " tune explain adds the L2 cache.");
    tt__figure_open(out, "Limits", note);
    tt__svg_bars(out, name, rows, n);
    tt__figure_close(out);
}

static void figure_kernels(tt__str *out, const tt__details *d) {
    const double least_scale = 0.05; /* less than that is hardly a difference */
    tt__bar_row rows[BARS_MAX];
    char name[200];
    size_t n = 0;
    double most = least_scale;
    for (size_t i = 0; i < d->n_kernels && i < BARS_MAX; i++)
        most = fmax(most, d->kernels[i].best / d->best - 1);
    for (size_t i = 0; i < d->n_kernels && n < BARS_MAX; i++) {
        const tt__report_kernel *k = &d->kernels[i];
        const double slower = k->best > 0 ? k->best / d->best - 1 : 0;
        rows[n] = (tt__bar_row){.size = slower / most,
                                .class = strcmp(k->name, d->w->kernel) == 0 ? "fill" : "other"};
        snprintf(rows[n].label, sizeof rows[n].label, "%s, %zu", k->name, k->n);
        if (k->best > 0)
            tt__format(rows[n].value, sizeof rows[n].value, i ? "%s, +%.1f%%" : "%s",
                       tt__cli_time(k->best).text, slower * 100);
        else
            tt__copy(rows[n].value, sizeof rows[n].value, "all failed");
        n++;
    }
    if (d->n_kernels < 2)
        return;
    snprintf(name, sizeof name, "The best of %zu kernels: %s comes first", d->n_kernels, d->kernels[0].name);
    tt__figure_open(out, "Kernels",
                    "The best trial of each kernel, and how many configurations were tried. "
                    "The bar is how much slower it is than the fastest.");
    tt__svg_bars(out, name, rows, n);
    tt__figure_close(out);
}

static void figure_importance(tt__str *out, const tt__details *d) {
    tt__bar_row rows[BARS_MAX];
    char name[256], note[400];
    size_t n = 0;
    for (size_t i = 0; i < d->n_params && n < BARS_MAX; i++) {
        const tt__report_param *p = &d->params[d->order[i]];
        if (p->n < 2)
            continue;
        rows[n] = (tt__bar_row){.size = p->share, .more = p->total - p->share, .class = "fill"};
        snprintf(rows[n].label, sizeof rows[n].label, "%.60s", p->name);
        snprintf(rows[n++].value, sizeof rows[n].value, "%.0f%% + %.0f%%", p->share * 100,
                 (p->total - p->share) * 100);
    }
    if (n == 0)
        return;
    snprintf(name, sizeof name, "Importance of %zu parameters of %s: %s explains %.0f%% of the spread alone",
             n, d->w->kernel, d->params[d->order[0]].name, d->params[d->order[0]].share * 100);
    const tt__report_param *a = &d->params[d->pair[0]], *b = &d->params[d->pair[1]];
    tt__format(note, sizeof note,
               "Share of the spread of %s that each explains: alone, and (light) together with one other. "
               "%s and %s explain %.0f%% in all, %.0f%% needs three or more, or is noise.",
               d->w->kernel, a->name, b->name,
               (a->share + b->share + d->importance->pair[d->pair[0]][d->pair[1]]) * 100,
               d->importance->rest * 100);
    tt__figure_open(out, "Which parameters matter", note);
    tt__svg_bars(out, name, rows, n);
    tt__figure_close(out);
}

/* The settings that differ from the winner's. Another kernel is named instead. */
static void difference(char *out, size_t size, const tt__details *d, const tt__report_row *row) {
    char one[TT__CONFIG_MAX + 2], whole[TT__CONFIG_MAX + 2];
    size_t used = 0;
    snprintf(whole, sizeof whole, " %s ", d->w->config);
    bool same = strcmp(row->kernel, d->w->kernel) == 0;
    snprintf(out, size, "%s", same ? "" : row->kernel);
    for (const char *at = row->config; same && *at;) {
        size_t n = strcspn(at, " ");
        snprintf(one, sizeof one, " %.*s ", (int)n, at);
        if (!strstr(whole, one) && used + n + 2 < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)n, at);
        at += n + strspn(at + n, " ");
    }
    if (!*out)
        snprintf(out, size, "winner");
}

static void figure_finals(tt__str *out, const tt__details *d) {
    tt__interval_row rows[BARS_MAX];
    char name[200], text[96];
    size_t n = 0, close = 0;
    for (size_t i = 0; i < d->n_finals && n < BARS_MAX; i++) {
        tt__ratio r = tt__details_ratio(d, &d->finals[i]);
        difference(text, sizeof text, d, &d->finals[i]);
        bool winner = strcmp(text, "winner") == 0;
        rows[n] = (tt__interval_row){
            .at = r.median, .low = r.low, .high = r.high, .class = winner ? "mark" : "fill"};
        size_t fits = 42; /* characters beside the value */
        snprintf(rows[n].label, sizeof rows[n].label, "%.*s%s", (int)fits, text,
                 strlen(text) > fits ? "\xe2\x80\xa6" : "");
        tt__format(rows[n++].value, sizeof rows[n].value, "%.3fx", r.median);
        close += !winner && r.low <= 1;
    }
    if (n < 2)
        return;
    snprintf(name, sizeof name, "%zu finalists over the winner, in the same rounds; %zu may be as fast", n,
             close);
    tt__figure_open(out, "Finals",
                    "Time over the winner's, in the same rounds: median and its 95 % interval. "
                    "Named by what differs from the winner.");
    tt__svg_intervals(out, name, rows, n);
    tt__figure_close(out);
}

static void figure_failures(tt__str *out, const tt__details *d) {
    tt__bar_row rows[TT__TRIAL_STATUS_COUNT];
    char name[200], note[128];
    size_t n = 0;
    for (int s = 1; s < TT__TRIAL_STATUS_COUNT; s++)
        if (d->by_status[s]) {
            rows[n] = (tt__bar_row){.size = (double)d->by_status[s] / (double)d->n, .class = "bad"};
            tt__copy(rows[n].label, sizeof rows[n].label, tt__trial_status_name((tt__trial_status)s));
            for (char *c = rows[n].label; *c; c++)
                *c = *c == '_' ? ' ' : *c;
            snprintf(rows[n++].value, sizeof rows[n].value, "%zu", d->by_status[s]);
        }
    snprintf(note, sizeof note, "%zu of %zu configurations failed.", d->n_failed, d->n);
    if (n == 0)
        return;
    snprintf(name, sizeof name, "Failures by kind: %zu of %zu configurations", d->n_failed, d->n);
    tt__figure_open(out, "Failures", note);
    tt__svg_bars(out, name, rows, n);
    tt__str_add(out, "<ul class=reasons>");
    for (int s = 1; s < TT__TRIAL_STATUS_COUNT; s++)
        if (*tt__details_reason(d, (tt__trial_status)s))
            tt__html_wrap(out, "<li>", tt__details_reason(d, (tt__trial_status)s), "</li>");
    tt__str_add(out, "</ul>");
    tt__figure_close(out);
}

/* ---- All of them, in their order --------------------------------------------------------------------- */

static void (*const figures[])(tt__str *out, const tt__details *d) = {
    figure_limits, figure_roofline,   figure_energy,  figure_search, figure_kernels,
    figure_finals, figure_importance, figure_effects, figure_heat,   figure_failures,
};

void tt__figures(tt__str *out, const tt__details *d) {
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
        figures[f](out, d);
}
