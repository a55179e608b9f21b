/*
 * Runs configurations of the built-in templates on the CPU stand-in or on a GPU. The tuner's own verifier
 * checks them bit for bit, with guard bands. One process for each CPU shares the work.
 *
 * Compiling takes long. So every legal configuration of the first shape runs. Of the other shapes, a sample
 * runs, and every configuration that has a cubin by then. With TT_SWEEP=all everything runs.
 *
 * A thousand random problems check that the shapes together have every configuration that is legal for any
 * problem.
 *
 * On the stand-in without TT_LONG the run is short: a small sample of the hand-written shapes, and no such
 * check.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "bench/peers.h"
#include "kernel/load/builtin.h"
#include "kernel/space/workload.h"
#include "sweep.h"
#include "tuner/measure/verify.h"

enum { SHOWN_MAX = 5, SAMPLE_STEP = 5, SHORT_STEP = 256, OF_FIRST = 65536, HAD_MAX = 1 << 17 };

/* Shared by the processes: results for each shape. Each process knows which configurations were new and
 * chosen. */
typedef struct outcome {
    size_t n_new, chosen, tried, failed;
    int cc;
    bool is_tried, is_long;
    double ms;
} outcome;
static outcome *outcomes;

typedef struct worker {
    size_t number, n_workers, shown, n_asked, n_left_out;
    tt__gpu gpu;
    sweep_cubins cubins;
    bool of_first[OF_FIRST]; /* by hash: is a cubin of the first shape */
    bool is_long;
    bool *had; /* a configuration of the template that has its turn now */
} worker;

static void try_configuration(worker *w, tt__verifier *v, const tt__configuration *c, const tt__gpu *gpu,
                              outcome *o) {
    tt__kernel kernel;
    tt__launch launch;
    tt__trial trial = {0};
    tt__str options;
    int n;
    MUST(tt__config_options(&options, &n, c, &v->problem));
    MUST(tt__space_launch(&launch, c, gpu, &v->problem));
    const char *cubin = sweep_compile(&w->cubins, c->t->path, c->t->source, &options, n, w->gpu.cc);
    MUST(tt__kernel_load(&kernel, cu, cubin, 0, &c->t->symbols, &launch));
    MUST(tt__verify(v, &kernel, &launch, &trial, NULL));
    tt__kernel_unload(&kernel, cu);
    o->tried++;
    if (trial.status == TT__TRIAL_OK)
        return;
    o->failed++;
    char text[TT__PROBLEM_TEXT_MAX];
    if (w->shown++ < SHOWN_MAX)
        fprintf(stderr, "%s of %s: %s: %s: %s\n", c->t->kernel, tt__problem_text(text, &v->problem),
                c->config, tt__trial_status_name(trial.status), trial.reason);
}

/* ---- What shapes so far had ---------------------------------------------------------------------------- */

/* Configurations with their derived values, as hashes; every process has all of them. A small shape shows
 * little of a configuration for large ones. Whole tiles, edges and their neighbours exist together only if
 * the grid has several blocks in both directions. So the grids of each configuration are noted. */
typedef struct entry {
    uint64_t hash;
    bool had[4]; /* by the directions with several blocks */
} entry;
static entry entries[HAD_MAX];
static size_t n_entries;

static entry *find_entry(uint64_t kernel, const tt__configuration *c) {
    uint64_t hash = sweep_hash(kernel, c->config, strlen(c->config)) | 1; /* 0 is none */
    size_t i = hash / HAD_MAX % HAD_MAX;
    while (entries[i].hash && entries[i].hash != hash)
        i = (i + 1) % HAD_MAX;
    if (!entries[i].hash && ++n_entries == HAD_MAX)
        MUST(tt__fail(TT_E_INVALID, "more than %d configurations: HAD_MAX is too small", HAD_MAX - 1));
    entries[i].hash = hash;
    return &entries[i];
}

/* Of clusters, where blocks come in these. The strips of transpose_vector (ORDER 3) are 64 blocks wide,
 * however narrow a matrix is. */
static unsigned directions(const tt__configuration *c) {
    static const char clusters[] = "CLUSTER=";
    const char *at = strstr(c->config, clusters);
    const unsigned *grid = c->pass.grid, least = at ? (unsigned)atoi(at + strlen(clusters)) : 1;
    return (grid[0] > 1) + 2 * (grid[1] > least);
}

