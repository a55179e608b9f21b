/*
 * `tune report`: what was tuned, as a page to show, or as data.
 */
#include <unistd.h>

#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/report/report.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

typedef struct writing {
    const tt__cli_args *args;
    tt__report report;
    size_t bytes;
} writing;

static tt_status fill(tt__str *out, void *user) {
    writing *w = user;
    const tt__cli_args *args = w->args;
    tt_status status = (args->json  ? tt__report_json
                        : args->csv ? tt__report_csv
                                    : tt__report_html)(out, &w->report);
    w->bytes = out->written + out->len;
    return status;
}

static int run(const tt__cli_args *args) {
    writing w = {.args = args};
    tt_status status = tt__report_open(&w.report, args);
    if (status == TT_OK)
        status = tt__cli_write(args->output, "wb", fill, &w);
    if (status == TT_OK && args->output)
        tt__cli_say(stderr, "tune: wrote %s, %.0f KB\n", args->output, (double)w.bytes / 1e3);
    tt__report_close(&w.report);
    return tt__cli_fail(status);
}

static tt_status set_recording(tt__cli_args *args, const char *value) {
    TT_TRY(tt__cli_set_device(args, value));
    return args->replay ? TT_OK
                        : tt__fail(TT_E_INVALID,
                                   "\"%s\": a report needs no device; name a recording as replay:FILE, or "
                                   "choose a GPU of the store with --gpu NAME",
                                   value);
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__sharing_check_output(args, args->output));
    if (args->json && args->csv)
        return tt__fail(TT_E_INVALID, "--json and --csv: one of them at a time");
    if (args->db && (args->replay || args->n_files))
        return tt__fail(TT_E_INVALID, "--db and other files: name all of them as \"tune report A.db B.db\"");
    if (!args->output && !args->json && !args->csv && isatty(STDOUT_FILENO))
        return tt__fail(TT_E_INVALID,
                        "a page of HTML is not for a terminal: give --output FILE.html, --json or --csv");
    if (args->n_texts && !args->op && !args->kernel_file)
        return tt__fail(TT_E_INVALID, "--problem %s: of what? give --op or --kernel, too", args->texts[0]);
    return args->n_problems + args->n_texts || args->op || args->kernel_file ? tt__cli_check_problems(args)
                                                                             : TT_OK;
}

static const tt__cli_option options[] = {
    TT__TEXT("output", "FILE", output, "where to; default standard output"),
    TT__SET("device", "replay:FILE", set_recording, "a recording; it may also be named as a file"),
    TT__OPT_GPU("only this GPU; a part of its name is enough"),
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "only these square matrices"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "only these matrices of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__OPTS_OPERATION,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__FLAG("csv", csv, "print a line for each number instead of a page"),
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_report = {
    .name = "report",
    .usage = "tune report [FILE...] [--output FILE.html] [--gpu NAME] [options]",
    .summary = "a page that shows winners, searches and parameters",
    .notes =
        "The page needs no network and no script. FILE is a store or a recording; the default is the store\n"
        "of --db. With several, the page also compares the others with the first, and says which changes "
        "are\n"
        "beyond the noise.\n"
        "\n"
        "Examples:\n"
        "  tune report --output report.html\n"
        "  tune report --device replay:recordings/h200.json --output report.html\n"
        "  tune report before.db after.db --output changes.html\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
