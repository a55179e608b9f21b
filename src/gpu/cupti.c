/*
 * The part of CUPTI that we use. NVIDIA's header of the host part is C++ and many systems lack all of them,
 * so the structs are declared here, as nvml.c does for NVML. CUPTI reads a struct up to the size that it
 * names, and newer versions only append members. So these declarations stay valid.
 */
#include "gpu/cupti.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    USER_RANGE = 2,
    USER_REPLAY = 3,
    RANGE_PROFILER = 0,
    OK = 0,
    NO_PRIVILEGES = 35,
    NO_PRIVILEGES_VIRTUAL = 40,
    CONFIDENTIAL = 41,
    MIG = 43,
    WSL = 45
};

/* Every struct begins so. */
#define HEAD                                                                                                 \
    size_t size;                                                                                             \
    void *priv

typedef struct initialize {
    HEAD;
} initialize;
typedef struct chip_name {
    HEAD;
    size_t device;
    const char *name;
} chip_name;
typedef struct availability {
    HEAD;
    CUcontext context;
    size_t image_size;
    uint8_t *image;
} availability;
typedef struct host_open {
    HEAD;
    int kind;
    const char *chip;
    const uint8_t *availability;
    void *host;
} host_open;
typedef struct host_close {
    HEAD;
    void *host;
} host_close;
typedef struct host_metrics {
    HEAD;
    void *host;
    int type;
    const char **names;
    size_t n;
} host_metrics;
typedef struct host_add {
    HEAD;
    void *host;
    const char **metrics;
    size_t n;
} host_add;
typedef struct host_size {
    HEAD;
    void *host;
    size_t image_size;
} host_size;
typedef struct host_image {
    HEAD;
    void *host;
    size_t image_size;
    uint8_t *image;
} host_image;
typedef struct host_evaluate {
    HEAD;
    void *host;
    const uint8_t *data;
    size_t data_size, range;
    const char **metrics;
    size_t n;
    double *values;
} host_evaluate;
typedef struct enable {
    HEAD;
    CUcontext context;
    void *profiler;
} enable;
typedef struct only_profiler { /* Disable, Start, PopRange */
    HEAD;
    void *profiler;
} only_profiler;
typedef struct data_size {
    HEAD;
    void *profiler;
    const char **metrics;
    size_t n, n_ranges;
    uint32_t n_nodes;
    size_t data_size;
} data_size;
typedef struct data_clear {
    HEAD;
    void *profiler;
    size_t data_size;
    uint8_t *data;
} data_clear;
typedef struct set_config {
    HEAD;
    void *profiler;
    size_t config_size;
    const uint8_t *config;
    size_t data_size;
    uint8_t *data;
    int range, replay;
    size_t ranges_per_pass;
    uint16_t levels, lowest_level;
    size_t pass;
    uint16_t level;
} set_config;
typedef struct push_range {
    HEAD;
    void *profiler;
    const char *name;
} push_range;
typedef struct stop {
    HEAD;
    void *profiler;
    size_t pass, level;
    uint8_t complete;
} stop;
typedef struct decode {
    HEAD;
    void *profiler;
    size_t n_dropped;
} decode;

#define FUNCTIONS(X)                                                                                         \
    X(initialize, "cuptiProfilerInitialize")                                                                 \
    X(chip_name, "cuptiDeviceGetChipName")                                                                   \
    X(availability, "cuptiProfilerGetCounterAvailability")                                                   \
    X(host_open, "cuptiProfilerHostInitialize")                                                              \
    X(host_close, "cuptiProfilerHostDeinitialize")                                                           \
    X(host_metrics, "cuptiProfilerHostGetBaseMetrics")                                                       \
    X(host_add, "cuptiProfilerHostConfigAddMetrics")                                                         \
    X(host_size, "cuptiProfilerHostGetConfigImageSize")                                                      \
    X(host_image, "cuptiProfilerHostGetConfigImage")                                                         \
    X(host_evaluate, "cuptiProfilerHostEvaluateToGpuValues")                                                 \
    X(enable, "cuptiRangeProfilerEnable")                                                                    \
    X(disable, "cuptiRangeProfilerDisable")                                                                  \
    X(data_size, "cuptiRangeProfilerGetCounterDataSize")                                                     \
    X(data_clear, "cuptiRangeProfilerCounterDataImageInitialize")                                            \
    X(set_config, "cuptiRangeProfilerSetConfig")                                                             \
    X(begin, "cuptiRangeProfilerStart")                                                                      \
    X(push_range, "cuptiRangeProfilerPushRange")                                                             \
    X(pop_range, "cuptiRangeProfilerPopRange")                                                               \
    X(stop, "cuptiRangeProfilerStop")                                                                        \
    X(decode, "cuptiRangeProfilerDecodeData")

