/*
 * A file in memory for SQLite: a VFS that returns the bytes it was last given.
 */
#ifndef TT_TESTS_FUZZ_MEMORY_H
#define TT_TESTS_FUZZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of that file, which then has these bytes, borrowed until the next call. A connection that has it
 * open sees a file that another process has changed. */
const char *fuzz_memory(const uint8_t *data, size_t size);

/* The parts of the file that were read while its layout was noted. */
typedef struct fuzz_layout {
    size_t n;
    struct {
        size_t at, n;
        uint8_t *bytes;
    } parts[64];
} fuzz_layout;

/* Notes what is read from now on; NULL: nothing any more. Free it with fuzz_layout_free. */
void fuzz_memory_note(fuzz_layout *layout);
void fuzz_layout_free(fuzz_layout *layout);
/* Are these bytes the same at the noted places? Bytes that each commit changes do not count. False if nothing
 * was noted, or too much, or if the file has a write-ahead log. */
bool fuzz_layout_same(const fuzz_layout *layout, const uint8_t *data, size_t size);

#endif
