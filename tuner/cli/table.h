/* A plain text table: columns as wide as their cells, two blanks between them, numbers to the right. */
#ifndef TT_CLI_TABLE_H
#define TT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

enum { TT__TABLE_COLUMNS_MAX = 16 };

typedef struct tt__column {
    const char *title; /* a table whose titles are all "" has no title line */
    bool right;        /* aligned to the right */
    bool wrap;         /* broken at blanks where the table would be too wide; one column at most */
} tt__column;

typedef struct tt__table {
    size_t n_columns;
    const tt__column *columns; /* borrowed */
    size_t n_cells;
    char **cells; /* row by row */
    bool failed;
} tt__table; /* initialise n_columns and columns, zero the rest */

/* Fills the next cell, from left to right and row by row. After a failed allocation does nothing. */
void tt__table_cell(tt__table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints it within `width` columns, as far as wrapping can do that; 0: as wide as it gets. */
tt_status tt__table_print(const tt__table *t, FILE *f, int width);
void tt__table_free(tt__table *t);

#endif
