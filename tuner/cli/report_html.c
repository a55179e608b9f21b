/*
 * The report as one HTML page: no script, no network. A table lists the sections of the page and the figures
 * of a problem. Each writes nothing if it has nothing to say.
 */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"
#include "template/operation.h"
#include "tuner/cli/report.h"
#include "tuner/cli/report_css.h"
#include "tuner/cli/report_figures.h"
#include "tuner/cli/report_svg.h"

enum { ROWS_MAX = 12 };

/* ---- Text -------------------------------------------------------------------------------------------- */

/* "4096x4096, warm, not verified". */
static const char *problem_text(char out[TT__PROBLEM_TEXT_MAX + 32], const tt__problem *p) {
    char text[TT__PROBLEM_TEXT_MAX];
    snprintf(out, TT__PROBLEM_TEXT_MAX + 32, "%s%s%s", tt__problem_text(text, p), p->warm ? ", warm" : "",
             p->unverified ? ", not verified" : "");
    return out;
}

static void add_code(tt__str *out, const char *text) {
    tt__str_add(out, "<code>");
    tt__html_text(out, text);
    tt__str_add(out, "</code>");
}

/* The settings, each unbreakable. */
static void add_config(tt__str *out, const char *config) {
    char one[TT__CONFIG_MAX];
    for (size_t n; *config; config += n + strspn(config + n, " ")) {
        n = strcspn(config, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, config);
        add_code(out, one);
        tt__str_add(out, " ");
    }
}

static void add_cell(tt__str *out, const char *class, const char *text) {
    tt__str_addf(out, "<td%s%s>", *class ? " class=" : "", class);
    tt__html_text(out, text);
    tt__str_add(out, "</td>");
}

static void add_fact(tt__str *out, const char *term, const char *text) {
    tt__str_add(out, "<div><dt>");
    tt__html_text(out, term);
    tt__str_add(out, "</dt><dd>");
    tt__html_text(out, text);
    tt__str_add(out, "</dd></div>");
}

static void add_id(tt__str *out, const tt__report *r, const tt__subject *s, size_t i) {
    tt__str_addf(out, "p%zu-%zu", (size_t)(s - r->subjects) + 1, i + 1);
}

/* "NVIDIA H200", and the file where one name is not enough. */
static void subject_text(char *out, size_t size, const tt__report *r, const tt__subject *s) {
    snprintf(out, size, "%s%s%s%s%s%s", s->gpu.name, *s->gpu.mig ? " MIG " : "", s->gpu.mig,
             r->n_sources > 1 ? " (" : "", r->n_sources > 1 ? s->source->name : "",
             r->n_sources > 1 ? ")" : "");
}

/* ---- Figures of a problem ---------------------------------------------------------------------------- */

static void figure_limits(tt__str *out, const tt__details *d) {
    const tt__winner *w = d->w;
    double peak = d->subject->gpu.peak_gbps, gbps = tt__problem_gbps(&w->problem, w->time_us);
    double copy = tt__problem_gbps(&w->problem, w->copy_us);
    tt__bar_row rows[4];
    char name[200];
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
        {"theoretical peak", "other", peak}};
    double most = fmax(fmax(peak, copy), gbps);
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
        if (bars[i].gbps > 0) {
            rows[n] = (tt__bar_row){.size = bars[i].gbps / most, .class = bars[i].class};
            tt__copy(rows[n].label, sizeof rows[n].label, bars[i].label);
            snprintf(rows[n++].value, sizeof rows[n].value, "%.0f GB/s", bars[i].gbps);
        }
    snprintf(name, sizeof name,
             "The winner reaches %.0f GB/s; the tuned copy %.0f, the theoretical peak is %.0f", gbps, copy,
             peak);
    tt__figure_open(out, "Limits", "Bytes read and written a second. The tuned copy is the practical limit.");
    tt__svg_bars(out, name, rows, n);
    tt__figure_close(out);
}

