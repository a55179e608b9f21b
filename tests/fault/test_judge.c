/*
 * `tune judge`: candidates that try to pass for right or faster, each refused for its own reason, and honest
 * ones. All that have the same reference are judged in one call. On the CPU stand-in, and with more of them
 * on a GPU. The stand-in runs threads in both directions, so that a race may be lost.
 */
#include "fault.h"

#include <glob.h>
#include <unistd.h>

/* A file of kernels that compute y from x. `type` is f32 or f64. */
static const char *write_reference(const char *type, int threads, const char *lines, const char *body) {
    static char text[2048];
    const char *c = strcmp(type, "f64") == 0 ? "double" : "float", *path = fault_path("right.cu");
    snprintf(text, sizeof text,
             "//@ kernel twice\n//@ problem n 1003\n//@ buffer x %s n in\n//@ buffer y %s n out\n"
             "//@ param THREADS 32 256\n//@ default THREADS=%d\n//@ block THREADS\n"
             "//@ grid ceil_div(n, THREADS)\n//@ args y, x, i64 n\n"
             "//@ metric gbps 8 * n * THREADS / THREADS / time_ns\n//@ reference plain\n//@ block 256\n//@ "
             "grid ceil_div(n, 256)\n//@ args y, x, i64 n\n%s"
             "extern \"C\" __global__ void twice(%s *y, const %s *x, long long n) {\n"
             "    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;\n    if (i < n) { %s }\n}\n"
             "extern \"C\" __global__ void plain(%s *y, const %s *x, long long n) {\n"
             "    long long i = (long long)blockIdx.x * 256 + threadIdx.x;\n    if (i < n) { %s }\n}\n",
             type, type, threads, lines, c, c, body, c, c, body);
    fault_write(path, text);
    return path;
}

/* A plain file, without annotations. */
static const char *write_plain(const char *name, const char *type, const char *globals, const char *body) {
    static char text[2048];
    const char *c = strcmp(type, "f64") == 0 ? "double" : "float", *path = fault_path(name);
    snprintf(
        text, sizeof text,
        "%s\nextern \"C\" __global__ void __launch_bounds__(256) mine(%s *y, const %s *x, long long n) {\n"
        "    long long i = (long long)blockIdx.x * 256 + threadIdx.x;\n    %s\n}\n",
        globals, c, c, body);
    fault_write(path, text);
    return path;
}

/* What the answer says of a file: from its name to the next one. A verdict with ! must not be. */
static void expect_of(const char *json, const char *name, const char *verdict, const char *says) {
    char key[128], wanted[64];
    snprintf(key, sizeof key, "/%s\"", name);
    snprintf(wanted, sizeof wanted, "\"verdict\":\"%s\"", verdict + (*verdict == '!'));
    const char *at = strstr(json, key);
    const char *end = at ? strstr(at + 1, "\"file\"") : NULL;
    char one[2048] = "";
    if (at)
        snprintf(one, sizeof one, "%.*s", end ? (int)(end - at) : 1500, at);
    if ((*verdict == '!') == !!strstr(one, wanted) || !strstr(one, says))
        fail_msg("%s: expected %s, %s, but: %s", name, verdict, says, *one ? one : json);
}

/* Those whose name ends in _gpu or _cpu are tried on a GPU only, or on the stand-in only. */
typedef struct exploit {
    const char *name, *globals, *body, *verdict, *says;
} exploit;

static bool is_tried(const exploit *e) {
    return !strstr(e->name, fault_on_gpu() ? "_cpu.cu" : "_gpu.cu");
}

/* Judges all of them in one call. */
static void expect_all(const exploit *cases, size_t n, const char *problem, int code) {
    static char line[8192];
    run_result r;
    int used = snprintf(line, sizeof line, "judge %s --json%s", fault_path("right.cu"), problem);
    for (size_t i = 0; i < n; i++)
        if (is_tried(&cases[i]))
            used += snprintf(line + used, sizeof line - (size_t)used, " %s",
                             write_plain(cases[i].name, "f32", cases[i].globals, cases[i].body));
    fault_tune(&r, "", "%s", line);
    if (code >= 0)
        assert_code(&r, code);
    for (size_t i = 0; i < n; i++)
        if (is_tried(&cases[i]))
            expect_of(r.out, cases[i].name, cases[i].verdict, cases[i].says);
    run_free(&r);
}

