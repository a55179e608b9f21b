/*
 * Figures are 360 wide, so that their text has its size on a telephone and in a column of a wide page.
 */
#include "tuner/cli/report/report_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { TEXT_MAX = 1000, ROW = 34, TICKS_MAX = 8 };

/* ---- Text -------------------------------------------------------------------------------------------- */

void tt__html_text(tt__str *out, const char *text) {
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    char *clean = strdup(text);
    if (!clean) {
        out->failed = true;
        return;
    }
    tt__clean(clean, TT__CLEAN_TEXT);
    for (const char *at = clean; *at; at++) {
        const char *found = strchr(special, *at);
        if (found)
            tt__str_add(out, names[found - special]);
        else
            tt__str_addn(out, at, 1);
    }
    free(clean);
}

void tt__html_vtextf(tt__str *out, const char *fmt, va_list args) {
    char text[TEXT_MAX];
    tt__vformat(text, sizeof text, fmt, args);
    tt__html_text(out, text);
}

void tt__html_textf(tt__str *out, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    tt__html_vtextf(out, fmt, args);
    va_end(args);
}

void tt__html_wrap(tt__str *out, const char *before, const char *text, const char *after) {
    tt__str_add(out, before);
    tt__html_text(out, text);
    tt__str_add(out, after);
}

/* ---- Shapes ------------------------------------------------------------------------------------------ */

void tt__figure_open(tt__str *out, const char *title, const char *note) {
    tt__html_wrap(out, "<figure><figcaption><b>", title, "</b><span>");
    tt__html_wrap(out, "", note, "</span></figcaption>\n");
}

void tt__figure_close(tt__str *out) {
    tt__str_add(out, "</figure>\n");
}

void tt__svg_open(tt__str *out, double height, const char *name) {
    tt__str_addf(out, "<svg viewBox=\"0 0 %d %.0f\" role=img aria-label=\"", TT__FIGURE_WIDTH, height);
    tt__html_text(out, name);
    tt__str_add(out, "\">");
}

void tt__svg_close(tt__str *out) {
    tt__str_add(out, "</svg>\n");
}

void tt__svg_text(tt__str *out, double x, double y, const char *class, const char *fmt, ...) {
    va_list args;
    tt__str_addf(out, "<text x=%.4g y=%.4g class=\"%s\">", x, y, class);
    va_start(args, fmt);
    tt__html_vtextf(out, fmt, args);
    va_end(args);
    tt__str_add(out, "</text>");
}

void tt__svg_rect(tt__str *out, double x, double y, double width, double height, const char *class) {
    tt__str_addf(out, "<rect x=%.4g y=%.4g width=%.4g height=%.4g class=\"%s\"/>", x, y, width, height,
                 class);
}

void tt__svg_line(tt__str *out, double x1, double y1, double x2, double y2, const char *class) {
    tt__str_addf(out, "<path class=%s d=\"M%.4g %.4gL%.4g %.4g\"/>", class, x1, y1, x2, y2);
}

void tt__svg_dot(tt__str *out, double x, double y, double radius, const char *class) {
    tt__str_addf(out, "<circle cx=%.4g cy=%.4g r=%.3g class=\"%s\"/>", x, y, radius, class);
}

/* A line over the whole width for each row, at this place in it. */
static void add_lines(tt__str *out, size_t n, double place, const char *class) {
    tt__str_addf(out, "<path class=%s d=\"", class);
    for (size_t i = 0; i < n; i++)
        tt__str_addf(out, "M0 %.4gH%d", (double)i * ROW + place, TT__FIGURE_WIDTH);
    tt__str_add(out, "\"/>");
}

/* ---- Axes -------------------------------------------------------------------------------------------- */

double tt__axis_at(const tt__axis *a, double value) {
    double span = a->log ? log(a->high / a->low) : a->high - a->low;
    double part = a->log ? log(value / a->low) : value - a->low;
    part = span > 0 ? part / span : 0.5;
    return a->from + (a->to - a->from) * fmin(fmax(part, 0), 1);
}

static size_t add_tick(const tt__axis *a, double ticks[TICKS_MAX], size_t n, double value) {
    if (value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9) && n < TICKS_MAX)
        ticks[n++] = value;
    return n;
}

