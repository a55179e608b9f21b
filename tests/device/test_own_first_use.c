/* A user's kernel is tuned on first use by the same code as a transpose: once, only with a reference, and
 * never while a graph is captured. Even if the tuning fails, there is a plan that works. */
#include "own.h"

#include <pthread.h>

static const double enough_s = 200;
enum { THREADS = 4 };

static tt_ctx *open_with(const char *name, double budget_s) {
    char path[128];
    tt_ctx *opened;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    snprintf(path, sizeof path, "%s/%s.db", folder, name);
    opts.db_path = path;
    opts.tune_budget_s = budget_s;
    OK(tt_open(&opened, &opts));
    return opened;
}

static tt_kernel *open_in(tt_ctx *in, const char *text) {
    tt_kernel *k;
    OK(tt_kernel_open(&k, in, "own.cu", text));
    return k;
}

/* A plan that stands on this rung, computes what it should, and says so. */
static void expect_plan(tt_kernel *k, const char *problem, int n, int elem_size, tt_match match,
                        const char *why) {
    tt_plan *plan;
    given g;
    OK(kernel_plan(&plan, k, problem));
    const tt_choice *choice = tt_plan_choice(plan);
    if (choice->match != match || !strstr(choice->why, why))
        fail_msg("%s: %s: %s", problem, tt_match_name(choice->match), choice->why);
    make(&g, elem_size, 3, -2);
    OK(tt_plan_launch_args(plan, g.args, N_ARGS, NULL));
    check(&g, n, 1);
    drop(&g);
    tt_plan_free(&plan);
}

static void test_tuned_once(void **state) {
    (void)state;
    tt_ctx *in = open_with("once", 0);
    tt_kernel *k = open_in(in, source);
    tt_choice choice = TT_INIT(tt_choice);
    tt_report *report;
    expect_plan(k, "n=600", 600, 4, TT_MATCH_DEFAULT, "nothing was tuned for this: run ");
    tt_kernel_close(&k);
    tt_close(&in);

    in = open_with("once", enough_s);
    k = open_in(in, source);
    OK(kernel_best(&choice, k, "n=600")); /* looks up only */
    assert_int_equal(choice.match, TT_MATCH_DEFAULT);
    for (int i = 0; i < 2; i++)
        expect_plan(k, "n=600", 600, 4, TT_MATCH_EXACT, "");
    expect_plan(k, "n=600, T=f64", 600, 8, TT_MATCH_EXACT, ""); /* another problem, the same kernel */
    expect_plan(k, "n=601, warm", 601, 4, TT_MATCH_EXACT, "");
    tt_kernel_close(&k);
    tt_close(&in);

    in = open_with("once", enough_s); /* it is in the store: measured, verified, with every configuration */
    k = open_in(in, source);
    const char *const problems[] = {"n=600", "n=600,T=f64", "n=601,warm"};
    OK(kernel_tune(&report, k, problems, 3, NULL));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tt_report_result(report, i)->source, TT_SOURCE_STORED);
        assert_int_equal(tt_report_result(report, i)->trials, 4);
        assert_int_equal(tt_report_result(report, i)->warm, i == 2);
    }
    tt_report_free(&report);
    tt_kernel_close(&k);
    tt_close(&in);
}

typedef struct user {
    tt_kernel *k;
    CUcontext context;
    tt_match match;
    bool ok;
} user;

static void *make_plan(void *arg) {
    user *u = arg;
    tt_plan *plan = NULL;
    u->ok = cu->cuCtxSetCurrent(u->context) == CUDA_SUCCESS && kernel_plan(&plan, u->k, "n=500") == TT_OK;
    u->match = plan ? tt_plan_choice(plan)->match : TT_MATCH_DEFAULT;
    tt_plan_free(&plan);
    return NULL;
}

