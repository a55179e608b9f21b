/*
 * Which stored winners are valid, for `tune list`, `tune --stale` and `tune prune`. Named templates are
 * compared. Driver and NVRTC are compared if the winner's GPU is in this machine.
 */
#ifndef TT_TUNER_CLI_COMMANDS_JUDGE_H
#define TT_TUNER_CLI_COMMANDS_JUDGE_H

#include "kernel/load/set.h"
#include "kernel/model/template.h"
#include "tuner/cli/shell/cli.h"

enum { TT__HERE_MAX = 16 };

typedef struct tt__judge {
    tt__template_set templates;
    tt__store *store; /* borrowed */
    int n_devices;    /* CUDA devices; 0 without a driver */
    int n_read;       /* those that could be read */
    size_t n_here;    /* and that differ */
    tt__gpu here[TT__HERE_MAX];
    char driver[32], nvrtc[16];
} tt__judge;

/* Close it with tt__judge_close, also after a failure. */
tt_status tt__judge_open(tt__judge *out, tt__store *store, const tt__cli_args *args);
void tt__judge_close(tt__judge *j);

/* Is this GPU in this machine? */
bool tt__judge_here(const tt__judge *j, const tt__gpu *gpu);
/* Writes why the winner is stale, or "" if it is valid. It may be called from a loop over winners. */
void tt__judge_winner(const tt__judge *j, const tt__winner *w, char *why, size_t size);

#endif
