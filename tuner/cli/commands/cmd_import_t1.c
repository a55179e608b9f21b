/*
 * `tune import-t1`: turns a tuning problem in T1 format into a kernel file. A Python script does it, because
 * T1 files contain Python expressions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"
#include "tuner/cli/shell/options.h"

/* Replaces the process by the script. Neither the environment nor the current folder affects the script's
 * imports. */
static tt_status become(const char *script, const char *file, const char *output) {
    const char *const argv[] = {"python3", "-I", "-S", "-B", script, file, output, NULL};
    fflush(NULL);
    execvp(argv[0], (char *const *)argv);
    return errno == ENOENT
               ? tt__fail(TT_E_UNSUPPORTED,
                          "import-t1 needs Python 3.9 or newer, and there is no python3: install it, on "
                          "Debian and Ubuntu by \"apt-get install python3\"")
               : tt__fail(TT_E_UNSUPPORTED, "cannot run python3: %s", strerror(errno));
}

static int run(const tt__cli_args *args) {
    tt__str script = {0};
    if (args->n_files != 1)
        return tt__cli_fail(tt__fail(
            TT_E_INVALID, "import-t1 reads one file, and %zu are named: \"tune import-t1 problem.json\"",
            args->n_files));
    tt_status status = tt__script_path(&script, "import_t1.py");
    if (status == TT_OK)
        status = become(tt__str_text(&script), args->files[0], args->output);
    tt__str_free(&script);
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__TEXT("output", "FILE", output, "where to, a new file; default standard output"),
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_import_t1 = {
    .name = "import-t1",
    .usage = "tune import-t1 FILE.json [--output FILE.cu]",
    .summary = "makes a kernel file from a tuning problem in T1 (JSON)",
    .notes = "T1 is the format of Kernel Tuner and KTT. Parameters, conditions, sizes and arguments become\n"
             "annotations, before the text of the kernel (KernelFile, in the folder of the JSON file). A "
             "condition\n"
             "that annotations cannot express is refused. Standard error and comments in the file list what "
             "else is\n"
             "missing: read them before tuning, and run \"tune check FILE.cu\". Needs Python 3.9.\n",
    .options = options,
    .takes_files = true,
    .run = run,
};
