/* Kernels of one's own through the library: opened, tuned, looked up, and launched as tuned. */
#include "own.h"

#include "api/problem.h"

/* ---- Opening ------------------------------------------------------------------------------------------- */

static void test_opens(void **state) {
    (void)state;
    char path[128];
    tt_kernel *k;
    snprintf(path, sizeof path, "%s/own.cu", folder);
    refused(tt_kernel_open(&k, ctx, path, NULL), TT_E_IO, path);
    assert_null(k);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(source, f) >= 0);
    fclose(f);
    OK(tt_kernel_open(&k, ctx, path, NULL));
    assert_string_equal(tt_kernel_name(k), "parts_of");
    tt_kernel_close(&k);
    assert_null(k);
    tt_kernel_close(&k);
    OK(tt_kernel_open(&k, ctx, "nowhere.cu", source));
    assert_string_equal(tt_kernel_name(k), "parts_of");
    tt_kernel_close(&k);
    /* A text has its headers beside its path. */
    char text[sizeof source + 64], header[128];
    snprintf(header, sizeof header, "%s/beside.h", folder);
    f = fopen(header, "w");
    assert_non_null(f);
    assert_true(fputs("#include MACRO\n", f) >= 0);
    fclose(f);
    snprintf(text, sizeof text, "%s#include \"beside.h\"\n", source);
    refused(tt_kernel_open(&k, ctx, path, text), TT_E_TEMPLATE, "/beside.h:1:10: `#include MACRO`");
    OK(tt_kernel_open(&k, ctx, "nowhere.cu", text)); /* NVRTC may know one of that name */
    tt_kernel_close(&k);
    refused(tt_kernel_open(&k, ctx, NULL, source), TT_E_INVALID, "path is NULL");
    assert_null(k);
    refused(tt_kernel_open(&k, ctx, "own.cu", "//@ kernle k\n"), TT_E_TEMPLATE,
            "own.cu:1:5: unknown annotation 'kernle'; did you mean kernel?");
    assert_null(k);
    refused(tt_kernel_open(&k, ctx, "copy.cu",
                           "//@ kernel mine\n//@ op copy\n//@ block 1\n//@ grid 1\n//@ args dst\n"
                           "extern \"C\" __global__ void mine(int *dst) {}\n"),
            TT_E_INVALID, "copy.cu is a template for `op copy`");
    assert_null(k);
}

/* ---- Tuning -------------------------------------------------------------------------------------------- */

static tt_report *tune(tt_kernel *k, const char *const *problems, size_t n) {
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report;
    opts.jobs = 2;
    OK(kernel_tune(&report, k, problems, n, &opts));
    assert_int_equal(report->n_results, n);
    return report;
}

/* Tunes y = 4095 - 15 i. `kernels` declares what makes it, and `both` has 16 KB of static shared memory. */
static void expect_room_for(const char *kernels) {
    static const char *const problem = "n=256";
    static const char source_of_both[] =
        "extern \"C\" __global__ void both(int *y) {\n"
        "    extern __shared__ int more[];\n    __shared__ int room[4096];\n"
        "    for (int i = threadIdx.x; i < 4096; i += THREADS)\n"
        "        room[i] = more[i] = i;\n    __syncthreads();\n"
        "    for (int i = threadIdx.x; i < 256; i += THREADS)\n"
        "        y[i] = room[4095 - 16 * i] + more[i];\n}\n"
        "extern \"C\" __global__ void plain(int *y) {\n"
        "    for (int i = 0; i < 256; i++)\n        y[i] = 4095 - 15 * i;\n}\n";
    char text[2048];
    snprintf(text, sizeof text,
             "//@ problem   n 256\n//@ buffer    y i32 n out\n//@ param     THREADS 64\n%s"
             "//@ default   THREADS=64\n"
             "//@ reference plain\n//@ block     1\n//@ grid      1\n//@ args      y\n%s",
             kernels, source_of_both);
    tt_kernel *k;
    OK(tt_kernel_open(&k, ctx, "both.cu", text));
    tt_report *report = tune(k, &problem, 1);
    assert_int_equal(report->results[0].failed, 0);
    tt_report_free(&report);
    tt_kernel_close(&k);
}

#define BOTH(SHARED)                                                                                         \
    "//@ kernel    both\n//@ block     THREADS\n//@ grid      1\n//@ shared    " SHARED "\n//@ args      "   \
    "y\n"

