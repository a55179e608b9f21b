/*
 * The text that the compiler gets for a file: what an option adds, and what takes the place of something in
 * the file.
 */
#ifndef TT_CODE_SOURCE_H
#define TT_CODE_SOURCE_H

#include <stdbool.h>

#include "base/str.h"

/* Our own option: code that follows the source. */
#define TT__CODE "code:"

/* Another: the file is a user's, and these are the names of its kernels, with blanks between. The code is
 * made for the very architecture (sm_90a), which makes other code of some kernels, and the text is cut. */
#define TT__USERS "users:"

/* What goes of a user's file before it is compiled. Nothing is parsed, so each is right for nearly all code,
 * and the next one is for the rest. */
typedef enum tt__cut {
    /* Functions, variables and types that no kernel reaches by name, and what the next one says. */
    TT__CUT_UNUSED,
    /* `main`, functions that launch kernels or use what only the host has, and instances of templates. Other
     * kernels become functions of the device, so that no code is made for them. */
    TT__CUT_HOST,
    TT__CUT_NOTHING,
} tt__cut;

/* Appends the text for n options (tt__nvrtc_compile), each with its NUL. With TT__USERS it is cut. Includes
 * of libraries for the host go, too, and a macro -DNAME=VALUE takes the place of `#define NAME`, or of the
 * value of one `const int NAME = ...;`, and is then no macro: dropped[i]. Lines keep their numbers. */
tt_status tt__source_make(tt__str *out, bool *dropped, tt__cut cut, const char *source, const char *options,
                          int n);

/* What such a macro takes the place of: the line of the `#define`, or of the constant, in the text or, if
 * *file is not NULL (n characters), in a header that was pasted in. 0: of nothing. */
int tt__source_replaced(const char *source, const char *name, const char **file, size_t *n);

#endif
