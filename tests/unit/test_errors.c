/*
 * The error messages, word by word, because they are all that most callers see.
 */
#include "store_fixture.h"

#include <sys/stat.h>

#include "tiletune.h"

/* Whole sentences. @ stands for the folder of the test, except in "//@ ". */
static void says(tt_status got, tt_status wanted, const char *sentence) {
    char text[2048] = "";
    size_t n = 0;
    for (const char *c = sentence; *c && n < sizeof text - 100; c++) {
        bool is_dir = *c == '@' && c[1] != ' ';
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s", is_dir ? 64 : 1, is_dir ? dir : c);
    }
    if (got != wanted)
        fail_msg("%s: %s, expected %s: %s", tt_strerror(got), tt_last_error(), tt_strerror(wanted), text);
    assert_string_equal(tt_last_error(), text);
}

/* ---- Opening ------------------------------------------------------------------------------------------- */

static void about_opening(void **state) {
    (void)state;
    char newer[200];
    snprintf(
        newer, sizeof newer,
        "@/newer.db: the store has schema 999, and this tiletune (%s) knows up to %zu: upgrade tiletune, or "
        "name another file (--db, tt_open_opts.db_path)",
        TT_VERSION, tt__n_migrations);
    const struct {
        const char *db;
        int read_only; /* 2: a lock file */
        tt_status status;
        const char *sentence;
    } cases[] = {
        {"@/no.lock", 2, TT_E_DB,
         "@/no.lock: there is no such lock file: make it with \"tune lock --output @/no.lock\""},
        {"@/a b.lock", 2, TT_E_DB,
         "@/a b.lock: there is no such lock file: make it with \"tune lock --output '@/a b.lock'\""},
        {"@/text.db", 2, TT_E_DB, "@/text.db: this is no lock file: \"tune lock --output FILE\" makes one"},
        {"", 2, TT_E_INVALID, "the path of the store is empty: name a file (--db, tt_open_opts.db_path)"},
        {"", 0, TT_E_INVALID, "the path of the store is empty: name a file (--db, tt_open_opts.db_path)"},
        {"@/none/s.db", 0, TT_E_DB,
         "@/none/s.db: the folder of the store does not exist: create it, or name another file (--db, "
         "tt_open_opts.db_path)"},
        {"@/none.db", 1, TT_E_DB,
         "@/none.db: there is no store here, and a read-only one is not created: tune first, or name another "
         "file "
         "(--db, tt_open_opts.db_path)"},
        {"@", 0, TT_E_DB, "@: this is a folder: name a file in it, such as @/tiletune.db"},
        {"/dev/null", 0, TT_E_DB,
         "/dev/null: this is not a regular file: name another one (--db, tt_open_opts.db_path)"},
        {"@/text.db", 0, TT_E_DB,
         "@/text.db: cannot open the store: this is not a tiletune store (not an SQLite database, or its "
         "header is "
         "damaged). It is left as it is: move it away, or name another file (--db, tt_open_opts.db_path)"},
        {"@/other.db", 0, TT_E_DB,
         "@/other.db: this is an SQLite database of another program, not a tiletune store. It is left as it "
         "is: name "
         "another file (--db, tt_open_opts.db_path)"},
        {"@/newer.db", 0, TT_E_DB, newer},
        {"@/open.db", 0, TT_E_DB,
         "@/open.db: others can write this store (mode 0666), from which code gets loaded: chmod go-w "
         "@/open.db if you "
         "trust what is in it, or name another file (--db, tt_open_opts.db_path)"},
    };
    static const char no_database[] = "no database, but as long as the header of one has to be, which is 100 "
                                      "bytes, and then some bytes more";
    write_file(in_dir("text.db"), no_database, strlen(no_database));
    chmod(in_dir("text.db"), 0600);
    tt__store *s[] = {must_open(in_dir("other.db")), must_open(in_dir("newer.db")),
                      must_open(in_dir("open.db"))};
    for (int i = 0; i < 3; i++)
        tt__store_close(&s[i]);
    raw_sql(in_dir("other.db"), "PRAGMA application_id = 7");
    raw_sql(in_dir("newer.db"), "PRAGMA user_version = 999");
    chmod(in_dir("open.db"), 0666);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_ctx *ctx;
        tt_open_opts opts = TT_INIT(tt_open_opts);
        char path[256];
        snprintf(path, sizeof path, "%s%s", *cases[i].db == '@' ? dir : "",
                 cases[i].db + (*cases[i].db == '@'));
        if (cases[i].read_only == 2)
            opts.lock_file = path;
        else
            opts.db_path = path;
        opts.read_only = cases[i].read_only != 0;
        says(tt_open(&ctx, &opts), cases[i].status, cases[i].sentence);
        assert_null(ctx);
    }
}