/* With several blocks wherever this has them. */
static bool was_had(const entry *e, const tt__configuration *c) {
    for (unsigned d = 0; d < 4; d++)
        if (e->had[d] && (d & directions(c)) == directions(c))
            return true;
    return false;
}

/* ---- Trying -------------------------------------------------------------------------------------------- */

/* Chosen by kernel: those of the first shape, and a few of the others; in a short run a few of all. */
static bool in_sample(worker *w, uint64_t hash, const sweep_shape *s) {
    const char *sweep = getenv("TT_SWEEP");
    if (!w->is_long)
        return hash % SHORT_STEP == 0;
    if (s == sweep_shapes)
        w->of_first[hash % OF_FIRST] = true;
    return w->of_first[hash % OF_FIRST] || hash % SAMPLE_STEP == 0 || (sweep && strcmp(sweep, "all") == 0);
}

/* Is the i-th of a space to be tried? In a short run there is one of each template at least. */
static bool is_chosen(worker *w, uint64_t hash, const sweep_shape *s, size_t i, bool is_new) {
    if (s->rest)
        return is_new && in_sample(w, hash, s);
    if (!w->is_long)
        return in_sample(w, hash, s) || !*w->had;
    return i == 0 || (s->with && !s->sampled) || in_sample(w, hash, s);
}

/* Which of a space this process is to try: their numbers. */
static size_t *pick(worker *w, const tt__space *space, const tt__problem *p, const sweep_shape *s, outcome *o,
                    size_t *n_mine) {
    size_t *mine = calloc(space->n + 1, sizeof *mine);
    assert_non_null(mine);
    *n_mine = 0;
    for (size_t i = 0; i < space->n; i++) {
        const tt__configuration *c = &space->items[i];
        tt__str options;
        int n;
        if (!sweep_is_for(s, c))
            continue;
        MUST(tt__config_options(&options, &n, c, p));
        uint64_t hash = sweep_hash_kernel(c->t->path, &options);
        bool is_new = false;
        if (w->is_long) { /* a short run has no row of the rest, which asks */
            entry *e = find_entry(sweep_hash_kind(c->t->path, &options), c);
            is_new = !was_had(e, c);
            e->had[directions(c)] = true;
        }
        bool chosen = is_chosen(w, hash, s, i, is_new);
        *w->had = *w->had || chosen;
        o->n_new += is_new;
        o->chosen += chosen;
        if (chosen && hash / OF_FIRST % w->n_workers == w->number)
            mine[(*n_mine)++] = i;
        tt__str_free(&options);
    }
    return mine;
}

static void try_all(worker *w, const tt__space *space, const size_t *mine, size_t n_mine, const tt__gpu *gpu,
                    const tt__problem *p, outcome *o) {
    const tt__template *t = space->items[0].t, *of = t->operation->t;
    tt__verifier v;
    tt__workload work;
    tt__configuration checker_of;
    tt__candidate reference_of;
    tt__str options;
    int n;
    MUST(tt__workload_of(&work, t, gpu, p));
    const void *checkers[TT__CHECKER_PARTS];
    for (int i = 0; i < tt__verify_parts(p, &work); i++) {
        tt__verify_configuration(&checker_of, i);
        MUST(tt__config_options(&options, &n, &checker_of, p));
        checkers[i] =
            sweep_compile(&w->cubins, tt__checker[0].name, tt__checker[0].source, &options, n, gpu->cc);
    }
    MUST(tt__space_aside(&reference_of, t->operation, TT__REFERENCE, gpu, p, of->default_config));
    MUST(tt__config_options(&options, &n, &reference_of.configuration, p));
    const char *reference = sweep_compile(&w->cubins, of->path, of->source, &options, n, gpu->cc);
    MUST(tt__verifier_open(&v, cu, NULL, p, &work, TT__FIRST_DATA, false, false, checkers, reference, 0));
    for (size_t i = 0; i < n_mine; i++)
        try_configuration(w, &v, &space->items[mine[i]], gpu, o);
    tt__verifier_close(&v);
}

