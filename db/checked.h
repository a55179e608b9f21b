/*
 * Checks data from files that others may have written, before it is used: every value for its type, range and
 * meaning.
 * TT_E_INVALID says what is wrong. The caller adds the place.
 */
#ifndef TT_DB_CHECKED_H
#define TT_DB_CHECKED_H

#include "db/conn.h"
#include "db/field.h"

/* Names must be words without repetition, numbers 1 to 2^44, types known. The meaning of variables is not
 * checked. */
tt_status tt__check_problem(const tt__problem *p);
/* A kernel's name must be an identifier. */
tt_status tt__check_kernel(const char *kernel);
/* "TILE_DIM=32 MODE=fast": names and words, separated by single blanks. "" is a template without
 * parameters. */
tt_status tt__check_config(const char *config);

/* These read columns from `at` on: a GPU, an environment, a problem (its values need one more statement), or
 * a configuration (kernel, op, hash, text). */
tt_status tt__checked_gpu(sqlite3_stmt *stmt, int at, tt__gpu *out);
tt_status tt__checked_env(sqlite3_stmt *stmt, int at, tt__env *out);
tt_status tt__checked_problem(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out);

typedef struct tt__checked_text {
    char kernel[TT__NAME_MAX], op[TT__NAME_MAX], hash[TT__HASH_SIZE], config[TT__CONFIG_MAX];
} tt__checked_text;
tt_status tt__checked_config(sqlite3_stmt *stmt, int at, tt__checked_text *out);

/* The peaks of a GPU, and the energy of a configuration. */
enum { TT__ENERGY_FIELDS = 5 };
tt_status tt__checked_peaks(sqlite3_stmt *stmt, int at, tt__peaks *out);
tt_status tt__checked_energy(sqlite3_stmt *stmt, int at, tt__energy *out);

/* The figures of a winner, from time_us to unix_ms. */
tt_status tt__checked_winner(sqlite3_stmt *stmt, int at, tt__winner *out);

#endif
