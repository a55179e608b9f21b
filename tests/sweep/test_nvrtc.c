/*
 * Compiles cubins of the built-in templates with the real NVRTC, which needs no GPU.
 *
 *   test_nvrtc [LIBRARY FILE...]    with another NVRTC, for more architectures, and with kernel files of
 * users
 *
 * - A sample for 4-byte elements, 4096 x 4096 and 1024 x 1024, compute capability 9.0. TT_LONG compiles all.
 * - A sample of other elements, shapes and architectures. TT_SWEEP=all compiles everything.
 *
 * Configurations that differ in run-time parameters only share a cubin. NVRTC scales over processes, so there
 * is one for each CPU. They share a list, and findings are printed when all are done.
 *
 * The machine code of kernels that are launched early is inspected, too. If a compiler moves a load before
 * the wait, neither a verification nor most runs notice it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>

#include "base/clock.h"
#include "code/nvrtc.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/space.h"
#include "sweep.h"
#include "tuner/measure/verify.h"

enum { EXIT_SKIPPED = 77, SHOWN_MAX = 10 };

/* Limits of the first GPU of each architecture: they decide which configurations are legal. */
static const tt__gpu gpus[] = {
    {.name = "A100",
     .cc = 80,
     .sm_count = 108,
     .max_threads_per_block = 1024,
     .shared_per_block = 166912,
     .l2_bytes = 41943040},
    {.name = "H100",
     .cc = 90,
     .sm_count = 132,
     .max_threads_per_block = 1024,
     .shared_per_block = 232448,
     .l2_bytes = 52428800},
    {.name = "B200",
     .cc = 100,
     .sm_count = 148,
     .max_threads_per_block = 1024,
     .shared_per_block = 232448,
     .l2_bytes = 132644864},
};
/* For another NVRTC. */
static const tt__gpu more_gpus[] = {
    {.name = "T4",
     .cc = 75,
     .sm_count = 40,
     .max_threads_per_block = 1024,
     .shared_per_block = 65536,
     .l2_bytes = 4194304},
    {.name = "RTX 3090",
     .cc = 86,
     .sm_count = 82,
     .max_threads_per_block = 1024,
     .shared_per_block = 101376,
     .l2_bytes = 6291456},
    {.name = "L40S",
     .cc = 89,
     .sm_count = 142,
     .max_threads_per_block = 1024,
     .shared_per_block = 101376,
     .l2_bytes = 100663296},
    {.name = "RTX 5090",
     .cc = 120,
     .sm_count = 170,
     .max_threads_per_block = 1024,
     .shared_per_block = 101376,
     .l2_bytes = 100663296},
};
static char **files; /* kernels of users */
static int n_files;
static const int elem_sizes[] = {1, 2, 4, 8, 16};

typedef struct job {
    const char *name, *source;
    char config[TT__CONFIG_MAX];
    tt__str options;
    int n_options, cc, elem_size;
    const char *early; /* the kernel, if it is launched early */
} job;

static struct {
    size_t n, cap;
    job *items;
} jobs;

/* Shared by the workers. */
typedef struct outcome {
    enum { UNTRIED, STARTED, COMPILED, REFUSED, HASTY } state;
    double ms;
} outcome;
static struct shared {
    atomic_size_t next;
    atomic_int n_shown;
    outcome outcomes[];
} * shared;

static job *new_job(const char *name, const char *source, int cc, int elem_size) {
    if (jobs.n == jobs.cap) {
        jobs.cap = jobs.cap ? 2 * jobs.cap : 1024;
        jobs.items = realloc(jobs.items, jobs.cap * sizeof *jobs.items);
        assert_non_null(jobs.items);
    }
    jobs.items[jobs.n] = (job){.name = name, .source = source, .cc = cc, .elem_size = elem_size};
    return &jobs.items[jobs.n++];
}

static bool same_cubin(const job *a, const job *b) {
    return a->source == b->source && a->cc == b->cc && a->options.len == b->options.len &&
           memcmp(a->options.text, b->options.text, a->options.len) ==
               0; /* the size of elements is an option, too */
}