static void figure_kernels(tt__str *out, const tt__details *d) {
    tt__bar_row rows[ROWS_MAX];
    char name[200], time[32];
    size_t n = 0;
    for (size_t i = 0; i < d->n_kernels && n < ROWS_MAX; i++) {
        const tt__report_kernel *k = &d->kernels[i];
        rows[n] = (tt__bar_row){.size = k->best > 0 ? d->best / k->best : 0,
                                .class = strcmp(k->name, d->w->kernel) == 0 ? "fill" : "other"};
        snprintf(rows[n].label, sizeof rows[n].label, "%s, %zu", k->name, k->n);
        tt__cli_time(time, sizeof time, k->best);
        snprintf(rows[n++].value, sizeof rows[n].value, "%s", k->best > 0 ? time : "all failed");
    }
    if (d->n_kernels < 2)
        return;
    snprintf(name, sizeof name, "The best of %zu kernels: %s comes first", d->n_kernels, d->kernels[0].name);
    tt__figure_open(out, "Kernels",
                    "The best trial of each kernel, and how many configurations were tried. "
                    "A longer bar is faster.");
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
               (a->share + b->share + d->importance.pair[d->pair[0]][d->pair[1]]) * 100,
               d->importance.rest * 100);
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
        if (*tt__details_reason(d, (tt__trial_status)s)) {
            tt__str_add(out, "<li>");
            tt__html_text(out, tt__details_reason(d, (tt__trial_status)s));
            tt__str_add(out, "</li>");
        }
    tt__str_add(out, "</ul>");
    tt__figure_close(out);
}

static void (*const figures[])(tt__str *out, const tt__details *d) = {
    figure_limits,     tt__figure_search,  figure_kernels,  figure_finals,
    figure_importance, tt__figure_effects, tt__figure_heat, figure_failures,
};

static void add_facts(tt__str *out, const tt__details *d) {
    const tt__winner *w = d->w;
    char text[64];
    double gbps = tt__problem_gbps(&w->problem, w->time_us), peak = d->subject->gpu.peak_gbps;
    tt__str_add(out, "<dl>");
    add_fact(out, "time", tt__cli_time(text, sizeof text, w->time_us));
    if (gbps > 0) {
        snprintf(text, sizeof text, "%.0f", gbps);
        add_fact(out, "GB/s", text);
    }
    if (w->copy_fraction > 0)
        add_fact(out, "of the copy", tt__cli_percent(text, sizeof text, w->copy_fraction));
    if (gbps > 0 && peak > 0)
        add_fact(out, "of the peak", tt__cli_percent(text, sizeof text, gbps / peak));
    if (w->speedup_vs_default > 0) {
        tt__format(text, sizeof text, "%.2fx", w->speedup_vs_default);
        add_fact(out, "vs default", text);
    }
    snprintf(text, sizeof text, "%lld", (long long)w->trials);
    add_fact(out, "tried", text);
    snprintf(text, sizeof text, "%lld", (long long)w->failed);
    add_fact(out, "failed", text);
    tt__str_add(out, "</dl>\n");
}

