/* See the header. */
#include "tuner/cli/report/report_page.h"

#include <stdlib.h>

#include "tuner/cli/report/report_html.h"

/* Bytes of all rows. After so many sections that do not fit, none will. */
enum { ROWS_BYTES = 80000, MISSES = 4 };

static int compare(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int by_trials(const void *a, const void *b) {
    const tt__page_item *const x = *(tt__page_item *const *)a, *const y = *(tt__page_item *const *)b;
    int op = x->s != y->s ? compare((size_t)x->s, (size_t)y->s) : strcmp(x->w->problem.op, y->w->problem.op);
    if (op)
        return op;
    return x->w->trials != y->w->trials ? (x->w->trials > y->w->trials ? -1 : 1) : compare(x->at, y->at);
}

static int by_place(const void *a, const void *b) {
    const tt__page_item *const x = *(tt__page_item *const *)a, *const y = *(tt__page_item *const *)b;
    return x->place != y->place ? compare(x->place, y->place) : compare((size_t)x, (size_t)y);
}

static void sort(tt__page *page) {
    if (page->n == 0)
        return;
    qsort(page->order, page->n, sizeof *page->order, by_trials);
    for (size_t i = 1; i < page->n; i++) {
        const tt__page_item *last = page->order[i - 1];
        bool same =
            last->s == page->order[i]->s && strcmp(last->w->problem.op, page->order[i]->w->problem.op) == 0;
        page->order[i]->place = same ? last->place + 1 : 0;
    }
    qsort(page->order, page->n, sizeof *page->order, by_place);
}

tt_status tt__page_open(tt__page *page, const tt__report *r) {
    size_t n = 0, bytes = 0;
    *page = (tt__page){.r = r};
    for (size_t k = 0; k < r->n; k++)
        page->n += r->subjects[k].n;
    page->items = calloc(page->n + 1, sizeof *page->items);
    page->order = calloc(page->n + 1, sizeof *page->order);
    if (!page->items || !page->order)
        return tt__fail_memory(page->n * sizeof *page->items);
    for (size_t k = 0; k < r->n; k++)
        for (size_t i = 0; i < r->subjects[k].n; i++, n++) {
            page->items[n] = (tt__page_item){.s = &r->subjects[k], .w = &r->subjects[k].winners[i], .at = i};
            page->order[n] = &page->items[n];
        }
    sort(page);
    for (size_t i = 0; i < page->n && bytes < ROWS_BYTES; i++) {
        tt__str row = {0};
        page->order[i]->row = page->order[i]->detailed = true; /* a row is longest with its link */
        tt__html_winner_row(&row, r, page->order[i], true);
        page->order[i]->detailed = false;
        bytes += row.len;
        page->n_rows++;
        tt_status status = tt__str_check(&row);
        tt__str_free(&row);
        TT_TRY(status);
    }
    return TT_OK;
}

tt_status tt__page_fill(tt__page *page, size_t room) {
    size_t misses = 0;
    for (size_t i = 0; i < page->n_rows && misses < MISSES; i++) {
        tt__page_item *item = page->order[i];
        TT_TRY(tt__html_problem_section(&item->section, page->r, item));
        TT_TRY(tt__str_check(&item->section));
        item->detailed = item->section.len <= room;
        if (item->detailed) {
            room -= item->section.len;
            page->n_detailed++;
        } else {
            tt__str_free(&item->section);
            misses++;
        }
    }
    return TT_OK;
}

void tt__page_close(tt__page *page) {
    for (size_t i = 0; i < page->n && page->items; i++)
        tt__str_free(&page->items[i].section);
    free(page->items);
    free(page->order);
    *page = (tt__page){0};
}