/* Operations that are no plain transposes: what they are asked for elements of that size. */
#define TURNED "dim0=113,stride0=10318,dim1=7,stride1=1474,dim2=2,stride2=737,dim3=737,stride3=1,"
#define KEPT   "dim0=9,stride0=1,dim1=90,stride1=909,dim2=101,stride2=9,"
static const struct {
    const char *op, *values[17];
} others[] = {
    {"permute",
     {[1] = TURNED "elem_size=1,align=1",
      [2] = TURNED "elem_size=2,align=2",
      [4] = KEPT "elem_size=4,align=4",
      [8] = TURNED "elem_size=8,align=8",
      [16] = KEPT "elem_size=16,align=16"}},
    {"cast_transpose",
     {[1] = "outputs=7,S=bf16,D=e4m3", [2] = "outputs=7,S=f32,D=f16", [4] = "outputs=7,S=bf16,D=f32"}},
    {"cast_transpose_mx", {[1] = "D=e4m3", [2] = "S=f16,D=e5m2", [4] = "S=f32"}},
    {"transpose_scaled", {[4] = "terms=2", [8] = "T=f64", [16] = "parts=2,terms=2,form=2,T=f64"}},
};

static bool ask(tt__problem *p, tt_problem *matrix, const tt__template *t) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(t->op, others[i].op) == 0) {
            const char *values = others[i].values[matrix->elem_size];
            char sizes[64] = "", text[160];
            if (!values || matrix->batch > 1)
                return false;
            if (strncmp(values, "dim0", 4) != 0)
                snprintf(sizes, sizeof sizes, "rows=%lld,cols=%lld,", (long long)matrix->rows,
                         (long long)matrix->cols);
            snprintf(text, sizeof text, "%s%s", sizes, values);
            return tt__operation_problem(p, t->operation, t->op, text) == TT_OK; /* not for all sizes */
        }
    return sweep_ask(p, matrix, t->op);
}

/* Of a problem the options know no more than the size of its elements: *p becomes one of those that were
 * added. */
static void add_shape(tt__space *space, tt__problem *p, const tt__template *t, const tt__gpu *gpu,
                      int64_t rows, int64_t cols, int64_t batch, int elem_size) {
    tt_problem asked = {.rows = rows, .cols = cols, .batch = batch, .elem_size = elem_size};
    if (ask(p, &asked, t) && tt__space_add(space, t, gpu, p) != TT_OK)
        fail_msg("%s", tt_last_error());
}

/* Keeps at most so many of the jobs from `start` on. */
static void thin_out(size_t start, size_t at_most) {
    size_t kept = start, step = jobs.n == start ? 1 : (jobs.n - start + at_most - 1) / at_most;
    for (size_t i = start; i < jobs.n; i++) {
        if ((i - start) % step == 0)
            jobs.items[kept++] = jobs.items[i];
        else
            tt__str_free(&jobs.items[i].options);
    }
    jobs.n = kept;
}

/* Adds the cubins of a space, at most so many of them. */
static void add_space(const tt__space *space, const tt__problem *p, const tt__template *t, int cc,
                      int elem_size, size_t at_most) {
    size_t start = jobs.n;
    for (size_t i = 0; i < space->n; i++) {
        job *j = new_job(t->path, t->source, cc, elem_size);
        tt__copy(j->config, sizeof j->config, space->items[i].config);
        j->early = space->items[i].pass.early ? t->kernel : NULL;
        assert_int_equal(tt__config_options(&j->options, &j->n_options, &space->items[i], p), TT_OK);
        bool known = false; /* of this shape, or of one before */
        for (size_t k = 0; k + 1 < jobs.n && !known; k++)
            known = same_cubin(&jobs.items[k], j);
        if (known)
            tt__str_free(&jobs.items[--jobs.n].options);
    }
    thin_out(start, at_most);
}

/* The cubins of one template for one architecture, element size and shape, at most so many of them. Size 0
 * means many shapes. Their rows begin on cache lines, are large powers of two apart, or neither. Some fit the
 * L2 cache, some have few columns or rows, and one is a batch of small matrices. */
