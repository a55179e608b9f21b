/*
 * cubins OUTPUT.c OUTPUT.bin FOLDER SAMPLES native|all CC...: compiles the kernels for problems that nobody
 * has tuned, for these compute capabilities, while tiletune is built. They come with the library, so that a
 * new shape does not wait for NVRTC.
 *
 * Which kernels these are follows from rules, so random problems are looked up, SAMPLES of each kind, as a
 * program would. The same numbers are drawn each time. FOLDER keeps what was compiled, by the hash of text
 * and options.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/read_file.h"
#include "code/nvrtc.h"
#include "dispatch/ladder.h"
#include "dispatch/store_layers.h"
#include "kernel/space/config.h"

enum { RARE = 1000 }; /* what is seen less often than once in so many problems gets no cubin */

/* What decides the choice. GPUs with measurements come with the library and are not listed. */
static const tt__gpu others[] = {
    {.name = "sm_80",
     .cc = 80,
     .sm_count = 108,
     .max_threads_per_block = 1024,
     .shared_per_block = 166912,
     .l2_bytes = 40 << 20},
    {.name = "sm_86",
     .cc = 86,
     .sm_count = 84,
     .max_threads_per_block = 1024,
     .shared_per_block = 101376,
     .l2_bytes = 6 << 20},
    {.name = "sm_89",
     .cc = 89,
     .sm_count = 128,
     .max_threads_per_block = 1024,
     .shared_per_block = 101376,
     .l2_bytes = 72 << 20},
    {.name = "sm_100",
     .cc = 100,
     .sm_count = 148,
     .max_threads_per_block = 1024,
     .shared_per_block = 232448,
     .l2_bytes = 126 << 20},
    {.name = "sm_103",
     .cc = 103,
     .sm_count = 148,
     .max_threads_per_block = 1024,
     .shared_per_block = 232448,
     .l2_bytes = 126 << 20},
    {.name = "sm_120",
     .cc = 120,
     .sm_count = 170,
     .max_threads_per_block = 1024,
     .shared_per_block = 101376,
     .l2_bytes = 96 << 20},
};

/* A kernel that was chosen. */
typedef struct kernel {
    const tt__template *t;
    char build[TT__BUILD_MAX];
    int cc, elem_size, times;
    tt__str options;
    int n_options;
    char key[65];
} kernel;

typedef struct kernels {
    size_t n;
    kernel *items;
} kernels;

static uint64_t state = 1;

