/*
 * The style sheet of `tune report`, embedded by scripts/embed.py.
 */
#ifndef TT_CLI_REPORT_CSS_H
#define TT_CLI_REPORT_CSS_H

#include <stddef.h>

typedef struct tt__style {
    const char *name, *text;
} tt__style;

extern const tt__style tt__report_css[];
extern const size_t tt__n_report_css;

#endif
