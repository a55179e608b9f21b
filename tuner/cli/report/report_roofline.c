/*
 * Figures of what `tune explain` has measured: the roofline, and time against energy.
 */
#include <math.h>

#include "base/str.h"
#include "tuner/cli/report/report_figures.h"
#include "tuner/cli/report/report_svg.h"

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

void tt__figure_roofline(tt__str *out, const tt__details *d) {
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

void tt__figure_energy(tt__str *out, const tt__details *d) {
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
