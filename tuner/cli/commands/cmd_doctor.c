/*
 * `tune doctor`: checks everything that tuning needs. For each it says what was found, or what to do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/install_dirs.h"
#include "base/json.h"
#include "code/nvrtc.h"
#include "db/path.h"
#include "dispatch/store_layers.h"
#include "gpu/device.h"
#include "gpu/driver.h"
#include "kernel/load/builtin.h"
#include "kernel/model/template.h"
#include "kernel/space/operation.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/table.h"

enum { FINDINGS_MAX = 64 };

typedef struct finding {
    char name[48];
    bool good, brief; /* brief: one of many good findings, which share one row */
    tt__str text;     /* what was found, or what is wrong */
    const char *todo; /* "" if nothing */
} finding;

typedef struct examination {
    size_t n;
    finding findings[FINDINGS_MAX];
    bool tuning_bad, store_bad;
    int cuda_version; /* of the driver; 0: none */
    bool has_gpu;
    tt__gpu gpu; /* device 0, or a typical GPU to count configurations with */
} examination;

/* Starts a finding. The caller appends its text. */
static finding *begin(examination *e, bool good, const char *todo, const char *name) {
    finding *f = &e->findings[e->n < FINDINGS_MAX - 1 ? e->n++ : e->n];
    f->good = good;
    f->todo = good ? "" : todo;
    tt__copy(f->name, sizeof f->name, name);
    return f;
}

/* A finding with the last error as its text. */
static void add_failure(examination *e, const char *todo, const char *name) {
    tt__str_add(&begin(e, false, todo, name)->text, tt_last_error());
    e->tuning_bad = true;
}

static void check_driver(examination *e) {
    const tt__driver *driver;
    char version[32];
    tt_status status = tt__driver_open(&driver);
    if (status == TT_OK)
        status = tt__driver_cuda_version(&e->cuda_version);
    if (status != TT_OK) {
        add_failure(
            e,
            status == TT_E_NO_DEVICE
                ? "see that the GPU is visible: nvidia-smi, CUDA_VISIBLE_DEVICES, container options"
                : "install the NVIDIA driver, or give the container access to it; queries and replays "
                  "need none",
            "driver");
        return;
    }
    tt__driver_version(version, sizeof version);
    tt__str_addf(&begin(e, true, "", "driver")->text, "%s: version %s, CUDA %d.%d", tt__driver_path(),
                 version, e->cuda_version / 1000, e->cuda_version % 1000 / 10);
}

static void check_device(examination *e, int ordinal) {
    tt__gpu g;
    char name[32], gpu[TT__GPU_TEXT_MAX];
    snprintf(name, sizeof name, "device %d", ordinal);
    if (tt__device_gpu(&g, ordinal) != TT_OK) {
        add_failure(e, "see what nvidia-smi says of it", name);
        return;
    }
    if (!e->has_gpu) {
        e->gpu = g;
        e->has_gpu = true;
    }
    tt__str *text = &begin(e, true, "", name)->text;
    tt__str_addf(text, "%s: sm_%d, %d SMs, %.1f GiB, L2 %.0f MiB, %d threads and %.0f KiB shared a block",
                 tt__gpu_text(gpu, &g), g.cc, g.sm_count, (double)g.memory_bytes / (1 << 30),
                 (double)g.l2_bytes / (1 << 20), g.max_threads_per_block, (double)g.shared_per_block / 1024);
    if (g.peak_gbps > 0)
        tt__str_addf(text, ", %.0f GB/s peak", g.peak_gbps);
}

static void check_devices(examination *e) {
    int n = 0;
    if (!e->cuda_version) /* the finding about the driver is enough */
        return;
    if (tt__device_count(&n) != TT_OK || n == 0)
        add_failure(e, "see that the GPU is visible: nvidia-smi, CUDA_VISIBLE_DEVICES", "devices");
    for (int i = 0; i < n; i++)
        check_device(e, i);
}

/* Is `cc` one of "80 86 90"? */
static bool lists(const char *archs, int cc) {
    char *end;
    for (long arch; (arch = strtol(archs, &end, 10)) != 0; archs = end)
        if (arch == cc)
            return true;
    return false;
}

