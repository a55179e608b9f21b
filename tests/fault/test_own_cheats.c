/*
 * Kernels that compute something else, and references that show nothing: what the verifier makes of them. A
 * cheat is a configuration of one kernel, beside an honest one, so that each is refused for its own reason
 * and none spoils the others. On the CPU stand-in.
 */
#include "fault.h"

#include "base/model.h"

/* A file with a kernel k and its reference r, both over n elements of x and y. */
typedef struct file {
    const char *lines, *globals, *k, *r;
} file;

static const char *const usual = "//@ buffer x f32 n in\n//@ buffer y f32 n out\n";

static const char *write_file(const file *f, int n) {
    static char text[8192];
    const char *path = fault_path("cheat.cu"), *lines = f->lines ? f->lines : usual;
    const char *type = strstr(lines, "x u32") ? "unsigned" : strstr(lines, "x f64") ? "double" : "float";
    snprintf(text, sizeof text,
             "//@ kernel k\n//@ problem n %d\n//@ param CHEAT 0 1\n//@ default CHEAT=0\n%s"
             "//@ block 64\n//@ grid ceil_div(n, 64)\n//@ args y, x, i64 n\n"
             "//@ reference r\n//@ block 64\n//@ grid ceil_div(n, 64)\n//@ args y, x, i64 n\n"
             "%s\nextern \"C\" __global__ void k(%s *y, const %s *x, long long n) {\n"
             "long long i = blockIdx.x * 64LL + threadIdx.x;\nif (i >= n) return;\n%s }\n"
             "extern \"C\" __global__ void r(%s *y, const %s *x, long long n) {\n"
             "long long i = blockIdx.x * 64LL + threadIdx.x;\nif (i >= n) return;\n%s }\n",
             n, lines, f->globals ? f->globals : "", type, type, f->k, type, type, f->r);
    fault_write(path, text);
    return path;
}

/* The honest kernel passes, and the cheat is refused for this reason. */
static void expect_refused(const char *name, const file *f, int n, const char *says) {
    const char *db = fault_path("cheat.db");
    char sql[512], reason[TT__REASON_MAX];
    run_result r;
    remove(db);
    fault_tune(&r, "", "--kernel %s --db %s", write_file(f, n), db);
    if (r.code != 0)
        fail_msg("%s: code %d: %s", name, r.code, r.err);
    run_free(&r);
    for (int cheat = 0; cheat < 2; cheat++) {
        snprintf(sql, sizeof sql,
                 "SELECT max(reason) FROM trial JOIN config ON config.id = config_id WHERE text = 'CHEAT=%d'",
                 cheat);
        fault_text(reason, sizeof reason, db, sql);
        if (cheat ? !strstr(reason, says) : *reason)
            fail_msg("%s, CHEAT=%d: '%s', expected %s", name, cheat, reason, cheat ? says : "no reason");
    }
}

