/*
 * Kernels of one's own that are wrong somewhere: each fault is found, named with its place and both values,
 * and recorded. All faults of a file are configurations of one kernel, so one run meets them all. A fault has
 * no effect on later configurations. On the CPU stand-in.
 */
#include "fault.h"

#include <math.h>
#include <unistd.h>

#include "base/model.h"

/* The trial of a fault, in the finals if it came so far: its status, and the reason in `out`. */
static tt__trial_status trial_of(char out[TT__REASON_MAX], const char *db, const char *problem, int fault) {
    char sql[512], from[384];
    snprintf(from, sizeof from,
             "FROM trial JOIN config ON config.id = config_id JOIN problem ON problem.id = problem_id"
             " WHERE key = '%s' AND text = 'F=%d'",
             problem, fault);
    snprintf(sql, sizeof sql, "SELECT count(*) %s AND stage = 0", from);
    if (fault_number(db, sql) != 1)
        fail_msg("%s, fault %d: not one trial", problem, fault);
    snprintf(sql, sizeof sql, "SELECT status %s ORDER BY stage DESC LIMIT 1", from);
    tt__trial_status status = (tt__trial_status)fault_number(db, sql);
    snprintf(sql, sizeof sql, "SELECT reason %s ORDER BY stage DESC LIMIT 1", from);
    fault_text(out, TT__REASON_MAX, db, sql);
    return status;
}

static void expect_wrong(const char *db, const char *problem, int fault, const char *says) {
    char reason[TT__REASON_MAX];
    tt__trial_status status = trial_of(reason, db, problem, fault);
    if (status != TT__TRIAL_WRONG_RESULT || !strstr(reason, says))
        fail_msg("%s, fault %d: %s (%s), expected %s", problem, fault, tt__trial_status_name(status), reason,
                 says);
}

static void expect_right(const char *db, const char *problem, int fault) {
    char reason[TT__REASON_MAX];
    tt__trial_status status = trial_of(reason, db, problem, fault);
    if (status != TT__TRIAL_OK)
        fail_msg("%s, fault %d: %s (%s), expected ok", problem, fault, tt__trial_status_name(status), reason);
}

/* Both values are there as numbers of their type, and only one bit apart. */
static void expect_both_values(const char *db, const char *problem, int fault, const char *type) {
    char reason[TT__REASON_MAX];
    double is, should;
    trial_of(reason, db, problem, fault);
    const char *at = strstr(reason, ": is ");
    if (!at || sscanf(at, ": is %lf, should be %lf;", &is, &should) != 2)
        fail_msg("%s: %s", problem, reason);
    bool whole = *type == 'i' || *type == 'u';
    if (whole ? fabs(is - should) != 1 : is == should || fabs(is - should) > 1e-3)
        fail_msg("%s, a bit apart: %s", type, reason);
}

static void finds_every_fault(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int size;
    } types[] = {{"f32", 4}, {"i32", 4}, {"u8", 1}, {"f64", 8}, {"f16", 2}};
    const char *db = fault_path("faulty.db");
    char problem[64], says[128];
    run_result r;
    fault_tune(&r, "",
               "--kernel %s --problem T=f32 --problem T=i32 --problem T=u8 --problem T=f64 --problem T=f16 "
               "--json --db %s",
               fault_source("own/faulty.cu"), db);
    assert_code(&r, 0);
    run_free(&r);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int size = types[i].size;
        snprintf(problem, sizeof problem, "n=1003,T=%s", types[i].type);
        expect_right(db, problem, 0);
        expect_wrong(db, problem, 1, "first wrong element at y[17]: is ");
        expect_both_values(db, problem, 1, types[i].type);
        expect_wrong(db, problem, 2, "first wrong element at y[1002]: is ");
        expect_wrong(db, problem, 3, "wrote to x[5], and x is an input");
        snprintf(says, sizeof says, "wrote before y, first %d bytes before it", size);
        expect_wrong(db, problem, 4, says);
        expect_wrong(db, problem, 5, "wrote to y[1003], and y has 1003 elements");
        expect_wrong(db, problem, 6, "wrote before the input x");
        expect_wrong(db, problem, 7, "wrote beyond the end of the input x");
        snprintf(says, sizeof says, "wrote before s, first %d bytes before it", size);
        expect_wrong(db, problem, 8, says);
        expect_wrong(db, problem, 9, "wrote to s[1003], and s has 1003 elements");
        expect_wrong(db, problem, 10, "first wrong element at z[3]: is ");
        expect_wrong(db, problem, 10,
                     " as before, since the reference does not change it; 1 pieces of 16 bytes");
        expect_both_values(db, problem, 10, types[i].type);
        expect_wrong(db, problem, 11, "first wrong element at z[8]: is ");
        snprintf(says, sizeof says, "wrote before z, first %d bytes before it", size);
        expect_wrong(db, problem, 12, says);
        expect_wrong(db, problem, 13, "wrote to z[1003], and z has 1003 elements");
    }
}