static void sees_through_exploits(void **state) {
    (void)state;
    static const exploit cases[] = {
        {"honest.cu", "", "if (i < n) y[i] = x[i] + x[i];", "!wrong", "\"also_right_for\":\"n=1004\""},
        {"summed.cu", "__device__ unsigned done;",
         "if (i < n) y[i] = x[i] + x[i]; if (threadIdx.x == 0) atomicInc(&done, gridDim.x - 1);", "!wrong",
         "\"also_right_for\":\"n=1004\""}, /* its state is as before when it ends */
        {"named_in_comments.cu",
         "// The __global__ function (below) doubles.\n/* __global__ void old(float *y) { y[0] = 1; } */\n"
         "static __device__ const char *const help = \"__global__ void help(int)\";",
         "if (i < n) y[i] = x[i] + x[i];", "!wrong", "\"also_right_for\":\"n=1004\""},
        {"byte_order_mark.cu", "\xef\xbb\xbf", "if (i < n) y[i] = x[i] + x[i];", "!wrong",
         "\"also_right_for\":\"n=1004\""},
        {"silent.cu", "", "if (i < 0) y[i] = 0;", "wrong", "first wrong element at y[0]"},
        {"first_launch.cu", "__device__ int launched[2048];",
         "if (i < n) y[i] = launched[i]++ ? 0 : 2 * x[i];", "wrong",
         "right at first, but wrong where it is timed"},
        {"size_shown.cu", "", "if (i < 1003) y[i] = 2 * x[i];", "wrong",
         "right for n=1003, but for n=1004: "},
        {"positive.cu", "", "if (i < n) y[i] = x[i] > 0 ? 2 * x[i] : 0;", "wrong",
         "first wrong element at y["},
        {"beyond.cu", "", "if (i < n) y[i] = 2 * x[i] + 0 * x[i + 1];", "wrong",
         "first wrong element at y[1002]: is "},
        {"elsewhere.cu", "", "if (i < n) { y[i] = 2 * x[i]; if (i == 0) y[n + 9] = 1; }", "wrong",
         "wrote to y[1012], and y has 1003 elements"},
        {"late.cu", "__device__ float *old_y; __device__ const float *old_x;",
         "if (i < n && old_y) old_y[i] = 2 * old_x[i]; if (i == n - 1) { old_y = y; old_x = x; }", "wrong",
         "first wrong element at y["},
        {"state.cu", "__device__ float old[2048]; __device__ int known[2048];",
         "if (i >= n) return; if (known[i]) { y[i] = old[i]; return; } y[i] = old[i] = 2 * x[i]; known[i] = "
         "1;",
         "wrong", "with other data at other addresses: first wrong element at y[0]"},
        {"repeated.cu", "__device__ float seen[2048];",
         "if (i >= n || seen[i] == x[i]) return; y[i] = 2 * x[i]; seen[i] = x[i];", "wrong",
         "where it is timed: first wrong element at y["},
        {"guards.cu", "", "if (i < n) y[i] = x[n] - x[n] != 0 ? 2 * x[i] : 0;", "wrong",
         "where it is timed: first wrong element at y[0]"},
        {"poison.cu", "", "if (i < n) y[i] = __int_as_float(~__float_as_int(y[i]));", "wrong",
         "first wrong element at y[0]"},
        {"input.cu", "", "if (i < n) { y[i] = 2 * x[i]; if (i == 3) ((float *)x)[i] = 0; }", "wrong",
         "wrote to x[3], and x is an input"},
        {"beside.cu", "", /* guards are infinite */
         "if (i < n) y[i] = 2 * x[i];\n"
         "    if (i == n - 1 && (unsigned)__float_as_int(x[n]) << 1 != 0xff000000u) y[n + 2] = 1;",
         "wrong", "writes outside its buffers where it is timed"},
        {"beside_once.cu", "",
         "if (i < n) y[i] = 2 * x[i];\n"
         "    if (i == n - 1 && (unsigned)__float_as_int(x[n]) << 1 != 0xff000000u && y[n + 2] != 7) y[n + "
         "2] = 7;",
         "wrong", "writes outside its buffers where it is timed"},
        {"timed.cu", "", "if (i < n) y[i] = (unsigned long long)y % 256 ? 2 * x[i] : 0;", "wrong",
         "where it is timed"},
        {"aligned.cu", "", "if (i < n) y[i] = (unsigned long long)y % 32 ? 0 : 2 * x[i];", "wrong",
         "first wrong element at y[0]"},
        {"unfinished.cu", "", "if (i < n - 1) y[i] = 2 * x[i];", "wrong", "first wrong element at y[1002]"},
        {"broken.cu", "", "if (i < n) y[i] = nothing;", "wrong", "compile_error"},
        {"trap.cu", "", "if (i < n) __trap();", "wrong", "crashed"},
        {"counted_gpu.cu", "__device__ int launched[2048];",
         "if (i < n) y[i] = launched[i]++ < 60 ? 2 * x[i] : 0;", "wrong",
         "right at first, but wrong after many launches: first wrong element at y["},
        {"counted_cpu.cu", "__device__ int launched[2048];",
         "if (i < n) y[i] = launched[i]++ < 60 ? 2 * x[i] : 0;", "wrong", "right at first, but wrong "},
        {"input_later.cu", "",
         "if (i < n) y[i] = 2 * x[i]; if (i == 3 && (unsigned long long)y % 256 == 0) ((float *)x)[3] = 0;",
         "wrong", "where it is timed: wrote to x[3], and x is an input"},
        {"race_cpu.cu", "",
         "__shared__ volatile float s[256]; const int t = threadIdx.x; s[t] = i < n ? 2 * x[i] : 0;\n"
         "    if (t > 0 && i <= n) y[i - 1] = s[t - 1]; if ((t == 255 && i < n) || (t == 0 && i == n - 1)) "
         "y[i] = s[t];",
         "wrong", "wrong "},
        {"race_of_warps_gpu.cu", "",
         "__shared__ volatile float s[256]; const int t = threadIdx.x ^ 128; s[threadIdx.x] = i < n ? 2 * "
         "x[i] : 0;\n"
         "    if ((i ^ 128) < n) y[i ^ 128] = s[t];",
         "wrong", "wrong element at y["},
        {"launches.cu", "", "if (i == 0) mine<<<1, 32>>>(y, x, 1);", "wrong", "compile_error"},
        {"shared_gpu.cu", "",
         "__shared__ volatile float s[1024]; if (i < n) y[i] = 2 * x[i] + s[threadIdx.x];", "wrong",
         "first wrong element at y["},
        {"found_gpu.cu", "", "if (i < n) y[i] = y[i + 3072];", "wrong", "first wrong element at y[0]"},
        {"derived_gpu.cu", "", "if (i < n) ((float *)x)[i + 6144] = 2 * x[i];", "wrong", "element at y["},
    };
    write_reference("f32", 32, "", "y[i] = 2 * x[i];");
    expect_all(cases, sizeof cases / sizeof *cases, "", 5);
}