static tt_status add_problem(tt__str *out, const tt__report *r, const tt__subject *s, size_t i) {
    const tt__winner *w = &s->winners[i];
    char text[TT__PROBLEM_TEXT_MAX + 32], where[TT__GPU_NAME_MAX + TT__PATH_MAX + 48];
    tt__details *d;
    tt_status status = tt__details_open(&d, s, w);
    if (status == TT_OK) {
        tt__str_add(out, "<section class=problem id=");
        add_id(out, r, s, i);
        tt__str_add(out, "><h2>");
        tt__html_textf(out, "%s %s", w->problem.op, problem_text(text, &w->problem));
        if (r->n > 1) {
            subject_text(where, sizeof where, r, s);
            tt__str_add(out, " <small>");
            tt__html_text(out, where);
            tt__str_add(out, "</small>");
        }
        tt__str_add(out, "</h2>\n<p class=winner><b>");
        tt__html_text(out, w->kernel);
        tt__str_add(out, "</b> ");
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

/* ---- Sections of the page ---------------------------------------------------------------------------- */

static tt_status section_problems(tt__str *out, const tt__report *r) {
    for (size_t k = 0; k < r->n; k++)
        for (size_t i = 0; i < r->subjects[k].n; i++)
            TT_TRY(add_problem(out, r, &r->subjects[k], i));
    return TT_OK;
}

/* Begins a table. A title with a `#` is of numbers; NULL: no such column. */
static void add_table(tt__str *out, const char *name, const char *const *titles, size_t n) {
    tt__str_add(out, "<div class=scroll tabindex=0 role=region aria-label=\"");
    tt__html_text(out, name);
    tt__str_add(out, "\"><table><thead><tr>");
    for (size_t i = 0; i < n; i++)
        if (titles[i])
            tt__str_addf(out, "<th scope=col%s>%s</th>", *titles[i] == '#' ? " class=num" : "",
                         titles[i] + (*titles[i] == '#'));
    tt__str_add(out, "</tr></thead><tbody>\n");
}

/* `defaults`: with the column for them. */
static void add_winner_row(tt__str *out, const tt__report *r, const tt__subject *s, size_t i, bool defaults) {
    const tt__winner *w = &s->winners[i];
    char text[TT__PROBLEM_TEXT_MAX + 32];
    double gbps = tt__problem_gbps(&w->problem, w->time_us), peak = s->gpu.peak_gbps;
    tt__str_add(out, "<tr><td><a href=\"#");
    add_id(out, r, s, i);
    tt__str_add(out, "\">");
    tt__html_textf(out, "%s %s", w->problem.op, problem_text(text, &w->problem));
    tt__str_add(out, "</a></td>");
    add_cell(out, "num", tt__cli_time(text, sizeof text, w->time_us));
    snprintf(text, sizeof text, gbps > 0 ? "%.0f" : "-", gbps);
    add_cell(out, "num", text);
    add_cell(out, "num", tt__cli_percent(text, sizeof text, w->copy_fraction));
    add_cell(out, "num", tt__cli_percent(text, sizeof text, peak > 0 ? gbps / peak : 0));
    if (defaults) {
        tt__format(text, sizeof text, w->speedup_vs_default > 0 ? "%.2fx" : "-", w->speedup_vs_default);
        add_cell(out, "num", text);
    }
    tt__str_add(out, "<td>");
    tt__html_text(out, w->kernel);
    tt__str_add(out, "<span class=config>");
    add_config(out, w->config);
    tt__str_add(out, "</span></td>");
    tt__str_add(out, "</tr>\n");
}

static tt_status section_winners(tt__str *out, const tt__report *r) {
    const char *titles[] = {"problem", "#time", "#GB/s", "#of copy", "#of peak", "#vs default", "winner"};
    char name[TT__GPU_NAME_MAX + TT__PATH_MAX + 48];
    tt__str_add(out, "<section><h2>All winners</h2>\n");
    tt__str_add(out, "<div class=beside>");
    tt__figure_bandwidth(out, r);
    tt__str_add(out, "<div>");
    for (size_t k = 0; k < r->n; k++) {
        subject_text(name, sizeof name, r, &r->subjects[k]);
        if (r->n > 1) {
            tt__str_add(out, "<h3>");
            tt__html_text(out, name);
            tt__str_add(out, "</h3>\n");
        }
        bool defaults = false; /* a recording does not say */
        for (size_t i = 0; i < r->subjects[k].n; i++)
            defaults = defaults || r->subjects[k].winners[i].speedup_vs_default > 0;
        titles[5] = defaults ? "#vs default" : NULL;
        add_table(out, name, titles, sizeof titles / sizeof *titles);
        for (size_t i = 0; i < r->subjects[k].n; i++)
            add_winner_row(out, r, &r->subjects[k], i, defaults);
        tt__str_add(out, "</tbody></table></div>\n");
    }
    tt__str_add(out, "</div></div></section>\n");
    return TT_OK;
}

static void add_change_row(tt__str *out, const tt__change *c) {
    static const char *const words[] = {"within the noise", "faster", "slower"};
    static const char *const classes[] = {"same", "good", "worse"};
    char text[TT__PROBLEM_TEXT_MAX + 32];
    const tt__winner *a = c->before, *b = c->after;
    tt__str_add(out, "<tr>");
    tt__str_add(out, "<td>");
    tt__html_textf(out, "%s %s", a->problem.op, problem_text(text, &a->problem));
    tt__str_add(out, "</td>");
    add_cell(out, classes[c->kind], words[c->kind]);
    add_cell(out, "", tt__change_what(c));
    add_cell(out, "num", tt__cli_time(text, sizeof text, a->time_us));
    add_cell(out, "num", tt__cli_time(text, sizeof text, b->time_us));
    tt__format(text, sizeof text, "%+.1f%%", (c->ratio - 1) * 100);
    add_cell(out, "num", text);
    tt__format(text, sizeof text, "\xc2\xb1%.1f%%", c->noise * 100);
    add_cell(out, "num", text);
    tt__str_add(out, "</tr>\n");
}

static tt_status add_changes(tt__str *out, const tt__report *r, const tt__subject *after, size_t n_by_kind[3],
                             tt__interval_row rows[ROWS_MAX], size_t *n_rows) {
    static const char *const classes[] = {"other", "fill", "bad"};
    const tt__subject *before = &r->subjects[0];
    for (size_t i = 0; i < before->n; i++) {
        tt__change c;
        bool both;
        char text[TT__PROBLEM_TEXT_MAX + 32];
        TT_TRY(tt__report_change(&c, before, &before->winners[i], after, &both));
        if (!both)
            continue;
        n_by_kind[c.kind]++;
        add_change_row(out, &c);
        if (*n_rows == ROWS_MAX)
            continue;
        tt__interval_row *row = &rows[(*n_rows)++];
        *row = (tt__interval_row){.at = c.ratio,
                                  .low = c.ratio * (1 - c.noise),
                                  .high = c.ratio * (1 + c.noise),
                                  .class = classes[c.kind]};
        snprintf(row->label, sizeof row->label, "%s %.60s", c.before->problem.op,
                 problem_text(text, &c.before->problem));
        tt__format(row->value, sizeof row->value, "%+.1f%%", (c.ratio - 1) * 100);
    }
    return TT_OK;
}

static tt_status section_changes(tt__str *out, const tt__report *r) {
    static const char *const titles[] = {"problem", "verdict", "what changed", "#before",
                                         "#after",  "#time",   "#noise"};
    char from[TT__GPU_NAME_MAX + TT__PATH_MAX + 48], to[sizeof from], name[2 * sizeof from + 32];
    subject_text(from, sizeof from, r, &r->subjects[0]);
    for (size_t k = 1; k < r->n; k++) {
        tt__interval_row rows[ROWS_MAX];
        size_t by_kind[3] = {0}, n = 0;
        tt__str table = {0};
        subject_text(to, sizeof to, r, &r->subjects[k]);
        snprintf(name, sizeof name, "From %s to %s", from, to);
        add_table(&table, name, titles, sizeof titles / sizeof *titles);
        tt_status status = add_changes(&table, r, &r->subjects[k], by_kind, rows, &n);
        tt__str_add(out, "<section><h2>What changed</h2>\n<p>");
        tt__html_text(out, name);
        tt__str_addf(out, ": %zu faster, %zu slower, %zu within the noise.%s</p>\n",
                     by_kind[TT__CHANGE_FASTER], by_kind[TT__CHANGE_SLOWER], by_kind[TT__CHANGE_NONE],
                     n ? "" : " They have no problem in common.");
        if (n) {
            tt__str_add(out, "<div class=beside>");
            tt__figure_open(out, "Time over before",
                            "Left of 1 is faster. The bar is the noise: both runs' spread, "
                            "and 1 % between processes.");
            tt__svg_intervals(out, name, rows, n);
            tt__figure_close(out);
            tt__str_add(out, tt__str_text(&table));
            tt__str_add(out, "</tbody></table></div></div>\n");
        }
        tt__str_add(out, "</section>\n");
        out->failed |= table.failed;
        tt__str_free(&table);
        TT_TRY(status);
    }
    return TT_OK;
}

static tt_status section_environment(tt__str *out, const tt__report *r) {
    tt__str_add(out, "<section><h2>Environment</h2>\n");
    for (size_t k = 0; k < r->n; k++) {
        const tt__subject *s = &r->subjects[k];
        const tt__winner *w = &s->winners[0];
        char text[160];
        for (size_t i = 1; i < s->n; i++)
            w = s->winners[i].unix_ms > w->unix_ms ? &s->winners[i] : w;
        tt__str_add(out, "<dl class=facts>");
        add_fact(out, "file", s->source->name);
        snprintf(text, sizeof text, "%s%s%s", s->gpu.name, *s->gpu.mig ? " MIG " : "", s->gpu.mig);
        add_fact(out, "GPU", text);
        snprintf(text, sizeof text, "%d.%d, %d SMs", s->gpu.cc / 10, s->gpu.cc % 10, s->gpu.sm_count);
        add_fact(out, "compute capability", text);
        tt__format(text, sizeof text, "%.0f GB, L2 %.0f MB", (double)s->gpu.memory_bytes / 1e9,
                   (double)s->gpu.l2_bytes / 1e6);
        add_fact(out, "memory", text);
        if (s->gpu.peak_gbps > 0) {
            snprintf(text, sizeof text, "%.0f GB/s", s->gpu.peak_gbps);
            add_fact(out, "theoretical peak", text);
        }
        snprintf(text, sizeof text, "%s, NVRTC %s, method %s", w->env.driver, w->env.nvrtc, w->env.library);
        add_fact(out, "driver", text);
        snprintf(text, sizeof text, "%s, ", w->source);
        tt__report_when(text + strlen(text), sizeof text - strlen(text), w->unix_ms);
        add_fact(out, "newest winner", text);
        tt__str_add(out, "</dl>\n");
    }
    tt__str_add(out, "</section>\n");
    return TT_OK;
}

static tt_status section_head(tt__str *out, const tt__report *r) {
    char name[TT__GPU_NAME_MAX + TT__PATH_MAX + 48];
    size_t winners = 0;
    tt__str_add(out, "<header><p class=brand>tiletune report</p><h1>");
    for (size_t k = 0; k < r->n; k++) {
        subject_text(name, sizeof name, r, &r->subjects[k]);
        tt__html_textf(out, "%s%s", k ? ", " : "", name);
        winners += r->subjects[k].n;
    }
    const tt__winner *w = &r->subjects[0].winners[0];
    tt__str_add(out, "</h1><p>");
    tt__html_textf(out, "%zu winner%s. Driver %s, NVRTC %s.", winners, winners == 1 ? "" : "s",
                   *w->env.driver ? w->env.driver : "unknown", *w->env.nvrtc ? w->env.nvrtc : "unknown");
    tt__str_add(out, "</p></header>\n");
    return TT_OK;
}

static tt_status (*const sections[])(tt__str *out, const tt__report *r) = {
    section_head, section_changes, section_winners, section_problems, section_environment,
};

tt_status tt__report_html(tt__str *out, const tt__report *r) {
    tt__str_add(out, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                     "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=color-scheme content=\"light dark\">\n"
                     "<link rel=icon href=\"data:,\">\n<title>tiletune report: ");
    tt__html_text(out, r->subjects[0].gpu.name);
    tt__str_addf(out, "</title>\n<style>\n%s</style></head>\n<body><main>\n", tt__report_css[0].text);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        TT_TRY(sections[i](out, r));
    tt__str_add(out, "</main></body></html>\n");
    return tt__str_check(out);
}