static double uniform(void) { /* splitmix64 */
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int below(int n) {
    return (int)(uniform() * n);
}

/* A size near 2^log2. Half of them are whole numbers of 2 to 128 elements. */
static int64_t size_near(double log2) {
    const int64_t step = below(2) ? 1 : INT64_C(1) << (1 + below(7));
    const int64_t n = (int64_t)(exp2(log2) / (double)step + 0.5) * step;
    return n < 1 ? 1 : n;
}

static tt_status random_matrix(tt__problem *out, int elem_size) {
    tt_problem p = TT_INIT(tt_problem);
    const double elements = 14 + 12 * uniform(), ratio = 10 * uniform() - 5;
    p.elem_size = elem_size;
    p.rows = size_near((elements + ratio) / 2);
    p.cols = size_near((elements - ratio) / 2);
    p.batch = below(2) ? 1 : 1 + below(64);
    p.lds = below(8) ? 0 : p.cols + below(32);
    return tt__matrix_problem(out, &p);
}

/* Few rows or columns, and small matrices of a batch. */
static tt_status random_narrow(tt__problem *out, int elem_size) {
    enum { WIDTH_MAX = 32 };
    tt_problem p = TT_INIT(tt_problem);
    const int64_t width = 1 + below(WIDTH_MAX), length = size_near(4 + 18 * uniform());
    const bool few_rows = below(2);
    p.elem_size = elem_size;
    p.rows = few_rows ? width : length;
    p.cols = few_rows ? length : width;
    p.batch = below(2) ? 1 : 1 + below(64);
    p.lds = below(8) ? 0 : p.cols + below(32);
    return tt__matrix_problem(out, &p);
}

static tt_status random_permutation(tt__problem *out, int elem_size) {
    enum { RANK_MAX = 6 };
    int64_t dims[RANK_MAX];
    int perm[RANK_MAX];
    double shares[RANK_MAX], all = 0;
    tt_permutation p = TT_INIT(tt_permutation);
    p.rank = 3 + below(RANK_MAX - 2);
    p.elem_size = elem_size;
    p.dims = dims;
    p.perm = perm;
    for (int i = 0; i < p.rank; i++)
        all += shares[i] = uniform() + 0.1;
    const double elements = 16 + 10 * uniform();
    for (int i = 0; i < p.rank; i++) {
        dims[i] = size_near(elements * shares[i] / all);
        const int at = below(i + 1);
        perm[i] = perm[at];
        perm[at] = i;
    }
    return tt__permutation_problem(out, &p, 16);
}

static tt_status note(kernels *all, size_t first, const tt__configuration *c, const tt__problem *p, int cc) {
    char build[TT__BUILD_MAX];
    tt__config_build(build, c, p);
    for (size_t i = first; i < all->n; i++)
        if (all->items[i].t == c->t && all->items[i].elem_size == tt__problem_elem_size(p) &&
            strcmp(all->items[i].build, build) == 0) {
            all->items[i].times++;
            return TT_OK;
        }
    TT_TRY(TT__GROW(all->items, all->n));
    kernel *k = &all->items[all->n++];
    *k = (kernel){.t = c->t, .cc = cc, .elem_size = tt__problem_elem_size(p), .times = 1};
    strcpy(k->build, build);
    TT_TRY(tt__config_options(&k->options, &k->n_options, c, p));
    tt__cubin_key(k->key, k->t->source, k->options.text, k->n_options, cc, tt__nvrtc_version());
    return TT_OK;
}

/* Where neither is true, any winner may be the nearest. */
static bool is_ruled(const tt_choice *c, const tt__candidate *found) {
    return found->configuration.t->sized_by_args || c->match == TT_MATCH_RULE;
}

typedef enum kind { MATRICES, PERMUTATIONS, NARROW } kind;

static tt_status sample_one(kernels *all, size_t first, tt_ctx *ctx, const tt__gpu *gpu, kind kind,
                            int elem_size) {
    tt__problem p, permutation;
    tt__candidate c;
    bool any_size;
    tt_choice choice = TT_INIT(tt_choice);
    TT_TRY(kind == MATRICES       ? random_matrix(&p, elem_size)
           : kind == PERMUTATIONS ? random_permutation(&p, elem_size)
                                  : random_narrow(&p, elem_size));
    if (strcmp(p.op, kind == PERMUTATIONS ? "permute" : "transpose") != 0) /* neighbours were merged */
        return TT_OK;
    TT_TRY(tt__ladder(ctx, &ctx->templates, gpu, &p, &choice, &c));
    if (kind != NARROW)
        return is_ruled(&choice, &c) ? note(all, first, &c.configuration, &p, gpu->cc) : TT_OK;
    TT_TRY(tt__ladder_any_size(&any_size, &permutation, &choice, &c, ctx, &ctx->templates, gpu, &p));
    return any_size ? note(all, first, &c.configuration, &permutation, gpu->cc) : TT_OK;
}

static tt_status sample(kernels *all, tt_ctx *ctx, const tt__gpu *gpu, kind kind, int samples) {
    const size_t first = all->n;
    for (int elem_size = 1; elem_size <= 16; elem_size *= 2)
        for (int i = 0; i < samples; i++)
            TT_TRY(sample_one(all, first, ctx, gpu, kind, elem_size));
    size_t n = first;
    for (size_t i = first; i < all->n; i++) {
        bool is_known = all->items[i].times <= samples / RARE;
        for (size_t j = 0; j < n && !is_known; j++) /* of another GPU of the architecture */
            is_known =
                strcmp(all->items[i].key, all->items[j].key) == 0 &&
                strcmp(all->items[i].build, all->items[j].build) == 0; /* it has `runtime` values, too */
        if (is_known)
            tt__str_free(&all->items[i].options);
        else
            all->items[n++] = all->items[i];
    }
    all->n = n;
    return TT_OK;
}

/* Everything for one architecture. Where GPUs with rules are known, matrices have them. */
static tt_status sample_all(kernels *all, tt_ctx *ctx, int cc, int samples) {
    const tt__gpu *before = NULL;
    bool known = false;
    for (size_t i = 0; i < tt__n_shipped_rules; i++) {
        const tt__gpu *gpu = &tt__shipped_rules[i].gpu;
        if (gpu->cc != cc || (before && tt__same_gpu(before, gpu)))
            continue;
        before = gpu;
        known = true;
        TT_TRY(sample(all, ctx, gpu, MATRICES, samples));
        TT_TRY(sample(all, ctx, gpu, PERMUTATIONS, samples));
        TT_TRY(sample(all, ctx, gpu, NARROW, samples));
    }
    for (size_t i = 0; i < TT__COUNT(others); i++)
        if (others[i].cc == cc) {
            known = true;
            TT_TRY(sample(all, ctx, &others[i], PERMUTATIONS, samples));
            TT_TRY(sample(all, ctx, &others[i], NARROW, samples));
        }
    return known ? TT_OK
                 : tt__fail(TT_E_INVALID, "compute capability %d: no GPU that has it is listed here", cc);
}

/* ---- Compiling ----------------------------------------------------------------------------------------- */

static void path_of(tt__str *out, const char *folder, const kernel *k) {
    tt__str_addf(out, "%s/%s", folder, k->key);
}

/* A file is renamed into its place, so that one that is there is whole. */
static tt_status compile(const kernel *k, const char *folder) {
    tt__str path = {0}, part = {0}, cubin = {0};
    FILE *f = NULL;
    tt_status status = TT_OK;
    path_of(&path, folder, k);
    tt__str_addf(&part, "%s.%d", tt__str_text(&path), (int)getpid());
    if (access(tt__str_text(&path), R_OK) == 0)
        goto out;
    status = tt__nvrtc_compile(&cubin, k->t->path, k->t->source, k->options.text, k->n_options, k->cc);
    if (status == TT_E_UNSUPPORTED) { /* an older NVRTC does not know the architecture */
        status = TT_OK;
        goto out;
    }
    TT_GOTO(status);
    f = fopen(tt__str_text(&part), "wb");
    if (!f || fwrite(cubin.text, 1, cubin.len, f) != cubin.len || fclose(f) || rename(part.text, path.text))
        status = tt__fail(TT_E_IO, "%s cannot be written", tt__str_text(&path));
out:
    tt__str_free(&path);
    tt__str_free(&part);
    tt__str_free(&cubin);
    return status;
}

/* In as many processes as there are CPUs. */
static tt_status compile_all(const kernels *all, const char *folder) {
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    bool failed = false;
    for (long p = 0; p < n; p++) {
        const pid_t child = fork();
        if (child < 0)
            return tt__fail(TT_E_IO, "no process can be started");
        if (child)
            continue;
        tt_status status = TT_OK;
        for (size_t i = (size_t)p; i < all->n && status == TT_OK; i += (size_t)n)
            status = compile(&all->items[i], folder);
        if (status != TT_OK)
            fprintf(stderr, "cubins: %s\n", tt_last_error());
        _exit(status != TT_OK);
    }
    for (int status; wait(&status) > 0;)
        failed |= status != 0;
    return failed ? tt__fail(TT_E_COMPILE, "not all kernels were compiled") : TT_OK;
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* Writes nothing of a kernel that could not be compiled. */
static tt_status write_one(FILE *table, FILE *bytes, const kernel *k, const char *folder, size_t *at,
                           unsigned long *sum) {
    tt__str path = {0}, cubin = {0};
    unsigned char *packed = NULL;
    tt_status status;
    path_of(&path, folder, k);
    TT_GOTO(tt__str_check(&path));
    if (access(path.text, F_OK) != 0)
        goto out;
    TT_GOTO(tt__read_file(&cubin, path.text));
    uLongf n = compressBound(cubin.len);
    if (!(packed = malloc(n)) || compress2(packed, &n, (const Bytef *)cubin.text, cubin.len, 9) != Z_OK) {
        status = tt__fail_memory(n);
        goto out;
    }
    fprintf(table, "    {\"%s\", \"%s\", %d, %d, %zu, %zu, %zu},\n", k->t->hash, k->build, k->cc,
            k->elem_size, *at, (size_t)n, cubin.len);
    fwrite(packed, 1, n, bytes);
    *sum = crc32(*sum, packed, (uInt)n);
    *at += n;
out:
    free(packed);
    tt__str_free(&path);
    tt__str_free(&cubin);
    return status;
}

static tt_status write_all(const kernels *all, char **argv) {
    FILE *table = fopen(argv[1], "w"), *bytes = fopen(argv[2], "wb");
    size_t at = 0;
    unsigned long sum = 0;
    if (!table || !bytes)
        return tt__fail(TT_E_IO, "%s cannot be written", argv[table ? 2 : 1]);
    fprintf(table,
            "/* Made by tools/cubins.c. */\n#include \"dispatch/store_layers.h\"\n\n"
            "__asm__(\".section .rodata\\n.globl tt__shipped_code\\n.hidden tt__shipped_code\\n\"\n"
            "        \"tt__shipped_code: .incbin \\\"%s\\\"\\n.byte 0\\n.previous\");\n\n"
            "const tt__shipped_cubin tt__shipped_cubins[] = {\n",
            argv[2]);
    for (size_t i = 0; i < all->n; i++)
        TT_TRY(write_one(table, bytes, &all->items[i], argv[3], &at, &sum));
    fprintf(table,
            "    {0},\n};\nconst size_t tt__n_shipped_cubins =\n"
            "    sizeof tt__shipped_cubins / sizeof *tt__shipped_cubins - 1; /* the bytes: %08lx */\n",
            sum);
    if (fclose(table) || fclose(bytes))
        return tt__fail(TT_E_IO, "%s cannot be written", argv[1]);
    printf("%zu cubins, %zu bytes\n", all->n, at);
    return TT_OK;
}

static tt_status run(char **argv) {
    kernels all = {0};
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    setenv("TILETUNE_SYSTEM_DB", "", 1);
    unsetenv("TILETUNE_COLLECT");
    tt_status status = tt__nvrtc_open();
    if (status != TT_OK && strcmp(argv[5], "native") == 0) {
        printf("no kernels come with the library: %s\n", tt_last_error());
        return write_all(&all, argv);
    }
    TT_TRY(status);
    TT_TRY(tt_open(&ctx, &opts));
    for (int i = 6; argv[i]; i++)
        TT_GOTO(sample_all(&all, ctx, atoi(argv[i]), atoi(argv[4])));
    mkdir(argv[3], 0777);
    TT_GOTO(compile_all(&all, argv[3]));
    TT_GOTO(write_all(&all, argv));
out:
    for (size_t i = 0; i < all.n; i++)
        tt__str_free(&all.items[i].options);
    free(all.items);
    tt_close(&ctx);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 6 || run(argv) != TT_OK) {
        fprintf(stderr, "cubins: %s\n",
                argc < 6 ? "give OUTPUT.c OUTPUT.bin FOLDER SAMPLES native|all CC..." : tt_last_error());
        return 1;
    }
    return 0;
}