/* Static and dynamic shared memory may each be less than the 48 KB that need no permission, and a kernel may
 * run twice. */
static void test_shared_memory(void **state) {
    (void)state;
    expect_room_for(BOTH("40960"));
    expect_room_for(BOTH("60000") BOTH("50000"));
}

static void test_tunes(void **state) {
    (void)state;
    static const char *const problems[] = {"n=1500", "n=1500,T=f64", "n=400,warm"};
    static const char *const words[] = {"n=1500, T=f32", "n=1500, T=f64", "n=400, T=f32"};
    tt_kernel *k = open_text(source);
    tt_report *report = tune(k, problems, 3);
    tt_choice choice = TT_INIT(tt_choice);
    for (size_t i = 0; i < 3; i++) {
        const tt_result *r = tt_report_result(report, i);
        assert_string_equal(r->problem, words[i]);
        assert_string_equal(r->kernel, "parts_of");
        assert_int_equal(r->failed, 0);
        assert_int_equal(r->space, 4);
        assert_int_equal(r->trials, 4);
        assert_int_equal(r->elem_size, i == 1 ? 8 : 4);
        assert_int_equal(r->warm, i == 2);
        assert_int_equal(r->unverified, 0);
        assert_int_equal(r->source, TT_SOURCE_MEASURED);
        assert_non_null(strstr(r->metrics, "gbps "));
        assert_true(r->time_us > 0 && r->copy_us > 0 && r->gbps > 0);

        OK(kernel_best(&choice, k, problems[i]));
        assert_int_equal(choice.match, TT_MATCH_EXACT);
        assert_string_equal(choice.kernel, "parts_of");
        assert_string_equal(choice.config, r->config);
        assert_string_equal(choice.problem, words[i]);
        assert_string_equal(choice.why, "");
        assert_int_equal(choice.unverified, 0);
        assert_true(choice.time_us == r->time_us);
        assert_true(choice.gbps > 0.999 * r->gbps && choice.gbps < 1.001 * r->gbps);
    }
    tt_report_free(&report);
    OK(kernel_best(&choice, k, "n=1400,T=f64")); /* nearer than what is nearly as far, but of another type */
    assert_int_equal(choice.match, TT_MATCH_NEAREST);
    assert_string_equal(choice.problem, "n=1500, T=f64");
    assert_int_equal(choice.unverified, 0);
    assert_non_null(strstr(choice.why, "measured for n=1500, T=f64"));
    OK(kernel_best(&choice, k, "n=450,T=f64"));
    assert_int_equal(choice.match, TT_MATCH_NEAREST);
    OK(kernel_best(&choice, k, "n=450,warm"));
    assert_string_equal(choice.problem, "n=400, T=f32");

    report = tune(k, problems, 3); /* and nothing is measured again */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(tt_report_result(report, i)->source, TT_SOURCE_STORED);
    tt_report_free(&report);
    tt_kernel_close(&k);
}

/* Launches the winner. Scalars are the caller's, not those used for tuning. */
static void test_launches_what_was_tuned(void **state) {
    (void)state;
    static const struct {
        const char *problem;
        int n, elem_size;
    } cases[] = {{"n=1500", 1500, 4}, {"T=f64,n=1500", 1500, 8}, {"n=401,warm", 401, 4}, {"n=1,T=f64", 1, 8}};
    tt_kernel *k = open_text(source);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_plan *plan;
        given g;
        OK(kernel_plan(&plan, k, cases[i].problem));
        assert_int_equal(tt_plan_choice(plan)->match, i < 2    ? TT_MATCH_EXACT
                                                      : i == 2 ? TT_MATCH_NEAREST
                                                               : TT_MATCH_DEFAULT); /* too far away */
        make(&g, cases[i].elem_size, -4, 100);
        OK(tt_plan_launch_args(plan, g.args, N_ARGS, NULL));
        check(&g, cases[i].n, 1);
        drop(&g);
        tt_plan_free(&plan);
    }
    tt_kernel_close(&k);
}

