/*
 * `tune vacuum`: rewrites the store's file without free space.
 */
#include "db/upkeep/prune.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"

static int run(const tt__cli_args *args) {
    tt__store *store = NULL;
    int64_t before = 0, after = 0;
    tt_status status = tt__cli_store_open(&store, args, TT__STORE_UPDATE);
    if (status == TT_OK)
        status = tt__store_vacuum(store, &before, &after);
    if (status == TT_OK)
        tt__cli_say(stdout, "%s: %.2f MB, before %.2f MB\n", tt__store_path(store), (double)after * 1e-6,
                    (double)before * 1e-6);
    tt__store_close(&store);
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_vacuum = {
    .name = "vacuum",
    .usage = "tune vacuum [--db PATH]",
    .summary = "gives the space of pruned rows back",
    .notes = "Meanwhile it needs as much free space as the store has, and other processes wait.\n",
    .options = options,
    .run = run,
};
