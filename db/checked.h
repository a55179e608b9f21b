/*
 * What comes from a file that others may have written: every value is checked for type, range and sense
 * before anything is made of it. TT_E_INVALID says what is wrong; put the place in front.
 */
#ifndef TT_DB_CHECKED_H
#define TT_DB_CHECKED_H

#include "db/conn.h"
#include "db/field.h"

/* What tt__problem_init promises of every problem: no product may overflow later. */
tt_status tt__check_problem(const tt__problem *p);
/* A kernel's name: an identifier. */
tt_status tt__check_kernel(const char *kernel);
/* "TILE_DIM=32 MODE=fast": names and words, single blanks between them. "" is a template
 * without parameters. */
tt_status tt__check_config(const char *config);

/* A GPU, an environment, a problem, a configuration (kernel, op, hash, text) or a trial from the columns from
 * `at` on. */
tt_status tt__checked_gpu(sqlite3_stmt *stmt, int at, tt__gpu *out);
tt_status tt__checked_env(sqlite3_stmt *stmt, int at, tt__env *out);
tt_status tt__checked_problem(sqlite3_stmt *stmt, int at, tt__problem *out);

typedef struct tt__checked_text {
    char kernel[TT__NAME_MAX], op[TT__NAME_MAX], hash[TT__HASH_SIZE], config[TT__CONFIG_MAX];
} tt__checked_text;
tt_status tt__checked_config(sqlite3_stmt *stmt, int at, tt__checked_text *out);

/* The figures of a winner, from time_us to unix_ms. */
tt_status tt__checked_winner(sqlite3_stmt *stmt, int at, tt__winner *out);

#endif
