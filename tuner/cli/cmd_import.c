/*
 * `tune import`: recordings, T4 files of other tuners, or stores, into the store.
 */
#include <string.h>

#include "api/matrix.h"
#include "db/checked.h"
#include "gpu/device.h"
#include "template/template.h"
#include "tuner/cli/options.h"
#include "tuner/cli/sharing.h"

/* A GPU that the store knows, or that is in this machine. */
static tt_status find_gpu(tt__store *store, const char *name, tt__gpu *gpu) {
    int64_t id;
    int n = 0;
    tt_status status = tt__store_find_gpu(store, name, gpu, &id);
    if (status != TT_E_INVALID)
        return status;
    char why[512];
    tt__copy(why, sizeof why, tt_last_error());
    for (int i = 0; tt__device_count(&n) == TT_OK && i < n; i++)
        if (tt__device_gpu(gpu, i) == TT_OK && strcasestr(gpu->name, name))
            return TT_OK;
    return tt__fail(status, "%s; nor is there one of that name in this machine", why);
}

/* What --gpu, --kernel and --size say about files that do not say it themselves. */
static tt_status told(tt__store *store, const tt__cli_args *args, tt__foreign *out, bool *complete) {
    tt__template_set templates = {0};
    *complete = args->gpu && args->kernel && args->n_problems == 1;
    if (!*complete)
        return args->gpu || args->kernel || args->n_problems
                   ? tt__fail(TT_E_INVALID, "--gpu, --kernel and one --size or --shape belong together")
                   : TT_OK;
    out->kernel = args->kernel;
    TT_TRY(tt__matrix_problem(&out->problem, &args->problems[0]));
    TT_TRY(find_gpu(store, args->gpu, &out->gpu));
    tt_status status = tt__template_set_open(&templates, args->templates, args->n_templates);
    if (status == TT_OK && !tt__template_set_find(&templates, args->kernel))
        status = tt__fail(TT_E_INVALID,
                          "--kernel: there is no template %s; \"tune doctor\" lists them, and --template "
                          "names one of yours",
                          args->kernel);
    tt__template_set_close(&templates);
    return status;
}

static tt_status take_all(tt__store *store, const tt__cli_args *args, tt__merged *report) {
    tt__foreign foreign = {0};
    bool complete;
    TT_TRY(told(store, args, &foreign, &complete));
    tt__shared *all = NULL;
    tt_status status = tt__sharing_read(&all, args->files, args->n_files, false, complete ? &foreign : NULL);
    if (status == TT_OK)
        status = tt__sharing_take(store, all, args->n_files, report);
    tt__sharing_free(&all, args->n_files);
    return status;
}

static tt_status import(const tt__cli_args *args) {
    tt__str path = {0};
    tt__store *store = NULL;
    tt__merged report = {0};
    bool is_new = false;
    tt_status status;
    TT_GOTO(tt__cli_store_path(&path, args));
    TT_GOTO(tt__sharing_open(&store, tt__str_text(&path), &is_new));
    status = take_all(store, args, &report);
    if (status == TT_OK)
        tt__sharing_print(&report, tt__str_text(&path));
    else
        tt__sharing_discard(&store, tt__str_text(&path), is_new);
out:
    tt__store_close(&store);
    tt__str_free(&path);
    return status;
}

static tt_status check(const tt__cli_args *args) {
    return args->n_files
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "which file? name a recording or a store, as in \"tune import h200.json\"");
}

static int run(const tt__cli_args *args) {
    return tt__cli_fail(import(args));
}

static const tt__cli_option options[] = {
    TT__OPT_GPU("of T4 files of other tuners: whose times they are,"),
    {"kernel", "NAME", "... of which kernel template,", NULL, offsetof(tt__cli_args, kernel)},
    {"size", "N", "... for which square matrix", tt__cli_set_sizes, 0},
    {"shape", "RxC", "... or matrix of R rows and C columns", tt__cli_set_shapes, 0},
    TT__OPT_ELEM_SIZE,
    TT__OPT_DTYPE,
    TT__OPTS_LAYOUT,
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPT_HELP,
    TT__OPT_END,
};

const tt__cli_command tt__cmd_import = {
    .name = "import",
    .usage = "tune import FILE... [options]",
    .summary = "takes trials and winners over from recordings (T4 JSON) or stores",
    .notes =
        "Every value is checked, cubins are never taken, and if one file is bad, nothing is changed. What\n"
        "was measured here stays in front of what is imported. Imported trials of this GPU, driver and\n"
        "NVRTC are not measured again. T4 files of other tuners, such as Kernel Tuner, need --gpu, --kernel\n"
        "and --size; their times count as stale.\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
