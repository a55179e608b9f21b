/*
 * Problems that were tried and have no winner: the first reason, and what may help.
 */
#include "kernel/load/builtin.h"
#include "kernel/space/problem_text.h"
#include "tuner/cli/report/report_html.h"
#include "tuner/cli/report/report_svg.h"

/* "tune --op transpose --problem rows=64,cols=64". */
tt_status tt__report_command(tt__str *out, const tt__problem *p, const char *kernel_file) {
    const tt__operation *op;
    tt_status status = TT_OK;
    tt__str_add(out, kernel_file ? "tune --kernel " : "tune --op ");
    tt__str_add_word(out, kernel_file ? kernel_file : p->op);
    if (p->n > 0)
        tt__str_add(out, " --problem ");
    if (kernel_file)
        tt__problem_add_settings(out, p, ",");
    else if ((status = tt__operation_builtin(&op, p->op)) == TT_OK)
        return tt__problem_add_unusual(out, op, p);
    tt__str_add(out, p->warm && kernel_file ? ",warm" : "");
    return status;
}

enum { ROWS_MAX = 50 };

typedef struct unsolved_rows {
    tt__str *out;
    size_t n;
} unsolved_rows;

static tt_status add_row(void *user, const tt__unsolved *u) {
    unsolved_rows *rows = user;
    tt__str *out = rows->out;
    char text[TT__HTML_PROBLEM_MAX];
    tt__str command = {0};
    bool passed = u->passed > 0;
    if (rows->n == ROWS_MAX)
        return TT_OK;
    rows->n++;
    tt__str_add(out, "<tr><td>");
    tt__html_textf(out, "%s %s", u->problem.op, tt__html_problem(text, &u->problem));
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

tt_status tt__html_unsolved(tt__str *out, const tt__page *page) {
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
    tt__html_table(out, "Problems without a winner", "", titles, sizeof titles / sizeof *titles);
    for (size_t k = 0; k < page->r->n; k++)
        TT_TRY(tt__subject_unsolved(&page->r->subjects[k], add_row, &rows));
    if (rows.n < n)
        tt__str_addf(out, "<tr><td>and %zu more: <code>--csv</code> has all</td></tr>\n", n - rows.n);
    tt__str_add(out, "</tbody></table></div></section>\n");
    return TT_OK;
}