static void about_options(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    const char *missing = in_dir("none.cu");
    opts.db_path = ":memory:";
    opts.size = 3;
    says(tt_open(&ctx, &opts), TT_E_INVALID, "tt_open_opts: size is 3 (start from TT_INIT(tt_open_opts))");
    opts.size = sizeof opts;
    opts.tune_budget_s = -1;
    says(tt_open(&ctx, &opts), TT_E_INVALID,
         "tune_budget_s is -1: it must be from 0 (no tuning on first use) to 86400");
    opts.tune_budget_s = 0;
    opts.templates = &missing;
    opts.n_templates = 1;
    says(tt_open(&ctx, &opts), TT_E_IO, "cannot read @/none.cu: No such file or directory");
}

/* ---- Asking -------------------------------------------------------------------------------------------- */

static tt_ctx *ctx_for(const char *gpu) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    opts.gpu = gpu;
    assert_ok(tt_open(&ctx, &opts));
    return ctx;
}

static void about_problems(void **state) {
    (void)state;
    static const struct {
        const char *gpu;
        tt_problem p;
        tt_status status;
        const char *sentence;
    } cases[] = {
#define P(...) {.size = sizeof(tt_problem), __VA_ARGS__}
        {"H200", P(.rows = 0, .cols = 5), TT_E_INVALID, "0 x 5: rows and cols must be at least 1"},
        {"H200", P(.rows = 5, .cols = 5, .elem_size = 3), TT_E_INVALID,
         "elem_size is 3 bytes: it must be 1, 2, 4, 8 or 16"},
        {"H200", P(.rows = 5, .cols = 5, .align = 3), TT_E_INVALID,
         "align is 3 bytes: it must be 1, 2, 4, 8, 16, or 0 for the default"},
        {"H200", P(.rows = 5, .cols = 5, .lds = 4), TT_E_INVALID,
         "lds is 4: a source row of 5 elements needs at least that many"},
        {"H200", P(.rows = 5, .cols = 5, .ldd = 4), TT_E_INVALID,
         "ldd is 4: a destination row of 5 elements needs at least that many"},
        {"H200", P(.rows = 5, .cols = 5, .batch = -1), TT_E_INVALID, "batch is -1: it must be at least 1"},
        {"H200", P(.rows = 1 << 30, .cols = 1 << 30), TT_E_INVALID,
         "1073741824 x 1073741824 (lds 1073741824, ldd 1073741824, batch 1): more than 2^44 elements, the "
         "limit"},
        {"H200", P(.rows = 5, .cols = 6, .lds = 8, .in_place = 1), TT_E_INVALID,
         "5 x 6 in place with lds 8 and ldd 5: only square matrices may have gaps between rows, leave both "
         "out"},
        {"H200", P(.rows = 5, .cols = 6, .batch = 3, .in_place = 1), TT_E_INVALID,
         "a batch of 3 matrices, 5 x 6, in place: only square matrices may come in batches, transpose one at "
         "a time"},
        {"H200", P(.rows = 5, .cols = 5, .batch = 2, .src_stride = 3), TT_E_INVALID,
         "src_stride is 3: expected 25 (a source matrix) to 2^44 / batch"},
        {"A100", P(.rows = 5, .cols = 5), TT_E_INVALID,
         "GPU \"A100\": the store knows no GPU yet: tune on one first (with tiletune come: NVIDIA H200, "
         "NVIDIA H100 80GB HBM3)"},
#undef P
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_ctx *ctx = ctx_for(cases[i].gpu);
        tt_choice choice = TT_INIT(tt_choice);
        says(tt_best(&choice, ctx, &cases[i].p), cases[i].status, cases[i].sentence);
        tt_close(&ctx);
    }
}

/* ---- Tuning -------------------------------------------------------------------------------------------- */

static void about_tuning(void **state) {
    (void)state;
    static const char *const nosuch[] = {"transpose_tild"}, *const hole[] = {"transpose_tiled", NULL};
    static const struct {
        tt_tune_opts opts;
        size_t n;
        tt_status status;
        const char *sentence;
    } cases[] = {
#define O(...) {.size = sizeof(tt_tune_opts), __VA_ARGS__}
        {O(.jobs = 0), 0, TT_E_INVALID, "there is no problem to tune"},
        {O(.jobs = -1), 1, TT_E_INVALID, "jobs is -1: it must be at least 1, or 0 for one per CPU"},
        {O(.trial_timeout_s = -1), 1, TT_E_INVALID,
         "trial_timeout_s is -1: it must be positive, or 0 for the default"},
        {O(.compile_timeout_s = -1), 1, TT_E_INVALID,
         "compile_timeout_s is -1: it must be positive, or 0 for the default"},
        {O(.budget_s = -1), 1, TT_E_INVALID, "budget_s is -1: it must be positive, or 0 for none"},
        {O(.effort = (tt_effort)9), 1, TT_E_INVALID,
         "effort is 9: there are TT_EFFORT_STANDARD, _QUICK and _EXHAUSTIVE"},
        {O(.strategy = "modell"), 1, TT_E_INVALID,
         "unknown strategy \"modell\": there are surrogate, model, random, exhaustive"},
        {O(.only = nosuch, .n_only = 1), 1, TT_E_INVALID,
         "there is no kernel template transpose_tild; did you mean transpose_tiled?; \"tune doctor\" lists "
         "them"},
        {O(.only = hole, .n_only = 2), 1, TT_E_INVALID, "only[1] is NULL: it must be the name of a kernel"},
        {O(.n_devices = 2), 1, TT_E_INVALID, "devices is NULL, but n_devices is 2"},
        {O(.n_devices = 1, .replay = "/none.json"), 1, TT_E_INVALID, "devices is NULL, but n_devices is 1"},
        {O(.replay = "/none.json"), 1, TT_E_IO, "cannot read /none.json: No such file or directory"},
        {O(.replay = TT_SOURCE_DIR "/LICENSE"), 1, TT_E_INVALID,
         TT_SOURCE_DIR "/LICENSE: not valid JSON (11358 bytes): is the file complete?"},
        {O(.trace_path = "/none/t.json", .replay = "/none.json"), 1, TT_E_IO,
         "the trace /none/t.json cannot be written: No such file or directory"},
#undef O
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_ctx *ctx = ctx_for(NULL);
        tt_report *report;
        tt_problem p = TT_INIT(tt_problem);
        p.rows = p.cols = 64;
        says(tt_tune(&report, ctx, &p, cases[i].n, &cases[i].opts), cases[i].status, cases[i].sentence);
        assert_null(report);
        tt_close(&ctx);
    }
}