static void check_nvrtc(examination *e) {
    tt__str archs = {0};
    if (tt__nvrtc_open() != TT_OK || tt__nvrtc_archs(&archs) != TT_OK) {
        add_failure(e,
                    "install NVRTC (it comes with the CUDA Toolkit), or point TILETUNE_NVRTC at libnvrtc.so",
                    "NVRTC");
        tt__str_free(&archs);
        return;
    }
    bool known = !e->has_gpu || lists(tt__str_text(&archs), e->gpu.cc);
    bool newer = e->cuda_version && atoi(tt__nvrtc_version()) > e->cuda_version / 1000;
    finding *f = begin(e, known && !newer,
                       newer ? "update the driver, or take NVRTC of the driver's CUDA version"
                             : "take an NVRTC that compiles for this GPU",
                       "NVRTC");
    tt__str_addf(&f->text, "%s: version %s, compiles for %s", tt__nvrtc_path(), tt__nvrtc_version(),
                 tt__str_text(&archs));
    if (!known)
        tt__str_addf(&f->text, ", but not for device 0 (%d)", e->gpu.cc);
    if (newer)
        tt__str_addf(&f->text, ", newer than the driver (CUDA %d)", e->cuda_version / 1000);
    e->tuning_bad = e->tuning_bad || !f->good;
    tt__str_free(&archs);
}

static void check_worker(examination *e) {
    static const char todo[] = "install tiletune completely: the worker belongs to it";
    tt__str path = {0};
    if (tt__worker_path(&path) != TT_OK) {
        add_failure(e, todo, "worker");
    } else {
        bool good = access(tt__str_text(&path), X_OK) == 0;
        finding *f = begin(e, good, todo, "worker");
        tt__str_addf(&f->text, "%s%s%s", tt__str_text(&path), good ? "" : ": ", good ? "" : strerror(errno));
        e->tuning_bad = e->tuning_bad || !good;
    }
    tt__str_free(&path);
}

/* For a user's template, `tune check` says more. */
static void check_template(examination *e, const tt__template *t, bool own) {
    tt__problem p;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__space space = {0};
    char name[sizeof e->findings[0].name];
    tt_status status = tt__operation_sample(&p, t->operation, t->op);
    snprintf(name, sizeof name, "template %.36s", t->kernel);
    if (status == TT_OK)
        status = tt__space_add(&space, t, &e->gpu, &p);
    if (status != TT_OK)
        add_failure(e, "correct the template", name);
    else {
        finding *f = begin(e, true, "", name);
        f->brief = !own;
        tt__str_addf(&f->text, "%s, %zu configuration%s for %s%s%s", t->op, space.n, space.n == 1 ? "" : "s",
                     tt__problem_text(text, &p), e->has_gpu ? "" : " on a typical GPU",
                     own ? "; more: tune check " : "");
        tt__str_add_word(&f->text, own ? t->path : "");
    }
    tt__space_free(&space);
}

static void check_templates(examination *e, const tt__cli_args *args) {
    tt__template_set set = {0};
    if (!e->has_gpu)
        e->gpu = tt__typical_gpu();
    if (tt__template_set_open(&set, args->templates, args->n_templates) != TT_OK) {
        add_failure(e, "correct the template", "templates");
        return;
    }
    for (size_t i = 0; i < set.n; i++)
        check_template(e, set.items[i], i >= tt__n_builtins);
    tt__template_set_close(&set);
}

static tt_status describe_store(tt__str *out, const char *path) {
    tt__store *store = NULL;
    size_t winners = 0;
    tt__str names = {0};
    tt_status status;
    TT_GOTO(tt__store_open(&store, path, TT__STORE_READ_ONLY));
    TT_GOTO(tt__cli_store_gpus(&names, &winners, store));
    tt__str_addf(out, "%s: %zu winner%s", path, winners, winners == 1 ? "" : "s");
    if (winners)
        tt__str_addf(out, " for %s", tt__str_text(&names));
    if (strcmp(path, ":memory:") != 0 && tt__path_check_code(path) != TT_OK)
        tt__str_addf(out, " (%s)", tt_last_error());
out:
    tt__str_free(&names);
    tt__store_close(&store);
    return status;
}

static void check_store(examination *e, const tt__cli_args *args) {
    static const char writable[] = "make it writable, or name another place with --db or TILETUNE_DB";
    tt__str path = {0};
    struct stat st;
    finding *f = begin(e, true, "", "store");
    tt_status status = tt__cli_store_path(&path, args);
    const char *file = tt__str_text(&path);
    bool there = status == TT_OK && (strcmp(file, ":memory:") == 0 || access(file, F_OK) == 0);
    if (there && stat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) {
        status = tt__path_check_private(file);
        if (status == TT_OK)
            tt__str_addf(&f->text, "%s: still empty, the first run fills it", file);
    } else if (there) {
        status = describe_store(&f->text, file);
        if (status == TT_OK && strcmp(file, ":memory:") != 0 && access(file, W_OK) != 0) {
            f->todo = writable;
            tt__str_addf(&f->text, ", but it cannot be written: %s", strerror(errno));
        }
    } else if (status == TT_OK) {
        status = tt__path_check_new(file);
        if (status == TT_OK)
            tt__str_addf(&f->text, "%s: not there yet, the first run makes it", file);
    }
    if (status != TT_OK) {
        f->todo = there ? "move the file away, or name another with --db or TILETUNE_DB"
                        : "name another place with --db or TILETUNE_DB";
        tt__str_add(&f->text, tt_last_error());
    }
    f->good = !*f->todo;
    e->store_bad = !f->good;
    tt__str_free(&path);
}

