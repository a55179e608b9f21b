/*
 * The configurations of the built-in templates, run on the CPU stand-in, or on a GPU, and verified bit for
 * bit, with guard bands, by the tuner's own verifier. Compiling takes long: of the first shape every legal
 * configuration takes part, of the others those whose cubin is there by then and a sample, with TT_SWEEP=all
 * everything. There is one process for each CPU, and the configurations are dealt out to them. The shapes,
 * all together, have every configuration that is legal for any problem of bench-peers, which is checked, too.
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
#include "sweep.h"
#include "tuner/verify.h"

enum { SHOWN_MAX = 5, SAMPLE_STEP = 5, OF_FIRST = 65536, HAD_MAX = 1 << 17 };

/* What the processes share: of each the shapes. */
typedef struct outcome {
    size_t chosen, tried, failed; /* each process knows of all that were chosen */
    double ms;
} outcome;
static outcome *outcomes;

typedef struct worker {
    size_t number, n_workers, shown;
    tt__gpu gpu;
    sweep_cubins cubins;
    bool of_first[OF_FIRST]; /* by hash: is a cubin of the first shape */
} worker;

static void try_candidate(worker *w, tt__verifier *v, const tt__candidate *c, outcome *o) {
    tt__kernel kernel;
    tt__trial trial = {0};
    tt__str options;
    int n;
    MUST(tt__config_options(&options, &n, c, &v->problem));
    const char *cubin = sweep_compile(&w->cubins, c->t->path, c->t->source, &options, n, w->gpu.cc);
    MUST(tt__kernel_load(&kernel, cu, cubin, &c->t->symbols, &c->launch));
    MUST(tt__verify(v, &kernel, &c->launch, &trial));
    tt__kernel_unload(&kernel, cu);
    o->tried++;
    if (trial.status == TT__TRIAL_OK)
        return;
    o->failed++;
    if (w->shown++ < SHOWN_MAX)
        fprintf(stderr, "%s of %lld x %lld, %d bytes, ld %lld and %lld: %s: %s: %s\n", c->t->kernel,
                (long long)v->problem.rows, (long long)v->problem.cols, v->problem.elem_size,
                (long long)v->problem.lds, (long long)v->problem.ldd, c->config,
                tt__trial_status_name(trial.status), trial.reason);
}

/* What shapes so far had, as hashes, in every process all of it: configurations, with what is derived from
 * the problem. */
static uint64_t had[HAD_MAX];

static bool was_had(uint64_t kernel, const tt__candidate *c, bool add) {
    uint64_t key = sweep_hash(kernel, c->config, strlen(c->config)) | 1; /* 0 is none */
    size_t i = key / HAD_MAX % HAD_MAX;
    while (had[i] && had[i] != key)
        i = (i + 1) % HAD_MAX;
    bool was = had[i] != 0;
    if (add)
        had[i] = key;
    return was;
}

/* Chosen by kernel: those of the first shape, and a few of the others. */
static bool in_sample(worker *w, uint64_t hash, const sweep_shape *s) {
    const char *sweep = getenv("TT_SWEEP");
    if (s == sweep_shapes)
        w->of_first[hash % OF_FIRST] = true;
    return w->of_first[hash % OF_FIRST] || hash % SAMPLE_STEP == 0 || (sweep && strcmp(sweep, "all") == 0);
}

/* Which of a space this process is to try: their numbers. */
static size_t *pick(worker *w, const tt__space *space, const tt__problem *p, const sweep_shape *s, outcome *o,
                    size_t *n_mine) {
    size_t *mine = calloc(space->n + 1, sizeof *mine);
    assert_non_null(mine);
    *n_mine = 0;
    for (size_t i = 0; i < space->n; i++) {
        const tt__candidate *c = &space->items[i];
        tt__str options;
        int n;
        if (!sweep_is_for(s, c))
            continue;
        MUST(tt__config_options(&options, &n, c, p));
        uint64_t hash = sweep_kernel(c->t->path, &options);
        bool again = was_had(hash, c, true) && s->rest;
        bool chosen = !again && ((i == 0 && !s->rest) || s->with || in_sample(w, hash, s));
        o->chosen += chosen;
        if (chosen && hash / OF_FIRST % w->n_workers == w->number)
            mine[(*n_mine)++] = i;
        tt__str_free(&options);
    }
    return mine;
}