/* Each takes a pointer to its struct. */
static struct {
#define MEMBER(member, name) int (*member)(void *params);
    FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

/* The size of a struct as CUPTI counts it, without the padding at its end. */
#define SIZE_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Calls one with a struct that is zero except for the given members. */
#define CALL(function, type, ...) called(cupti.function(&(type){sizeof(type), __VA_ARGS__}), #function)

struct tt__cupti {
    void *host, *profiler;
    size_t n, n_known;
    const char **known; /* metrics that the GPU has ... */
    size_t *places;     /* ... and their places in the caller's list */
    uint8_t *availability, *config, *data;
    size_t config_size, data_size;
};

/* ---- Finding it, and what its errors mean ---------------------------------------------------------------
 */

static tt_status called(int error, const char *function) {
    static const struct {
        int error;
        const char *todo;
    } reasons[] = {
        {NO_PRIVILEGES, "the driver allows hardware counters only to root: run as root, or load the module "
                        "nvidia with NVreg_RestrictProfilingToAdminUsers=0 (ERR_NVGPUCTRPERM)"},
        {NO_PRIVILEGES_VIRTUAL, "this virtual GPU does not allow hardware counters: ask the host's "
                                "administrator to enable profiling"},
        {CONFIDENTIAL, "a GPU in confidential computing mode has no hardware counters: use another GPU"},
        {MIG, "this MIG instance has no hardware counters: use the whole GPU"},
        {WSL, "WSL does not allow hardware counters: enable them in NVIDIA's control panel of Windows"},
    };
    if (error == OK)
        return TT_OK;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].error == error)
            return tt__fail(TT_E_UNSUPPORTED, "%s", reasons[i].todo);
    return tt__fail(TT_E_UNSUPPORTED,
                    "CUPTI could not count (%s, error %d): end other profilers, and use a CUPTI that is no "
                    "newer than the driver",
                    function, error);
}

/* The toolkit's folder is often not in the linker's path. NVIDIA's wheel is found if a program loaded it. */
static void *find_library(void) {
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    static const char *const under[] = {"lib64", "extras/CUPTI/lib64", "lib"};
    const char *homes[] = {secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"), "/usr/local/cuda"};
    const char *own = secure_getenv("TILETUNE_CUPTI");
    char path[512];
    void *lib = NULL;
    if (own && *own)
        return dlopen(own, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t h = 0; h < sizeof homes / sizeof *homes; h++)
        for (size_t u = 0; u < sizeof under / sizeof *under && !lib && homes[h]; u++)
            for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++) {
                snprintf(path, sizeof path, "%s/%s/%s", homes[h], under[u], names[i]);
                lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            }
    return lib;
}

static tt_status no_library(void) {
    const char *own = secure_getenv("TILETUNE_CUPTI");
    if (own && *own)
        return tt__fail(
            TT_E_UNSUPPORTED,
            "TILETUNE_CUPTI names %s, which cannot be loaded: %s; without it there are no hardware "
            "counters",
            own, dlerror());
    return tt__fail(TT_E_UNSUPPORTED,
                    "CUPTI was not found, so there are no hardware counters: install the CUDA Toolkit 12.6 "
                    "or newer, or name libcupti.so in TILETUNE_CUPTI (pip install nvidia-cuda-cupti)");
}