/* One tunes, and the others wait for it. */
static void test_many_threads(void **state) {
    (void)state;
    tt_ctx *in = open_with("threads", enough_s);
    tt_kernel *k = open_in(in, source);
    CUcontext context;
    pthread_t threads[THREADS];
    user users[THREADS];
    CU_OK(cu->cuCtxGetCurrent(&context));
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){.k = k, .context = context};
        assert_int_equal(pthread_create(&threads[i], NULL, make_plan, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_true(users[i].ok && users[i].match == TT_MATCH_EXACT);
    tt_kernel_close(&k);
    tt_close(&in);
}

/* Another text of the kernel is another kernel: what became of the one says nothing of the other. */
static void test_serves_whatever_becomes_of_it(void **state) {
    (void)state;
    char *worker = strdup(getenv("TILETUNE_WORKER") ? getenv("TILETUNE_WORKER") : ""),
         edited[sizeof source + 64];
    tt_ctx *in = open_with("fails", enough_s);
    tt_kernel *k = open_in(in, source);
    setenv("TILETUNE_WORKER", "/nonexistent", 1);
    expect_plan(k, "n=300", 300, 4, TT_MATCH_DEFAULT, "tuning failed: TILETUNE_WORKER names /nonexistent");
    if (*worker)
        setenv("TILETUNE_WORKER", worker, 1);
    else
        unsetenv("TILETUNE_WORKER");
    expect_plan(k, "n=300", 300, 4, TT_MATCH_DEFAULT, "tuning failed"); /* it is not tried again */
    tt_kernel_close(&k);
    snprintf(edited, sizeof edited, "%s#define ONE_MORE_LINE\n", source);
    k = open_in(in, edited);
    expect_plan(k, "n=300", 300, 4, TT_MATCH_EXACT, "");
    tt_kernel_close(&k);
    tt_close(&in);
    free(worker);
}

/* Where every configuration failed, the next process tries again, and gets no plan either. */
static void test_no_plan_of_what_failed(void **state) {
    (void)state;
    char text[sizeof source + 64];
    const char *from = strstr(source, "y[i] += a * x[i] + (T)b");
    tt_plan *plan;
    tt_choice choice = TT_INIT(tt_choice);
    snprintf(text, sizeof text, "%.*s1 + %s", (int)(from - source) + 8, source, from + 8);
    for (int i = 0; i < 3; i++) {
        tt_ctx *in = open_with("wrong", i < 2 ? enough_s : 0);
        tt_kernel *k = open_in(in, text);
        refused(kernel_plan(&plan, k, "n=400"), TT_E_NO_WINNER,
                "and its default failed when it was tuned: parts_of STEP=1 EACH=1: wrong_result: first");
        assert_null(plan);
        assert_int_equal(kernel_best(&choice, k, "n=400"), TT_E_NO_WINNER);
        OK(kernel_best(&choice, k, "n=401"));
        tt_kernel_close(&k);
        tt_close(&in);
    }
}

/* An unverified kernel is not tuned unless the caller allows it. */
static void test_not_what_nothing_verifies(void **state) {
    (void)state;
    tt_ctx *in = open_with("unsure", enough_s);
    char text[sizeof source];
    const char *from = strstr(source, "//@ reference"), *to = strstr(source, "//@ metric");
    snprintf(text, sizeof text, "%.*s%s", (int)(from - source), source, to);
    tt_kernel *k = open_in(in, text);
    expect_plan(k, "n=200", 200, 4, TT_MATCH_DEFAULT,
                "nothing was tuned for this: run \"tune --kernel own.cu --problem n=200 --unverified\"");
    tt_kernel_close(&k);
    tt_close(&in);
}

static void test_not_in_a_capture(void **state) {
    (void)state;
    CUresult (*begin)(CUstream, CUstreamCaptureMode), (*end)(CUstream, CUgraph *), (*destroy)(CUgraph);
    CUstream stream;
    CUgraph graph;
    tt_plan *plan;
    device_symbol(&begin, "cuStreamBeginCapture_v2");
    device_symbol(&end, "cuStreamEndCapture");
    device_symbol(&destroy, "cuGraphDestroy");
    tt_ctx *in = open_with("capture", enough_s);
    tt_kernel *k = open_in(in, source);
    CU_OK(cu->cuStreamCreate(&stream, 0));
    CU_OK(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    tt_status planned = kernel_plan(&plan, k, "n=700");
    CU_OK(end(stream, &graph)); /* the capture is still good */
    CU_OK(destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    OK(planned);
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_DEFAULT);
    assert_string_equal(tt_plan_choice(plan)->why,
                        "nothing was tuned for this: run \"tune --kernel own.cu --problem n=700\"");
    tt_plan_free(&plan);
    expect_plan(k, "n=700", 700, 4, TT_MATCH_EXACT, ""); /* afterwards it is tuned */
    tt_kernel_close(&k);
    tt_close(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuned_once),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_serves_whatever_becomes_of_it),
        cmocka_unit_test(test_no_plan_of_what_failed),
        cmocka_unit_test(test_not_what_nothing_verifies),
        cmocka_unit_test(test_not_in_a_capture),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
