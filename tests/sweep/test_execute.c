/*
 * The configurations of the built-in templates, run on the CPU stand-in, or on a GPU, and verified bit for
 * bit, with guard bands, by the tuner's own verifier. Compiling takes long: of the first shape every legal
 * configuration takes part, of the others those whose cubin is there by then and a sample, with TT_SWEEP=all
 * everything. There is one process for each CPU, and the configurations are dealt out to them.
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
#include "gpu/nvrtc.h"
#include "sweep.h"
#include "tuner/verify.h"

enum { SHOWN_MAX = 5, SAMPLE_STEP = 5, OF_FIRST = 65536 };

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

static void try_candidate(worker *w, tt__verifier *v, const tt__candidate *c, tt__str *options, int n,
                          outcome *o) {
    tt__kernel kernel;
    tt__trial trial = {0};
    const char *cubin = sweep_compile(&w->cubins, c->t->path, c->t->source, options, n, w->gpu.cc);
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

/* Chosen by kernel: those of the first shape, and a few of the others. */
static bool in_sample(worker *w, uint32_t hash, const sweep_shape *s) {
    const char *sweep = getenv("TT_SWEEP");
    if (s == sweep_shapes)
        w->of_first[hash % OF_FIRST] = true;
    return w->of_first[hash % OF_FIRST] || hash % SAMPLE_STEP == 0 || (sweep && strcmp(sweep, "all") == 0);
}

static void try_all(worker *w, tt__verifier *v, const tt__space *space, const sweep_shape *s, outcome *o) {
    for (size_t i = 0; i < space->n; i++) {
        const tt__candidate *c = &space->items[i];
        tt__str options;
        int n;
        if (!sweep_is_for(s, c))
            continue;
        MUST(tt__config_options(&options, &n, c, &v->problem));
        uint32_t hash = sweep_hash(c->t->path, &options);
        bool chosen = i == 0 || s->with || in_sample(w, hash, s);
        o->chosen += chosen;
        if (chosen && hash / OF_FIRST % w->n_workers == w->number)
            try_candidate(w, v, c, &options, n, o);
        else
            tt__str_free(&options);
    }
}

static void try_template(worker *w, const tt__template *t, const sweep_shape *s, outcome *o) {
    tt__problem p;
    tt__space space = {0};
    tt__verifier v;
    tt__workload work;
    const tt__template *of = t->task->t;
    tt__candidate reference_of;
    tt__str options;
    int n;
    if (!sweep_problem(&p, s, t->op))
        return;
    MUST(tt__space_add(&space, t, &w->gpu, &p));
    MUST(tt__config_options(&options, &n, &(tt__candidate){0}, &p));
    const char *checker =
        sweep_compile(&w->cubins, tt__checker[0].name, tt__checker[0].source, &options, n, w->gpu.cc);
    MUST(tt__workload_of(&work, t, &w->gpu, &p));
    MUST(tt__space_reference(&reference_of, t->task, &w->gpu, &p));
    MUST(tt__config_options(&options, &n, &reference_of, &p));
    const char *reference = sweep_compile(&w->cubins, of->path, of->source, &options, n, w->gpu.cc);
    MUST(tt__verifier_open(&v, cu, NULL, &p, &work, checker, reference));
    try_all(w, &v, &space, s, o);
    tt__verifier_close(&v);
    tt__space_free(&space);
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
    sweep_cubins_free(&w.cubins);
    tt__template_set_close(&set);
    _exit(0);
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
        printf("%4lld x %-4lld %2d bytes: %4zu configurations, %zu failed, %5.1f s\n",
               (long long)sweep_shapes[s].rows, (long long)sweep_shapes[s].cols, sweep_shapes[s].elem_size,
               sum.tried, sum.failed, sum.ms / 1e3);
        assert_true(sum.tried > 0 && sum.tried == sum.chosen);
        bad += sum.failed != 0;
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    return sweep_main("execute", every_configuration_is_right);
}
