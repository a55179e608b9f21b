/*
 * The part of the page about one problem: its winner, and a table of figures. A figure writes nothing if it
 * has nothing to say.
 */
#include <math.h>

#include "base/str.h"
#include "tuner/cli/report/report_figures.h"
#include "tuner/cli/report/report_svg.h"

enum { ROWS_MAX = 10 };

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
    tt__bar_row rows[ROWS_MAX];
    char name[200];
    size_t n = 0;
    double most = least_scale;
    for (size_t i = 0; i < d->n_kernels && i < ROWS_MAX; i++)
        most = fmax(most, d->kernels[i].best / d->best - 1);
    for (size_t i = 0; i < d->n_kernels && n < ROWS_MAX; i++) {
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
    tt__bar_row rows[ROWS_MAX];
    char name[256], note[400];
    size_t n = 0;
    for (size_t i = 0; i < d->n_params && n < ROWS_MAX; i++) {
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
    tt__interval_row rows[ROWS_MAX];
    char name[200], text[96];
    size_t n = 0, close = 0;
    for (size_t i = 0; i < d->n_finals && n < ROWS_MAX; i++) {
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

static void (*const figures[])(tt__str *out, const tt__details *d) = {
    figure_limits, tt__figure_roofline, tt__figure_energy,  tt__figure_search, figure_kernels,
    figure_finals, figure_importance,   tt__figure_effects, tt__figure_heat,   figure_failures,
};

static void add_facts(tt__str *out, const tt__details *d) {
    const tt__winner *w = d->w;
    double gbps = tt__problem_gbps(&w->problem, w->time_us), peak = d->subject->gpu.peak_gbps;
    char bits[TT__BITS_TEXT_MAX];
    tt__str_add(out, "<dl>");
    tt__html_fact(out, "time", "%s", tt__cli_time(w->time_us).text);
    if (gbps > 0)
        tt__html_fact(out, "GB/s", "%.0f", gbps);
    if (w->bits && w->bits != TT__BITS_EXACT)
        tt__html_fact(out, "class of equal bits", "%s%s", tt__bits_text(bits, w->bits),
                      tt__cli_batch(w->batch_invariant));
    if (w->copy_fraction > 0)
        tt__html_fact(out, "of the copy", "%s", tt__cli_percent(w->copy_fraction).text);
    if (gbps > 0 && peak > 0)
        tt__html_fact(out, "of the peak", "%s", tt__cli_percent(gbps / peak).text);
    if (w->speedup_vs_default > 0)
        tt__html_fact(out, "vs default", "%.2fx", w->speedup_vs_default);
    tt__html_fact(out, "tried", "%lld", (long long)w->trials);
    tt__html_fact(out, "failed", "%lld", (long long)w->failed);
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

tt_status tt__html_problem_section(tt__str *out, const tt__report *r, const tt__page_item *item) {
    const tt__winner *w = &item->w;
    const tt__subject *s = item->s;
    char text[TT__HTML_PROBLEM_MAX], where[TT__HTML_SUBJECT_MAX];
    tt__details *d;
    tt_status status = tt__details_open(&d, s, w);
    if (status == TT_OK) {
        tt__str_add(out, "<section class=problem id=");
        tt__html_id(out, r, item);
        tt__str_add(out, "><h2>");
        tt__html_textf(out, "%s %s", w->problem.op, tt__html_problem(text, &w->problem));
        if (r->n > 1) {
            tt__html_subject(where, r, s);
            tt__html_wrap(out, " <small>", where, "</small>");
        }
        tt__html_wrap(out, "</h2>\n<p class=winner><b>", w->kernel, "</b> ");
        add_config(out, w->config);
        tt__str_add(out, "</p>\n");
        add_facts(out, d);
        if (d->n == 0)
            tt__str_add(out, "<p>The file has no trials of it: tune it again with --force.</p>\n");
        tt__str_add(out, "<div class=figures>\n");
        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
            figures[f](out, d);
        tt__str_add(out, "</div></section>\n");
    }
    tt__details_close(&d);
    return status;
}
