/*
 * Reads problems from rows.
 */
#ifndef TT_DB_PROBLEM_H
#define TT_DB_PROBLEM_H

#include "db/conn.h"

/* Reads a problem from TT__PROBLEM_COLS, and its values with one more statement. TT_E_DB: a row is
 * damaged. */
enum { TT__PROBLEM_COL_COUNT = 6 };
tt_status tt__db_problem_read(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out);

#endif