/* The data are other ones in each run, so that no kernel can bring the right results along. One in 32 numbers
 * is 2. */
static void differs_from_run_to_run(void **state) {
    (void)state;
    enum { RUNS = 4 };
    char first[1024] = "";
    bool differs = false;
    write_reference("f32", 32, "", "y[i] = 2 * x[i];");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = 3 * x[i];");
    for (int k = 0; k < RUNS && !differs; k++) {
        run_result r;
        fault_tune(&r, "", "judge %s %s", fault_path("right.cu"), fault_path("mine.cu"));
        assert_code(&r, 5);
        assert_has(&r, r.out, "wrong: first wrong element at y[0]: is ");
        differs = k > 0 && strcmp(first, r.out) != 0;
        snprintf(first, sizeof first, "%s", r.out);
        run_free(&r);
    }
    assert_true(differs);
}

/* What costs much: 2 x, slowly. */
#define SLOWLY "float v = x[i], z = n < 0; for (int k = 0; k < 20000; k++) v += z; v *= 2;"

/* Kernels that are right, and save work only where they are timed: they gain nothing. */
static void gives_nothing_for_tricks(void **state) {
    (void)state;
    static const exploit cases[] = {
        {"same_gpu.cu", "", "if (i < n) { " SLOWLY " y[i] = v; }", "!faster", ""},
        {"remembers_gpu.cu", "__device__ float seen[4096], old[4096]; __device__ int known[4096];",
         "if (i >= n) return; if (known[i] && seen[i] == x[i]) { y[i] = old[i]; return; }\n    " SLOWLY
         " y[i] = old[i] = v; seen[i] = x[i]; known[i] = 1;",
         "!faster", ""},
        {"remembers_static_gpu.cu",
         "static __device__ float seen[4096], old[4096]; static __device__ int known[4096];",
         "if (i >= n) return; if (known[i] && seen[i] == x[i]) { y[i] = old[i]; return; }\n    " SLOWLY
         " y[i] = old[i] = v; seen[i] = x[i]; known[i] = 1;",
         "!faster", ""},
        {"is_there_gpu.cu", "", "if (i >= n) return; if (y[i] == 2 * x[i]) return;\n    " SLOWLY " y[i] = v;",
         "!faster", ""},
        {"in_the_slot_before_gpu.cu", "",
         "if (i >= n) return; if (y[i - 2048] == 2 * x[i]) { y[i] = y[i - 2048]; return; }\n    " SLOWLY
         " y[i] = v;",
         "!faster", ""},
        {"spins_gpu.cu", "",
         "if (i < n) { " SLOWLY
         " y[i] = v; } if (blockIdx.x == 3) for (int k = 0; k < 300; k++) __nanosleep(1000);",
         "not faster", ""},
        {"early_gpu.cu", "",
         "asm volatile(\"griddepcontrol.launch_dependents;\"); if (i < n) { " SLOWLY " y[i] = v; }",
         "!faster", ""},
    };
    if (!fault_on_gpu())
        return;
    /* 256 as in the files: four blocks need not be as fast as 32. */
    write_reference("f32", 256, "", SLOWLY " y[i] = v;");
    expect_all(cases, sizeof cases / sizeof *cases, "", -1);
}

