/* The table of commands. */
#include <string.h>

#include "base/suggest.h"
#include "tuner/cli/pages.h"

static const tt__cli_command *const commands[] = {
    &tt__cmd_tune,   &tt__cmd_best,   &tt__cmd_list,   &tt__cmd_show,  &tt__cmd_explain, &tt__cmd_study,
    &tt__cmd_report, &tt__cmd_doctor, &tt__cmd_new,    &tt__cmd_check, &tt__cmd_export,  &tt__cmd_import,
    &tt__cmd_lock,   &tt__cmd_merge,  &tt__cmd_finals, &tt__cmd_prune, &tt__cmd_vacuum,  &tt__cmd_import_t1,
    &tt__cmd_judge,
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

const tt__cli_commands tt__cli_all = {commands, N_COMMANDS};

const tt__cli_command *tt__cli_find(const char *word) {
    tt__suggest near = tt__suggest_for(word, strlen(word));
    for (size_t i = 1; i < N_COMMANDS; i++) {
        if (strcmp(word, commands[i]->name) == 0)
            return commands[i];
        tt__suggest_try(&near, commands[i]->name);
    }
    tt__suggest_try(&near, "help");
    if (*word && strspn(word, "0123456789,") == strlen(word))
        tt__fail(TT_E_INVALID, "unexpected \"%s\"; sizes are given as --sizes %s", word, word);
    else
        tt__fail(TT_E_INVALID, "unknown command \"%s\"%s", word,
                 near.best ? tt__suggest_text(&near) : "; \"tune --help\" lists them");
    return NULL;
}
