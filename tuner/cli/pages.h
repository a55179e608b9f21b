/* The table of commands, and manual pages and shell completions, made of the same tables as --help: they
 * cannot say anything else. */
#ifndef TT_CLI_PAGES_H
#define TT_CLI_PAGES_H

#include <stddef.h>

#include "tuner/cli/cli.h"

/* The commands, `tune` itself first. */
typedef struct tt__cli_commands {
    const tt__cli_command *const *items;
    size_t n;
} tt__cli_commands;
extern const tt__cli_commands tt__cli_all;

/* The command of that name; NULL and an error that suggests the nearest. */
const tt__cli_command *tt__cli_find(const char *word);

/* The manual page of one of them, for man(1), on standard output. */
void tt__cli_print_man(const tt__cli_command *c, const tt__cli_commands *all);

/* The completion for "bash", "zsh" or "fish", on standard output. TT_E_INVALID for any other shell. */
tt_status tt__cli_print_completion(const char *shell, const tt__cli_commands *all);

#endif
