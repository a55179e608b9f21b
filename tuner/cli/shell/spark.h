/*
 * Bars and curves made of characters, for terminals that show UTF-8.
 */
#ifndef TT_TUNER_CLI_SHELL_SPARK_H
#define TT_TUNER_CLI_SHELL_SPARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