static void try_template(worker *w, const tt__template *t, const sweep_shape *s, outcome *o) {
    tt_problem matrix = sweep_matrix(s);
    tt__problem p;
    tt__space space = {0};
    tt__gpu gpu = w->gpu;
    size_t n_mine;
    if (!sweep_ask(&p, &matrix, t->op))
        return;
    gpu.l2_bytes = s->l2_bytes ? s->l2_bytes : gpu.l2_bytes;
    MUST(tt__space_add(&space, t, &gpu, &p));
    size_t *mine = pick(w, &space, &p, s, o, &n_mine);
    if (n_mine > 0) /* verifying has its price */
        try_all(w, &space, mine, n_mine, &gpu, &p, o);
    free(mine);
    tt__space_free(&space);
}

/* ---- Is nothing left out? ------------------------------------------------------------------------------ */

/* Of a problem, on a large GPU, what no shape had. */
static size_t left_out(const worker *w, const tt__template *t, tt_problem matrix) {
    enum { SM_COUNT = 132, L2_MIB = 60 };
    char text[TT__PROBLEM_TEXT_MAX];
    tt__gpu gpu = w->gpu;
    tt__problem p;
    tt__space space = {0};
    size_t n_missing = 0;
    gpu.sm_count = SM_COUNT;
    gpu.l2_bytes = (int64_t)L2_MIB << 20;
    if (strcmp(t->kernel, "transpose_rect_panels") == 0 || strcmp(t->kernel, "transpose_rect_swap") == 0)
        return 0; /* matrices that have all of its configurations are too large for the stand-in */
    if (!sweep_ask(&p, &matrix, t->op))
        return 0;
    MUST(tt__space_add(&space, t, &gpu, &p));
    for (size_t i = 0; i < space.n; i++) {
        const tt__configuration *c = &space.items[i];
        tt__str options;
        int n;
        MUST(tt__config_options(&options, &n, c, &p));
        bool missing = !was_had(find_entry(sweep_hash_kind(t->path, &options), c), c);
        tt__str_free(&options);
        if (missing && n_missing++ == 0)
            fprintf(
                stderr,
                "%s of %s: no shape, with as large a grid, has %s; the rest in sweep.c needs another row\n",
                t->kernel, tt__problem_text(text, &p), c->config);
    }
    tt__space_free(&space);
    return n_missing;
}

static int64_t draw(uint64_t *state, int64_t n) { /* xorshift64: below n */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int64_t)(*state >> 11) % n;
}

/* At least n elements: as many, some more, whole cache lines and some more, or far powers of two. */
static int64_t draw_pitch(uint64_t *state, int64_t n, int elem_size) {
    enum { LINE = 128, FAR = 32768, VERY_FAR = 131072 };
    static const int bytes[] = {1, 1, LINE, FAR, FAR, VERY_FAR};
    const int64_t unit = bytes[draw(state, 6)] / elem_size;
    const int64_t more = draw(state, 2) ? 0 : draw(state, 64);
    return unit < 2 ? n + more : (n + unit - 1) / unit * unit + (unit == LINE / elem_size ? more : 0);
}

/* Sides are any number, or multiples of a power of two; of some the arrays are aligned to less than pitches
 * allow. */
static tt_problem draw_problem(uint64_t *state) {
    enum { FEW = 64, MANY = 512, UNITS = 13, BATCH_MAX = 3 };
    tt_problem p = TT_INIT(tt_problem);
    const int64_t unit = 1 << draw(state, UNITS), other = draw(state, 2) ? unit : 1 << draw(state, UNITS);
    p.elem_size = 1 << draw(state, 5);
    p.rows = (1 + draw(state, draw(state, 3) ? FEW : MANY)) * unit;
    p.cols = draw(state, 3) ? (1 + draw(state, draw(state, 3) ? FEW : MANY)) * other : p.rows;
    p.lds = draw_pitch(state, p.cols, p.elem_size);
    p.ldd = draw_pitch(state, p.rows, p.elem_size);
    p.batch = draw(state, 2) ? 1 : 1 + draw(state, BATCH_MAX);
    p.align = draw(state, 4) ? 0 : p.elem_size << draw(state, 3);
    p.align = p.align > 16 ? 16 : p.align;
    return p;
}

/* If it is this process's turn. */
static void ask(worker *w, const tt__template_set *set, const tt_problem *p) {
    for (size_t i = 0; i < set->n && w->n_asked % w->n_workers == w->number; i++)
        w->n_left_out += left_out(w, set->items[i], *p);
    w->n_asked++;
}

