/*
 * The files that `tune new` writes, embedded by scripts/embed.py.
 */
#ifndef TT_CLI_NEW_H
#define TT_CLI_NEW_H

#include <stddef.h>

#include "template/template.h"

/* new_kernel.cu, new_transpose.cu */
extern const tt__builtin tt__cli_new[];
extern const size_t tt__cli_n_new;

#endif