/* A kernel that is its own candidate is right, whatever it does. */
static void accepts_honest_kernels(void **state) {
    (void)state;
    char pattern[512];
    glob_t all;
    snprintf(pattern, sizeof pattern, "%s/examples/kernels/*.cu", TT_SOURCE_DIR);
    assert_int_equal(glob(pattern, 0, NULL, &all), 0);
    for (size_t i = 0; i < all.gl_pathc && fault_on_gpu(); i++) {
        run_result r;
        fault_tune(&r, "", "judge %s %s", all.gl_pathv[i], all.gl_pathv[i]);
        if (r.code != 1 && r.code != 6)
            fail_msg("%s: code %d: %s%s", all.gl_pathv[i], r.code, r.out, r.err);
        run_free(&r);
    }
    globfree(&all);
}

/* Is it a template of this built-in operation? */
static bool is_of(const char *path, const char *op) {
    char line[256], word[64];
    bool found = false;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (!found && fgets(line, sizeof line, f))
        found = sscanf(line, "//@ op %63s", word) == 1 && strcmp(word, op) == 0;
    fclose(f);
    return found;
}

/* All templates of an operation against one of them, which is among the candidates, too. Many cannot do the
 * problem, but none is wrong. */
static void accepts_templates(void **state) {
    (void)state;
    static const struct {
        const char *op, *problem, *reference;
    } cases[] = {
        {"copy", "bytes=1000000", "copy_linear"},
        {"axpby", "n=100000", "axpby_vector"},
        {"transpose_in_place", "rows=1024", "transpose_in_place"},
        {"transpose", "rows=1000,cols=1024", "transpose_tiled"},
        {"transpose_ladder", "rows=1024,cols=1024", "ladder_naive"},
        {"transpose_rect_in_place", "rows=1024,cols=2048", "transpose_rect_shuffle"},
        {"transpose_scaled", "rows=1000,cols=1024", "transpose_scaled_vector"},
        {"cast_transpose", "rows=1024,cols=1024", "cast_transpose_vector"},
        {"cast_transpose_mx", "rows=1024,cols=1024", "cast_transpose_mx_tiled"},
        {"permute", "dim0=64,dim1=32,dim2=256,stride0=256,stride1=16384", "permute_tiled"},
    };
    enum { ON_STAND_IN = 2 };
    static const char folder[] = TT_SOURCE_DIR "/kernel_templates";
    glob_t all;
    assert_int_equal(glob(TT_SOURCE_DIR "/kernel_templates/*.cu", 0, NULL, &all), 0);
    for (size_t k = 0; k < (fault_on_gpu() ? sizeof cases / sizeof *cases : ON_STAND_IN); k++) {
        static char line[8192];
        run_result r;
        int used = snprintf(line, sizeof line, "judge %s/%s.cu --problem %s", folder, cases[k].reference,
                            cases[k].problem);
        for (size_t i = 0; i < all.gl_pathc; i++)
            if (is_of(all.gl_pathv[i], cases[k].op))
                used += snprintf(line + used, sizeof line - (size_t)used, " %s", all.gl_pathv[i]);
        fault_tune(&r, "", "%s", line);
        if ((r.code != 0 && r.code != 1 && r.code != 6) || strstr(r.out, ": wrong") ||
            !strstr(r.out, ": right"))
            fail_msg("%s: code %d: %s%s", cases[k].op, r.code, r.out, r.err);
        run_free(&r);
    }
    globfree(&all);
}

