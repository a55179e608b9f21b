/*
 * A recording in memory, and the state while a file is read: its parts and members, and what is to be known
 * of other tuners' files. A file is read twice: once to find its parts, and then the parts, member by member.
 * So it may be of any size.
 */
#ifndef TT_DB_EXCHANGE_IMPORT_H
#define TT_DB_EXCHANGE_IMPORT_H

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

/* The long parts of a file, of which only one member at a time is in memory. */
typedef enum tt__file_part {
    TT__FILE_RESULTS,
    TT__FILE_CACHE,
    TT__FILE_PROBLEMS,
    TT__FILE_COUNT
} tt__file_part;

/* JSON that was taken apart in its place: keys and texts are in the text that it came from. */
typedef struct tt__parsed {
    tt__member *items; /* the value, and those inside; NULL: it is not JSON */
    size_t n, cap;
} tt__parsed;

/* Ids of configurations, found by a hash of "kernel operation configuration". */
typedef struct tt__known_configs {
    size_t n, mask;
    struct tt__known_config {
        uint64_t hash;
        size_t name; /* in `names`; 0: free */
        int64_t id;
    } * slots;
    tt__str names, name; /* name: that is looked for */
} tt__known_configs;

/* A file that is being read. */
typedef struct tt__import {
    tt__recording *r;
    const tt__foreign *foreign; /* NULL once the file is known to be ours */
    int format;                 /* metadata.format */
    double ms_per_unit;         /* for files of other tuners */
    bool cache;                 /* it is a cache file of Kernel Tuner */
    const char *path;
    struct tt__unpacking *file;
    struct {
        char *text; /* with a NUL behind it */
        size_t len, cap;
    } window;         /* a piece of the text, which begins at `base` */
    size_t base, end; /* end: of the text, without the comma and blanks behind a cache that is cut */
    bool cut;         /* it is a cache that has no end yet */
    struct {
        size_t begin, end; /* in the text, without the brackets; both 0: it is not there */
    } parts[TT__FILE_COUNT];
    tt__str rest_text;
    tt__parsed rest; /* the file with its parts emptied */
    tt__parsed part; /* the last member of a part */
    tt__file_part walked;
    size_t at; /* where the next one begins in the window */
    bool more; /* there may be one */
    size_t n_members;
    int64_t run_id, date_ms; /* date_ms 0: unknown */
    size_t n_problems;
    struct {
        int64_t id;
        char op[TT__NAME_MAX];
    } * problems;
    tt__known_configs configs;
    char place[64]; /* the place that is being read: "results[17]" */
} tt__import;

/* Notes the last error as the reason why a member of a cache is left out. */
tt_status tt__import_leave_out(tt__import *m);
/* Milliseconds of a unit of time; 0: no such unit. */
double tt__import_unit_ms(const char *unit);

/* Opens m->path, unpacks it if gzip has packed it, and finds its parts. TT_E_INVALID: it is not valid JSON,
 * or damaged; members of the parts are checked when they are read. A cache file may lack its end. */
tt_status tt__import_open(tt__import *m);
void tt__import_close(tt__import *m);
/* Finds out which tuner wrote the file. If it is ours, m->foreign becomes NULL. */
tt_status tt__import_tell(tt__import *m);
/* The hash of the text. Not while a part is read. */
tt_status tt__import_hash(tt__import *m, char out[TT__HASH_SIZE]);
/* Reads the GPU from a file of another tuner. */
tt_status tt__import_foreign_gpu(tt__import *m);
/* An object of the rest. TT_E_INVALID: it is not there. */
tt_status tt__import_object(tt__import *m, const tt__member *in, const char *name, const char *where,
                            const tt__member **out);
/* The id of a configuration in the store, where it is added. */
tt_status tt__import_config(tt__import *m, const char *kernel, const char *op, const tt__str *config,
                            int64_t *id);
/* Begins to read a part. TT_E_INVALID: it is not there. */
tt_status tt__import_begin(tt__import *m, tt__file_part part);
/* The loop over its members, whose keys are not read: `while (tt__import_next(m, &v, &status))`. It ends if
 * *status is not TT_OK, after the last one, and if one is not JSON, unless it can be left out. A member is
 * valid until the next one. */
bool tt__import_next(tt__import *m, const tt__member **out, tt_status *status);

#endif