static void add_template(const tt__template *t, const tt__gpu *gpu, int elem_size, int64_t size,
                         size_t at_most) {
    tt__space space = {0};
    tt__problem p;
    static const int64_t sizes[] = {4096, 8192, 4112, 1024, 1025};
    for (size_t i = 0; i < (size ? 1 : sizeof sizes / sizeof *sizes); i++)
        add_shape(&space, &p, t, gpu, size ? size : sizes[i], size ? size : sizes[i], 1, elem_size);
    if (!size) {
        add_shape(&space, &p, t, gpu, 100000, 3, 1, elem_size);
        add_shape(&space, &p, t, gpu, 3, 100001, 1, elem_size);
        add_shape(&space, &p, t, gpu, 16, 16, 4096, elem_size);
    }
    add_space(&space, &p, t, gpu->cc, elem_size, at_most);
    tt__space_free(&space);
}

/* One configuration of each file of a user, for its default problem. */
static void add_files(tt__template **loaded, const tt__gpu *gpu) {
    for (int i = 0; i < n_files; i++) {
        tt__problem p;
        tt__space space = {0};
        if (!loaded[i] && tt__template_load(&loaded[i], files[i]) != TT_OK)
            fail_msg("%s", tt_last_error());
        assert_int_equal(tt__operation_problem(&p, loaded[i]->operation, loaded[i]->op, NULL), TT_OK);
        if (tt__space_add(&space, loaded[i], gpu, &p) != TT_OK)
            fail_msg("%s", tt_last_error());
        add_space(&space, &p, loaded[i], gpu->cc, 4, 1);
        tt__space_free(&space);
    }
}

static void add_checkers(int cc) {
    for (int i = 0; i < TT__CHECKER_PARTS; i++) {
        job *j = new_job(tt__checker[0].name, tt__checker[0].source, cc, 1);
        tt__configuration checker;
        tt__verify_configuration(&checker, i);
        tt__copy(j->config, sizeof j->config, checker.config);
        assert_int_equal(tt__config_options(&j->options, &j->n_options, &checker, NULL), TT_OK);
    }
}

/* ---- Early launches ------------------------------------------------------------------------------------ */

/* The section with the kernel's instructions, in an ELF file that NVRTC has just made. */
static const unsigned char *find_code(size_t *size, const char *cubin, size_t n, const char *kernel) {
    char wanted[256];
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    snprintf(wanted, sizeof wanted, ".text.%s", kernel);
    memcpy(&header, cubin, sizeof header);
    memcpy(&names, cubin + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        memcpy(&section, cubin + header.e_shoff + i * sizeof section, sizeof section);
        if (strcmp(cubin + names.sh_offset + section.sh_name, wanted) == 0 &&
            section.sh_offset + section.sh_size <= n) {
            *size = section.sh_size;
            return (const unsigned char *)cubin + section.sh_offset;
        }
    }
    return NULL;
}

/* Does the code wait once for the previous kernel, before it accesses global memory, and does it avoid loads
 * for read-only data (LDG.CONSTANT)? Instructions of compute capability 9.0 to 12.0 have 16 bytes. The
 * operation is in the lowest twelve bits. The upper three of these say where its operands are. */
static bool waits_first(const char *cubin, size_t n, const char *kernel) {
    enum { BYTES = 16, WAIT = 0x82e, WHAT = 0x1ff, CONSTANT = 1 << 15 };
    enum { LOAD = 0x180, LOAD_GLOBAL, STORE = 0x185, STORE_GLOBAL, REDUCE = 0x18e, CACHE };
    enum { COPY = 0x1ae }; /* from global to shared memory: LDGSTS */
    size_t size = 0;
    int n_waits = 0, n_loads = 0, n_wrong = 0;
    const unsigned char *code = find_code(&size, cubin, n, kernel);
    for (size_t at = 0; code && at + BYTES <= size; at += BYTES) {
        uint64_t low, high;
        memcpy(&low, code + at, sizeof low);
        memcpy(&high, code + at + sizeof low, sizeof high);
        const int what = (int)(low & WHAT);
        n_waits += (low & 0xfff) == WAIT;
        n_loads += what == LOAD_GLOBAL || what == COPY;
        if (what == LOAD || what == LOAD_GLOBAL || what == STORE || what == STORE_GLOBAL || what == REDUCE ||
            what == CACHE || what == COPY)
            n_wrong += n_waits == 0 || (what == LOAD_GLOBAL && high & CONSTANT);
    }
    return n_waits == 1 && n_loads > 0 && n_wrong == 0;
}

