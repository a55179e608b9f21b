/*
 * Text tables, bars and curves. Widths are counted in characters of UTF-8; only bars and curves have any that
 * are not ASCII.
 */
#include "tuner/cli/shell/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/str.h"
#include "tuner/cli/shell/cli.h"

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

void tt__table_texts(tt__table *t, const char *const texts[]) {
    for (; *texts; texts++)
        tt__table_cell(t, "%s", *texts);
}

void tt__table_free(tt__table *t) {
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (tt__table){.n_columns = t->n_columns, .columns = t->columns};
}

typedef struct layout {
    size_t widths[TT__TABLE_COLUMNS_MAX], limit;
    bool below[TT__TABLE_COLUMNS_MAX], colour;
} layout;

/* The widest column that may go below the rows and is still in them; n_columns: there is none. */
static size_t widest_in_row(const tt__table *t, const layout *l) {
    size_t found = t->n_columns;
    for (size_t c = 0; c < t->n_columns; c++)
        if (t->columns[c].fit == TT__BELOW && !l->below[c] &&
            (found == t->n_columns || l->widths[c] > l->widths[found]))
            found = c;
    return found;
}

/* Decides how wide columns are, and which go below the rows. */
static void measure(const tt__table *t, layout *l) {
    size_t *widths = l->widths, limit = l->limit;
    size_t total = GAP * (t->n_columns - 1), wrap = t->n_columns, next;
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = strlen(t->columns[c].title);
        for (size_t i = c; i < t->n_cells; i += t->n_columns)
            if (tt__spark_columns(t->cells[i], SIZE_MAX) > widths[c])
                widths[c] = tt__spark_columns(t->cells[i], SIZE_MAX);
        total += widths[c];
        if (t->columns[c].fit == TT__WRAP)
            wrap = c;
    }
    while (limit && total > limit && (next = widest_in_row(t, l)) < t->n_columns) {
        total -= widths[next] + GAP;
        l->below[next] = true;
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
    size_t n = strlen(text), last = 0;
    if (tt__spark_columns(text, n) <= width)
        return n;
    for (size_t i = 1; i < n && tt__spark_columns(text, i) <= width; i++)
        last = text[i] == ' ' ? i : last;
    return last ? last : strcspn(text, " ");
}

bool tt__table_colour(int width) {
    const char *off = secure_getenv("NO_COLOR"), *term = secure_getenv("TERM");
    return width > 0 && !(off && *off) && !(term && strcmp(term, "dumb") == 0);
}

/* States stand out. "" for any other cell. */
static const char *colour_of(const char *cell) {
    static const struct {
        const char *start, *colour;
    } states[] = {
        {"PROBLEM", "\033[31m"}, {"no winner", "\033[31m"}, {"stale: ", "\033[33m"}, {"ok", "\033[32m"}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strncmp(cell, states[i].start, strlen(states[i].start)) == 0)
            return states[i].colour;
    return "";
}

static void print_text(const char *text, size_t n, const char *colour) {
    printf("%s%.*s%s", colour, (int)n, text, *colour ? "\033[0m" : "");
}

static void print_below(const tt__table *t, const layout *l, const char *const cells[], const char *colour) {
    enum { INDENT = 4 };
    size_t used = 0;
    for (size_t c = 0; c < t->n_columns; c++)
        for (const char *rest = l->below[c] ? cells[c] : ""; *rest;) {
            size_t n = strcspn(rest, " "), gap = rest == cells[c] ? GAP : 1;
            bool fits = used && used + gap + n <= l->limit;
            printf("%s%*s", used && !fits ? "\n" : "", fits ? (int)gap : INDENT, "");
            print_text(rest, n, l->colour && !*colour && rest == cells[c] ? colour_of(rest) : colour);
            used = (fits ? used + gap : INDENT) + n;
            rest += n + strspn(rest + n, " ");
        }
    printf(used ? "\n" : "");
}

static void print_row(const tt__table *t, const layout *l, const char *const cells[], const char *colour) {
    const char *rest[TT__TABLE_COLUMNS_MAX];
    for (size_t c = 0; c < t->n_columns; c++)
        rest[c] = l->below[c] ? NULL : cells[c];
    for (bool more = true; more;) {
        size_t pending =
            0; /* blanks before the next text; they are delayed so that no line ends with blanks */
        more = false;
        for (size_t c = 0; c < t->n_columns; c++) {
            if (!rest[c])
                continue;
            size_t n = t->columns[c].fit == TT__WRAP ? fitting(rest[c], l->widths[c]) : strlen(rest[c]);
            size_t used = tt__spark_columns(rest[c], n);
            size_t fill = used < l->widths[c] ? l->widths[c] - used : 0;
            if (n) {
                printf("%*s", (int)(pending + (t->columns[c].right ? fill : 0)), "");
                print_text(rest[c], n, l->colour && !*colour && c > 0 ? colour_of(rest[c]) : colour);
            }
            pending = n ? (t->columns[c].right ? 0 : fill) + GAP : pending + fill + GAP;
            rest[c] += n;
            rest[c] += strspn(rest[c], " ");
            more = more || *rest[c];
        }
        putchar('\n');
    }
    print_below(t, l, cells, colour);
}

tt_status tt__table_print(const tt__table *t, int width) {
    if (t->failed)
        return tt__fail_memory(0);
    layout l = {.limit = width > 0 ? (size_t)width : 0, .colour = tt__table_colour(width)};
    const char *titles[TT__TABLE_COLUMNS_MAX];
    bool titled = false;
    measure(t, &l);
    for (size_t c = 0; c < t->n_columns; c++) {
        titles[c] = t->columns[c].title;
        titled = titled || *titles[c];
    }
    if (titled)
        print_row(t, &l, titles, l.colour ? "\033[1m" : "");
    for (size_t i = 0; i + t->n_columns <= t->n_cells; i += t->n_columns)
        print_row(t, &l, (const char *const *)&t->cells[i], "");
    return TT_OK;
}

tt_status tt__table_show(tt__table *t) {
    tt_status status = tt__table_print(t, tt__cli_columns(STDOUT_FILENO));
    tt__table_free(t);
    return status;
}

/* ---- Bars and curves --------------------------------------------------------------------------------------
 */

bool tt__spark_can(int fd) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *term = secure_getenv("TERM"), *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
        locale = secure_getenv(names[i]);
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0) && locale &&
           (tt__has_letters(locale, "utf-8") || tt__has_letters(locale, "utf8"));
}

size_t tt__spark_columns(const char *text, size_t n) {
    size_t columns = 0;
    for (size_t i = 0; i < n && text[i]; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Appends the character U+2580 + code. */
static char *add_block(char *out, int code) {
    memcpy(out, "\xe2\x96", 2);
    out[2] = (char)(0x80 + code);
    return out + 3;
}

char *tt__spark_bar(char out[TT__SPARK_BYTES], double fraction, int cells) {
    int eighths = (int)lround(fmin(fmax(fraction, 0), 1) * cells * 8);
    char *end = out;
    for (int at = 0; at < eighths / 8; at++)
        end = add_block(end, 8);
    if (eighths % 8)
        end = add_block(end, 16 - eighths % 8);
    *end = '\0';
    return out;
}

char *tt__spark_line(char out[TT__SPARK_BYTES], const double *values, size_t n) {
    double low = INFINITY, high = -INFINITY;
    char *end = out;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    for (size_t i = 0; i < n; i++)
        end = add_block(end, 1 + (int)lround(high > low ? 7 * (values[i] - low) / (high - low) : 0));
    *end = '\0';
    return out;
}
