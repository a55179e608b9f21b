/*
 * A recording in memory, and the state while a file is read: its parts and members, and what is to be known
 * of other tuners' files.
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
    size_t n_left_out;  /* members of a cache that cannot be read ... */
    char left_out[512]; /* ... and why, of the first */
};

/* The long parts of a file, of which each member is read alone. SQLite needs many times the size of a text
 * that it parses, and would parse all of it for each question. */
typedef enum tt__file_part {
    TT__FILE_RESULTS,
    TT__FILE_CACHE,
    TT__FILE_PROBLEMS,
    TT__FILE_COUNT
} tt__file_part;

/* A file that is being read. */
typedef struct tt__import {
    tt__recording *r;
    const tt__foreign *foreign; /* NULL once the file is known to be ours */
    sqlite3 *db;
    int format;         /* metadata.format */
    double ms_per_unit; /* for files of other tuners */
    bool cache;         /* it is a cache file of Kernel Tuner, with these names of parameters, a JSON array */
    tt__str names;
    const char *path;
    tt__str text; /* the whole file */
    tt__str rest; /* the same with its parts emptied */
    struct {
        size_t begin, end; /* in the text, without the brackets; both 0: it is not there */
    } parts[TT__FILE_COUNT];
    int64_t run_id, date_ms; /* date_ms 0: unknown */
    size_t n_problems;
    struct {
        int64_t id;
        char op[TT__NAME_MAX];
    } * problems;
    sqlite3_stmt *asked;  /* the last tt__import_ask */
    sqlite3_stmt *member; /* is it JSON, and of which type? */
    sqlite3_stmt *entry;  /* converts a member of a cache to T4 */
    sqlite3_stmt *string; /* the text of a string that has escapes */
    tt__str key, value;   /* of the last member */
    tt__str rules;        /* metadata.rules, a JSON array; empty: not there */
    size_t n_members;     /* of the part that was walked last */
    char place[64];       /* the place that is being read: "results[17]" */
} tt__import;

typedef tt_status (*tt__member_fn)(tt__import *m, void *user, const tt__member *v);

/* Notes the last error as the reason why a member of a cache is left out. */
tt_status tt__import_leave_out(tt__import *m);
/* Milliseconds of a unit of time; 0: no such unit. */
double tt__import_unit_ms(const char *unit);

/* TT_E_INVALID (or TT_E_NO_MEMORY) with the file's path and SQLite's message. */
tt_status tt__import_sql_failed(tt__import *m);
tt_status tt__import_prepare(tt__import *m, sqlite3_stmt **stmt, const char *sql);
/* The text in a query's first row and column; *text is NULL for NULL. Its ?1 is the file with its parts
 * emptied. Valid until the next call. */
tt_status tt__import_ask(tt__import *m, const char *sql, const char **text);
/* Parts the text. TT_E_INVALID: it is not valid JSON; members of the parts are checked when they are read.
 * Adds the end that a cache file lacks. */
tt_status tt__import_split(tt__import *m);
/* Unpacks text that gzip has compressed. TT_E_INVALID: it is damaged, or unpacks to too much. */
tt_status tt__import_unpack(tt__import *m);
/* Finds out which tuner wrote the file. If it is ours, m->foreign becomes NULL. */
tt_status tt__import_tell(tt__import *m);
/* Makes a result of T4 of a cache's member; valid until the next call. */
tt_status tt__import_convert(tt__import *m, const tt__member *v, tt__member *out);
/* Reads the GPU from a file of another tuner. */
tt_status tt__import_foreign_gpu(tt__import *m);
/* Calls `fn` for every member of an object or array that is JSON. Key and value are valid until the next
 * member is read, in whatever walk; the text of an object or array stays. */
tt_status tt__import_walk(tt__import *m, const tt__member *of, tt__member_fn fn, void *user);
/* Reads an object's fields. TT_E_INVALID names the field. */
tt_status tt__import_fields(tt__import *m, const tt__member *of, const tt__field *f, size_t n, void *object);
/* Calls `fn` for every member of an object in the rest of the file; "" is the whole. TT_E_INVALID: it is not
 * there. */
tt_status tt__import_walk_rest(tt__import *m, const char *where, tt__member_fn fn, void *user);
/* Calls `fn` for every member of a part. Its keys are not read. TT_E_INVALID: it is not there, or a member is
 * not JSON. */
tt_status tt__import_walk_part(tt__import *m, tt__file_part part, tt__member_fn fn, void *user);
/* "results", "cache" or "metadata.problems". */
extern const char *const tt__import_parts[TT__FILE_COUNT];

#endif