/* ---- Compiling ----------------------------------------------------------------------------------------- */

static void work(size_t number, size_t n_workers) {
    (void)number, (void)n_workers;
    for (;;) {
        size_t i = atomic_fetch_add(&shared->next, 1);
        if (i >= jobs.n)
            _exit(0);
        const job *j = &jobs.items[i];
        outcome *o = &shared->outcomes[i];
        tt__str cubin = {0};
        double start = tt__now_s();
        o->state = STARTED;
        bool ok =
            tt__nvrtc_compile(&cubin, j->name, j->source, j->options.text, j->n_options, j->cc) == TT_OK &&
            cubin.len > 4 && memcmp(cubin.text, "\177ELF", 4) == 0;
        o->ms = 1e3 * (tt__now_s() - start);
        bool hasty = ok && j->early && !waits_first(cubin.text, cubin.len, j->early);
        o->state = hasty ? HASTY : ok ? COMPILED : REFUSED;
        if (o->state != COMPILED && atomic_fetch_add(&shared->n_shown, 1) < SHOWN_MAX)
            fprintf(stderr, "%s, %d bytes, sm_%d, %s: %s\n", j->name, j->elem_size, j->cc, j->config,
                    hasty ? "launched early, and does not wait before it reads and writes" : tt_last_error());
        tt__str_free(&cubin);
    }
}

static void compile_all(void) {
    shared = sweep_shared(sizeof *shared + jobs.n * sizeof *shared->outcomes);
    int bad = sweep_deal_out(work);
    if (bad)
        fprintf(stderr, "%d compiling processes ended badly\n", bad);
}

/* One line for each template, architecture and element size; returns how many did not compile. */
static size_t tell(void) {
    size_t bad = 0;
    for (size_t i = 0, k; i < jobs.n; i = k) {
        const job *first = &jobs.items[i];
        double ms = 0;
        size_t n_bad = 0;
        for (k = i; k < jobs.n && jobs.items[k].source == first->source && jobs.items[k].cc == first->cc &&
                    jobs.items[k].elem_size == first->elem_size;
             k++) {
            const outcome *o = &shared->outcomes[k];
            ms += o->ms;
            n_bad += o->state != COMPILED;
            if (o->state == STARTED)
                fprintf(stderr, "the compiler died of %s, sm_%d, %s\n", first->name, first->cc,
                        jobs.items[k].config);
        }
        printf("%-24s sm_%-3d %2d bytes: %4zu cubins, %zu failed, %5.1f s\n", first->name, first->cc,
               first->elem_size, k - i, n_bad, ms / 1e3);
        bad += n_bad;
    }
    return bad;
}

/* ---- The test ------------------------------------------------------------------------------------------ */

static bool supported(int cc) {
    tt__str archs = {0};
    char wanted[16], padded[1024];
    assert_int_equal(tt__nvrtc_archs(&archs), TT_OK);
    snprintf(wanted, sizeof wanted, " %d ", cc);
    snprintf(padded, sizeof padded, " %s ", archs.text);
    tt__str_free(&archs);
    return strstr(padded, wanted) != NULL;
}

static bool compiled_waits_first(const char *body) {
    tt__str source = {0}, cubin = {0};
    tt__str_addf(&source, "extern \"C\" __global__ void k(int *d, const int *s) {\n%s\n}\n", body);
    if (tt__nvrtc_compile(&cubin, "k.cu", tt__str_text(&source), "", 0, 90) != TT_OK)
        fail_msg("%s", tt_last_error());
    bool waits = waits_first(cubin.text, cubin.len, "k");
    tt__str_free(&source);
    tt__str_free(&cubin);
    return waits;
}