static void try_all(worker *w, const tt__space *space, const size_t *mine, size_t n_mine, const tt__gpu *gpu,
                    const tt__problem *p, outcome *o) {
    const tt__template *t = space->items[0].t, *of = t->task->t;
    tt__verifier v;
    tt__workload work;
    tt__candidate reference_of;
    tt__str options;
    int n;
    MUST(tt__config_options(&options, &n, &(tt__candidate){0}, p));
    const char *checker =
        sweep_compile(&w->cubins, tt__checker[0].name, tt__checker[0].source, &options, n, gpu->cc);
    MUST(tt__workload_of(&work, t, gpu, p));
    MUST(tt__space_reference(&reference_of, t->task, gpu, p));
    MUST(tt__config_options(&options, &n, &reference_of, p));
    const char *reference = sweep_compile(&w->cubins, of->path, of->source, &options, n, gpu->cc);
    MUST(tt__verifier_open(&v, cu, NULL, p, &work, checker, reference));
    for (size_t i = 0; i < n_mine; i++)
        try_candidate(w, &v, &space->items[mine[i]], o);
    tt__verifier_close(&v);
}

static void try_template(worker *w, const tt__template *t, const sweep_shape *s, outcome *o) {
    tt__problem p;
    tt__space space = {0};
    tt__gpu gpu = w->gpu;
    size_t n_mine;
    if (!sweep_problem(&p, s, t->op))
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
static size_t left_out(const worker *w, const tt__template *t, const tt_problem *asked) {
    enum { SM_COUNT = 132, L2_MIB = 60 };
    tt__gpu gpu = w->gpu;
    tt__problem p;
    tt__space space = {0};
    size_t n_missing = 0;
    gpu.sm_count = SM_COUNT;
    gpu.l2_bytes = (int64_t)L2_MIB << 20;
    if (!sweep_ask(&p, asked, t->op))
        return 0;
    MUST(tt__space_add(&space, t, &gpu, &p));
    for (size_t i = 0; i < space.n; i++) {
        const tt__candidate *c = &space.items[i];
        tt__str options;
        int n;
        MUST(tt__config_options(&options, &n, c, &p));
        bool missing = !was_had(sweep_kernel(t->path, &options), c, false);
        tt__str_free(&options);
        if (missing && n_missing++ == 0)
            fprintf(stderr, "%s of %lld x %lld, %d bytes: no shape has %s\n", t->kernel, (long long)p.rows,
                    (long long)p.cols, p.elem_size, c->config);
    }
    tt__space_free(&space);
    return n_missing;
}

/* By the problems of bench-peers, and small and large squares, alone and in batches. */
static size_t all_left_out(const worker *w, const tt__template_set *set) {
    static const int64_t squares[] = {1,    64,   100,  1000,  1024,  1025,  2046,
                                      4096, 4112, 5001, 16384, 65536, 131072};
    enum { BATCH = 3 };
    bench_cases cases;
    size_t n = 0;
    MUST(bench_cases_get(&cases, "default"));
    for (size_t i = 0; i < set->n; i++) {
        for (size_t k = 0; k < cases.n; k++)
            n += left_out(w, set->items[i], &cases.items[k].public);
        for (size_t k = 0; k < sizeof squares / sizeof *squares; k++)
            for (int e = 1; e <= 16; e *= 2)
                for (int batch = 1; batch <= BATCH; batch += BATCH - 1) {
                    tt_problem p = TT_INIT(tt_problem);
                    p.rows = p.cols = squares[k];
                    p.elem_size = e;
                    p.batch = batch;
                    n += left_out(w, set->items[i], &p);
                }
    }
    free(cases.items);
    return n;
}

static void work(size_t number, size_t n_workers) {
    worker w = {.number = number, .n_workers = n_workers};
    tt__template_set set;
    if (!sweep_open_device(&w.gpu))
        _exit(1);
    MUST(tt__template_set_open(&set, NULL, 0));
    for (size_t s = 0; s < sweep_n_shapes; s++) {
        outcome *o = &outcomes[number * sweep_n_shapes + s];
        double start = tt__now_s();
        for (size_t i = 0; i < set.n; i++)
            try_template(&w, set.items[i], &sweep_shapes[s], o);
        o->ms = 1e3 * (tt__now_s() - start);
    }
    size_t n_missing = number == 0 ? all_left_out(&w, &set) : 0;
    sweep_cubins_free(&w.cubins);
    tt__template_set_close(&set);
    _exit(n_missing > 0);
}

static void every_configuration_is_right(void **state) {
    (void)state;
    const size_t n = sweep_n_processes();
    outcomes = sweep_shared(n * sweep_n_shapes * sizeof *outcomes);
    int bad = sweep_deal_out(work);
    for (size_t s = 0; s < sweep_n_shapes; s++) {
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
        assert_true(sum.tried == sum.chosen && (sum.tried > 0 || sweep_shapes[s].rest));
        bad += sum.failed != 0;
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    return sweep_main("execute", every_configuration_is_right);
}