/* ---- Kernels of one's own ------------------------------------------------------------------------------ */

#define CODE "extern \"C\" __global__ void k(float *x, long long n) {}\n"
#define REST "//@ buffer x f32 n out\n//@ block 32\n//@ grid 1\n//@ args x, i64 n\n" CODE

static void about_kernels(void **state) {
    (void)state;
    static const struct {
        const char *source, *sentence;
    } cases[] = {
        {CODE, "k.cu: it has no annotations, which are lines such as //@ kernel NAME: \"tune new\" writes a "
               "kernel with all that are needed"},
        {"//@ problem n 64\n" CODE, "k.cu: no `kernel` annotation, expected a line: //@ kernel NAME"},
        {"//@ kernl k\n" CODE, "k.cu:1:5: unknown annotation 'kernl'; did you mean kernel?"},
        {"//@ kernel k\n//@ problem n 64\n//@ param B 1 2\n//@ where C > 1\n//@ default B=1\n" REST,
         "k.cu:4:11: unknown name C"},
        {"//@ kernel k\n//@ problem n 64\n//@ buffer x f33 n out\n//@ block 32\n//@ grid 1\n//@ args "
         "x\n" CODE,
         "k.cu:3:14: found 'f33', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 "
         "e5m2; did "
         "you "
         "mean f32?"},
        {"//@ kernel k\n//@ problem n 64\n//@ buffer x f32 m out\n//@ block 32\n//@ grid 1\n//@ args "
         "x\n" CODE,
         "k.cu:3:18: unknown name m"},
        {"//@ kernel k\n" REST, "k.cu:2:18: unknown name n; a `problem` line declares a variable"},
        {"//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n out\n//@ grid 1\n//@ args x\n" CODE,
         "k.cu: no `block` annotation, expected a line: //@ block EXPRESSION, ..."},
        {"//@ kernel other\n//@ problem n 64\n" REST,
         "k.cu:1:12: the code has no kernel other, which `kernel` names"},
        {"//@ kernel k\n//@ problem n 64\n//@ param B\n" REST, "k.cu:3:12: B has no values"},
        {"//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n in uniform 2,5 3\n//@ block 32\n//@ grid 1\n//@ "
         "args x\n" CODE,
         "k.cu:3:31: found '2,5', expected a number"},
    };
    static const struct {
        const char *problem, *sentence;
    } problems[] = {
        {"m=4", "k has no variable m; it has n"},
        {"n", "found 'n' in a problem of k, expected NAME=VALUE"},
        {"n=0", "n is 0: it must be a whole number of at least 1"},
        {"n=4,n=5", "n is given twice"},
    };
    tt_ctx *ctx = ctx_for("H200");
    tt_kernel *kernel;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        says(tt_kernel_open(&kernel, ctx, "k.cu", cases[i].source), TT_E_TEMPLATE, cases[i].sentence);
    says(tt_kernel_open(&kernel, ctx, in_dir("none.cu"), NULL), TT_E_IO,
         "cannot read @/none.cu: No such file or directory");
    assert_ok(tt_kernel_open(&kernel, ctx, "k.cu", "//@ kernel k\n//@ problem n 64\n" REST));
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        tt_choice choice = TT_INIT(tt_choice);
        tt_problem problem = TT_INIT(tt_problem);
        problem.kernel = kernel;
        problem.values = problems[i].problem;
        says(tt_best(&choice, ctx, &problem), TT_E_INVALID, problems[i].sentence);
    }
    tt_kernel_close(&kernel);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(about_opening), TEST(about_options), TEST(about_problems),
        TEST(about_tuning),  TEST(about_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
