/*
 * A run that measures, shared by all such commands: context and options from the arguments, the bar, and
 * signals. The first interrupt asks the run to stop and keep its results. The second one exits at once.
 */
#ifndef TT_TUNER_CLI_SHELL_RUNNING_H
#define TT_TUNER_CLI_SHELL_RUNNING_H

#include "tuner/cli/shell/cli.h"

typedef tt_status (*tt__running_fn)(void *user, tt_ctx *ctx, const tt_tune_opts *opts);

/* Sets all that up, calls `fn`, cleans up, and returns the status of `fn`. */
tt_status tt__cli_running(const tt__cli_args *args, tt__running_fn fn, void *user);

/* Says what an interrupted run has kept, and whether the same command goes on there. Returns the exit code. */
int tt__cli_interrupted(const tt__cli_args *args, bool goes_on);

#endif