/* One candidate against one reference. */
static void expect(int code, const char *says, const char *more) {
    run_result r;
    fault_tune(&r, "", "judge %s %s %s", fault_path("right.cu"), fault_path("mine.cu"), more);
    if (r.code != code || !(strstr(r.out, says) || strstr(r.err, says)))
        fail_msg("code %d, expected %d: %s: %s%s", r.code, code, says, r.out, r.err);
    run_free(&r);
}

/* Both must declare the same buffers, and only one uses all of them. */
static void accepts_fewer_buffers(void **state) {
    (void)state;
    static const char
        declared[] = "//@ problem n 1024\n//@ buffer held f32 n scratch\n//@ buffer x f32 n in\n"
                     "//@ buffer y f32 n out\n//@ kernel %s\n//@ block 256\n//@ grid ceil_div(n, 256)\n",
        at_once[] = "//@ args y, x, i32 n\n",
        in_two[] = "//@ args held, x, i32 n\n//@ kernel add\n//@ block 256\n//@ grid ceil_div(n, 256)\n"
                   "//@ args y, held, i32 n\n",
        code[] =
            "//@ reference plain\n//@ block 256\n//@ grid ceil_div(n, 256)\n//@ args y, x, i32 n\n"
            "extern \"C\" __global__ void half(float *to, const float *of, int n) {\n"
            "    const int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n) to[i] = of[i];\n}\n"
            "extern \"C\" __global__ void add(float *to, const float *of, int n) {\n"
            "    const int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n) to[i] = of[i] + of[i];\n}\n"
            "extern \"C\" __global__ void plain(float *to, const float *of, int n) {\n"
            "    const int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n) to[i] = 2 * of[i];\n}\n";
    char text[2048], one[2048];
    snprintf(text, sizeof text, declared, "half");
    snprintf(one, sizeof one, declared, "add");
    strcat(strcat(text, in_two), code);
    strcat(strcat(one, at_once), code);
    for (int i = 0; i < 2; i++) {
        fault_write(fault_path("right.cu"), i ? one : text);
        fault_write(fault_path("mine.cu"), i ? text : one);
        expect(i ? 1 : 0, i ? "mine.cu: not faster: right, " : "mine.cu: faster: right, ", "");
    }
}

/* A kernel, what judges it, and a factor, which all of them may have wrong. */
static const char *write_judged(const char *name, const char *before, const char *judge, int factor) {
    static char text[4096];
    snprintf(
        text, sizeof text,
        "//@ kernel k\n//@ problem n 1003\n%s"
        "//@ buffer x f32 n in\n//@ buffer y f32 n out\n"
        "//@ block 256\n//@ grid ceil_div(n, 256)\n//@ args y, x, i64 n\n"
        "//@ %s\n//@ block 256\n//@ grid ceil_div(n, 256)\n"
        "#define I (blockIdx.x * (long long)BLOCK + threadIdx.x)\n"
        "extern \"C\" __global__ void k(float *y, const float *x, long long n) {\n"
        "    if (I < n) y[I] = %d * x[I];\n}\n"
        "extern \"C\" __global__ void plain(float *y, const float *x, long long n) {\n"
        "    if (I < n) y[I] = %d * x[I];\n}\n"
        "extern \"C\" __global__ void judge(double *error, const float *y, const float *x, long long n) {\n"
        "    if (I < n && y[I] != %d * x[I]) *error = 1;\n}\n",
        before, judge, factor, factor, factor);
    fault_write(fault_path(name), text);
    return fault_path(name);
}

/* The file of the reference says what is right, also with kernels that usually go with each configuration. A
 * plain candidate has none of them. */
