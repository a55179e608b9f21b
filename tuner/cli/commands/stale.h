/*
 * Which stored winners are valid, for `tune list`, `tune --stale` and `tune prune`. Named templates are
 * compared. Driver and NVRTC are compared if the winner's GPU is in this machine.
 */
#ifndef TT_TUNER_CLI_COMMANDS_STALE_H
#define TT_TUNER_CLI_COMMANDS_STALE_H

#include "kernel/load/builtin.h"
#include "kernel/model/template.h"
#include "tuner/cli/shell/cli.h"

enum { TT__HERE_MAX = 16 };

typedef struct tt__stale {
    tt__template_set templates;
    tt__store *store; /* borrowed */
    int n_devices;    /* CUDA devices; 0 without a driver */
    int n_read;       /* those that could be read */
    size_t n_here;    /* and that differ */
    tt__gpu here[TT__HERE_MAX];
    char driver[32], nvrtc[16];
} tt__stale;

/* Close it with tt__stale_close, also after a failure. */
tt_status tt__stale_open(tt__stale *out, tt__store *store, const tt__cli_args *args);
void tt__stale_close(tt__stale *s);

/* Is this GPU in this machine? */
bool tt__stale_here(const tt__stale *s, const tt__gpu *gpu);
/* Writes why the winner is stale, or "" if it is valid. It may be called from a loop over winners. */
void tt__stale_why(const tt__stale *s, const tt__winner *w, char *why, size_t size);

#endif
