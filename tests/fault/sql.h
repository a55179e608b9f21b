/*
 * Faults for SQLite: memory runs out, statements fail, files cannot be read or written. For programs that
 * link it with alloc_link_args and sql_link_args of tests/meson.build.
 */
#ifndef TT_TESTS_SQL_H
#define TT_TESTS_SQL_H

#include <stdbool.h>

/* To be called before SQLite is used: its allocations count in alloc.h, its files pass through here. */
bool sql_hook(void);

/* Preparing, executing and steps of statements so far, and accesses to files. */
long sql_call_count(void);
long sql_access_count(void);
/* From now on the n-th fails, once; 0: none. Is the one that was to fail still to come? */
int sql_fail_call(long n);
int sql_fail_access(long n);
/* Files that are open. */
long sql_files(void);

#endif
