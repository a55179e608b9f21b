/*
 * What the page has room for. It stays below TT__PAGE_BYTES, however many winners a store has: rows of the
 * table and details are only of the winners that come first. These are, of each operation, those with the
 * most trials.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_PAGE_H
#define TT_TUNER_CLI_REPORT_REPORT_PAGE_H

#include "tuner/cli/report/report.h"

enum { TT__PAGE_BYTES = 300000 };

typedef struct tt__page_item {
    const tt__subject *s;
    const tt__winner *w;
    size_t at;       /* of the subject's winners */
    size_t place;    /* of its operation, by trials */
    bool row;        /* it is in the table and its figure */
    bool detailed;   /* it has a section ... */
    tt__str section; /* ... this one */
} tt__page_item;

typedef struct tt__page {
    const tt__report *r;
    size_t n, n_rows, n_detailed;
    tt__page_item *items;  /* in the order of the report */
    tt__page_item **order; /* what matters most first */
} tt__page;

/* Lists the winners, and chooses the rows. Close it, also after a failure. */
tt_status tt__page_open(tt__page *page, const tt__report *r);
/* Makes as many sections as fit into so many bytes. */
tt_status tt__page_fill(tt__page *page, size_t room);
void tt__page_close(tt__page *page);

#endif