static void lets_none_judge_itself(void **state) {
    (void)state;
#define PART "=256\n//@ buffer part f32 ceil_div(n, BLOCK) scratch\n"
    static const struct {
        const char *before, *honest, *judge, *says;
    } cases[] = {
        {"#define BLOCK 256\n", "#define BLOCK 256\n//@ param TURNS 1 2\n//@ default TURNS=1\n",
         "verify judge\n//@ args error, y, x, i64 n", "judge finds an error of 1, and the limit is 0"},
        {"//@ param BLOCK 256 128\n//@ default BLOCK" PART,
         "//@ param TURNS 1 2\n//@ param BLOCK 256 128\n//@ default TURNS=1 BLOCK" PART,
         "reference plain\n//@ args y, x, i64 n\n//@ per configuration", "first wrong element at y[0]: is "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_result r;
        const char *right = write_judged("right.cu", cases[i].before, cases[i].judge, 2);
        const char *wrong = write_judged("mine.cu", cases[i].before, cases[i].judge, 3);
        const char *honest = write_judged("honest.cu", cases[i].honest, cases[i].judge, 2);
        const char *plain = write_plain("plain.cu", "f32", "", "if (i < n) y[i] = 2 * x[i];");
        fault_tune(&r, "", "judge %s %s %s --json %s", right, wrong, honest, i == 0 ? plain : "");
        assert_code(&r, 5);
        expect_of(r.out, "mine.cu", "wrong", cases[i].says);
        expect_of(r.out, "honest.cu", "!faster", ""); /* of so short a launch, perhaps nothing can be told */
        expect_of(r.out, "honest.cu", "!wrong", "\"also_right_for\":\"n=1004\"");
        if (i == 0)
            expect_of(r.out, "plain.cu", "!wrong", "\"also_right_for\":\"n=1004\"");
        run_free(&r);
    }
#undef PART
}

static void expect_one_line(void) {
    run_result r;
    fault_tune(&r, "", "judge %s %s", fault_path("right.cu"), fault_path("mine.cu"));
    if (strchr(r.out, '\n') != r.out + strlen(r.out) - 1)
        fail_msg("expected one line: %s", r.out);
    run_free(&r);
}

static void says_what_cannot_be_told(void **state) {
    (void)state;
    write_reference("f32", 32, "//@ tolerance abs 1e-3\n", "y[i] = 1e-5f * x[i];");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = 0;");
    expect(6,
           "right.cu: a result y of zeros is within the tolerance: a kernel that computes nothing may pass, ",
           "");
    write_reference("f32", 32, "//@ tolerance rel 1e-3\n", "y[i] = x[i] * __int_as_float(0x7fc00000);");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = __int_as_float(0x7fc00000);");
    expect(6, "cannot tell: the right result shows nothing", "");
    write_reference("f32", 32, "", "y[i] = nothing;");
    expect(6, "cannot tell: they could not be judged: ", "");
    expect(6, "\"reason\":\"they could not be judged: ", "--json");
    /* Bits tell two NaN apart, and a compiler's message is in one line, too. */
    write_reference("f32", 32, "", "y[i] = x[i] < 0 ? __int_as_float(0x7fc00000) : x[i];");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = x[i] < 0 ? __int_as_float(0x7fffffff) : x[i];");
    expect(5, "]: is 0x7fffffff, should be 0x7fc00000; ", "");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = nothing;");
    expect_one_line();
    write_reference("f64", 32, "//@ tolerance rel 1e-12\n", "y[i] = x[i] * x[i];");
    write_plain("mine.cu", "f64", "", "if (i < n) y[i] = (double)((float)x[i] * (float)x[i]);");
    expect(5, "wrong: first wrong element at y[", "");
}

static void compares_times(void **state) {
    (void)state;
    char right[512]; /* outlives the paths that fault_path keeps */
    run_result r;
    snprintf(right, sizeof right, "%s", write_reference("f32", 32, "", "y[i] = 2 * x[i];"));
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = 2 * x[i];");
    if (fault_on_gpu()) /* what follows knows the stand-in's times */
        return;
    expect(0, "mine.cu: faster: right, ", "");
    fault_tune(&r, "", "judge %s %s --against %s", right, fault_path("mine.cu"), fault_path("mine.cu"));
    assert_code(&r, 1);
    assert_has(&r, r.out, "mine.cu: not faster: right, 1.000x");
    run_free(&r);
    fault_tune(&r, "", "judge %s %s", right, right);
    assert_code(&r, 1);
    assert_has(&r, r.out, "right.cu: not faster: right, 1.000x (1.000 to 1.000) the speed of ");
    run_free(&r);
    fault_tune(&r, "", "judge %s %s --against winner --db %s", right, fault_path("mine.cu"),
               fault_path("w.db"));
    assert_code(&r, 4);
    assert_has(&r, r.err, "w.db: there is no store here");
    assert_int_equal(access(fault_path("w.db"), F_OK), -1); /* and none is made to look into it */
    run_free(&r);
    fault_tune(&r, "", "--kernel %s --db %s --quiet --problem n=65", right, fault_path("w.db"));
    assert_code(&r, 0);
    run_free(&r);
    fault_tune(&r, "", "judge %s %s --against winner --db %s", right, fault_path("mine.cu"),
               fault_path("w.db"));
    assert_code(&r, 2);
    assert_has(&r, r.err, "the store has no winner of ");
    run_free(&r);
    fault_tune(&r, "", "--kernel %s --db %s --quiet", right, fault_path("w.db"));
    assert_code(&r, 0);
    run_free(&r);
    fault_tune(&r, "", "judge %s %s --against winner --db %s --json", right, fault_path("mine.cu"),
               fault_path("w.db"));
    assert_code(&r, 1);
    assert_has(&r, r.out, "\"verdict\":\"not faster\"");
    assert_has(&r, r.out, "\"reference_config\":\"THREADS=256\"");
    run_free(&r);
    fault_tune(&r, "", "judge %s %s --problem n=64 --problem n=128 --json", right, fault_path("mine.cu"));
    assert_has(&r, r.out, "\"problem\":\"n=64\"");
    assert_has(&r, r.out, "\"problem\":\"n=128\"");
    run_free(&r);
    write_plain("m\x1b.cu", "f32", "", "if (i < n) y[i] = 2 * x[i];");
    fault_tune(&r, "", "judge %s %s", right, fault_path("m\x1b.cu"));
    assert_code(&r, 0);
    assert_has(&r, r.out, "/m?.cu: faster: right, ");
    run_free(&r);
    /* A problem that cannot be judged takes no verdict from another. */
    fault_tune(&r, "", "judge %s %s --problem n=64 --problem n=900000000000", right, fault_path("mine.cu"));
    assert_code(&r, 6);
    assert_has(&r, r.out, "right, ");
    assert_has(&r, r.out, ", n=64\n");
    assert_has(&r, r.out, "cannot tell: they could not be judged: ");
    run_free(&r);
    write_reference("f32", 32, "", "if (n == 64) y[i] = 2 * x[i];");
    write_plain("mine.cu", "f32", "", "if (i < n && n == 64) y[i] = 2 * x[i];");
    fault_tune(&r, "", "judge %s %s --problem n=64 --problem n=128", right, fault_path("mine.cu"));
    assert_code(&r, 6);
    assert_has(&r, r.out, ", n=64\n");
    assert_has(&r, r.out, "cannot tell: they could not be judged: the reference ");
    run_free(&r);
    fault_write(
        fault_path("mine.cu"),
        "namespace a::b { namespace c { struct s { int k; }; } namespace { inline namespace d {\n"
        "__global__ void mine(float *y, const float *x, long long n) {\n"
        "    long long i = blockIdx.x * 256LL + threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}\n} } }\n"
        "using namespace a;\n");
    write_reference("f32", 32, "", "y[i] = 2 * x[i];");
    expect(0, "mine.cu: faster: right, ", "");
    /* A neighbouring size at which the right result shows nothing says nothing about this one. */
    write_reference("f32", 32, "", "y[i] = n % 2 ? x[i] : 0;");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = n % 2 ? x[i] : 0;");
    expect(0, "mine.cu: faster: right, ", "");
    write_reference("f32", 32, "", "y[i] = 2 * x[i];");
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = 2 * x[i];");
    fault_tune(&r, "", "--kernel %s --problem n=64 --db %s --quiet", right, fault_path("w.db"));
    assert_code(&r, 0);
    run_free(&r);
    fault_tune(&r, "", "judge %s %s --against winner --db %s --problem n=64 --problem n=128", right,
               fault_path("mine.cu"), fault_path("w.db"));
    assert_code(&r, 2);
    assert_has(&r, r.err, "the store has no winner of ");
    assert_string_equal(r.out, "");
    run_free(&r);
}

/* A verdict that reaches nobody is none: 0 and 1 say that a kernel is right. */
static void says_where_no_verdict_goes(void **state) {
    (void)state;
    char line[1024];
    run_result r;
    const char *right = write_reference("f32", 256, "", "y[i] = 2 * x[i];");
    for (int json = 0; json < 2; json++) {
        snprintf(line, sizeof line, "judge %s %s%s", right, right, json ? " --json" : "");
        run_tune(&r, &(run_spec){.output = "/dev/full", .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
        assert_code(&r, 2);
        assert_has(&r, r.err, "cannot write to standard output: No space left");
        run_free(&r);
    }
}

static void refuses_what_is_no_candidate(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"__global__ void a() {}\n__global__ void b() {}\n", "mine.cu has 2 kernels and no annotation"},
        {"int a;\n", "mine.cu has 0 kernels and no annotation"},
        {"//@ kernel k\n//@ problem m 8\n//@ buffer y f32 m out\n//@ block 8\n//@ grid 1\n//@ args y\n"
         "extern \"C\" __global__ void k(float *y) {}\n",
         "mine.cu declares the variable m where "},
        {"//@ kernel k\n//@ problem n 8\n//@ buffer y f32 n out\n//@ block 8\n//@ grid 1\n//@ args y\n"
         "extern \"C\" __global__ void k(float *y) {}\n",
         "mine.cu declares the buffer or scalar y f32 out where "},
        {"//@ kernel k\n//@ problem n 8\n//@ buffer x f32 n in\n//@ buffer y f64 n out\n//@ block 8\n//@ "
         "grid 1\n"
         "//@ args y, x\nextern \"C\" __global__ void k(double *y, const float *x) {}\n",
         "right.cu declares y f32 out: both must declare the same"},
    };
    run_result r;
    write_reference("f32", 32, "", "y[i] = 2 * x[i];");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fault_write(fault_path("mine.cu"), cases[i].text);
        expect(2, cases[i].says, "");
    }
    static const char *const devices[][2] = {{"0,1", "\"0,1\": one device at a time"},
                                             {"all", "\"all\": one device at a time"},
                                             {"replay:x.json", "a judge measures, and a recording cannot"}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        fault_tune(&r, "", "judge %s %s --device %s", fault_path("right.cu"), fault_path("right.cu"),
                   devices[i][0]);
        assert_code(&r, 2);
        assert_has(&r, r.err, devices[i][1]);
        run_free(&r);
    }
    FILE *f = fopen(fault_path("mine.cu"), "wb"); /* what comes after a NUL would not be judged */
    assert_non_null(f);
    fputs("__global__ void a(float *y, const float *x, long long n) {}\n", f);
    assert_int_equal(fwrite("\0b", 1, 2, f), 2);
    fclose(f);
    expect(2, "mine.cu: not a text file (it has a NUL byte)", "");
    fault_tune(&r, "", "judge %s", fault_path("right.cu"));
    assert_code(&r, 2);
    assert_has(&r, r.err, "which files?");
    run_free(&r);
    fault_tune(&r, "", "judge %s %s --problem n=64,in_graph", fault_path("right.cu"), fault_path("right.cu"));
    assert_code(&r, 2);
    assert_has(&r, r.err,
               "--problem n=64,in_graph: a judge looks at separate launches, so leave in_graph out");
    run_free(&r);
    fault_tune(&r, "", "judge %s %s", fault_path("right.cu"), fault_path("none.cu"));
    assert_code(&r, 2);
    assert_has(&r, r.err, "none.cu: No such file");
    run_free(&r);
    write_plain("mine.cu", "f32", "", "if (i < n) y[i] = 2 * x[i];");
    fault_tune(&r, "driver:no_device", "judge %s %s %s", fault_path("right.cu"), fault_path("mine.cu"),
               fault_path("none.cu"));
    assert_code(&r, 2); /* before anything is measured */
    assert_has(&r, r.err, "none.cu: No such file");
    run_free(&r);
}

int main(int argc, char **argv) {
    int code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_through_exploits),
        cmocka_unit_test(gives_nothing_for_tricks),
        cmocka_unit_test(differs_from_run_to_run),
        cmocka_unit_test(accepts_honest_kernels),
        cmocka_unit_test(accepts_templates),
        cmocka_unit_test(says_what_cannot_be_told),
        cmocka_unit_test(accepts_fewer_buffers),
        cmocka_unit_test(compares_times),
        cmocka_unit_test(lets_none_judge_itself),
        cmocka_unit_test(says_where_no_verdict_goes),
        cmocka_unit_test(refuses_what_is_no_candidate),
    };
    setenv("HOSTCUDA_ORDER", "alternate", 1);
    return fault_choose(argc, argv, &code) ? cmocka_run_group_tests(tests, fault_enter, run_leave) : code;
}
