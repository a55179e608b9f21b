/*
 * Bars and curves made of characters, for terminals that show UTF-8. And plain text tables: columns fit their
 * cells, two blanks separate them, numbers are aligned to the right.
 */
#ifndef TT_TUNER_CLI_SHELL_TABLE_H
#define TT_TUNER_CLI_SHELL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TT__TABLE_COLUMNS_MAX = 16 };

/* How a column adapts if the table is too wide. */
typedef enum tt__fit {
    TT__KEEP,
    TT__WRAP,  /* wrap at blanks; one column at most */
    TT__BELOW, /* go to lines of its own below each row, the widest of this kind first */
} tt__fit;

typedef struct tt__column {
    const char *title; /* if all titles are "", there is no title line */
    bool right;        /* aligned to the right */
    tt__fit fit;
} tt__column;

typedef struct tt__table {
    size_t n_columns;
    const tt__column *columns; /* borrowed */
    size_t n_cells;
    char **cells; /* row by row */
    bool failed;
} tt__table; /* set n_columns and columns, zero the rest */

/* Fills the next cell, row by row from left to right. Does nothing after a failed allocation. */
void tt__table_cell(tt__table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fills the next cells with texts. */
#define TT__TABLE_TEXTS(t, ...) tt__table_texts(t, (const char *const[]){__VA_ARGS__, NULL})
void tt__table_texts(tt__table *t, const char *const texts[]);
/* A row of two cells: a name, and a formatted text. */
#define TT__TABLE_PAIR(t, name, ...) (tt__table_cell(t, "%s", name), tt__table_cell(t, __VA_ARGS__))
/* Prints on standard output within `width` columns of a terminal, with titles and states in colour unless
 * NO_COLOR is set; 0: as wide as it is, and plain. */
bool tt__table_colour(int width);
tt_status tt__table_print(const tt__table *t, int width);
void tt__table_free(tt__table *t);
/* Prints it within the terminal's width, and frees it. */
tt_status tt__table_show(tt__table *t);

/* ---- Bars and curves --------------------------------------------------------------------------------- */

/* Is `fd` a terminal that can show them, by TERM and the locale's variables? */
bool tt__spark_can(int fd);

/* How many columns the first n bytes of UTF-8 take; SIZE_MAX: the whole text. */
size_t tt__spark_columns(const char *text, size_t n);

enum { TT__SPARK_MAX = 24, TT__SPARK_BYTES = 3 * TT__SPARK_MAX + 1 };

/* A bar of that part of `cells` columns, at most TT__SPARK_MAX, to an eighth of a column. Returns out. */
char *tt__spark_bar(char out[TT__SPARK_BYTES], double fraction, int cells);
/* A curve of n values, at most TT__SPARK_MAX, a column each; the least is the lowest. */
char *tt__spark_line(char out[TT__SPARK_BYTES], const double *values, size_t n);

#endif
