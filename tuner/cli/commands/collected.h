/*
 * The problems of a file that programs have collected (db/collected.h), for `tune --collected` and `tune list
 * --collected`: which of them can be tuned, and which have a winner by now.
 */
#ifndef TT_TUNER_CLI_COMMANDS_COLLECTED_H
#define TT_TUNER_CLI_COMMANDS_COLLECTED_H

#include "db/collected.h"
#include "tuner/cli/commands/stale.h"

typedef struct tt__asked {
    const tt__collected *is;
    const tt__template *t; /* a template of its operation; NULL: see `why` */
    tt__problem problem;
    bool solved;      /* its GPU has a valid winner in the store */
    bool ruled;       /* a rule answers it, nearly as fast as a winner would */
    tt_choice answer; /* what is launched without a winner; its kernel is "" if that is not known */
    char why[512];    /* why it cannot be tuned; "": it can */
} tt__asked;

typedef struct tt__asked_list {
    tt__collection file;
    tt__stale judge;
    tt__store *store;     /* NULL: there is none */
    tt_ctx *ctx;          /* of that store; asked about rules */
    tt__template_set own; /* kernels of users */
    size_t n, n_left_out; /* after tt__asked_choose: of this GPU, those that cannot be tuned */
    tt__asked *items;     /* the one that cost most first */
} tt__asked_list;

/* Reads args->collected, and names lines that cannot be read on standard error. `new_store`: the store of
 * --db need not be there yet. Close it with tt__asked_close, also after a failure. */
tt_status tt__asked_open(tt__asked_list *out, const tt__cli_args *args, bool new_store);
void tt__asked_close(tt__asked_list *l);

/* Keeps those that are worth tuning on this GPU, and names the others on standard error. Those without a
 * winner, or a rule that is as good, are worth it in the order of their cost, until the rest took less than a
 * hundredth of what all took that can be tuned. */
void tt__asked_choose(tt__asked_list *l, const tt__gpu *gpu, const tt__cli_args *args);

/* What each is worth of a budget (tt__tune_call.worth). */
void tt__asked_worth(const tt__asked_list *l, double *worth);

/* `tune list --collected`. Returns the exit code. */
int tt__asked_print(const tt__cli_args *args);

#endif