static void keeps_the_tolerance(void **state) {
    (void)state;
    static const struct {
        int fault;
        const char *says; /* NULL: right */
    } cases[] = {
        {0, NULL},
        {1, NULL},
        {2, "first wrong element at y[103]: is 1011, should be 1000 (tolerance: abs 2, rel 0.01); 1 pieces"},
        {3, NULL},
        {4, "first wrong element at y[102]: is 2.5, should be 0 (tolerance"},
        {5, NULL},
        {6, "first wrong element at y[100]: is 1, should be nan (tolerance"},
        {7, "first wrong element at y[103]: is nan, should be 1000 (tolerance"},
        {8, "first wrong element at y[101]: is -inf, should be inf (tolerance"},
        {9, "first wrong element at y[101]: is 3.00000001e+38, should be inf (tolerance"},
        {10, "first wrong element at y[103]: is inf, should be 1000 (tolerance"},
        {11, NULL},
        {12, NULL},
        {13, "first wrong element at counts[60]: is -7, should be -4 (tolerance"},
        {14, NULL},
        {15, "first wrong element at small[9]: is 6, should be 9 (tolerance"},
        {16, "first wrong element at small[0]: is 255, should be 0 (tolerance"},
    };
    const char *db = fault_path("close.db");
    run_result r;
    fault_tune(&r, "", "--kernel %s --json --db %s", fault_source("own/close.cu"), db);
    assert_code(&r, 0);
    run_free(&r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].says)
            expect_wrong(db, "n=128", cases[i].fault, cases[i].says);
        else
            expect_right(db, "n=128", cases[i].fault);
}

/* ---- Data in files ------------------------------------------------------------------------------------- */

