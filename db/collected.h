/*
 * Files of collected problems: what programs launched without an exact winner, how often, and what a launch
 * takes by estimate. Many processes add to one file.
 *
 * A file is JSON Lines. The first line has the version, and each other line a problem, the one that cost most
 * first. A line that cannot be read costs only itself, and stays in the file.
 */
#ifndef TT_DB_COLLECTED_H
#define TT_DB_COLLECTED_H

#include "base/hash.h"
#include "base/model.h"
#include "base/str.h"

enum { TT__COLLECTED_VERSION = 1, TT__COLLECTED_MAX = 10000 }; /* problems of a file: those that cost most */

typedef struct tt__collected {
    char gpu[TT__GPU_TEXT_MAX]; /* as tt__gpu_text writes it */
    char op[TT__NAME_MAX];
    char text[TT__HASH_SIZE]; /* of the user's file; "" for a built-in operation, ... */
    char *kernel;             /* ... which has no path here, but NULL. Owned */
    char *values;             /* "rows=4096,cols=1024,warm". Owned */
    uint64_t launches;
    double time_us; /* a launch, by estimate */
} tt__collected;

void tt__collected_free(tt__collected *c);
/* An order; 0: it is the same problem on the same GPU. */
int tt__collected_compare(const tt__collected *a, const tt__collected *b);
/* What all launches took, by estimate. */
static inline double tt__collected_us(const tt__collected *c) {
    return (double)c->launches * c->time_us;
}

typedef struct tt__collection {
    int version; /* of the file; 0: its first line is damaged */
    size_t n;
    tt__collected *items; /* each problem once, the one that cost most first */
    size_t n_bad;         /* lines that cannot be read ... */
    tt__str bad;          /* ... with their newlines */
} tt__collection;

/* Called for each line that cannot be read. */
typedef void (*tt__collected_bad_fn)(void *user, const char *why);

/* Reads what can be read, also of another version. `bad` may be NULL. Free it with tt__collection_free, also
 * after a failure. TT_E_IO: the file cannot be read. TT_E_INVALID: it is something else. */
tt_status tt__collection_read(tt__collection *out, const char *path, tt__collected_bad_fn bad, void *user);
void tt__collection_free(tt__collection *c);

/* Adds to the file, and creates it. With no items it only checks that this is possible. Waits so many seconds
 * for other processes.
 *
 * TT_E_INVALID: the file is something else, or of another version. TT_E_IO: it cannot be written, or others
 * had it all the while. */
tt_status tt__collection_add(const char *path, const tt__collected *items, size_t n, double wait_s);

#endif
