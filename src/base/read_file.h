/*
 * Reads files of others, whole or in part, without ever waiting. Only regular files are read: a device has no
 * end, and a pipe may have no writer.
 */
#ifndef TT_BASE_READ_FILE_H
#define TT_BASE_READ_FILE_H

#include "base/str.h"

/* The longest text that SQLite takes. */
#define TT__FILE_BYTES_MAX 1000000000

/* Reads a file of at most `most` bytes into a new string, NUL-terminated; free it with tt__str_free. TT_E_IO
 * says the path and the reason: not a regular file, too long, or longer than the system reports (as in
 * /proc). */
tt_status tt__read_file_max(tt__str *out, const char *path, size_t most);
/* The same for at most TT__FILE_BYTES_MAX. */
tt_status tt__read_file(tt__str *out, const char *path);

/* tt__read_file_max of a text. TT_E_TEMPLATE: it has a NUL. */
tt_status tt__read_text_max(tt__str *out, const char *path, size_t most);
/* Opens one to read it piece by piece; *size is what the system reports. */
tt_status tt__read_open(const char *path, size_t most, int *fd, size_t *size);
/* Reads on, up to `size` bytes; *n is less only at the end. */
tt_status tt__read_on(int fd, const char *path, void *out, size_t size, size_t *n);
/* TT_E_IO: the file goes on behind the bytes that it is said to have. */
tt_status tt__read_end(int fd, const char *path, size_t size);

/* Reads the first `size` bytes, or the whole file if it is shorter. *n is the number of bytes. TT_E_IO as
 * above. */
tt_status tt__read_start(const char *path, void *out, size_t size, size_t *n);

/* Is the file an SQLite database, whatever its name? TT_E_IO as above. */
tt_status tt__is_database(const char *path, bool *yes);

/* Are both there, and one file? */
bool tt__same_file(const char *a, const char *b);

#endif
