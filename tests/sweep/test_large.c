/*
 * Dense arrays of more than 2^31 elements, on a GPU with memory for them. The tuner's own verifier checks two
 * configurations of each transpose template, bit for bit. (test_far has equally large pitches, on the CPU
 * stand-in.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/workload.h"
#include "sweep.h"
#include "tuner/measure/verify.h"

enum { EACH = 2 };

static const tt_problem shapes[] = {
    {.rows = 65536, .cols = 65536, .elem_size = 1},
    {.rows = 50001, .cols = 50003, .elem_size = 1},
    {.rows = 50001, .cols = 50003, .elem_size = 2},
    {.rows = 1, .cols = 3000000000, .elem_size = 1},
    {.rows = 3000000000, .cols = 1, .elem_size = 1},
    {.rows = 3, .cols = 800000000, .elem_size = 4},
    {.rows = 800000000, .cols = 3, .elem_size = 4},
    {.rows = 800000000, .cols = 3, .lds = 4, .elem_size = 1},
    {.rows = 3, .cols = 800000000, .ldd = 4, .elem_size = 1},
    {.rows = 4, .cols = 4, .elem_size = 1, .batch = 150000000},
    {.rows = 100, .cols = 101, .elem_size = 1, .batch = 220000},
    {.rows = 65536, .cols = 65536, .elem_size = 1, .in_place = 1},
    {.rows = 50001, .cols = 50001, .elem_size = 1, .in_place = 1},
    {.rows = 15, .cols = 15, .elem_size = 1, .batch = 10000000, .in_place = 1},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* The cubin of the template's configuration, or of other code that is compiled for the problem. */
static const char *compile(sweep_cubins *cubins, const char *name, const char *source,
                           const tt__configuration *c, const tt__problem *p, int cc) {
    tt__str options;
    int n;
    MUST(tt__config_options(&options, &n, c, p));
    return sweep_compile(cubins, name, source, &options, n, cc);
}

static void check(tt__verifier *v, const tt__configuration *c, sweep_cubins *cubins, const tt__gpu *gpu) {
    tt__kernel kernel;
    tt__launch launch;
    tt__trial trial = {0};
    const char *cubin = compile(cubins, c->t->path, c->t->source, c, &v->problem, gpu->cc);
    MUST(tt__space_launch(&launch, c, gpu, &v->problem));
    MUST(tt__kernel_load(&kernel, cu, cubin, 0, &c->t->symbols, &launch));
    MUST(tt__verify(v, &kernel, &launch, &trial, NULL));
    tt__kernel_unload(&kernel, cu);
    if (trial.status != TT__TRIAL_OK)
        fail_msg("%s %s: %s: %s", c->t->kernel, c->config, tt__trial_status_name(trial.status), trial.reason);
}

/* All templates of the op, one verifier for all. Returns how many configurations that were; 0: there is not
 * enough memory. */
static size_t check_all(const tt__template_set *set, const tt__problem *p, const tt__gpu *gpu) {
    sweep_cubins cubins = {0};
    tt__verifier v;
    size_t n_checked = 0, available, total;
    for (size_t i = 0; i < set->n; i++) {
        const tt__template *t = set->items[i], *of = t->operation->t;
        tt__space space = {0};
        tt__configuration checker_of;
        tt__candidate reference_of;
        tt__workload work;
        if (strcmp(t->op, p->op) != 0)
            continue;
        MUST(tt__workload_of(&work, t, gpu, p));
        CU_OK(cu->cuMemGetInfo(&available, &total));
        if (n_checked == 0 && (int64_t)available < tt__verify_bytes(&work))
            return 0;
        MUST(tt__space_add(&space, t, gpu, p));
        for (size_t k = 0; k < EACH && space.n; k++, n_checked++) {
            if (n_checked == 0) {
                MUST(tt__space_aside(&reference_of, t->operation, TT__REFERENCE, gpu, p, of->default_config));
                const void *checkers[TT__CHECKER_PARTS];
                for (int part = 0; part < tt__verify_parts(p, &work); part++) {
                    tt__verify_configuration(&checker_of, part);
                    checkers[part] =
                        compile(&cubins, tt__checker[0].name, tt__checker[0].source, &checker_of, p, gpu->cc);
                }
                const char *reference =
                    compile(&cubins, of->path, of->source, &reference_of.configuration, p, gpu->cc);
                MUST(tt__verifier_open(&v, cu, NULL, p, &work, TT__FIRST_DATA, false, false, checkers,
                                       reference, 0));
            }
            check(&v, &space.items[k * (space.n - 1) / (EACH - 1)], &cubins, gpu);
        }
        tt__space_free(&space);
    }
    assert_true(n_checked > 0);
    tt__verifier_close(&v);
    sweep_cubins_free(&cubins);
    return n_checked;
}

static void large_arrays_are_transposed(void **state) {
    (void)state;
    tt__template_set set;
    tt__gpu gpu;
    assert_true(sweep_open_device(&gpu));
    MUST(tt__template_set_open(&set, NULL, 0));
    for (size_t s = 0; s < N_SHAPES; s++) {
        tt_problem m = shapes[s];
        tt__problem p;
        MUST(bench_matrix(&p, &m));
        size_t n = check_all(&set, &p, &gpu);
        printf("%lld x %lld x %lld, %d bytes%s: ", (long long)m.batch, (long long)m.rows, (long long)m.cols,
               m.elem_size, m.in_place ? ", in place" : "");
        printf(n ? "%zu configurations\n" : "not enough device memory\n", n);
    }
    tt__template_set_close(&set);
}

int main(void) {
    return sweep_main("large", large_arrays_are_transposed);
}
