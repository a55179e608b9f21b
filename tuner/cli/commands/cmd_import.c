/*
 * `tune import`, `tune merge` and `tune import-t1`: take what other files know.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/install_dirs.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

/* ---- tune import ------------------------------------------------------------------------------------------
 */

/* Does a device before this one have the same text? */
static bool is_repeated(const char *text, int device) {
    tt__gpu gpu;
    char other[TT__GPU_TEXT_MAX];
    while (device-- > 0)
        if (tt__device_gpu(&gpu, device) == TT_OK && strcmp(tt__gpu_text(other, &gpu), text) == 0)
            return true;
    return false;
}

/* Looks in this machine. Returns how many texts match best. *exact: it is the only one of a whole name. */
static size_t find_here(const char *name, tt__gpu *out, bool *exact, tt__str *names) {
    tt__gpu gpu;
    tt__gpu_match best = TT__GPU_OTHER;
    char text[TT__GPU_TEXT_MAX];
    size_t matching = 0;
    int n = 0;
    for (int i = 0; tt__device_count(&n) == TT_OK && i < n && best < TT__GPU_TEXT; i++) {
        if (tt__device_gpu(&gpu, i) != TT_OK)
            continue;
        tt__gpu_match match = tt__gpu_matches(&gpu, name);
        if (match > best) {
            best = match;
            *out = gpu;
            matching = names->len = 0;
        } else if (match == TT__GPU_OTHER || match < best) {
            continue;
        }
        if (!is_repeated(tt__gpu_text(text, &gpu), i))
            tt__str_addf(names, "%s%s", matching++ ? ", " : "", text);
    }
    *exact = best >= TT__GPU_NAME && matching == 1;
    return matching;
}

/* The GPU: one that "tune show --gpu" knows, one in this machine, or a name with --cc. */
static tt_status find_gpu(tt__store *store, const tt__cli_args *args, tt__gpu *gpu) {
    tt_open_opts known = {
        .size = sizeof known, .db_path = tt__store_path(store), .read_only = 1, .gpu = args->gpu};
    tt__str why = {0}, names = {0};
    tt__gpu here;
    bool exact;
    *gpu = (tt__gpu){0};
    tt_status status = tt__cli_find_gpu(gpu, &known);
    if (status != TT_E_INVALID)
        return status;
    tt__str_add(&why, tt_last_error());
    const bool several = *gpu->name;
    size_t n = find_here(args->gpu, &here, &exact, &names);
    if (exact || (n == 1 && !several)) {
        *gpu = here;
        status = TT_OK;
    } else if (several) {
        tt__fail(status, "%s", tt__str_text(&why));
    } else if (n > 1) {
        tt__fail(status, "GPU \"%s\": several GPUs of this machine match: %s", args->gpu,
                 tt__str_text(&names));
    } else if (args->cc) {
        *gpu = tt__typical_gpu();
        gpu->cc = args->cc;
        tt__gpu_set_text(gpu, args->gpu);
        status = TT_OK;
    } else {
        tt__fail(status,
                 "%s; nor is there one of that name in this machine. To add it, say its whole name and its "
                 "compute capability, as in --cc 8.0",
                 tt__str_text(&why));
    }
    tt__str_free(&why);
    tt__str_free(&names);
    return status;
}