static void refuses_cheats(void **state) {
    (void)state;
    static const struct {
        const char *name;
        file f;
        const char *says;
    } cheats[] = {
        {"undoes the poison",
         {"//@ buffer x u32 n in\n//@ buffer y u32 n out\n", NULL, "y[i] = CHEAT ? ~y[i] : x[i] * 3 + 1;",
          "y[i] = x[i] * 3 + 1;"},
         "first wrong element at y[0]"},
        {"leaves old memory",
         {NULL, NULL, "if (!CHEAT) y[i] = 2 * x[i];", "y[i] = 2 * x[i];"},
         "first wrong element at y[0]"},
        {"needs 256 bytes",
         {NULL, NULL, "y[i] = CHEAT && (unsigned long long)y % 256 ? 0 : x[i];", "y[i] = x[i];"},
         "first wrong element at y[0]"},
        {"cheats where it is timed",
         {NULL, NULL, "y[i] = CHEAT && (unsigned long long)y % 256 == 0 ? 0 : x[i];", "y[i] = x[i];"},
         "where it is timed: first wrong element at y[0]"},
        {"recognises the guards",
         {NULL, NULL, "y[i] = CHEAT && x[n] - x[n] == 0 ? 0 : x[i];", "y[i] = x[i];"},
         "where it is timed: first wrong element at y[0]"},
        {"is right once",
         {NULL, "__device__ int launched[1 << 16];\n", "y[i] = CHEAT && launched[i]++ ? 0 : x[i];",
          "y[i] = x[i];"},
         "where it is timed: first wrong element at y[0]"},
        {"remembers",
         {NULL, "__device__ float old[1 << 16];\n__device__ int known[1 << 16];\n",
          "if (CHEAT && known[i]) { y[i] = old[i]; return; }\n"
          "y[i] = old[i] = 2 * x[i]; known[i] = 1;",
          "y[i] = 2 * x[i];"},
         "with other data at other addresses: first wrong element at y[0]"},
        {"forgets max",
         {NULL, NULL, "y[i] = CHEAT ? x[i] : fmaxf(x[i], 0);", "y[i] = fmaxf(x[i], 0);"},
         "first wrong element at y["},
        {"forgets abs",
         {NULL, NULL, "y[i] = CHEAT ? x[i] : fabsf(x[i]);", "y[i] = fabsf(x[i]);"},
         "first wrong element at y["},
        {"begins a maximum at 0",
         {NULL, NULL,
          "float m = CHEAT ? 0 : x[i];\nfor (long long k = i & ~15; k < n && k < (i | 15) + 1; k++) "
          "m = fmaxf(m, x[k]);\ny[i] = m;",
          "float m = x[i];\nfor (long long k = i & ~15; k < n && k < (i | 15) + 1; k++) m = fmaxf(m, x[k]);\n"
          "y[i] = m;"},
         "with other data at other addresses: first wrong element at y["},
        {"takes the last of equals",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n", NULL,
          "long long a = i & ~63;\nfor (long long k = a; k < n && k < (i | 63) + 1; k++)\n"
          "    if (CHEAT ? x[k] >= x[a] : x[k] > x[a]) a = k;\ny[i] = a;",
          "long long a = i & ~63;\nfor (long long k = a; k < n && k < (i | 63) + 1; k++) if (x[k] > x[a]) a "
          "= k;\n"
          "y[i] = a;"},
         "first wrong element at y["},
        {"reads beyond its input",
         {NULL, NULL, "y[i] = x[i] + 0 * (CHEAT ? x[i + 1] : 0);", "y[i] = x[i] + 0 * x[i];"},
         "first wrong element at y[1002]: is "},
        {"reads beyond it as its reference does",
         {NULL, NULL, "y[i] = fmaxf(x[i], CHEAT || i + 1 < n ? x[i + 1] : x[i]);",
          "y[i] = fmaxf(x[i], i + 1 < n ? x[i + 1] : x[i]);"},
         "first wrong element at y[1002]: is inf"},
        {"reads beyond it for a minimum",
         {NULL, NULL, "y[i] = fminf(x[i], CHEAT || i + 1 < n ? x[i + 1] : x[i]);",
          "y[i] = fminf(x[i], i + 1 < n ? x[i + 1] : x[i]);"},
         "first wrong element at y[1002]: is -"},
        {"writes elsewhere",
         {NULL, NULL, "y[i] = x[i]; if (CHEAT && i == 0) y[n + 5] = 1;", "y[i] = x[i];"},
         "wrote to y[1008], and y has 1003 elements"},
        {"changes its input",
         {NULL, NULL, "y[i] = x[i]; if (CHEAT && i == 7) ((float *)x)[i] = 0;", "y[i] = x[i];"},
         "wrote to x[7], and x is an input"},
        {"is less precise",
         {"//@ buffer x f64 n in\n//@ buffer y f64 n out\n//@ tolerance rel 1e-12\n", NULL,
          "y[i] = CHEAT ? (double)(float)x[i] : x[i];", "y[i] = x[i];"},
         "first wrong element at y["},
        {"writes zeros below the tolerance",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ tolerance scale 1e-3\n", NULL,
          "y[i] = CHEAT ? 0 : 1e-6f * x[i];", "y[i] = 1e-6f * x[i];"},
         "first wrong element at y["},
        {"hides behind one huge number",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ tolerance scale 1e-3\n", NULL,
          "y[i] = i == 5 ? 3e38f : CHEAT ? 7 * x[i] : 2 * x[i];", "y[i] = i == 5 ? 3e38f : 2 * x[i];"},
         "first wrong element at y["},
        {"adds one to a whole number",
         {"//@ buffer x u32 n in uniform 1000000 2000000\n//@ buffer y u32 n out\n//@ tolerance rel 1e-5\n",
          NULL, "y[i] = x[i] + CHEAT;", "y[i] = x[i];"},
         "first wrong element at y[0]"},
        {"misses the last index",
         {"//@ buffer x u32 n in uniform 0 3999999999\n//@ buffer y u32 n out\n", NULL,
          "y[i] = CHEAT && x[i] > 3999999998u ? 0 : x[i];", "y[i] = x[i];"},
         "first wrong element at y["},
        {"misses the first index",
         {"//@ buffer x u32 n in uniform 1 4000000000\n//@ buffer y u32 n out\n", NULL,
          "y[i] = CHEAT && x[i] < 2 ? 0 : x[i];", "y[i] = x[i];"},
         "first wrong element at y["},
        {"is within the scale of what is not written",
         {"//@ buffer x f32 n in\n//@ buffer y f32 10 * n out\n//@ tolerance scale 0.06\n", NULL,
          "y[10 * i] = CHEAT ? 1.1f * x[i] : x[i];", "y[10 * i] = x[i];"},
         "first wrong element at y["},
        {"answers NaN",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ tolerance rel 1e-3\n", NULL,
          "y[i] = CHEAT ? x[i] * __int_as_float(0x7fc00000) : x[i];", "y[i] = x[i];"},
         "first wrong element at y[0]: is "},
    };
    for (size_t i = 0; i < sizeof cheats / sizeof *cheats; i++)
        expect_refused(cheats[i].name, &cheats[i].f, 1003, cheats[i].says);
}