/* `cupti` is changed last, and only by a library that has all functions. */
static tt_status find_functions(void) {
    static const struct {
        size_t offset;
        const char *name;
    } symbols[] = {
#define SYMBOL(member, name) {offsetof(__typeof__(cupti), member), name},
        FUNCTIONS(SYMBOL)
#undef SYMBOL
    };
    __typeof__(cupti) found;
    void *lib = find_library();
    if (!lib)
        return no_library();
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(lib, symbols[i].name);
        if (!address) {
            dlclose(lib);
            return tt__fail(TT_E_UNSUPPORTED,
                            "the CUPTI that was found has no %s, so there are no hardware counters: 12.6 or "
                            "newer is needed",
                            symbols[i].name);
        }
        memcpy((char *)&found + symbols[i].offset, &address, sizeof address);
    }
    cupti = found;
    return TT_OK;
}

static tt_status load(void) {
    static bool works;
    if (works)
        return TT_OK;
    if (!cupti.initialize)
        TT_TRY(find_functions());
    TT_TRY(CALL(initialize, initialize, NULL));
    works = true;
    return TT_OK;
}

/* ---- Opening --------------------------------------------------------------------------------------------
 */

static void *room(size_t bytes) {
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        tt__fail_memory(bytes);
    return p;
}

static tt_status open_host(tt__cupti *c, const char *chip) {
    host_open o = {sizeof o, NULL, RANGE_PROFILER, chip, c->availability, NULL};
    TT_TRY(called(cupti.host_open(&o), "host_open"));
    c->host = o.host;
    return TT_OK;
}

/* Does the list have what a metric begins with, up to its first dot? */
static bool has_base(const host_metrics *list, const char *metric) {
    const size_t n = strcspn(metric, ".");
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->names[i], metric, n) == 0 && !list->names[i][n])
            return true;
    return false;
}

/* One metric that this GPU does not know would make the host object useless. */
static tt_status add_metrics(tt__cupti *c, const char *const *metrics) {
    enum { TYPES = 3 }; /* counters, ratios, throughputs */
    for (int type = 0; type < TYPES; type++) {
        host_metrics list = {sizeof list, NULL, c->host, type, NULL, 0};
        TT_TRY(called(cupti.host_metrics(&list), "host_metrics"));
        for (size_t i = 0; i < c->n && c->n_known < c->n; i++)
            if (has_base(&list, metrics[i])) {
                c->known[c->n_known] = metrics[i];
                c->places[c->n_known++] = i;
            }
    }
    return CALL(host_add, host_add, NULL, c->host, c->known, c->n_known);
}

static tt_status choose_metrics(tt__cupti *c, CUcontext context, int ordinal, const char *const *metrics,
                                size_t n) {
    chip_name chip = {sizeof chip, NULL, (size_t)ordinal, NULL};
    availability a = {.size = sizeof a, .context = context};
    c->n = n;
    c->known = room(n * sizeof *c->known);
    c->places = room(n * sizeof *c->places);
    if (!c->known || !c->places)
        return TT_E_NO_MEMORY;
    TT_TRY(called(cupti.chip_name(&chip), "chip_name"));
    TT_TRY(called(cupti.availability(&a), "availability"));
    if (!(c->availability = a.image = room(a.image_size)))
        return TT_E_NO_MEMORY;
    TT_TRY(called(cupti.availability(&a), "availability"));
    TT_TRY(open_host(c, chip.name));
    TT_TRY(add_metrics(c, metrics));
    host_size s = {sizeof s, NULL, c->host, 0};
    TT_TRY(called(cupti.host_size(&s), "host_size"));
    c->config_size = s.image_size;
    if (!(c->config = room(c->config_size)))
        return TT_E_NO_MEMORY;
    return CALL(host_image, host_image, NULL, c->host, c->config_size, c->config);
}

