/* No function of the library crashes if it gets NULL: it says so, or does nothing. */
#include "store_fixture.h"

#include "dispatch/plan.h"
#include "tiletune.h"

/* Of version 0.1. */
tt_status tt_kernel_best(tt_choice *out, tt_kernel *kernel, const char *values);
tt_status tt_kernel_plan(tt_plan **out, tt_kernel *kernel, const char *values);
tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                         const tt_tune_opts *opts);
size_t tt_plan_arguments(const tt_plan *plan, tt_argument *out, size_t n);

#define REFUSED(call, sentence) refused((call), #call, sentence)

static void refused(tt_status status, const char *call, const char *sentence) {
    if (status != TT_E_INVALID || strcmp(tt_last_error(), sentence) != 0)
        fail_msg("%s: %s: %s\nexpected %s", call, tt_strerror(status), tt_last_error(), sentence);
}

static const char source[] =
    "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n out\n//@ block 32\n//@ grid 1\n"
    "//@ args x, i64 n\nextern \"C\" __global__ void k(float *x, long long n) {}\n";

/* Anything, so that a function that leaves it as it is shows. */
static void *const other = (void *)source;

typedef struct things {
    tt_ctx *ctx;
    tt_kernel *kernel;
    tt_problem problem;
    tt_choice choice;
} things;

static things open_things(void) {
    things t = {.problem = {.size = sizeof t.problem, .rows = 64, .cols = 64},
                .choice = {.size = sizeof t.choice}};
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    opts.gpu = "H200";
    assert_ok(tt_open(&t.ctx, &opts));
    assert_ok(tt_kernel_open(&t.kernel, t.ctx, "k.cu", source));
    return t;
}

static void close_things(things *t) {
    tt_kernel_close(&t->kernel);
    tt_close(&t->ctx);
}

static void while_opening(void **state) {
    (void)state;
    static const char *const none[] = {NULL};
    things t = open_things();
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *ctx = other;
    tt_kernel *kernel = other;
    opts.db_path = ":memory:";
    opts.n_templates = 1;
    REFUSED(tt_open(NULL, &opts), "tt_open: out is NULL");
    REFUSED(tt_open(&ctx, &opts), "templates is NULL, but n_templates is 1");
    assert_null(ctx);
    opts.templates = none;
    REFUSED(tt_open(&ctx, &opts), "templates[0] is NULL: it must be the path of a .cu file");
    REFUSED(tt_kernel_open(NULL, t.ctx, "k.cu", source), "tt_kernel_open: out is NULL");
    REFUSED(tt_kernel_open(&kernel, NULL, "k.cu", source), "tt_kernel_open: the context is NULL");
    assert_null(kernel);
    REFUSED(tt_kernel_open(&kernel, t.ctx, NULL, source),
            "tt_kernel_open: path is NULL: it names the file, or stands for it in messages");
    close_things(&t);
}

static void while_asking(void **state) {
    (void)state;
    static const char no_context[] = "the context is NULL: tt_open makes one";
    things t = open_things();
    tt_permutation permutation = TT_INIT(tt_permutation);
    tt_problem permuted = TT_INIT(tt_problem);
    tt_plan *plan = other;
    permuted.permutation = &permutation;
    permutation.rank = 2;
    REFUSED(tt_best(NULL, t.ctx, &t.problem), "tt_choice is NULL");
    REFUSED(tt_best(&t.choice, NULL, &t.problem), no_context);
    REFUSED(tt_best(&t.choice, t.ctx, NULL), "tt_problem is NULL");
    REFUSED(tt_best(&t.choice, t.ctx, &permuted), "dims of a permutation is NULL");
    REFUSED(tt_plan_create(NULL, t.ctx, &t.problem), "tt_plan_create: out is NULL");
    REFUSED(tt_plan_create(&plan, NULL, &t.problem), no_context);
    assert_null(plan);
    REFUSED(tt_plan_create(&plan, t.ctx, NULL), "tt_problem is NULL");
    REFUSED(tt_transpose(NULL, &t.problem, 4096, 8192, NULL), no_context);
    REFUSED(tt_transpose(t.ctx, NULL, 4096, 8192, NULL), "tt_problem is NULL");
    REFUSED(tt_permute(NULL, &permutation, 4096, 8192, NULL), no_context);
    REFUSED(tt_permute(t.ctx, NULL, 4096, 8192, NULL), "tt_permutation is NULL");
    REFUSED(tt_permute(t.ctx, &permutation, 4096, 8192, NULL), "dims of a permutation is NULL");
    close_things(&t);
}