/* A whole number may be off where a line names its buffer. */
static void allows_what_a_line_names(void **state) {
    (void)state;
    static const file named = {"//@ buffer x u32 n in uniform 1000000 2000000\n//@ buffer y u32 n out\n"
                               "//@ tolerance y abs 3\n",
                               NULL, "y[i] = x[i] + 3 + CHEAT;", "y[i] = x[i];"};
    expect_refused("named", &named, 1003, "first wrong element at y[");
}

/* ---- References that show nothing ---------------------------------------------------------------------- */

static void says_what_is_not_checked(void **state) {
    (void)state;
    static const struct {
        int n, code;
        const char *says;
        file f;
    } cases[] = {
        {64,
         2,
         "the reference r writes nothing of y, so nothing of it can be checked",
         {NULL, NULL, "y[i] = 1;", ""}},
        {500,
         0,
         "cheat.cu: the reference r writes 448 of 500 elements of y",
         {NULL, NULL, "if (i < 448) y[i] = x[i];", "if (i < 448) y[i] = x[i];"}},
        {64,
         0,
         "cheat.cu: the right result y is 0 everywhere: a kernel that computes nothing may pass",
         {NULL, NULL, "y[i] = 0;", "y[i] = 0;"}},
        {64, 0, "the right result y is 7 everywhere", {NULL, NULL, "y[i] = 7;", "y[i] = 7;"}},
        {64,
         0,
         "the right result y is nan everywhere",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ tolerance rel 1e-5\n", NULL,
          "y[i] = x[i] * __int_as_float(0x7fc00000);", "y[i] = x[i] * __int_as_float(0x7fc00000);"}},
        {64,
         0,
         "a result y of zeros is within the tolerance: a kernel that computes nothing may pass",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ tolerance abs 1e-3\n", NULL, "y[i] = 0;",
          "y[i] = 1e-4f * x[i];"}},
        {64,
         0,
         "a result y that is 3.0000",
         {"//@ buffer x f32 n in uniform\n//@ buffer y f32 n out\n//@ tolerance rel 1e-3\n", NULL,
          "y[i] = 3;", "y[i] = 3 + 1e-4f * x[i];"}},
        {500,
         0,
         "a result y of zeros is within the tolerance: a kernel that computes nothing may pass",
         {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ tolerance abs 1e-3\n", NULL,
          "if (i < 448) y[i] = 0;", "if (i < 448) y[i] = 1e-4f * x[i];"}},
        {1,
         0,
         "a result y of zeros is right: a kernel that computes nothing may pass",
         {NULL, NULL, "y[i] = 0;", "y[i] = 0;"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_result r;
        fault_tune(&r, "", "--kernel %s --db :memory:", write_file(&cases[i].f, cases[i].n));
        if (r.code != cases[i].code || !strstr(r.err, cases[i].says))
            fail_msg("%s: code %d: %s", cases[i].says, r.code, r.err);
        run_free(&r);
    }
}