static tt_status open_profiler(tt__cupti *c, CUcontext context) {
    enable e = {sizeof e, NULL, context, NULL};
    TT_TRY(called(cupti.enable(&e), "enable"));
    c->profiler = e.profiler;
    data_size d = {sizeof d, NULL, c->profiler, c->known, c->n_known, 1, 1, 0};
    TT_TRY(called(cupti.data_size(&d), "data_size"));
    c->data_size = d.data_size;
    return (c->data = room(c->data_size)) ? TT_OK : TT_E_NO_MEMORY;
}

tt_status tt__cupti_open(tt__cupti **out, CUcontext context, int ordinal, const char *const *metrics,
                         size_t n) {
    *out = NULL;
    TT_TRY(load());
    tt__cupti *c = room(sizeof *c);
    tt_status status;
    if (!c)
        return TT_E_NO_MEMORY;
    TT_GOTO(choose_metrics(c, context, ordinal, metrics, n));
    TT_GOTO(open_profiler(c, context));
    *out = c;
    return TT_OK;
out:
    tt__cupti_close(&c);
    return status;
}

void tt__cupti_close(tt__cupti **at) {
    tt__cupti *c = *at;
    *at = NULL;
    if (!c)
        return;
    if (c->profiler)
        cupti.disable(&(only_profiler){sizeof(only_profiler), NULL, c->profiler});
    if (c->host)
        cupti.host_close(&(host_close){sizeof(host_close), NULL, c->host});
    free(c->known);
    free(c->places);
    free(c->availability);
    free(c->config);
    free(c->data);
    free(c);
}

/* ---- Counting -------------------------------------------------------------------------------------------
 */

static tt_status start(tt__cupti *c) {
    TT_TRY(CALL(data_clear, data_clear, NULL, c->profiler, c->data_size, c->data));
    set_config s = {.size = SIZE_TO(set_config, level),
                    .profiler = c->profiler,
                    .config_size = c->config_size,
                    .config = c->config,
                    .data_size = c->data_size,
                    .data = c->data,
                    .range = USER_RANGE,
                    .replay = USER_REPLAY,
                    .ranges_per_pass = 1,
                    .levels = 1,
                    .lowest_level = 1};
    return called(cupti.set_config(&s), "set_config");
}

typedef struct counted {
    tt__cupti *cupti;
    bool more; /* are counters left? */
} counted;

static tt_status begin_range(void *range) {
    tt__cupti *c = ((counted *)range)->cupti;
    TT_TRY(CALL(begin, only_profiler, NULL, c->profiler));
    return CALL(push_range, push_range, NULL, c->profiler, "launch");
}

static tt_status end_range(void *range) {
    counted *r = range;
    stop s = {.size = SIZE_TO(stop, complete), .profiler = r->cupti->profiler};
    TT_TRY(CALL(pop_range, only_profiler, NULL, r->cupti->profiler));
    TT_TRY(called(cupti.stop(&s), "stop"));
    r->more = !s.complete;
    return TT_OK;
}

static tt_status read_values(tt__cupti *c, double *values) {
    TT_TRY(CALL(decode, decode, NULL, c->profiler, 0));
    for (size_t i = 0; i < c->n; i++)
        values[i] = (double)NAN;
    double *known = room(c->n_known * sizeof *known);
    if (!known)
        return TT_E_NO_MEMORY;
    tt_status status = CALL(host_evaluate, host_evaluate, NULL, c->host, c->data, c->data_size, 0, c->known,
                            c->n_known, known);
    for (size_t i = 0; i < c->n_known && status == TT_OK; i++)
        values[c->places[i]] = known[i];
    free(known);
    return status;
}

tt_status tt__cupti_count(tt__cupti *c, double *values, int *n_replays, int most, tt__cupti_launch_fn launch,
                          void *user) {
    counted r = {c, true};
    TT_TRY(start(c));
    for (int i = 1; r.more && i <= most; i++) {
        TT_TRY(launch(user, begin_range, end_range, &r));
        *n_replays = i;
    }
    return read_values(c, values);
}