static void copy_source(const char *name) {
    char text[4096];
    FILE *f = fopen(fault_source(name), "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    fault_write(fault_path(strchr(name, '/') + 1), text);
}

/* n bytes: i * 3 + `plus`, but at `other`, which is one more. */
static void write_data(const char *name, int n, int plus, int other) {
    FILE *f = fopen(fault_path(name), "wb");
    assert_non_null(f);
    for (int i = 0; i < n; i++)
        fputc((i * 3 + plus + (i == other)) & 255, f);
    assert_int_equal(fclose(f), 0);
}

static void tune_files(int code, const char *says) {
    run_result r;
    fault_tune(&r, "", "--kernel %s --json --force --db %s", fault_path("from_files.cu"),
               fault_path("files.db"));
    assert_code(&r, code);
    assert_has(&r, code ? r.err : r.out, says);
    run_free(&r);
}

static void reads_data_from_files(void **state) {
    (void)state;
    copy_source("own/from_files.cu");
    tune_files(1, "/input.bin");
    write_data("input.bin", 100, 0, -1);
    tune_files(1, "/right.bin");
    write_data("right.bin", 100, 1, -1);
    tune_files(0, "\"failed\":0");
    write_data("right.bin", 100, 1, 42);
    tune_files(1, "first wrong element at y[42]: is 127, should be 128");
    write_data("right.bin", 99, 1, -1);
    tune_files(2, "/right.bin has 99 bytes, but y has 100: 100 elements of 1 bytes");
    write_data("right.bin", 100, 1, -1);
    write_data("input.bin", 101, 0, -1);
    tune_files(2, "/input.bin has 101 bytes, but x has 100");
    write_data("input.bin", 100, 0, 42);
    tune_files(1, "first wrong element at y[42]: is 128, should be 127");
}

/* A kernel that counts its launches, and forgets to count from 0 again. */
static void verifies_again_after_other_launches(void **state) {
    (void)state;
    const char *file = fault_path("state.cu");
    run_result r;
    fault_write(file, "//@ kernel k\n//@ problem n 64\n//@ buffer y i32 n out\n//@ block 64\n//@ grid 1\n"
                      "//@ args y\n//@ reference r\n//@ block 64\n//@ grid 1\n//@ args y\n"
                      "__device__ int launches[64];\n"
                      "extern \"C\" __global__ void k(int *y) { y[threadIdx.x] = ++launches[threadIdx.x]; }\n"
                      "extern \"C\" __global__ void r(int *y) { y[threadIdx.x] = 1; }\n");
    fault_tune(&r, "", "--kernel %s --db :memory:", file);
    assert_code(&r, 1);
    assert_has(&r, r.err, "right at first, but wrong where it is timed: first wrong element at y[0]: is ");
    run_free(&r);
}

/* The best so far is verified again before its time decides what others may take: finals, which would find it
 * wrong, may fail. */
static void verifies_the_best_so_far_at_once(void **state) {
    (void)state;
    const char *file = fault_path("best.cu"), *db = fault_path("best.db");
    run_result r;
    fault_write(file,
                "//@ kernel k\n//@ problem n 1003\n//@ buffer x i32 n in\n//@ buffer y i32 n out\n"
                "//@ runtime B 32 64 96 128 160 192 224 256\n//@ default B=32\n"
                "//@ block B\n//@ grid ceil_div(n, B)\n"
                "//@ args y, x, i32 n\n"
                "//@ reference r\n//@ block 256\n//@ grid ceil_div(n, 256)\n//@ args y, x, i32 n\n"
                "#define I ((int)(blockIdx.x * blockDim.x + threadIdx.x))\n"
                "__device__ int launches[1003];\n"
                "extern \"C\" __global__ void k(int *y, const int *x, int n) {\n"
                "    if (I < n) y[I] = blockDim.x == 256 && launches[I]++ ? 0 : x[I];\n}\n"
                "extern \"C\" __global__ void r(int *y, const int *x, int n) { if (I < n) y[I] = x[I]; }\n");
    fault_tune(&r, "", "--kernel %s --db %s --jobs 1", file, db);
    assert_code(&r, 0);
    run_free(&r);
    static const char trials[] =
        "SELECT count(*) FROM trial JOIN config ON config.id = config_id WHERE text = 'B=256' AND ";
    char sql[256];
    snprintf(sql, sizeof sql, "%s stage = 0 AND reason LIKE 'right at first, but wrong where it is timed%%'",
             trials);
    assert_int_equal(fault_number(db, sql), 1);
    snprintf(sql, sizeof sql, "%s stage = 1", trials);
    assert_int_equal(fault_number(db, sql), 0); /* it was not in the finals */
}

/* ---- Nothing says what is right ------------------------------------------------------------------------ */

static const char unverified[] =
    "//@ kernel    sets\n//@ problem   n 100\n//@ buffer    y i32 n out\n//@ runtime   F 0 1\n"
    "//@ block     32\n//@ grid      ceil_div(n, 32)\n//@ args      y, i32 n, i32 F\n"
    "//@ default   F=0\n"
    "extern \"C\" __global__ void sets(int *y, int n, int fault) {\n"
    "    int i = blockIdx.x * 32 + threadIdx.x;\n"
    "    if (i < n + fault) y[i] = i;\n}\n";

static void marks_what_was_not_verified(void **state) {
    (void)state;
    const char *file = fault_path("sets.cu"), *db = fault_path("sets.db");
    char reason[TT__REASON_MAX], got[64];
    run_result r;
    fault_write(file, unverified);
    fault_tune(&r, "", "--kernel %s --db %s", file, db);
    assert_code(&r, 2);
    assert_has(&r, r.err,
               "sets names no reference, so that no result of it can be verified: add a `reference`, a "
               "`verify` or an "
               "`expect`, or say --unverified");
    run_free(&r);
    fault_tune(&r, "", "check %s", file);
    assert_code(&r, 0);
    assert_has(&r, r.out, "NOT VERIFIED");
    run_free(&r);
    fault_tune(&r, "", "--kernel %s --unverified --db %s", file, db);
    assert_code(&r, 0);
    assert_has(&r, r.out, "measured, not verified");
    run_free(&r);
    assert_int_equal(trial_of(reason, db, "n=100", 0), TT__TRIAL_OK);
    assert_int_equal(trial_of(reason, db, "n=100", 1), TT__TRIAL_WRONG_RESULT); /* guards are guards */
    assert_string_equal(reason, "wrote to y[100], and y has 100 elements");
    assert_int_equal(fault_number(db, "SELECT count(*) FROM problem WHERE unverified"), 1);
    fault_tune(&r, "", "--kernel %s --unverified --json --db %s", file, db);
    assert_code(&r, 0);
    assert_string_equal(run_json(got, sizeof got, r.out, "unverified"), "1");
    assert_string_equal(run_json(got, sizeof got, r.out, "source"), "stored");
    run_free(&r);
    fault_tune(&r, "", "list --db %s", db);
    assert_code(&r, 0);
    assert_has(&r, r.out, "not verified");
    run_free(&r);
    fault_tune(&r, "", "list --json --db %s", db);
    assert_code(&r, 0);
    assert_has(&r, r.out, "unverified");
    run_free(&r);
}

/* Bytes that the reference does not write are reported as such, with any content. */
static void knows_what_the_reference_leaves(void **state) {
    (void)state;
    static const struct {
        const char *direction, *says;
    } cases[] = {
        {"out", "wrote to y[3], which the reference does not write"},
        {"inout random", " as before, since the reference does not change it (tolerance: abs 0, rel 0.001)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *file = fault_path("leaves.cu");
        char text[1024];
        run_result r;
        snprintf(
            text, sizeof text,
            "//@ kernel k\n//@ problem n 64\n//@ buffer y f32 n %s\n//@ buffer z f32 n out\n//@ block 64\n"
            "//@ grid 1\n//@ args y, z\n//@ reference r\n//@ block 64\n//@ grid 1\n//@ args y, z\n"
            "//@ tolerance rel 1e-3\n"
            "extern \"C\" __global__ void k(float *y, float *z) { z[threadIdx.x] = threadIdx.x; if "
            "(threadIdx.x < 3) y[threadIdx.x] = threadIdx.x; y[3] = 1; }\n"
            "extern \"C\" __global__ void r(float *y, float *z) { z[threadIdx.x] = threadIdx.x; if "
            "(threadIdx.x < 3) y[threadIdx.x] = threadIdx.x; }\n",
            cases[i].direction);
        fault_write(file, text);
        fault_tune(&r, "", "--kernel %s --db :memory:", file);
        assert_code(&r, 1);
        assert_has(&r, r.err, cases[i].says);
        run_free(&r);
    }
}

/* That the copy, which is tried before, writes whole elements says nothing of this reference. It writes the
 * last one as a whole. */
static void knows_parts_of_elements(void **state) {
    (void)state;
    const char *file = fault_path("parts.cu"), *db = fault_path("parts.db");
    run_result r;
    fault_write(
        file,
        "//@ kernel k\n//@ problem n 64\n//@ buffer y i32 n out\n//@ runtime F 0 1\n//@ block 64\n//@ grid "
        "1\n"
        "//@ args y, i32 n, i32 F\n//@ default F=0\n//@ reference r\n//@ block 64\n//@ grid 1\n"
        "//@ args y, i32 n, i32 0\n//@ metric gbps 4 * n / time_ns\n"
        "static __device__ void write(short *y, int n, int F) {\n"
        "    y[2 * threadIdx.x] = threadIdx.x; if (F || threadIdx.x == n - 1) y[2 * threadIdx.x + 1] = 7; }\n"
        "extern \"C\" __global__ void k(short *y, int n, int F) { write(y, n, F); }\n"
        "extern \"C\" __global__ void r(short *y, int n, int F) { write(y, n, F); }\n");
    fault_tune(&r, "", "--kernel %s --db %s", file, db);
    assert_code(&r, 0);
    run_free(&r);
    assert_int_equal(fault_number(db, "SELECT count(*) > 0 FROM problem WHERE key LIKE 'bytes=%'"), 1);
    expect_right(db, "n=64", 0);
    expect_wrong(db, "n=64", 1, "wrote to y[0], which the reference does not write");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_fault),           cmocka_unit_test(keeps_the_tolerance),
        cmocka_unit_test(reads_data_from_files),       cmocka_unit_test(verifies_again_after_other_launches),
        cmocka_unit_test(marks_what_was_not_verified), cmocka_unit_test(knows_what_the_reference_leaves),
        cmocka_unit_test(knows_parts_of_elements),     cmocka_unit_test(verifies_the_best_so_far_at_once),
    };
    return cmocka_run_group_tests(tests, fault_enter, run_leave);
}
