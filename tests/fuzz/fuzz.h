/* What the fuzz targets share. Each is linked with libFuzzer by scripts/fuzz, and with replay.c, which goes
 * through the corpus once, as a test. */
#ifndef TT_TESTS_FUZZ_H
#define TT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a file, of which there is one at a time. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* Aborts with the last error unless it holds. */
void fuzz_want(bool holds, const char *what);
/* Takes a store over into a new one; what was taken must pass the check of a store. */
void fuzz_merge(tt__store *from);

#endif
