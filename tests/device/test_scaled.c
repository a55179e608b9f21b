/* transpose_scaled on a device: results against plain loops, with gaps between rows, for real and complex
 * numbers. And configurations, which the tuner verifies between guards. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"

enum { MOST = 1 << 13, N_ARGS = 6 };

static double src[MOST], dst[MOST], before[MOST]; /* hold f32 as well */

typedef struct scaled {
    int bytes, rows, cols, lds, ldd, parts, terms, form;
} scaled;

static double part(const double *array, int bytes, int i) {
    return bytes == 8 ? array[i] : (double)((const float *)array)[i];
}

static double complex number(const double *array, const scaled *s, int i) {
    return s->parts == 1 ? part(array, s->bytes, i)
                         : part(array, s->bytes, 2 * i) + I * part(array, s->bytes, 2 * i + 1);
}

static void set_part(double *array, int bytes, int i, double value) {
    if (bytes == 8)
        array[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

static void launch(const scaled *s, const double factors[4], int n_src, int n_dst) {
    char values[128];
    double numbers[4];
    tt_problem problem = TT_INIT(tt_problem);
    tt_plan *plan = NULL;
    CUdeviceptr to, from;
    void *args[N_ARGS] = {&to, &from};
    snprintf(values, sizeof values, "rows=%d,cols=%d,lds=%d,ldd=%d,parts=%d,terms=%d,form=%d,T=f%d", s->rows,
             s->cols, s->lds, s->ldd, s->parts, s->terms, s->form, 8 * s->bytes);
    for (int i = 0; i < 4; i++) {
        set_part(&numbers[i], s->bytes, 0, factors[i]);
        args[2 + i] = &numbers[i];
    }
    problem.op = "transpose_scaled";
    problem.values = values;
    OK(tt_plan_create(&plan, device_ctx, &problem));
    CU_OK(cu->cuMemAlloc(&to, (size_t)(n_dst * s->bytes)));
    CU_OK(cu->cuMemAlloc(&from, (size_t)(n_src * s->bytes)));
    CU_OK(device_put(to, before, (size_t)(n_dst * s->bytes)));
    CU_OK(device_put(from, src, (size_t)(n_src * s->bytes)));
    OK(tt_plan_launch_args(plan, args, N_ARGS, NULL));
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, to, (size_t)(n_dst * s->bytes)));
    CU_OK(cu->cuMemFree(to));
    CU_OK(cu->cuMemFree(from));
    tt_plan_free(&plan);
}

static void one(const scaled *s) {
    const double factors[4] = {0.75, -1.5, 0.3, 2};
    const double complex alpha = factors[0] + (s->parts == 2 ? I * factors[1] : 0),
                         beta = factors[2] + (s->parts == 2 ? I * factors[3] : 0);
    const int n_src = ((s->rows - 1) * s->lds + s->cols) * s->parts,
              n_dst = ((s->cols - 1) * s->ldd + s->rows) * s->parts;
    assert_true(n_src <= MOST && n_dst <= MOST);
    for (int i = 0; i < MOST; i++) {
        set_part(src, s->bytes, i, (i * 37 % 1009 - 500) / 64.0);
        set_part(before, s->bytes, i, s->terms == 1 ? NAN : (i * 53 % 977 - 400) / 32.0); /* not read */
    }
    launch(s, factors, n_src, n_dst);
    for (int c = 0; c < s->cols; c++)
        for (int r = 0; r < s->ldd && c * s->ldd + r < n_dst / s->parts; r++) {
            const int at = c * s->ldd + r;
            if (r >= s->rows) { /* a gap */
                assert_memory_equal((char *)dst + at * s->parts * s->bytes,
                                    (char *)before + at * s->parts * s->bytes, (size_t)(s->parts * s->bytes));
                continue;
            }
            const double complex x = number(src, s, r * s->lds + c);
            double complex right = alpha * (s->form == 2 ? conj(x) : x);
            if (s->terms == 2)
                right += beta * number(before, s, at);
            const double off = cabs(number(dst, s, at) - right);
            if (!(off <= (s->bytes == 4 ? 1e-5 : 1e-13)))
                fail_msg("f%d, %d x %d, %d parts, %d terms, form %d: row %d of column %d is off by %g",
                         8 * s->bytes, s->rows, s->cols, s->parts, s->terms, s->form, r, c, off);
        }
}

static void test_results(void **state) {
    (void)state;
    for (int bytes = 4; bytes <= 8; bytes *= 2)
        for (int terms = 1; terms <= 2; terms++) {
            one(&(scaled){bytes, 33, 65, 65, 33, 1, terms, 1});
            one(&(scaled){bytes, 64, 64, 68, 72, 1, terms, 1});
            one(&(scaled){bytes, 40, 64, 64, 44, 2, terms, 1});
            one(&(scaled){bytes, 31, 37, 41, 33, 2, terms, 2});
        }
}

static void test_configurations(void **state) {
    (void)state;
    static const char *const problems[] = {
        "rows=300,cols=260,terms=2",
        "rows=131,cols=67,lds=71,ldd=135",
        "rows=128,cols=256,parts=2,form=2,terms=2",
        "rows=70,cols=133,T=f64,terms=2",
        "rows=65,cols=34,T=f64,parts=2,form=2,ldd=66",
    };
    const bool all = device_may_take_long();
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    opts.max_trials = all ? 40 : 2;
    opts.strategy = "random";
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        tt_problem problem = TT_INIT(tt_problem);
        tt_report *report = NULL;
        problem.op = "transpose_scaled";
        problem.values = problems[i];
        opts.seed = i;
        if (tt_tune(&report, device_ctx, &problem, 1, &opts) != TT_OK || report->results[0].failed > 0)
            fail_msg("%s: %s", problems[i], tt_last_error());
        tt_report_free(&report);
    }
}

/* An argument is the name of the only test to run. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_configurations),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return device_open() ? cmocka_run_group_tests(tests, device_enter, device_leave) : device_missing();
}
