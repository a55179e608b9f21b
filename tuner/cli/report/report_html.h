/*
 * Parts of the page that several sections write.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_HTML_H
#define TT_TUNER_CLI_REPORT_REPORT_HTML_H

#include "kernel/space/problem_text.h"
#include "tuner/cli/report/report_page.h"

/* "4096x4096, warm, not verified". Returns out. */
enum { TT__HTML_PROBLEM_MAX = TT__PROBLEM_TEXT_MAX + 32 };
const char *tt__html_problem(char out[TT__HTML_PROBLEM_MAX], const tt__problem *p);
/* "NVIDIA H200", and the file if there are several. */
enum { TT__HTML_SUBJECT_MAX = TT__GPU_NAME_MAX + TT__PATH_MAX + 48 };
void tt__html_subject(char out[TT__HTML_SUBJECT_MAX], const tt__report *r, const tt__subject *s);

/* An item of a list of facts. */
void tt__html_fact(tt__str *out, const char *term, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The anchor of a winner's section. */
void tt__html_id(tt__str *out, const tt__report *r, const tt__page_item *item);

/* Begins a table. A title with a `#` is of numbers; NULL: no such column. */
void tt__html_table(tt__str *out, const char *name, const char *const *titles, size_t n);
/* The section about problems without a winner. */
void tt__html_unsolved(tt__str *out, const tt__page *page);
/* A winner's row of the table. `defaults`: with the column for them. */
void tt__html_winner_row(tt__str *out, const tt__report *r, const tt__page_item *item, bool defaults);
/* The section about its problem. */
tt_status tt__html_problem_section(tt__str *out, const tt__report *r, const tt__page_item *item);

#endif
