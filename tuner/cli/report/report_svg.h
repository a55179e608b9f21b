/*
 * Figures as SVG inside HTML. Colours are classes of report.css. Numbers do not depend on the locale.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_SVG_H
#define TT_TUNER_CLI_REPORT_REPORT_SVG_H

#include <stdbool.h>

#include "base/str.h"

enum { TT__FIGURE_WIDTH = 360 };

/* Appends text with what HTML needs escaped, and control characters replaced. */
void tt__html_text(tt__str *out, const char *text);
/* The same between two tags. */
void tt__html_wrap(tt__str *out, const char *before, const char *text, const char *after);
/* The same of a formatted text of at most 1,000 bytes. */
void tt__html_textf(tt__str *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tt__html_vtextf(tt__str *out, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

/* A figure with a title and a sentence that explains it. The name is what screen readers say. */
void tt__figure_open(tt__str *out, const char *title, const char *note);
void tt__svg_open(tt__str *out, double height, const char *name);
void tt__svg_text(tt__str *out, double x, double y, const char *class, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void tt__svg_rect(tt__str *out, double x, double y, double width, double height, const char *class);
void tt__svg_line(tt__str *out, double x1, double y1, double x2, double y2, const char *class);
void tt__svg_dot(tt__str *out, double x, double y, double radius, const char *class);
void tt__svg_close(tt__str *out);
void tt__figure_close(tt__str *out);

/* An axis from `low` to `high`, in places of the figure. */
typedef struct tt__axis {
    double low, high, from, to;
    bool log;
} tt__axis;
double tt__axis_at(const tt__axis *a, double value);
/* Grid lines with labels: `unit` "us" becomes "1 ms" where that is shorter. */
void tt__axis_draw_y(tt__str *out, const tt__axis *y, const tt__axis *x, const char *unit);
void tt__axis_draw_x(tt__str *out, const tt__axis *x, double below, const char *unit);

/* A bar with its label and value above it. */
typedef struct tt__bar_row {
    char label[96], value[48];
    double size, more; /* 0 to 1; `more` follows in a lighter colour */
    const char *class;
} tt__bar_row;
void tt__svg_bars(tt__str *out, const char *name, const tt__bar_row *rows, size_t n);

/* A ratio with its interval; the line at 1 is what it is compared with. */
typedef struct tt__interval_row {
    char label[128], value[32];
    double at, low, high;
    const char *class;
} tt__interval_row;
void tt__svg_intervals(tt__str *out, const char *name, const tt__interval_row *rows, size_t n);

#endif