static void while_tuning(void **state) {
    (void)state;
    static const char *const none[] = {NULL};
    things t = open_things();
    tt_report *report = other;
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    REFUSED(tt_tune(NULL, t.ctx, &t.problem, 1, NULL), "tt_tune: out is NULL");
    REFUSED(tt_tune(&report, NULL, &t.problem, 1, NULL), "the context is NULL: tt_open makes one");
    assert_null(report);
    REFUSED(tt_tune(&report, t.ctx, NULL, 1, NULL), "there is no problem to tune");
    opts.templates = none;
    opts.n_templates = 1;
    REFUSED(tt_tune(&report, t.ctx, &t.problem, 1, &opts),
            "templates[0] is NULL: it must be the path of a .cu file");
    close_things(&t);
}

static void with_a_plan(void **state) {
    (void)state;
    static const char no_plan[] = "the plan is NULL: tt_plan_create makes one";
    tt_argument argument = TT_INIT(tt_argument);
    tt_plan plan = {.n_parameters = 1, .of_user = true, .parameters = &(tt__parameter){.name = "x"}};
    void *args[] = {NULL};
    int data = 0;
    REFUSED(tt_plan_launch(NULL, 4096, 8192, NULL), no_plan);
    REFUSED(tt_plan_launch_args(NULL, args, 1, NULL), no_plan);
    REFUSED(tt_plan_launch_args(&plan, NULL, 1, NULL),
            "argument 0, x, is NULL: it must point to the address of the buffer");
    REFUSED(tt_plan_launch_args(&plan, args, 1, NULL),
            "argument 0, x, is NULL: it must point to the address of the buffer");
    REFUSED(tt_plan_argument(NULL, &plan, 0), "tt_argument is NULL");
    REFUSED(tt_plan_argument(&argument, NULL, 0), no_plan);
    REFUSED(tt_plan_set_constant(NULL, "c", &data, sizeof data), "tt_plan_set_constant: the plan is NULL");
    REFUSED(tt_plan_set_constant(&plan, NULL, &data, sizeof data), "tt_plan_set_constant: the name is NULL");
    REFUSED(tt_plan_set_constant(&plan, "c", NULL, sizeof data), "tt_plan_set_constant: the data is NULL");
    assert_int_equal(tt_plan_n_arguments(NULL), 0);
    assert_int_equal(tt_plan_arguments(NULL, &argument, 1), 0);
    assert_int_equal(tt_plan_arguments(&plan, NULL, 1), 1);
    assert_null(tt_plan_choice(NULL));
}

static void in_programs_of_version_0_1(void **state) {
    (void)state;
    static const char no_kernel[] = "the kernel is NULL: tt_kernel_open makes one";
    things t = open_things();
    const char *values[] = {NULL};
    tt_plan *plan = other;
    tt_report *report = other;
    REFUSED(tt_kernel_best(&t.choice, NULL, "n=4"), no_kernel);
    REFUSED(tt_kernel_best(NULL, t.kernel, "n=4"), "tt_choice is NULL");
    REFUSED(tt_kernel_plan(&plan, NULL, "n=4"), no_kernel);
    assert_null(plan);
    REFUSED(tt_kernel_plan(NULL, t.kernel, "n=4"), "tt_plan_create: out is NULL");
    REFUSED(tt_kernel_plan(NULL, NULL, "n=4"), no_kernel);
    REFUSED(tt_kernel_tune(&report, NULL, values, 1, NULL), no_kernel);
    assert_null(report);
    REFUSED(tt_kernel_tune(NULL, t.kernel, values, 1, NULL), "tt_tune: out is NULL");
    REFUSED(tt_kernel_tune(&report, t.kernel, NULL, 1, NULL), "there is no problem to tune");
    close_things(&t);
}

static void nothing_is_freed(void **state) {
    (void)state;
    tt_ctx *ctx = NULL;
    tt_kernel *kernel = NULL;
    tt_plan *plan = NULL;
    tt_report *report = NULL;
    tt_close(NULL), tt_close(&ctx);
    tt_kernel_close(NULL), tt_kernel_close(&kernel);
    tt_plan_free(NULL), tt_plan_free(&plan);
    tt_report_free(NULL), tt_report_free(&report);
    assert_null(tt_report_result(NULL, 0));
    assert_string_equal(tt_kernel_name(NULL), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_opening),
        cmocka_unit_test(while_asking),
        cmocka_unit_test(while_tuning),
        cmocka_unit_test(with_a_plan),
        cmocka_unit_test(in_programs_of_version_0_1),
        cmocka_unit_test(nothing_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
