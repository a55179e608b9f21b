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

static void add_row(tt__str *out, const tt__unsolved *u) {
    char text[TT__HTML_PROBLEM_MAX];
    tt__str command = {0};
    bool passed = u->passed > 0;
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
}

void tt__html_unsolved(tt__str *out, const tt__page *page) {
    static const char *const titles[] = {"problem", "#tried", "#failed", "the first reason", "what to do"};
    enum { ROOM = 20000 };
    size_t n = 0, shown = 0;
    for (size_t k = 0; k < page->r->n; k++)
        n += page->r->subjects[k].n_unsolved;
    if (n == 0)
        return;
    tt__str_addf(out, "<section><h2>Without a winner</h2>\n<p>%zu problem%s tried, and nothing won.</p>\n", n,
                 n == 1 ? " was" : "s were");
    tt__html_table(out, "Problems without a winner", titles, sizeof titles / sizeof *titles);
    size_t begin = out->written + out->len;
    for (size_t k = 0; k < page->r->n; k++)
        for (size_t i = 0; i < page->r->subjects[k].n_unsolved && out->written + out->len - begin < ROOM;
             i++, shown++)
            add_row(out, &page->r->subjects[k].unsolved[i]);
    if (shown < n)
        tt__str_addf(out, "<tr><td>and %zu more: <code>--csv</code> has all</td></tr>\n", n - shown);
    tt__str_add(out, "</tbody></table></div></section>\n");
}
