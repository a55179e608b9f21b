/*
 * Files of others, whole or their beginning. Only regular files are read: a device has no end, and a pipe may
 * never have a writer. Nothing here waits.
 */
#ifndef TT_BASE_READ_FILE_H
#define TT_BASE_READ_FILE_H

#include "base/str.h"

/* SQLite takes no longer text. */
#define TT__FILE_BYTES_MAX 1000000000

/* Reads a whole file of at most `most` bytes, NUL-terminated, into a new string (free it). TT_E_IO names the
 * path and why: it is no regular file, is longer, or, as some of /proc, goes on behind the size that it has.
 */
tt_status tt__read_file_max(tt__str *out, const char *path, size_t most);
/* The same of at most TT__FILE_BYTES_MAX. */
tt_status tt__read_file(tt__str *out, const char *path);

/* Reads the first `size` bytes, or all where the file is shorter: *n of them. TT_E_IO as above. */
tt_status tt__read_start(const char *path, void *out, size_t size, size_t *n);

#endif