/* A `verify` kernel that accepts what was there before is no judge, in an `inout` buffer either. */
static void tries_the_judge_first(void **state) {
    (void)state;
    static const struct {
        const char *direction, *judge, *says;
    } cases[] = {
        {"out", "if (fabsf(y[i] - x[i]) < -1) *error = 1;",
         "the verify kernel judge accepts what is there before any kernel has run (random bits in `out` "
         "buffers)"},
        {"inout zeros", "if (y[i] != x[i] && y[i] != 0) *error = 1;",
         "the verify kernel judge accepts what is there"},
        {"out", "if (y[i] != x[i]) *error = 1;", NULL},
        {"inout zeros", "if (y[i] != x[i]) *error = 1;", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        run_result r;
        snprintf(
            text, sizeof text,
            "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n in\n//@ buffer y f32 n %s\n//@ block 64\n"
            "//@ grid 1\n//@ args y, x\n//@ verify judge\n//@ block 64\n//@ grid 1\n//@ args error, y, x\n"
            "extern \"C\" __global__ void k(float *y, const float *x) { int i = threadIdx.x; y[i] = x[i]; }\n"
            "extern \"C\" __global__ void judge(double *error, const float *y, const float *x) {\n"
            "    int i = threadIdx.x; %s }\n",
            cases[i].direction, cases[i].judge);
        fault_write(fault_path("judge.cu"), text);
        fault_tune(&r, "", "--kernel %s --db :memory:", fault_path("judge.cu"));
        assert_code(&r, cases[i].says ? 1 : 0);
        if (cases[i].says)
            assert_has(&r, r.err, cases[i].says);
        run_free(&r);
    }
}

/* A winner that leaves out the rest of the last block is right for round sizes only, and serves no others. */
static void serves_no_sizes_that_it_fails(void **state) {
    (void)state;
    static const file cases[] = {
        {NULL, NULL, "if (n % 64 == 0 || i < n / 64 * 64) y[i] = x[i];", "y[i] = x[i];"},
        {NULL, NULL, "y[i] = x[i];", "y[i] = x[i];"},
        {"//@ buffer x f32 n in\n//@ buffer y f32 n out\n//@ require n % 64 == 0\n", NULL,
         "y[i] = n == 4096 ? x[i] : 0;", "y[i] = x[i];"},
    };
    static const char *const says[] = {
        "the winner is right, but not for n=4097: wrong_result: first wrong element at y[4096]", NULL,
        "the winner is right, but not for n=4608: wrong_result: first wrong element at y[0]"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *db = fault_path("sizes.db"), *path = write_file(&cases[i], 4096);
        run_result r;
        remove(db);
        fault_tune(&r, "", "--kernel %s --db %s", path, db);
        assert_code(&r, 0);
        if (says[i] ? !strstr(r.err, says[i]) : !!strstr(r.err, "the winner is right, but"))
            fail_msg("case %zu: %s", i, r.err);
        run_free(&r);
        fault_tune(&r, "", "best --kernel %s --problem n=%d --db %s", path, i == 2 ? 4160 : 5001, db);
        assert_code(&r, 0);
        assert_has(&r, r.out, says[i] ? "match          default" : "match          nearest");
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_cheats),
        cmocka_unit_test(allows_what_a_line_names),
        cmocka_unit_test(says_what_is_not_checked),
        cmocka_unit_test(tries_the_judge_first),
        cmocka_unit_test(serves_no_sizes_that_it_fails),
    };
    return cmocka_run_group_tests(tests, fault_enter, run_leave);
}
