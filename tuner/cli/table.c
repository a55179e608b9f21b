/*
 * Text tables. Widths are counted in bytes, because the content is ASCII.
 */
#include "tuner/cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/grow.h"

enum { GAP = 2, WRAP_MIN = 12 };

void tt__table_cell(tt__table *t, const char *fmt, ...) {
    t->failed |= TT__GROW(t->cells, t->n_cells) != TT_OK;
    if (t->failed)
        return;
    va_list args;
    va_start(args, fmt);
    char *text = NULL;
    t->failed = vasprintf(&text, fmt, args) < 0;
    va_end(args);
    if (t->failed)
        return;
    tt__clean(text, TT__CLEAN_NAME);
    t->cells[t->n_cells++] = text;
}

void tt__table_free(tt__table *t) {
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (tt__table){.n_columns = t->n_columns, .columns = t->columns};
}

static void measure(const tt__table *t, size_t widths[], size_t limit) {
    size_t total = GAP * (t->n_columns - 1), wrap = t->n_columns;
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = strlen(t->columns[c].title);
        for (size_t i = c; i < t->n_cells; i += t->n_columns)
            if (strlen(t->cells[i]) > widths[c])
                widths[c] = strlen(t->cells[i]);
        total += widths[c];
        if (t->columns[c].wrap)
            wrap = c;
    }
    if (!limit || total <= limit || wrap == t->n_columns)
        return;
    size_t excess = total - limit;
    size_t least = strlen(t->columns[wrap].title) > WRAP_MIN ? strlen(t->columns[wrap].title) : WRAP_MIN;
    widths[wrap] = widths[wrap] > excess + least ? widths[wrap] - excess : least;
}

/* The length of `text` that goes on a line of `width`: up to the last blank that fits. A long word is not
 * split. */
static size_t fitting(const char *text, size_t width) {
    size_t n = strlen(text);
    if (n <= width)
        return n;
    for (size_t i = width; i > 0; i--)
        if (text[i] == ' ')
            return i;
    return strcspn(text, " ");
}

static void print_row(const tt__table *t, FILE *f, const size_t widths[], const char *const cells[]) {
    const char *rest[TT__TABLE_COLUMNS_MAX];
    memcpy(rest, cells, t->n_columns * sizeof *rest);
    for (bool more = true; more;) {
        size_t pending =
            0; /* blanks before the next text; they are delayed so that no line ends with blanks */
        more = false;
        for (size_t c = 0; c < t->n_columns; c++) {
            size_t n = t->columns[c].wrap ? fitting(rest[c], widths[c]) : strlen(rest[c]);
            size_t fill = n < widths[c] ? widths[c] - n : 0;
            if (n)
                fprintf(f, "%*s%.*s", (int)(pending + (t->columns[c].right ? fill : 0)), "", (int)n, rest[c]);
            pending = n ? (t->columns[c].right ? 0 : fill) + GAP : pending + fill + GAP;
            rest[c] += n;
            rest[c] += strspn(rest[c], " ");
            more = more || *rest[c];
        }
        fputc('\n', f);
    }
}

tt_status tt__table_print(const tt__table *t, FILE *f, int width) {
    if (t->failed)
        return tt__fail_memory(0);
    size_t widths[TT__TABLE_COLUMNS_MAX];
    const char *titles[TT__TABLE_COLUMNS_MAX];
    bool titled = false;
    measure(t, widths, width > 0 ? (size_t)width : 0);
    for (size_t c = 0; c < t->n_columns; c++) {
        titles[c] = t->columns[c].title;
        titled = titled || *titles[c];
    }
    if (titled)
        print_row(t, f, widths, titles);
    for (size_t i = 0; i + t->n_columns <= t->n_cells; i += t->n_columns)
        print_row(t, f, widths, (const char *const *)&t->cells[i]);
    return TT_OK;
}