/* The problems of bench-peers, small and large squares, alone and in batches, and random problems. */
static void ask_all(worker *w, const tt__template_set *set) {
    static const int64_t squares[] = {1,    64,   100,  256,  1000,  1024,  1025,
                                      2046, 4096, 4112, 5001, 16384, 65536, 131072};
    enum { BATCH = 3, RANDOM = 1000 };
    bench_cases cases;
    uint64_t state = 0x9e3779b97f4a7c15u;
    static const char *const sets[] = {"default", "narrow"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        MUST(bench_cases_get(&cases, sets[i]));
        for (size_t k = 0; k < cases.n; k++)
            ask(w, set, &cases.items[k].public);
        free(cases.items);
    }
    for (size_t k = 0; k < sizeof squares / sizeof *squares; k++)
        for (int e = 1; e <= 16; e *= 2)
            for (int batch = 1; batch <= BATCH; batch += BATCH - 1) {
                tt_problem p = TT_INIT(tt_problem);
                p.rows = p.cols = squares[k];
                p.elem_size = e;
                p.batch = batch;
                ask(w, set, &p);
            }
    for (int k = 0; k < RANDOM; k++) {
        tt_problem p = draw_problem(&state);
        ask(w, set, &p);
    }
}

static void work(size_t number, size_t n_workers) {
    worker w = {.number = number, .n_workers = n_workers};
    tt__template_set set;
    if (!sweep_open_device(&w.gpu))
        _exit(1);
    MUST(tt__template_set_open(&set, NULL, 0));
    w.is_long = device_may_take_long();
    bool *had = calloc(set.n, sizeof *had);
    assert_non_null(had);
    for (size_t s = 0; s < sweep_n_shapes && (w.is_long || !sweep_shapes[s].rest); s++) {
        outcome *o = &outcomes[number * sweep_n_shapes + s];
        double start = tt__now_s();
        for (size_t i = 0; i < set.n; i++) {
            w.had = &had[i];
            try_template(&w, set.items[i], &sweep_shapes[s], o);
        }
        o->ms = 1e3 * (tt__now_s() - start);
        o->cc = w.gpu.cc;
        o->is_tried = true;
        o->is_long = w.is_long;
    }
    free(had);
    if (w.is_long)
        ask_all(&w, &set);
    sweep_cubins_free(&w.cubins);
    tt__template_set_close(&set);
    _exit(w.n_left_out > 0);
}

static void every_configuration_is_right(void **state) {
    (void)state;
    const size_t n = sweep_n_processes();
    outcomes = sweep_shared(n * sweep_n_shapes * sizeof *outcomes);
    int bad = sweep_deal_out(work);
    size_t n_new = 0; /* for a row of the rest */
    for (size_t s = 0; s < sweep_n_shapes && outcomes[s].is_tried; s++) {
        const int row = sweep_shapes[s].rest;
        outcome sum = {0};
        for (size_t i = 0; i < n; i++) {
            sum.chosen = outcomes[s].chosen;
            assert_int_equal(outcomes[i * sweep_n_shapes + s].chosen, sum.chosen);
            sum.tried += outcomes[i * sweep_n_shapes + s].tried;
            sum.failed += outcomes[i * sweep_n_shapes + s].failed;
            sum.ms += outcomes[i * sweep_n_shapes + s].ms;
        }
        if (sum.tried > 0)
            printf("%4lld x %-4lld %2d bytes: %4zu configurations, %zu failed, %5.1f s\n",
                   (long long)sweep_shapes[s].rows, (long long)sweep_shapes[s].cols,
                   sweep_shapes[s].elem_size, sum.tried, sum.failed, sum.ms / 1e3);
        assert_true(sum.tried == sum.chosen && (sum.tried > 0 || row > 0 || !outcomes[s].is_long));
        n_new += outcomes[s].n_new;
        if (row > 0 && (s + 1 == sweep_n_shapes || sweep_shapes[s + 1].rest != row) && n_new == 0 &&
            outcomes[s].cc >= 90) /* older GPUs have fewer configurations */
            fail_msg("row %d of the rest in sweep.c has nothing that is new", row);
        n_new = s + 1 < sweep_n_shapes && sweep_shapes[s + 1].rest == row ? n_new : 0;
        bad += sum.failed != 0;
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    return sweep_main("execute", every_configuration_is_right);
}
