/*
 * `tune import-t1`: a tuning problem of another tuner, in the field's T1 format, as a kernel file of ours.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/cli/options.h"
#include "tuner/t1/t1.h"

enum { SOURCE_MAX = 1 << 20 };

/* The text of KernelFile, which lies in the folder of the JSON file or below, wherever links lead. */
static tt_status read_kernel(tt__str *out, const char *path, const char *name) {
    tt__str file = {0};
    const char *slash = strrchr(path, '/');
    char *folder = NULL, *real = NULL;
    tt_status status;
    if (*name == '/')
        return tt__fail(TT_E_INVALID,
                        "%s: KernelSpecification.KernelFile is %.200s: expected a path relative to this file",
                        path, name);
    tt__str_addf(&file, "%.*s", slash ? (int)(slash - path) + 1 : 2, slash ? path : "./");
    TT_GOTO(tt__str_check(&file));
    folder = realpath(file.text, NULL);
    tt__str_add(&file, name);
    TT_GOTO(tt__str_check(&file));
    real = realpath(file.text, NULL);
    if (!folder || !real)
        TT_GOTO(tt__fail(errno == ENOMEM ? TT_E_NO_MEMORY : TT_E_IO,
                         "%s: cannot read KernelSpecification.KernelFile %s: %s", path, file.text,
                         strerror(errno)));
    size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(folder, real, n) != 0 || real[n] != '/')
        TT_GOTO(tt__fail(
            TT_E_INVALID,
            "%s: KernelSpecification.KernelFile %s is outside the folder of this file: move it there", path,
            file.text));
    status = tt__t1_read_text(out, real, SOURCE_MAX);
    if (status != TT_OK)
        status = tt__fail_prefix(status, "%s: KernelSpecification.KernelFile", path);
out:
    free(folder);
    free(real);
    tt__str_free(&file);
    return status;
}

static void print_notes(const char *path, const char *notes) {
    for (const char *line = notes; *line; line += strcspn(line, "\n") + 1)
        fprintf(stderr, "%s: %.*s\n", path, (int)strcspn(line, "\n"), line);
}

static tt_status import(const char *path, const char *output) {
    tt__t1 *t1 = NULL;
    tt__str source = {0}, text = {0}, notes = {0};
    tt_status status;
    TT_GOTO(tt__t1_read(&t1, path));
    TT_GOTO(tt__t1_check_kernel(t1, path));
    TT_GOTO(read_kernel(&source, path, t1->file));
    TT_GOTO(tt__t1_convert(&text, &notes, t1, path, tt__str_text(&source)));
    if (output)
        TT_GOTO(tt__cli_write_new(output, text.text, text.len));
    print_notes(path, tt__str_text(&notes));
    if (!output)
        fwrite(text.text, 1, text.len, stdout);
out:
    tt__t1_free(&t1);
    tt__str_free(&source);
    tt__str_free(&text);
    tt__str_free(&notes);
    return status;
}

static int run(const tt__cli_args *args) {
    if (args->n_files != 1)
        return tt__cli_fail(tt__fail(
            TT_E_INVALID, "import-t1 reads one file, and %zu are named: \"tune import-t1 problem.json\"",
            args->n_files));
    return tt__cli_fail(import(args->files[0], args->output));
}

static const tt__cli_option options[] = {
    {"output", "FILE", "where to, a new file; default standard output", NULL, offsetof(tt__cli_args, output)},
    TT__OPT_HELP,
    TT__OPT_END,
};

const tt__cli_command tt__cmd_import_t1 = {
    .name = "import-t1",
    .usage = "tune import-t1 FILE.json [--output FILE.cu]",
    .summary = "makes a kernel file of a tuning problem in T1 (JSON)",
    .notes =
        "T1 is what Kernel Tuner and KTT read. Parameters, conditions, sizes and arguments become\n"
        "annotations, and the kernel's text (KernelFile, in the folder of the JSON file) follows. A "
        "condition\n"
        "that cannot be said here is refused. What else was not taken over is said on standard error and in\n"
        "comments of the file: look there before tuning, and then at \"tune check FILE.cu\".\n",
    .options = options,
    .takes_files = true,
    .run = run,
};
