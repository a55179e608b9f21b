/*
 * `tune merge`: merges stores into one.
 */
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"

static int run(const tt__cli_args *args) {
    const char *into = args->files[0];
    tt__store *to = NULL;
    tt__merged report = {0};
    bool is_new;
    tt_status status;
    TT_GOTO(tt__sharing_open(&to, into, &is_new));
    TT_GOTO(tt__sharing_take(to, args->files + 1, args->n_files - 1, true, NULL, &report));
    tt__sharing_print(&report, into);
    is_new = false; /* it stays */
out:
    tt__sharing_discard(&to, is_new);
    return tt__cli_fail(status);
}

static tt_status check(const tt__cli_args *args) {
    return args->n_files >= 2
               ? TT_OK
               : tt__fail(TT_E_INVALID, "which files? name the one to write and then those to read, as "
                                        "in \"tune merge all.db a.db b.db\"");
}

static const tt__cli_option options[] = {
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_merge = {
    .name = "merge",
    .usage = "tune merge OUT.db A.db [B.db...]",
    .summary = "puts several stores, or recordings, into one",
    .notes =
        "OUT.db is made if needed, and keeps what it has. If two files have a winner for a problem, these\n"
        "decide in order: measured before imported before replayed, the newer measuring method, the newer "
        "driver\n"
        "and NVRTC, more configurations tried, the newer winner. The order of files does not matter. If one "
        "file\n"
        "is bad, nothing is changed. Cubins are taken only from stores that belong to you or root and that "
        "others\n"
        "cannot write. Winners of any other file count as imported.\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