/* Fills in round values within the axis. Returns the number of them. */
static size_t find_ticks(const tt__axis *a, double ticks[TICKS_MAX]) {
    static const double steps[] = {1, 2, 5};
    size_t n = 0;
    if (!isfinite(a->low) || !isfinite(a->high) || !(a->high > a->low) || (a->log && !(a->low > 1e-300)))
        return 0;
    if (a->log && a->high / a->low > 5) {
        bool wide = a->high / a->low > 300;
        for (double decade = pow(10, floor(log10(a->low))); decade <= a->high; decade *= 10)
            for (size_t i = 0; i < (wide ? 1 : sizeof steps / sizeof *steps); i++)
                n = add_tick(a, ticks, n, decade * steps[i]);
        return n;
    }
    double rough = (a->high - a->low) / 4.5, step = pow(10, floor(log10(rough > 0 ? rough : 1)));
    step *= rough / step > 5 ? 10 : rough / step > 2 ? 5 : rough / step > 1 ? 2 : 1;
    for (double i = fmax(ceil(a->low / step - 1e-9), 0); i * step <= a->high * (1 + 1e-9) && n < TICKS_MAX;
         i++)
        n = add_tick(a, ticks, n, i * step);
    return n;
}

static void label(char out[48], double value, const char *unit) {
    bool ms = strcmp(unit, "us") == 0 && value >= 1000;
    bool kilo = !*unit && value >= 10000;
    tt__format(out, 48, "%.6g%s%s", ms || kilo ? value / 1000 : value,
               kilo    ? "k"
               : *unit ? " "
                       : "",
               ms ? "ms" : unit);
    if (strcmp(unit, "x") == 0)
        tt__format(out, 48, "%.4gx", value);
}

void tt__axis_draw_y(tt__str *out, const tt__axis *y, const tt__axis *x, const char *unit) {
    double ticks[TICKS_MAX];
    char text[48];
    for (size_t i = 0, n = find_ticks(y, ticks); i < n; i++) {
        double at = tt__axis_at(y, ticks[i]);
        label(text, ticks[i], unit);
        tt__svg_line(out, x->from, at, x->to, at, "grid");
        tt__svg_text(out, x->from - 6, at + 4, "tick end", "%s", text);
    }
}

void tt__axis_draw_x(tt__str *out, const tt__axis *x, double below, const char *unit) {
    double ticks[TICKS_MAX];
    char text[48];
    for (size_t i = 0, n = find_ticks(x, ticks); i < n; i++) {
        label(text, ticks[i], unit);
        tt__svg_text(out, tt__axis_at(x, ticks[i]), below, "tick mid", "%s", text);
    }
}

/* ---- Rows -------------------------------------------------------------------------------------------- */

void tt__svg_bars(tt__str *out, const char *name, const tt__bar_row *rows, size_t n) {
    tt__svg_open(out, (double)n * ROW, name);
    add_lines(out, n, 22.5, "track");
    for (size_t i = 0; i < n; i++) {
        double top = (double)i * ROW, size = fmin(fmax(rows[i].size, 0), 1) * TT__FIGURE_WIDTH;
        double more = fmin(fmax(rows[i].more, 0) * TT__FIGURE_WIDTH, TT__FIGURE_WIDTH - size);
        tt__svg_text(out, 0, top + 13, "label", "%s", rows[i].label);
        tt__svg_text(out, TT__FIGURE_WIDTH, top + 13, "value end", "%s", rows[i].value);
        if (more > 0.5)
            tt__svg_rect(out, 0, top + 19, size + more, 7, "light");
        if (size > 0.5)
            tt__svg_rect(out, 0, top + 19, size, 7, rows[i].class);
    }
    tt__svg_close(out);
}

void tt__svg_intervals(tt__str *out, const char *name, const tt__interval_row *rows, size_t n) {
    tt__axis x = {1, 1, 8, TT__FIGURE_WIDTH - 8, true};
    double bottom = (double)n * ROW + 4;
    for (size_t i = 0; i < n; i++) {
        x.low = fmin(x.low, rows[i].low);
        x.high = fmax(x.high, rows[i].high);
    }
    x.low *= 0.998;
    x.high *= 1.002;
    tt__svg_open(out, bottom + 18, name);
    add_lines(out, n, 24, "grid");
    tt__str_add(out, "<path class=rule d=\"");
    for (size_t i = 0; i < n; i++)
        tt__str_addf(out, "M%.4g %.4gv14", tt__axis_at(&x, 1), (double)i * ROW + 17);
    tt__str_add(out, "\"/>");
    for (size_t i = 0; i < n; i++) {
        double top = (double)i * ROW, y = top + 24;
        tt__svg_text(out, 0, top + 13, "label", "%s", rows[i].label);
        tt__svg_text(out, TT__FIGURE_WIDTH, top + 13, "value end", "%s", rows[i].value);
        tt__svg_rect(out, tt__axis_at(&x, rows[i].low), y - 3,
                     fmax(tt__axis_at(&x, rows[i].high) - tt__axis_at(&x, rows[i].low), 1.5), 6, "light");
        tt__svg_dot(out, tt__axis_at(&x, rows[i].at), y, 4.5, rows[i].class);
    }
    tt__axis_draw_x(out, &x, bottom + 13, "x");
    tt__svg_close(out);
}
