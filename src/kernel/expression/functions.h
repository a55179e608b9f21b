/*
 * The functions of expressions that SQLite does not have.
 */
#ifndef TT_KERNEL_EXPRESSION_FUNCTIONS_H
#define TT_KERNEL_EXPRESSION_FUNCTIONS_H

#include "kernel/expression/expr.h"

struct sqlite3;

/* Adds them to a database. `facts` is read when they are called, and must live as long. Returns SQLite's
 * code. */
int tt__functions_add(struct sqlite3 *db, const tt__facts *facts);

#endif