/* Without this, the following would prove nothing. */
static void hasty_code_is_found_out(void **state) {
    (void)state;
    if (!supported(90))
        skip();
#define WAIT "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");"
    assert_true(compiled_waits_first(WAIT " d[threadIdx.x] = s[threadIdx.x];"));
    assert_false(compiled_waits_first("d[threadIdx.x] = s[threadIdx.x];"));
    assert_false(compiled_waits_first("int v = s[threadIdx.x]; " WAIT " d[threadIdx.x] = v;"));
    assert_false(compiled_waits_first("d[1] = 1; " WAIT " d[threadIdx.x] = s[threadIdx.x];"));
    assert_false(compiled_waits_first(WAIT " d[threadIdx.x] = __ldg(s + threadIdx.x);"));
#define COPY_ASYNC                                                                                           \
    "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" "                                             \
    "::\"r\"((unsigned)__cvta_generic_to_shared(&t)), "                                                      \
    "\"l\"(s)); "
    assert_true(compiled_waits_first("__shared__ int t; " WAIT COPY_ASYNC "d[0] = t;"));
    assert_false(compiled_waits_first("__shared__ int t; " COPY_ASYNC WAIT "d[0] = t;"));
    assert_false(
        compiled_waits_first("if (s) " WAIT "else d[0] = 1; " WAIT " d[threadIdx.x] = s[threadIdx.x];"));
#undef WAIT
}

/* Has the template cubins for 4-byte elements and compute capability 9.0, which come first? */
static bool has_main(const tt__template *t) {
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.items[i].source == t->source && jobs.items[i].cc == 90 && jobs.items[i].elem_size == 4)
            return true;
    return false;
}

/* All of an architecture, if this NVRTC knows it. A sample of one is left out where the main shapes have one.
 */
static bool add_gpu(const tt__template_set *set, const tt__gpu *gpu, tt__template **loaded, size_t of_main,
                    size_t of_others, bool all) {
    if (!supported(gpu->cc)) {
        printf("NVRTC %s does not know sm_%d\n", tt__nvrtc_version(), gpu->cc);
        return false;
    }
    for (size_t i = 0; i < set->n && gpu->cc == 90; i++) {
        add_template(set->items[i], gpu, 4, 4096, of_main);
        add_template(set->items[i], gpu, 4, 1024, of_main);
    }
    for (size_t e = 0; e < sizeof elem_sizes / sizeof *elem_sizes; e++)
        for (size_t i = 0; i < set->n && (all || elem_sizes[e] == 4 || gpu->cc == 90); i++)
            if (of_others > 1 || gpu->cc != 90 || elem_sizes[e] != 4 || !has_main(set->items[i]))
                add_template(set->items[i], gpu, elem_sizes[e], 0, of_others);
    add_files(loaded, gpu);
    add_checkers(gpu->cc);
    return true;
}

static void every_configuration_compiles(void **state) {
    (void)state;
    tt__template_set set;
    assert_int_equal(tt__template_set_open(&set, NULL, 0), TT_OK);
    const char *sweep = getenv("TT_SWEEP");
    const bool all = sweep && strcmp(sweep, "all") == 0, is_long = !n_files && (sweep || getenv("TT_LONG"));
    const size_t of_main = is_long ? SIZE_MAX / 2 : 2, of_others = all ? SIZE_MAX / 2 : is_long ? 6 : 1;
    tt__template **loaded = calloc((size_t)n_files + 1, sizeof(tt__template *));
    int n_archs = 0;
    assert_non_null(loaded);
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        n_archs += add_gpu(&set, &gpus[g], loaded, of_main, of_others, all);
    for (size_t g = 0; g < sizeof more_gpus / sizeof *more_gpus && n_files; g++)
        n_archs += add_gpu(&set, &more_gpus[g], loaded, of_main, of_others, all);
    assert_true(n_archs > 0);
    double start = tt__now_s();
    compile_all();
    size_t bad = tell();
    printf("NVRTC %s: %zu cubins in %.1f s\n", tt__nvrtc_version(), jobs.n, tt__now_s() - start);
    assert_int_equal(bad, 0);
    for (size_t i = 0; i < jobs.n; i++)
        tt__str_free(&jobs.items[i].options);
    free(jobs.items);
    for (int i = 0; i < n_files; i++)
        tt__template_free(&loaded[i]);
    free(loaded);
    tt__template_set_close(&set);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hasty_code_is_found_out),
                                       cmocka_unit_test(every_configuration_compiles)};
    unsetenv("TILETUNE_NVRTC");
    if (argc > 1) {
        setenv("TILETUNE_NVRTC", argv[1], 1);
        files = argv + 2;
        n_files = argc - 2;
    }
    if (tt__nvrtc_open() != TT_OK) {
        fprintf(stderr, "skipped: %s\n", tt_last_error());
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
