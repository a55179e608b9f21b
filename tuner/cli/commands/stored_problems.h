/*
 * The problems that a store names itself: those of stale winners, or those that several runs measured.
 */
#ifndef TT_TUNER_CLI_COMMANDS_STORED_PROBLEMS_H
#define TT_TUNER_CLI_COMMANDS_STORED_PROBLEMS_H

#include "tuner/cli/shell/cli.h"

typedef struct tt__stored_problems {
    tt__gpu gpu; /* of the device */
    size_t n;
    tt_problem *items; /* owned, with their texts */
} tt__stored_problems;

/* With args->finals the problems that several runs measured on such a GPU, else those with a stale winner.
 * Says on standard error how many it cannot name. Free *out, also after a failure. */
tt_status tt__stored_problems_find(tt__stored_problems *out, const tt__cli_args *args);
void tt__stored_problems_free(tt__stored_problems *p);

#endif
