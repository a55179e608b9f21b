/*
 * `tune check`: checks the store, or a kernel template.
 */
#include "db/upkeep/check.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

static void print(void *user, const char *what) {
    (void)user;
    printf("%s\n", what);
}

static int check_store(const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__checked c = {0};
    tt_status status = tt__cli_store_open(&store, args, TT__STORE_READ_ONLY);
    if (status == TT_OK)
        status = tt__store_check(store, print, NULL, &c);
    if (status == TT_OK && c.findings)
        status =
            tt__fail(TT_E_DB,
                     "%s: %lld thing%s wrong. The file is left as it is: what is whole in it can be had with "
                     "\"tune export --database\", or move it away to start afresh",
                     tt__store_path(store), (long long)c.findings, c.findings == 1 ? " is" : "s are");
    else if (status == TT_OK)
        tt__cli_say(stdout, "%s is whole: %s, %s, %s, %s\n", tt__store_path(store),
                    tt__cli_count(c.gpus, "GPU").text, tt__cli_count(c.winners, "winner").text,
                    tt__cli_count(c.trials, "trial").text, tt__cli_count(c.cubins, "cubin").text);
    tt__store_close(&store);
    fflush(stdout);
    return tt__cli_fail(status);
}

static bool about_a_template(const tt__cli_args *a) {
    return a->n_problems || tt__cli_has_layout(a) || a->warm || a->gpu || a->json || a->n_texts ||
           a->compile_timeout_s > 0;
}

static tt_status check(const tt__cli_args *args) {
    if (args->n_files > 1)
        return tt__fail(TT_E_INVALID, "%zu files, but check reads one: check each", args->n_files);
    if (args->n_files == 0 && about_a_template(args))
        return tt__fail(TT_E_INVALID, "which template? These options go with its file, as in \"tune check "
                                      "my_kernel.cu --size 4096\"; of the store it is --db alone");
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    return args->n_files ? tt__cli_check_template(args, args->files[0]) : check_store(args);
}

static const tt__cli_option options[] = {
    TT__SET("size", "N", tt__cli_set_sizes, "count for a square matrix; default 4096"),
    TT__SET("shape", "RxC", tt__cli_set_shapes, "count for a matrix of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__OPT_PROBLEM,
    TT__OPT_GPU(
        "count for a GPU as in \"tune list\", or a part of its name;\ndefault the first device here, else a "
        "typical one"),
    TT__OPT_COMPILE_TIMEOUT,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_check = {
    .name = "check",
    .usage = "tune check FILE.cu [options]\n       tune check [--db PATH]",
    .summary = "checks a kernel file, or the store",
    .notes =
        "With a FILE it shows the annotations, the number of configurations for one problem, how many of "
        "them\n"
        "each `where` and each limit of the device removes (alone: that nothing else removes), and what a\n"
        "configuration needs when compiled. Needs no GPU. Exit code 2 if the file is wrong.\n"
        "Without a FILE it reads the whole store --db, down to the hash of every cubin. Exit code 4 if "
        "anything is\n"
        "wrong. Nothing is changed.\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
