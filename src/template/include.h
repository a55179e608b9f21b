/*
 * Pastes a user's headers into the template, so that it is one text. Its hash, which identifies results, then
 * changes with every header, and NVRTC opens no file.
 */
#ifndef TT_TEMPLATE_INCLUDE_H
#define TT_TEMPLATE_INCLUDE_H

#include "base/str.h"

enum {
    TT__INCLUDE_BYTES_MAX = 4 << 20, /* of the text including all headers */
    TT__INCLUDE_DEPTH_MAX = 32,
};

/* Appends the text and replaces each `#include "FILE"` outside comments, recursively. FILE is looked up
 * beside the file that includes it. A missing one becomes `#include <FILE>`, which NVRTC looks up among its
 * own. `#line` keeps line numbers right, with names that do not depend on the folder. A header with `#pragma
 * once` is pasted once. A header that is being pasted is not pasted into itself.
 *
 * `path` is the text's own path, and that file need not exist.
 * TT_E_TEMPLATE ("path:line:column: ..."): a file is a folder or has a NUL byte, a limit is exceeded, or a
 * macro names the file of an `#include`.
 * TT_E_IO: a file cannot be read. */
tt_status tt__include_expand(tt__str *out, const char *path, const char *text);

#endif
