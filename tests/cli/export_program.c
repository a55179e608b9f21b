/*
 * Compares an exported C file with plans of the library: export_program STORE. Each problem is launched both
 * ways on the same data, and all that the launches wrote must be the same bytes. export_problems.h, which
 * check_export.py writes, has the problems. A second argument says more: `time` prints what launches and
 * first plans cost, `ptx` that the GPU is another one, so that the library chooses otherwise, and `foreign`
 * that no code runs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tiletune.h"
#include "tuned.h"

typedef struct problem {
    int number;
    const char *op, *kernel, *values; /* a built-in operation, or a file; of a permutation all are NULL */
    int rank;
    int64_t dims[8];
    int perm[8];
    const char *constant; /* its name, or NULL */
} problem;

#include "export_problems.h"

enum { ARGS_MAX = 16, CALLS = 100, RUNS = 1001 };

#define TT(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != TT_OK) {                                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, tt_last_error());                             \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CU(call)                                                                                             \
    do {                                                                                                     \
        const int status_ = (int)(call);                                                                     \
        if (status_) {                                                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, tuned_error(status_));                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define EXPECT(holds)                                                                                        \
    do {                                                                                                     \
        if (!(holds)) {                                                                                      \
            fprintf(stderr, "%s:%d: %s does not hold for problem %d\n", __FILE__, __LINE__, #holds,          \
                    current);                                                                                \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static int current;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Numbers of the type from -2 to 2, so that sums are exact and no bits are a NaN. */
static void fill(void *to, size_t bytes, const char *type, unsigned seed) {
    for (size_t i = 0; i < bytes / 8; i++) {
        seed = seed * 1664525u + 1013904223u;
        const int value = (int)(seed >> 24) % 5 - 2;
        if (strcmp(type, "f64") == 0)
            ((double *)to)[i] = value;
        else
            ((float *)to)[2 * i] = (float)value, ((float *)to)[2 * i + 1] = (float)(value + 1);
    }
}

static void make_plan(tt_plan **plan, tt_ctx *ctx, const problem *p) {
    tt_problem t = TT_INIT(tt_problem);
    tt_permutation turned = TT_INIT(tt_permutation);
    tt_kernel *kernel = NULL;
    turned.rank = p->rank;
    turned.dims = p->dims;
    turned.perm = p->perm;
    turned.elem_size = 4;
    t.op = p->op;
    t.values = p->values;
    t.permutation = p->rank ? &turned : NULL;
    if (p->kernel)
        TT(tt_kernel_open(&kernel, ctx, p->kernel, NULL));
    t.kernel = kernel;
    TT(tt_plan_create(plan, ctx, &t));
    tt_kernel_close(&kernel);
}

typedef struct given {
    size_t n;
    tt_argument info[ARGS_MAX];
    CUdeviceptr buffers[2][ARGS_MAX];
    double scalars[ARGS_MAX];
    void *args[2][ARGS_MAX];
} given;

static void give(given *g, const tt_plan *plan, const tuned_plan *tuned) {
    g->n = tt_plan_n_arguments(plan);
    EXPECT(g->n <= ARGS_MAX);
    for (size_t i = 0; i < g->n; i++) {
        g->info[i] = (tt_argument)TT_INIT(tt_argument);
        TT(tt_plan_argument(&g->info[i], plan, i));
        const size_t bytes = g->info[i].bytes;
        EXPECT(tuned_argument_bytes(tuned, i) == bytes);
        const float three = 3;
        g->scalars[i] = 3;
        if (strcmp(g->info[i].type, "f64") != 0)
            memcpy(&g->scalars[i], &three, sizeof three);
        g->args[0][i] = g->args[1][i] = &g->scalars[i];
        void *data = calloc(bytes + 8, 1);
        fill(data, bytes, g->info[i].type, (unsigned)i + 7);
        for (int k = 0; k < 2 && bytes; k++) {
            CU(cuMemAlloc(&g->buffers[k][i], bytes));
            CU(cuMemcpyHtoD(g->buffers[k][i], data, bytes));
            g->args[k][i] = &g->buffers[k][i];
        }
        free(data);
    }
}

static void compare(const given *g) {
    size_t written = 0;
    for (size_t i = 0; i < g->n; i++) {
        const size_t bytes = g->info[i].bytes;
        char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
        if (bytes && strcmp(g->info[i].direction, "scratch") != 0) {
            CU(cuMemcpyDtoH(a, g->buffers[0][i], bytes));
            CU(cuMemcpyDtoH(b, g->buffers[1][i], bytes));
            EXPECT(memcmp(a, b, bytes) == 0);
            written += strcmp(g->info[i].direction, "in") != 0;
        }
        free(a);
        free(b);
    }
    EXPECT(written > 0);
}

static void drop(given *g) {
    for (size_t i = 0; i < g->n; i++)
        for (int k = 0; k < 2 && g->info[i].bytes; k++)
            CU(cuMemFree(g->buffers[k][i]));
}

/* What is wrong is refused, and nothing is launched. */
static void refuse(const tuned_plan *plan, given *g) {
    CUdeviceptr odd = g->buffers[1][0] + 1, none = 0;
    void *args[ARGS_MAX];
    memcpy(args, g->args[1], sizeof args);
    EXPECT(tuned_launch(NULL, args, g->n, NULL) == TUNED_E_INVALID);
    EXPECT(tuned_launch(plan, args, g->n + 1, NULL) == TUNED_E_INVALID);
    args[0] = NULL;
    EXPECT(tuned_launch(plan, args, g->n, NULL) == TUNED_E_INVALID);
    args[0] = &odd;
    EXPECT(tuned_launch(plan, args, g->n, NULL) == TUNED_E_INVALID);
    args[0] = &none;
    EXPECT(tuned_launch(plan, args, g->n, NULL) == TUNED_E_INVALID);
    if (g->n > 1 && g->info[1].bytes && strcmp(g->info[1].direction, "in") != 0) { /* is written */
        args[0] = args[1];
        EXPECT(tuned_launch(plan, args, g->n, NULL) == TUNED_E_INVALID);
    }
}

static void set_constant(const problem *p, tt_plan *plan, tuned_plan *tuned, given *g) {
    float data[CONSTANT_BYTES / 4];
    if (!p->constant)
        return;
    fill(data, sizeof data, "f32", 99);
    data[CONSTANT_BYTES / 4 - 1] = 1;
    EXPECT(tuned_launch(tuned, g->args[1], g->n, NULL) == TUNED_E_NO_DATA);
    EXPECT(tuned_plan_set_constant(tuned, "nothing", data, sizeof data) == TUNED_E_INVALID);
    EXPECT(tuned_plan_set_constant(tuned, p->constant, data, sizeof data - 1) == TUNED_E_INVALID);
    CU(tuned_plan_set_constant(tuned, p->constant, data, sizeof data));
    TT(tt_plan_set_constant(plan, p->constant, data, sizeof data));
}

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of a launch: medians of short runs, which alternate and leave the queue room. */
static void time_launches(const tt_plan *plan, const tuned_plan *tuned, given *g, const char *name) {
    static double ns[2][RUNS];
    for (int run = 0; run < 2 * RUNS; run++) {
        const int way = run % 2;
        CU(cuCtxSynchronize());
        const double start = now_us();
        for (int i = 0; i < CALLS; i++)
            if (way == 0)
                TT(tt_plan_launch_args(plan, g->args[0], g->n, NULL));
            else
                CU(tuned_launch(tuned, g->args[1], g->n, NULL));
        ns[way][run / 2] = (now_us() - start) * 1e3 / CALLS;
    }
    for (int way = 0; way < 2; way++)
        qsort(ns[way], RUNS, sizeof(double), by_number);
    printf("launch %s: tt_plan_launch_args %.1f ns, exported %.1f ns, difference %+.1f ns\n", name,
           ns[0][RUNS / 2], ns[1][RUNS / 2], ns[1][RUNS / 2] - ns[0][RUNS / 2]);
}

/* Two threads make the first plans at once. */
static void *make_all(void *context) {
    CU(cuCtxSetCurrent((CUcontext)context));
    for (int i = 0; i < TUNED_N_PROBLEMS; i++) {
        tuned_plan plan;
        current = i;
        CU(tuned_plan_make(&plan, i));
    }
    return NULL;
}

int main(int argc, char **argv) {
    const char *mode = argc > 2 ? argv[2] : "";
    const int timed = strcmp(mode, "time") == 0, is_other = strcmp(mode, "ptx") == 0;
    const size_t n = sizeof problems / sizeof *problems;
    CUdevice device;
    CUcontext context;
    tuned_plan tuned;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    EXPECT(tuned_plan_make(&tuned, 0) > 0); /* without a context: the driver's own code */
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    EXPECT(tuned_plan_make(&tuned, -1) == TUNED_E_NO_PROBLEM);
    EXPECT(tuned_plan_make(&tuned, TUNED_N_PROBLEMS) == TUNED_E_NO_PROBLEM);
    EXPECT(tuned_plan_make(NULL, 0) == TUNED_E_INVALID);
    if (strcmp(mode, "foreign") == 0) {
        const int status = tuned_plan_make(&tuned, problems[0].number);
        printf("%d: %s\n", status, tuned_error(status));
        return status != TUNED_E_NO_CODE;
    }
    if (timed)
        for (size_t i = 0; i < n; i++) {
            const double start = now_us();
            CU(tuned_plan_make(&tuned, problems[i].number));
            printf("first plan %zu: %.0f us\n", i, now_us() - start);
        }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, make_all, context);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = argc > 1 ? argv[1] : NULL;
    opts.read_only = 1;
    TT(tt_open(&ctx, &opts));
    for (size_t i = 0; i < n; i++) {
        tt_plan *plan;
        given g = {0};
        current = problems[i].number;
        EXPECT(current >= 0);
        CU(tuned_plan_make(&tuned, current));
        make_plan(&plan, ctx, &problems[i]);
        EXPECT(is_other || strstr(tuned_about(&tuned), tt_plan_choice(plan)->config));
        EXPECT(strstr(tuned_about(&tuned), "verified against its reference"));
        give(&g, plan, &tuned);
        set_constant(&problems[i], plan, &tuned, &g);
        refuse(&tuned, &g);
        TT(tt_plan_launch_args(plan, g.args[0], g.n, NULL));
        CU(tuned_launch(&tuned, g.args[1], g.n, NULL));
        CU(cuCtxSynchronize());
        compare(&g);
        if (timed && i < 4)
            time_launches(plan, &tuned, &g, tt_plan_choice(plan)->kernel);
        drop(&g);
        tt_plan_free(&plan);
    }
    tt_close(&ctx);
    EXPECT(tuned_launch_saxpy(&tuned, 0, 0, 2, NULL) == TUNED_E_INVALID); /* the plan of another operation */
    EXPECT(strstr(tuned_about(NULL), "winners"));
    EXPECT(tuned_find_saxpy(4099) == SAXPY_4099 && tuned_find_saxpy(4098) == -1);
    tuned_unload();
    CU(tuned_plan_make(&tuned, 0));
    tuned_unload();
    printf("%zu problems\n", n);
    return 0;
}
