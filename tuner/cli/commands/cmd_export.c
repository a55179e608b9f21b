/*
 * `tune export`: writes a GPU's trials as a recording, to replay on other machines, or winners as a C file.
 */
#include <string.h>

#include "db/exchange/export.h"
#include "db/exchange/recording.h"
#include "kernel/load/set.h"
#include "tuner/cli/commands/exported.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

static bool is_cache(const tt__cli_args *args) {
    return args->format && strcmp(args->format, "kernel-tuner-cache") == 0;
}

/* What is written of winners. */
static const struct format {
    const char *name;
    bool code;
    tt_status (*write)(tt__exports *exports, const tt__cli_args *args);
} formats[] = {
    {"c", true, tt__export_c}, {"header", false, tt__export_header}, {"json", false, tt__export_json}};

/* NULL: it is of trials. */
static const struct format *format_of(const tt__cli_args *args) {
    for (size_t i = 0; args->format && i < TT__COUNT(formats); i++)
        if (strcmp(args->format, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

typedef struct writing {
    const tt__cli_args *args;
    tt__store *store;
    int64_t gpu_id;
    tt__recording_part part;
    size_t bytes;
} writing;

static tt_status fill(tt__str *out, void *user) {
    writing *w = user;
    const char *commit = w->args->commit ? w->args->commit : "";
    tt_status status = is_cache(w->args) ? tt__recording_export_cache(w->store, w->gpu_id, &w->part, out)
                                         : tt__recording_export(w->store, w->gpu_id, &w->part, commit, out);
    w->bytes = out->written + out->len;
    return status;
}

static tt_status export(const tt__cli_args *args) {
    writing w = {.args = args};
    tt__template_set templates = {0};
    tt__problem problem;
    tt__gpu gpu;
    tt_status status;
    TT_GOTO(tt__sharing_part(&w.part, &templates, &problem, args));
    TT_GOTO(tt__cli_store_open(&w.store, args, TT__STORE_READ_ONLY));
    TT_GOTO(tt__store_find_gpu(w.store, args->gpu, &gpu, &w.gpu_id));
    TT_GOTO(tt__cli_write(args->output, "wb", fill, &w));
    if (args->output)
        tt__cli_say(stderr, "tune: wrote %s, %.0f KB\n", args->output, (double)w.bytes / 1e3);
out:
    tt__template_set_close(&templates);
    tt__store_close(&w.store);
    return status;
}

/* Copies the content about one GPU, or all, into a new store. */
static tt_status export_database(const tt__cli_args *args) {
    tt__store *store = NULL, *to = NULL;
    tt__gpu gpu;
    tt__merge_opts opts = {.trusted = true};
    tt__merged report = {0};
    bool is_new = false;
    tt_status status;
    if (args->output || args->commit || args->format || args->kernel || args->op || args->n_problems ||
        args->n_texts)
        return tt__fail(TT_E_INVALID, "%s for recordings: leave them out with --database",
                        args->output || args->commit ? "--output and --commit are"
                                                     : "--format, --kernel, --op and a problem are");
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(tt__store_find_gpu(store, args->gpu, &gpu, &opts.gpu_id));
    TT_GOTO(tt__sharing_create(&to, args->database, "use \"tune merge\"", &is_new));
    TT_GOTO(tt__store_begin(to));
    TT_GOTO(tt__store_merge(to, store, &opts, &report));
    TT_GOTO(tt__store_commit(to));
    tt__sharing_print(&report, args->database);
    is_new = false; /* it stays */
out:
    tt__sharing_discard(&to, is_new);
    tt__store_close(&store);
    return status;
}

/* Says of code that runs on one architecture only, and what is left out. */
static void warn(const tt__exports *exports, bool code) {
    for (size_t i = 0; i < exports->n && code; i++) {
        const tt__exported *x = &exports->items[i];
        if (x->code.ptx.len)
            continue;
        tt__cli_say(stderr, "tune: the %s runs on GPUs of compute capability %d.%d only, without PTX: %s\n",
                    x->problem.op, x->gpu.cc / 10, x->gpu.cc % 10, x->code.no_ptx);
        break;
    }
    if (exports->n_left_out)
        tt__cli_say(stderr, "tune: %s left out, because their kernels' files are not named (--template):%s\n",
                    tt__cli_count((int64_t)exports->n_left_out, "winner").text,
                    tt__str_text(&exports->left_out));
}

static tt_status export_winners(const tt__cli_args *args) {
    const struct format *format = format_of(args);
    tt__exports exports;
    tt_status status = tt__exports_open(&exports, args, format->code);
    if (status == TT_OK)
        status = format->write(&exports, args);
    if (status == TT_OK)
        warn(&exports, format->code);
    tt__exports_close(&exports);
    return status;
}

/* Options of winners, and those of trials. */
static tt_status check_winners(const tt__cli_args *args) {
    tt__cli_args problems = *args;
    problems.kernel_file = args->kernel;
    problems.n_templates = 0; /* which --kernel does without elsewhere */
    TT_TRY(tt__cli_check_problems(&problems));
    if (args->commit || args->database)
        return tt__fail(TT_E_INVALID, "%s is for trials: leave it out with --format %s",
                        args->commit ? "--commit" : "--database", args->format);
    if (args->lock && args->db)
        return tt__fail(TT_E_INVALID, "--lock %s and --db %s: one or the other", args->lock, args->db);
    if (args->kernel && !tt__cli_is_file(args->kernel))
        return tt__fail(TT_E_INVALID, "--kernel %s: name a kernel's file, as in saxpy.cu", args->kernel);
    return args->output || strcmp(args->format, "c") != 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "where to? give --output FILE.c");
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__sharing_check_output(args, args->output));
    if (format_of(args))
        return check_winners(args);
    if (args->format && !is_cache(args) && strcmp(args->format, "t4") != 0)
        return tt__fail(TT_E_INVALID,
                        "--format %s: expected t4 (the default), kernel-tuner-cache, c, header or json",
                        args->format);
    if (args->permute || args->lock)
        return tt__fail(TT_E_INVALID, "%s is for winners (--format c, header or json): leave it out",
                        args->permute ? "--permute" : "--lock");
    if (is_cache(args) && args->commit)
        return tt__fail(TT_E_INVALID, "a cache file of Kernel Tuner has no place for --commit: leave it out");
    return args->database || args->gpu
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "whose trials? give --gpu NAME, as in \"tune export --gpu h100\" (\"tune "
                          "list\" shows the GPUs)");
}

