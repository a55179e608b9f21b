/*
 * The table of commands. Manual pages, shell completions and --help are made from the same tables, so they
 * agree.
 */
#ifndef TT_TUNER_CLI_PAGES_H
#define TT_TUNER_CLI_PAGES_H

#include <stddef.h>

#include "tuner/cli/shell/cli.h"

/* The commands, `tune` itself first. */
typedef struct tt__cli_commands {
    const tt__cli_command *const *items;
    size_t n;
} tt__cli_commands;
extern const tt__cli_commands tt__cli_all;

/* What the commands from the ith on have in common, if it is the first of a group, else "". */
const char *tt__cli_title(size_t i);

/* The command of that name. NULL: there is none, and the last error suggests the nearest. */
const tt__cli_command *tt__cli_find(const char *word);

/* Prints a command's manual page, for man(1). */
void tt__cli_print_man(const tt__cli_command *c);

/* Prints the completion for "bash", "zsh" or "fish". TT_E_INVALID for any other shell. */
tt_status tt__cli_print_completion(const char *shell);

#endif
