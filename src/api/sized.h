/*
 * Structs of the caller, which start with their size and may be of an older or newer header. Fields that a
 * smaller struct lacks get their defaults. Fields that this library does not know must be zero.
 */
#ifndef TT_API_SIZED_H
#define TT_API_SIZED_H

#include <stddef.h>

#include "base/status.h"

/* Copies `in` to `full`, a struct of `size` bytes. If `optional`, NULL means all defaults. TT_E_INVALID names
 * the type: `in` has no size or one that ends within a word, or sets a field that this library does not know.
 */
tt_status tt__sized_in(void *full, size_t size, const void *in, int optional, const char *type);
/* TT_E_INVALID: `out` is NULL, or has no size or one that ends within a word. */
tt_status tt__sized_check(const void *out, const char *type);
/* Copies what fits into the caller's struct, and clears the rest of that struct. */
void tt__sized_out(void *out, const void *full, size_t size);

#define TT__SIZED_IN(full, in, optional, type) tt__sized_in(full, sizeof *(full), in, optional, #type)

#endif
