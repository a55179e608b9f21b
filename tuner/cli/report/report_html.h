/*
 * The page: which winners it shows, and parts that several sections write. However many winners a store has,
 * rows of the table and details are only of those that come first. These are, of each operation, those with
 * the most trials.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_HTML_H
#define TT_TUNER_CLI_REPORT_REPORT_HTML_H

#include "kernel/space/problem_text.h"
#include "tuner/cli/report/report.h"

typedef struct tt__page_item {
    const tt__subject *s;
    size_t at; /* of the subject's winners */
    tt__winner w;
    bool detailed; /* it has a section */
} tt__page_item;

typedef struct tt__page {
    const tt__report *r;
    size_t n_winners, n, n_detailed; /* n_winners: of the report; n: that are shown */
    tt__page_item *items;            /* in the order of the report */
} tt__page;

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

/* Begins a table of this class, or of none (""). A title with a `#` is of numbers; NULL: no such column. */
void tt__html_table(tt__str *out, const char *name, const char *class, const char *const *titles, size_t n);
/* The section about problems without a winner. */
tt_status tt__html_unsolved(tt__str *out, const tt__page *page);
/* The section about its problem. */
tt_status tt__html_problem_section(tt__str *out, const tt__report *r, const tt__page_item *item);

#endif
