/*
 * Structs of the caller, which may be of an older or a newer header: they start with their size. A smaller
 * one lacks what came later, which is then at its default; the rest of a larger one must be zero.
 */
#ifndef TT_API_SIZED_H
#define TT_API_SIZED_H

#include <stddef.h>

#include "base/status.h"

/* Copies `in` to `full`, a struct of `size` bytes. NULL is all defaults if `optional`. TT_E_INVALID names the
 * type if `in` has no size, or says something that this library does not know. */
tt_status tt__sized_in(void *full, size_t size, const void *in, int optional, const char *type);
/* Is `out` a struct to write to? TT_E_INVALID otherwise. */
tt_status tt__sized_check(const void *out, const char *type);
/* Copies as much of `full` as the caller's struct has room for; what it has beyond becomes zero. */
void tt__sized_out(void *out, const void *full, size_t size);

#define TT__SIZED_IN(full, in, optional, type) tt__sized_in(full, sizeof *(full), in, optional, #type)

#endif