/* What the compiler does not see makes no other kernel, and neither does an earlier version's way to know it. */
static void test_comments_do_not_count(void **state) {
    (void)state;
    char edited[sizeof source + 128], path[128];
    tt_choice choice = TT_INIT(tt_choice);
    tt__store *store;
    bool changed;
    snprintf(edited, sizeof edited, "/* Of another year. */\n\n%s\n  // One more line.\n", source);
    snprintf(path, sizeof path, "%s/own.db", folder);
    tt_kernel *k = open_text(edited);
    OK(kernel_best(&choice, k, "n=1500"));
    assert_int_equal(choice.match, TT_MATCH_EXACT);
    OK(tt__store_open(&store, path, TT__STORE_UPDATE));
    OK(tt__store_rename_text(store, k->t->hash, k->t->hash_of_bytes, &changed)); /* as 0.1 stored it */
    assert_true(changed);
    tt__store_close(&store);
    tt_kernel_close(&k);
    k = open_text(edited);
    OK(kernel_best(&choice, k, "n=1500"));
    assert_int_equal(choice.match, TT_MATCH_EXACT);
    tt_plan *plan;
    OK(kernel_plan(&plan, k, "n=1500"));
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_EXACT);
    tt_plan_free(&plan);
    tt_kernel_close(&k);
}

/* Results are stored under the hash of the text: another one is tuned anew, and the winners of both stand. */
static void test_edited_files_start_anew(void **state) {
    (void)state;
    static const char *const problems[] = {"n=1500"};
    char edited[sizeof source + 64];
    tt_choice choice = TT_INIT(tt_choice);
    snprintf(edited, sizeof edited, "%s#define ONE_MORE_LINE\n", source);
    tt_kernel *k = open_text(edited), *old = open_text(source);
    OK(kernel_best(&choice, k, problems[0]));
    assert_int_equal(choice.match, TT_MATCH_DEFAULT);
    tt_report *report = tune(k, problems, 1);
    assert_int_equal(tt_report_result(report, 0)->source, TT_SOURCE_MEASURED);
    assert_int_equal(tt_report_result(report, 0)->trials, 4);
    tt_report_free(&report);
    OK(kernel_best(&choice, k, problems[0]));
    assert_int_equal(choice.match, TT_MATCH_EXACT);
    OK(kernel_best(&choice, old, problems[0]));
    assert_int_equal(choice.match, TT_MATCH_EXACT);
    tt_kernel_close(&k);
    tt_kernel_close(&old);
}

/* Without a reference it must be asked for, and says so. */
static void test_unverified(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel    sets\n//@ problem   n 100\n//@ buffer    y i32 n out\n//@ block     32\n"
        "//@ grid      ceil_div(n, 32)\n//@ args      y, i64 n\n"
        "extern \"C\" __global__ void sets(int *y, long long n) {\n"
        "    long long i = (long long)blockIdx.x * 32 + threadIdx.x;\n"
        "    if (i < n) y[i] = (int)i;\n}\n";
    static const char *const problems[] = {NULL};
    tt_kernel *k = open_text(text);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_choice choice = TT_INIT(tt_choice);
    char edited[sizeof text + 64];
    tt_report *report;
    refused(kernel_tune(&report, k, problems, 1, &opts), TT_E_INVALID,
            "sets names no reference, so that no result of it can be verified");
    assert_null(report);
    opts.unverified = 1;
    OK(kernel_tune(&report, k, problems, 1, &opts));
    assert_int_equal(tt_report_result(report, 0)->unverified, 1);
    assert_string_equal(tt_report_result(report, 0)->problem, "n=100");
    tt_report_free(&report);
    static const struct {
        const char *problem;
        tt_match match;
    } rungs[] = {{"n=100", TT_MATCH_EXACT}, {"n=110", TT_MATCH_NEAREST}, {"n=100000000", TT_MATCH_DEFAULT}};
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        tt_plan *plan;
        OK(kernel_best(&choice, k, rungs[i].problem));
        assert_int_equal(choice.match, rungs[i].match);
        assert_int_equal(choice.unverified, 1);
        OK(kernel_plan(&plan, k, rungs[i].problem));
        assert_int_equal(tt_plan_choice(plan)->match, rungs[i].match);
        assert_int_equal(tt_plan_choice(plan)->unverified, 1);
        tt_plan_free(&plan);
    }
    snprintf(edited, sizeof edited, "%s#define ONE_MORE_LINE\n", text);
    tt_kernel_close(&k);
    k = open_text(edited);
    OK(kernel_best(&choice, k, "n=100"));
    assert_int_equal(choice.match, TT_MATCH_DEFAULT);
    assert_int_equal(choice.unverified, 1);
    tt_kernel_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_tunes),
        cmocka_unit_test(test_launches_what_was_tuned),
        cmocka_unit_test(test_comments_do_not_count),
        cmocka_unit_test(test_edited_files_start_anew),
        cmocka_unit_test(test_unverified),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
