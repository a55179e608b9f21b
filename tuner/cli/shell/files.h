/*
 * Files that come in the program, embedded by scripts/embed.py: those that `tune new` and `tune export`
 * write, and the style sheet of `tune report`.
 */
#ifndef TT_TUNER_CLI_SHELL_FILES_H
#define TT_TUNER_CLI_SHELL_FILES_H

#include <stddef.h>

#include "kernel/model/template.h"

enum {
    TT__FILE_EXPORT_ATTRIBUTES,
    TT__FILE_EXPORT_HEADER,
    TT__FILE_EXPORT_RUNTIME,
    TT__FILE_EXPORT_TYPES,
    TT__FILE_NEW_KERNEL,
    TT__FILE_NEW_TRANSPOSE,
    TT__FILE_REPORT_CSS
};

extern const tt__builtin tt__cli_files[];
extern const size_t tt__cli_n_files;

#endif