/* Facts that files of other tuners lack, from --gpu, --kernel and the problem's options. */
static tt_status told(tt__store *store, const tt__cli_args *args, tt__template_set *set, tt__foreign *out) {
    const tt__template *t;
    tt__problem problem;
    tt__gpu gpu;
    *out = (tt__foreign){.missing = "give --gpu and --kernel, and --problem, --size or --shape"};
    if (!args->gpu && !args->kernel && !args->n_problems && !args->n_texts)
        return TT_OK;
    if (!args->gpu || !args->kernel)
        return tt__fail(TT_E_INVALID,
                        "--gpu, --kernel and a problem belong together: %s is missing; a recording of "
                        "tiletune needs none of them",
                        args->gpu ? "--kernel" : "--gpu");
    TT_TRY(tt__cli_find_template(set, args, &t));
    TT_TRY(tt__cli_find_problem(t, args, &problem));
    TT_TRY(find_gpu(store, args, &gpu));
    *out = tt__foreign_of(t, &problem, &gpu);
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    tt__str path = {0};
    tt__store *store = NULL;
    tt__foreign foreign;
    tt__template_set templates = {0};
    tt__merged report = {0};
    bool is_new = false;
    tt_status status;
    TT_GOTO(tt__cli_store_path(&path, args));
    TT_GOTO(tt__sharing_open(&store, tt__str_text(&path), &is_new));
    TT_GOTO(told(store, args, &templates, &foreign));
    TT_GOTO(tt__sharing_take(store, args->files, args->n_files, false, &foreign, &report));
    tt__sharing_print(&report, tt__str_text(&path));
    is_new = false; /* it stays */
out:
    tt__template_set_close(&templates);
    tt__sharing_discard(&store, is_new);
    tt__str_free(&path);
    return tt__cli_fail(status);
}

static tt_status check(const tt__cli_args *args) {
    return args->n_files
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "which file? name a recording or a store, as in \"tune import h200.json\"");
}

static tt_status set_cc(tt__cli_args *args, const char *value) {
    size_t n = strspn(value, "0123456789");
    bool good = n > 0 && n < 4 && value[n] == '.' && isdigit((unsigned char)value[n + 1]) && !value[n + 2];
    args->cc = good ? atoi(value) * 10 + value[n + 1] - '0' : 0;
    return args->cc >= 10
               ? TT_OK
               : tt__fail(TT_E_INVALID, "\"%s\" is not a compute capability: write it as in 8.0", value);
}

static const tt__cli_option options[] = {
    TT__OPT_GPU("for files of other tuners: the GPU that was measured"),
    TT__SET("cc", "X.Y", set_cc, "its compute capability, if the GPU is new here"),
    TT__TEXT("kernel", "NAME|FILE.cu", kernel,
             "for files of other tuners: the template, or a kernel of yours"),
    TT__OPT_PROBLEM,
    TT__SET("size", "N", tt__cli_set_sizes, "for files of other tuners: a square matrix"),
    TT__SET("shape", "RxC", tt__cli_set_shapes, "or a matrix of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_import = {
    .name = "import",
    .usage = "tune import FILE... [options]",
    .summary = "takes trials and winners from recordings (T4 JSON) or stores",
    .notes = "Every value is checked, and cubins are never taken. If one file is bad, nothing is changed. A "
             "measured\n"
             "winner is better than an imported one. Imported trials of this GPU, driver and NVRTC are not "
             "measured\n"
             "again.\n"
             "Files of other tuners (T4, or cache files of Kernel Tuner, also in gzip) need --gpu, --kernel "
             "and a\n"
             "problem. Each configuration must be one of the kernel's. Their winners count as stale.\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};

/* ---- tune merge -------------------------------------------------------------------------------------------
 */

static int run_merge(const tt__cli_args *args) {
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

static tt_status check_merge(const tt__cli_args *args) {
    return args->n_files >= 2
               ? TT_OK
               : tt__fail(TT_E_INVALID, "which files? name the one to write and then those to read, as "
                                        "in \"tune merge all.db a.db b.db\"");
}

static const tt__cli_option merge_options[] = {
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
    .options = merge_options,
    .takes_files = true,
    .check = check_merge,
    .run = run_merge,
};

/* ---- tune import-t1 ---------------------------------------------------------------------------------------
 */

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

static int run_t1(const tt__cli_args *args) {
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

static const tt__cli_option t1_options[] = {
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
    .options = t1_options,
    .takes_files = true,
    .run = run_t1,
};
