/*
 * Pastes a user's headers into the template, so that it is one text. Its hash, which identifies results, then
 * changes with every header, and NVRTC opens no file.
 */
#ifndef TT_KERNEL_ANNOTATION_INCLUDE_H
#define TT_KERNEL_ANNOTATION_INCLUDE_H

#include <stdbool.h>

#include "base/str.h"

enum {
    TT__INCLUDE_BYTES_MAX = 4 << 20, /* of the text including all headers */
    TT__INCLUDE_DEPTH_MAX = 32,
};

/* Appends the text with every `#include "FILE"` outside comments replaced, recursively. FILE is looked up
 * beside the file that includes it, then in the folders that lines `//@ include FOLDER` of the text name;
 * <FILE> only in those. A header that is not found becomes or stays `#include <FILE>`. NVRTC looks it up
 * among its own and CUDA's. Lines keep their numbers for the compiler (`#line`, with names that do not depend
 * on where the files lie). A header with `#pragma once` comes in once. One that is being included does not
 * come in again.
 *
 * `path` is that of the text, and need not exist.
 *
 * TT_E_TEMPLATE ("path:line:column: ..."): a file is a folder or has a NUL byte, a limit is exceeded, or an
 * `#include` names its file by a macro. TT_E_IO: a file cannot be read. */
tt_status tt__include_expand(tt__str *out, const char *path, const char *text);

/* Does `file` come in where this text is expanded? Headers behind one that cannot be read do not count. */
bool tt__include_has(const char *path, const char *text, const char *file);

/* Appends a line for each folder of an `include` line that is not there. */
tt_status tt__include_missing(tt__str *out, const char *path, const char *text);

/* Appends a `#line`: what comes next is this line of the file. */
void tt__line_directive(tt__str *out, int line, const char *file);

#endif