/* Only if it exists, or the environment names it. */
static void check_system_store(examination *e) {
    tt__str path = {0};
    bool named;
    if (tt__system_path(&path, &named) == TT_OK && *path.text && (named || access(path.text, F_OK) == 0)) {
        finding *f = begin(e, true, "", "system store");
        if (describe_store(&f->text, path.text) != TT_OK) {
            f->todo = named ? "correct TILETUNE_SYSTEM_DB, or set it to \"\" to do without"
                            : "it is not used: whoever looks after this machine has to mend it";
            tt__str_add(&f->text, tt_last_error());
        }
        f->good = !*f->todo;
        e->store_bad |= !f->good && named;
    }
    tt__str_free(&path);
}

static tt_status print_text(const examination *e, const char *verdict) {
    static const tt__column columns[] = {{"", false, false}, {"", false, false}, {"", false, true}};
    tt__table t = {.n_columns = 3, .columns = columns};
    size_t n_brief = 0;
    for (size_t i = 0; i < e->n; i++) {
        const finding *f = &e->findings[i];
        n_brief += f->brief;
        if (f->brief && i + 1 < e->n && e->findings[i + 1].brief)
            continue;
        if (f->brief) {
            TT__TABLE_TEXTS(&t, "templates", "ok");
            tt__table_cell(&t, "%zu are built in; --json lists them", n_brief);
            n_brief = 0;
            continue;
        }
        TT__TABLE_TEXTS(&t, f->name, f->good ? "ok" : "PROBLEM", tt__str_text(&f->text));
        if (!*f->todo)
            continue;
        TT__TABLE_TEXTS(&t, "", "");
        tt__table_cell(&t, "-> %s", f->todo);
    }
    tt_status status = tt__table_show(&t);
    if (status == TT_OK)
        printf("\n%s\n", verdict);
    return status;
}

static tt_status print_json(const examination *e, const char *verdict) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    tt__json_open(&j, "findings", '[');
    for (size_t i = 0; i < e->n; i++) {
        tt__json_open(&j, NULL, '{');
        TT__JSON_STRINGS(&j, {"name", e->findings[i].name}, {"state", e->findings[i].good ? "ok" : "problem"},
                         {"text", tt__str_text(&e->findings[i].text)}, {"todo", e->findings[i].todo});
        tt__json_close(&j, '}');
    }
    tt__json_close(&j, ']');
    tt__json_string(&j, "verdict", verdict);
    return tt__cli_print_json(&j);
}

static int run(const tt__cli_args *args) {
    examination *e = calloc(1, sizeof *e);
    if (!e)
        return tt__cli_fail(tt__fail_memory(sizeof *e));
    tt__str_addf(&begin(e, true, "", "library")->text, "tiletune %s", tt_version());
    check_driver(e);
    check_devices(e);
    check_nvrtc(e);
    check_worker(e);
    check_templates(e, args);
    check_store(e, args);
    check_system_store(e);
    const char *verdict = e->tuning_bad
                              ? "Tuning on a GPU will not work here until the problems above are solved."
                          : e->store_bad ? "The GPU is ready, but the store cannot be used."
                                         : "Everything is ready: tune --device 0 --sizes 4096,8192";
    tt_status status = args->json ? print_json(e, verdict) : print_text(e, verdict);
    int code = status != TT_OK ? tt__cli_fail(status)
               : e->tuning_bad ? TT__EXIT_NO_DEVICE
               : e->store_bad  ? TT__EXIT_DB
                               : TT__EXIT_OK;
    for (size_t i = 0; i < FINDINGS_MAX; i++)
        tt__str_free(&e->findings[i].text);
    free(e);
    return code;
}

static const tt__cli_option options[] = {
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_doctor = {
    .name = "doctor",
    .usage = "tune doctor [options]",
    .summary = "what tuning needs, what is missing, and what to do about it",
    .notes = "\"tune check FILE.cu\" says more about one kernel file.\n"
             "Exit codes: 0 tuning on a GPU would work, 3 it would not, 4 only the store is at fault.\n",
    .options = options,
    .run = run,
};
