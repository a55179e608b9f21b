/*
 * `tune check`: reads everything in the store and says what is wrong with it.
 */
#include "db/check.h"
#include "tuner/cli/cli.h"
#include "tuner/cli/options.h"

static void print(void *user, const char *what) {
    (void)user;
    printf("%s\n", what);
}

static int run(const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__checked c = {0};
    tt_status status = tt__cli_store_open(&store, args);
    if (status == TT_OK)
        status = tt__store_check(store, print, NULL, &c);
    if (status == TT_OK && c.findings)
        status = tt__fail(
            TT_E_DB,
            "%s: %lld things are wrong. The file is left as it is: what is whole in it can be had with "
            "\"tune export --database\", or move it away to start afresh",
            tt__store_path(store), (long long)c.findings);
    else if (status == TT_OK)
        printf("%s is whole: %lld GPUs, %lld winners, %lld trials, %lld cubins\n", tt__store_path(store),
               (long long)c.gpus, (long long)c.winners, (long long)c.trials, (long long)c.cubins);
    tt__store_close(&store);
    fflush(stdout);
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__OPT_DB,
    TT__OPT_HELP,
    TT__OPT_END,
};

const tt__cli_command tt__cmd_check = {
    .name = "check",
    .usage = "tune check [--db PATH]",
    .summary = "is the store whole? Pages, references, values, the hash of every cubin",
    .notes = "Changes nothing. Exit code 0 if nothing is wrong, 4 otherwise.\n",
    .options = options,
    .run = run,
};
