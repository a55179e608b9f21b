/*
 * --shard K/N: the part of a command line's problems that one job of a cluster tunes.
 */
#ifndef TT_TUNER_CLI_COMMANDS_SHARD_H
#define TT_TUNER_CLI_COMMANDS_SHARD_H

#include "tuner/cli/shell/cli.h"
#include "tuner/run/tune.h"

/* "3/16", counted from 1, or "auto": as the scheduler's environment says. TT_E_INVALID names what is wrong.
 */
tt_status tt__cli_set_shard(tt__cli_args *args, const char *value);

tt_status tt__cli_set_shard_by(tt__cli_args *args, const char *value);

/* Moves the shard's problems to the front, or says which part of their spaces it has. Returns the number of
 * problems, which may be 0. Without --shard it is `n`. */
size_t tt__cli_shard_take(const tt__cli_args *args, tt_problem *problems, size_t n, tt__tune_call *call);

#endif
