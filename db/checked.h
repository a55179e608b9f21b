/*
 * What comes from a file that others may have written: every value is checked for type, range and sense
 * before anything is made of it. TT_E_INVALID says what is wrong; put the place in front.
 */
#ifndef TT_DB_CHECKED_H
#define TT_DB_CHECKED_H

#include "db/conn.h"
#include "db/field.h"

/* Names are words, each once; numbers are 1 to 2^44; types are known. What the variables mean is not looked
 * at. */
tt_status tt__check_problem(const tt__problem *p);
/* A kernel's name: an identifier. */
tt_status tt__check_kernel(const char *kernel);
/* "TILE_DIM=32 MODE=fast": names and words, single blanks between them. "" is a template
 * without parameters. */
tt_status tt__check_config(const char *config);

/* A GPU, an environment, a problem (its values are read with one more statement) or a configuration (kernel,
 * op, hash, text) from the columns from `at` on. */
tt_status tt__checked_gpu(sqlite3_stmt *stmt, int at, tt__gpu *out);
tt_status tt__checked_env(sqlite3_stmt *stmt, int at, tt__env *out);
tt_status tt__checked_problem(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out);

typedef struct tt__checked_text {
    char kernel[TT__NAME_MAX], op[TT__NAME_MAX], hash[TT__HASH_SIZE], config[TT__CONFIG_MAX];
} tt__checked_text;
tt_status tt__checked_config(sqlite3_stmt *stmt, int at, tt__checked_text *out);

/* The figures of a winner, from time_us to unix_ms. */
tt_status tt__checked_winner(sqlite3_stmt *stmt, int at, tt__winner *out);

#endif
