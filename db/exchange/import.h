/*
 * A recording in memory, and the state while a file is read.
 */
#ifndef TT_DB_EXCHANGE_IMPORT_H
#define TT_DB_EXCHANGE_IMPORT_H

#include "base/read_file.h"
#include "db/conn.h"
#include "db/exchange/recording.h"
#include "db/field.h"

typedef struct tt__recorded_kernel {
    char kernel[TT__NAME_MAX];
    char hash[TT__HASH_SIZE];
} tt__recorded_kernel;

struct tt__recording {
    tt__store *store; /* ":memory:", with one run */
    tt__gpu gpu;
    tt__env env;
    size_t n_kernels;
    tt__recorded_kernel *kernels;
};

/* A file that is being read. */
typedef struct tt__import {
    tt__recording *r;
    const tt__foreign *foreign; /* NULL once the file is known to be ours */
    sqlite3 *db;
    int format;              /* metadata.format */
    const char *ms_per_unit; /* for files of other tuners, as SQL */
    const char *rows;        /* the name of the results there */
    const char *path;
    tt__str text;            /* the whole file */
    int64_t run_id, date_ms; /* date_ms 0: unknown */
    size_t n_problems;
    struct {
        int64_t id;
        char op[TT__NAME_MAX];
    } * problems;
    sqlite3_stmt *asked; /* the last tt__import_ask */
    sqlite3_stmt *result, *config, *runtimes, *measurements;
    char place[64]; /* the place that is being read: "results[17]" */
} tt__import;

typedef struct tt__member {
    int64_t index;          /* index in an array */
    const char *key, *type; /* key is NULL in an array */
    const char *json;       /* the value: JSON of an object or array, otherwise text */
    int len;
    double number;
} tt__member;
typedef tt_status (*tt__member_fn)(tt__import *m, void *user, const tt__member *v);

/* Reads m->text into m->r and frees the text. The store of m->r is open and empty. */
tt_status tt__import_read(tt__import *m);

/* TT_E_INVALID (or TT_E_NO_MEMORY) with the file's path and SQLite's message. */
tt_status tt__import_sql_failed(tt__import *m);
tt_status tt__import_prepare(tt__import *m, sqlite3_stmt **stmt, const char *sql);
/* The text in a query's first row and column; *text is NULL for NULL. Its ?1 is the file. Valid until the
 * next call. */
tt_status tt__import_ask(tt__import *m, const char *sql, const char **text);
/* Reads a member of metadata.problems. TT_E_INVALID: the caller adds the place. */
tt_status tt__import_problem(tt__import *m, const tt__member *v, tt__problem *out);
/* TT_E_INVALID: the text is not valid JSON. Adds the end that a cache file lacks. */
tt_status tt__import_check_json(tt__import *m);
/* Unpacks text that gzip has compressed. TT_E_INVALID: it is damaged, or unpacks to too much. */
tt_status tt__import_unpack(tt__import *m);
/* Finds out which tuner wrote the file. If it is ours, m->foreign becomes NULL. A cache file becomes T4. */
tt_status tt__import_tell(tt__import *m);
/* Reads the GPU from a file of another tuner. */
tt_status tt__import_foreign_gpu(tt__import *m);
/* Calls `fn` for every row (key, type, value) of a statement. Its ?1 is the text `json`. */
tt_status tt__import_walk_text(tt__import *m, sqlite3_stmt *stmt, const char *json, int len, tt__member_fn fn,
                               void *user);
/* Calls `fn` for every member of an array or object of the file. TT_E_INVALID: it is not there. */
tt_status tt__import_walk_file(tt__import *m, const char *where, const char *type, tt__member_fn fn,
                               void *user);

#endif
