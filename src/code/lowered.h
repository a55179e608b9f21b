/*
 * The names that a compiler gave to kernels which are not extern "C", such as instances of templates. NVRTC
 * tells them only while the program is there, so they are appended to the cubin. The driver knows the cubin's
 * length and does not read them.
 */
#ifndef TT_CODE_LOWERED_H
#define TT_CODE_LOWERED_H

#include "base/str.h"

/* Appends a list of n pairs: the name in the source ("reduce<float, 256>"), and that in the code. */
tt_status tt__lowered_add(tt__str *cubin, const char *(*pairs)[2], size_t n);

/* The kernel's name in the code: that of the appended list, or the same. Zeros after the list do not matter.
 * The bytes may be anything. Borrowed from them or from `name`. */
const char *tt__lowered_name(const void *cubin, size_t n, const char *name);

/* Is it a plain name, which an extern "C" kernel has? */
bool tt__lowered_is_plain(const char *name);

#endif
