/*
 * Reads kernel files: their annotations, and, if they are not the library's own, all checks.
 */
#ifndef TT_KERNEL_LOAD_PARSE_H
#define TT_KERNEL_LOAD_PARSE_H

#include "kernel/model/template.h"

/* Parses the text of a template; `path` is for messages. It checks that every expression compiles and uses
 * known names only, and that the default configuration is legal for some ordinary problem on some ordinary
 * GPU.
 * TT_E_TEMPLATE: "path:line:column: what was found, what was expected". */
tt_status tt__template_parse(tt__template **out, const char *path, const char *source);
/* The same for a text that may include headers, which are looked up beside `path`. */
tt_status tt__template_parse_at(tt__template **out, const char *path, const char *source);
/* The same for a file. TT_E_IO: it cannot be read. */
tt_status tt__template_load(tt__template **out, const char *path);
/* Does the kernel in `path` read this file: as itself, a header, or data? If it cannot be read, it does not.
 */
bool tt__template_reads(const char *path, const char *file);
/* Reads only the annotations. tt__template_take_default comes next. The hash is that of a built-in source;
 * NULL for others. */
tt_status tt__template_new(tt__template **out, const char *path, const char *source, const char *hash);
tt_status tt__template_take_default(tt__template *t);

/* Makes a parsed file with an operation of its own compete in that of another, under another name. `of` must
 * outlive it. TT_E_INVALID: it declares other variables, buffers or scalars. */
tt_status tt__template_adopt(tt__template *t, const tt__template *of, const char *name);

#endif