static int run(const tt__cli_args *args) {
    return tt__cli_fail(format_of(args)  ? export_winners(args)
                        : args->database ? export_database(args)
                                         : export(args));
}

static const tt__cli_option options[] = {
    TT__OPT_GPU("whose trials, or winners; a part of its name is enough"),
    TT__TEXT("output", "FILE", output, "where to; default standard output"),
    TT__TEXT("commit", "REV", commit, "the source revision to note in the recording"),
    TT__TEXT("format", "NAME", format,
             "t4 (the default); kernel-tuner-cache: a cache file of Kernel\nTuner, of one kernel and one "
             "problem; c: winners with their code\nas a C file and its header, for programs without "
             "tiletune;\nheader: their parameters as macros; json: all but their code"),
    TT__TEXT("kernel", "NAME|FILE.cu", kernel, "only of this kernel template, or kernel of yours"),
    TT__TEXT("op", "NAME", op, "only of this operation"),
    TT__OPT_PROBLEM,
    TT__SET("size", "N", tt__cli_set_sizes, "only of this square matrix"),
    TT__SET("shape", "RxC", tt__cli_set_shapes, "only of this matrix of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__OPTS_PERMUTATION,
    TT__OPT_TEMPLATE,
    TT__TEXT("lock", "FILE", lock, "winners of this file of \"tune lock\""),
    TT__TEXT("database", "FILE", database, "write a new store instead, of one GPU or all"),
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_export = {
    .name = "export",
    .usage = "tune export --gpu NAME [--output FILE] | --format c --output FILE.c |\n"
             "            --database FILE [options]",
    .summary = "trials as a recording (T4 JSON) or a store, winners as C",
    .notes =
        "Writes the newest trial of every configuration, for the newest driver and NVRTC that the GPU was\n"
        "measured with. Search them with \"tune --device replay:FILE\", or import them with \"tune import "
        "FILE\".\n"
        "--database writes everything, with cubins.\n"
        "--format c writes winners: of the problems that are named, or all. --template names files of "
        "kernels of\n"
        "yours, too.\n",
    .options = options,
    .check = check,
    .run = run,
};
