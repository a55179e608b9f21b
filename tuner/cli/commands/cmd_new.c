/*
 * `tune new`: writes a kernel to start from.
 */
#include <string.h>

#include "tuner/cli/shell/files.h"
#include "tuner/cli/shell/options.h"

static tt_status check(const tt__cli_args *args) {
    return args->n_files == 1
               ? TT_OK
               : tt__fail(TT_E_INVALID, "new writes one file, and %zu are named: \"tune new my_kernel.cu\"",
                          args->n_files);
}

static tt_status fill(tt__str *out, void *user) {
    const tt__cli_args *args = user;
    tt__str_add(out, tt__cli_files[args->transpose ? TT__FILE_NEW_TRANSPOSE : TT__FILE_NEW_KERNEL].source);
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    const char *path = args->files[0];
    tt__str word = {0};
    tt__str_add_word(&word, path);
    tt_status status = tt__str_check(&word);
    if (status == TT_OK)
        status = tt__cli_write(path, "wx", fill, (void *)args);
    if (status == TT_OK && !args->transpose)
        tt__cli_say(stdout,
                    "%s computes y = a * x + y, with every annotation explained. From here:\n"
                    "  tune check %s\n"
                    "  tune --kernel %s --problem n=16777216\n",
                    path, word.text, word.text);
    else if (status == TT_OK)
        tt__cli_say(stdout,
                    "%s is a tiled transpose with every annotation explained. From here:\n"
                    "  tune check %s\n"
                    "  tune --template %s --sizes 4096\n",
                    path, word.text, word.text);
    tt__str_free(&word);
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__FLAG("transpose", transpose, "a template that competes with the built-in transposes"),
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_new = {
    .name = "new",
    .usage = "tune new [--transpose] FILE.cu",
    .summary = "writes a kernel of your own to start from",
    .notes = "The file is correct as it is, and each of its annotations is explained. An existing file is "
             "left alone\n"
             "(exit code 2).\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
