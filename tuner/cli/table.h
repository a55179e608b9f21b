/*
 * Plain text tables: columns fit their cells, two blanks separate them, numbers are aligned to the right.
 */
#ifndef TT_CLI_TABLE_H
#define TT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

enum { TT__TABLE_COLUMNS_MAX = 16 };

typedef struct tt__column {
    const char *title; /* if all titles are "", there is no title line */
    bool right;        /* aligned to the right */
    bool wrap;         /* wrap at blanks if the table is too wide; one column at most */
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
/* Prints within `width` columns, as far as wrapping allows; 0: unlimited. */
tt_status tt__table_print(const tt__table *t, FILE *f, int width);
void tt__table_free(tt__table *t);

#endif
