/* The most likely error messages of `tune`, word by word, so that a change to one is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

enum { TEXT_MAX = 2048 };

static const char *folder;

typedef struct error {
    const char *line;
    int code;
    const char *sentence; /* all of standard error without "tune: "; @ is the folder */
    const char *env;      /* "NAME=VALUE", or NULL */
} error;

/* `text` with each `from` replaced by `to`. */
static const char *replaced(char out[TEXT_MAX], const char *text, const char *from, const char *to) {
    size_t n = 0;
    for (const char *at; (at = strstr(text, from)); text = at + strlen(from))
        n += (size_t)snprintf(out + n, TEXT_MAX - n, "%.*s%s", (int)(at - text), text, to);
    snprintf(out + n, TEXT_MAX - n, "%s", text);
    return out;
}

static void expect(const error *e, bool as_nobody) {
    char line[TEXT_MAX], said[TEXT_MAX], wanted[TEXT_MAX];
    const char *env[] = {e->env, NULL};
    run_result r;
    run_tune(&r, &(run_spec){.env = env, .as_nobody = as_nobody, .timeout_s = 60},
             replaced(line, e->line, "@", folder));
    if (as_nobody && r.code == 127) {
        run_free(&r);
        return; /* the build is in a folder of root alone */
    }
    replaced(said, r.err, folder, "@");
    snprintf(wanted, sizeof wanted, "tune: %s\n", e->sentence);
    if (r.code != e->code || strcmp(said, wanted) != 0)
        fail_msg("tune %s: exit code %d, expected %d\nsaid:     %sexpected: %s", e->line, r.code, e->code,
                 said, wanted);
    run_free(&r);
}

static void expect_all(const error *errors, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect(&errors[i], false);
}
#define EXPECT_ALL(errors) expect_all(errors, sizeof(errors) / sizeof *(errors))

static void about_command_lines(void **state) {
    (void)state;
    static const error errors[] = {
        {"--siezs 64", 2, "unknown option --siezs; did you mean --sizes?", NULL},
        {"--bogus", 2, "unknown option --bogus; \"tune --help\" lists the options", NULL},
        {"bets", 2, "unknown command \"bets\"; did you mean best?", NULL},
        {"frobnicate", 2, "unknown command \"frobnicate\"; \"tune --help\" lists them", NULL},
        {"4096", 2, "unexpected \"4096\"; sizes are given as --sizes 4096", NULL},
        {"--json", 2,
         "nothing to tune: give --sizes or --shapes, as in \"tune --device 0 --sizes 4096,8192\", a built-in "
         "operation with --op, or a kernel of yours with --kernel",
         NULL},
        {"--sizes", 2, "--sizes needs a value: --sizes N[,N...]", NULL},
        {"--sizes 0", 2, "--sizes: 0: at least 1 is needed", NULL},
        {"--sizes 4k", 2, "--sizes: \"4k\" is not a whole number; write digits only, as in 4096", NULL},
        {"--sizes 4096x1024", 2, "--sizes: \"4096x1024\" is not one number; shapes go to --shape or --shapes",
         NULL},
        {"--sizes 4096,", 2, "--sizes: \"4096,\" has an empty item; write it as in 4096,8192", NULL},
        {"--sizes 99999999999999999999", 2,
         "--sizes: 99999999999999999999 is too large: at most 17592186044416", NULL},
        {"--sizes 8388608", 2,
         "8388608 x 8388608 (lds 8388608, ldd 8388608, batch 1): more than 2^44 elements, the limit", NULL},
        {"--sizes 64 --unverified", 2,
         "--unverified is for a kernel of yours, and --kernel names none: leave it out", NULL},
        {"--shapes 4096", 2, "--shapes: \"4096\" is not a shape: write ROWSxCOLS, as in 4096x1024", NULL},
        {"--shapes 4x5 --in-place --lds 6", 2,
         "4 x 5 in place with lds 6 and ldd 4: only square matrices may have gaps between rows, leave both "
         "out",
         NULL},
        {"--sizes 64 --dtype f23", 2, "--dtype: unknown type \"f23\"; did you mean f32?", NULL},
        {"--sizes 64 --dtype quaternion", 2,
         "--dtype: unknown type \"quaternion\"; known are u8 i8 f16 bf16 i16 f32 i32 f64 i64 c64 c128 (or "
         "use "
         "--elem-size)",
         NULL},
        {"--sizes 64 --elem-size 3", 2,
         "--elem-size: \"3\" is not an element size: it is 1, 2, 4, 8 or 16 bytes", NULL},
        {"--sizes 64 --dtype f16 --elem-size 4", 2,
         "--elem-size: 4 bytes, but 2 bytes were asked for before; one element size at a time", NULL},
        {"--kernel a.cu --kernel b.cu", 2, "--kernel: b.cu, but a.cu was asked for before; one at a time",
         NULL},
        {"--kernel a.cu --kernel a.cu", 1, "cannot read a.cu: No such file or directory", NULL},
        {"--sizes 64 --effort most", 2,
         "--effort: \"most\" is no effort: it is quick, standard or exhaustive", NULL},
        {"--sizes 64 --budget soon", 2,
         "--budget: \"soon\" is not a time: write it as in 10s, 500ms, 2m or 1h", NULL},
        {"--sizes 64 --budget 9999h", 2, "--budget: 9999h: it must be from 10ms to 168h", NULL},
        {"--sizes 64 --strategy oracle", 2,
         "--strategy: unknown strategy \"oracle\": there are surrogate, model, random, "
         "exhaustive",
         NULL},
        {"--sizes 64 --only transpose_tild", 2,
         "there is no kernel template transpose_tild; did you mean transpose_tiled?; \"tune doctor\" lists "
         "them",
         NULL},
        {"--stale --sizes 64", 2,
         "--stale tunes what \"tune list\" calls stale, on a device: leave sizes and shapes out", NULL},
        {"prune", 2,
         "what should be removed? give --stale, --other-gpus, --older-than DAYS, --kernel, --op, --problem, "
         "--size, --shape or --all (--dry-run only counts)",
         NULL},
        {"export", 2,
         "whose trials? give --gpu NAME, as in \"tune export --gpu h100\" (\"tune list\" shows the GPUs)",
         NULL},
    };
    EXPECT_ALL(errors);
}

static void about_permutations(void **state) {
    (void)state;
    static const error errors[] = {
        {"--permute 0,2,1", 2,
         "--permute and --dims go together, as in --permute 0,2,1,3 --dims 32,2048,16,64", NULL},
        {"--permute 0,2,1 --dims 4,5", 2, "--permute 0,2,1 has 3 axes and --dims 4,5 has 2", NULL},
        {"--permute 0,2 --dims 4,5", 2, "perm[1] is 2: a tensor of rank 2 has the axes 0 to 1", NULL},
        {"--permute 1,1 --dims 4,5", 2, "perm names axis 1 twice: each axis stands there once", NULL},
        {"--permute 1,-1 --dims 4,5", 2, "--permute: \"-1\" is not an axis: axes are numbered from 0", NULL},
        {"--permute 1,0 --dims 4,0", 2, "--dims: 0: at least 1 is needed", NULL},
        {"--permute 1,0 --dims 4,", 2, "--dims: \"4,\" has an empty item; write it as in 32,2048,16,64",
         NULL},
        {"--permute 1,0 --dims 4,5 --dtype f64 --align 4", 2,
         "elements of 8 bytes lie at multiples of 8: tensors aligned to 4 cannot be permuted", NULL},
        {"--permute 1,0 --dims 4,5 --op copy", 2,
         "--permute 1,0: --dims, --dtype, --align, --warm and --graph say all of a permutation, so leave "
         "sizes, "
         "layouts "
         "and other operations out",
         NULL},
        {"--permute 16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0 --dims 2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2", 1,
         "17 dimensions remain after merging, and 16 is the limit: permute in two steps", NULL},
        {"best --permute 1,0", 2,
         "--permute and --dims go together, as in --permute 0,2,1,3 --dims 32,2048,16,64", NULL},
    };
    EXPECT_ALL(errors);
}

static void about_operations(void **state) {
    (void)state;
    static const error errors[] = {
        {"--op nosuch", 2,
         "there is no operation nosuch (there are axpby, cast_transpose, cast_transpose_mx, copy, permute, "
         "transpose, transpose_ladder, transpose_in_place, transpose_rect_in_place, transpose_scaled)",
         NULL},
        {"--op axpby --kernel own.cu", 2, "--op axpby and --kernel own.cu: one or the other", NULL},
        {"--op axpby --sizes 64", 2,
         "axpby: sizes, shapes and layouts are for matrices; name its variables with --problem", NULL},
        {"--op axpby --problem", 2, "--problem needs a value: --problem NAME=VALUE[,...]", NULL},
        {"--op axpby --problem n", 2, "found 'n' in a problem of axpby, expected NAME=VALUE", NULL},
        {"--op axpby --problem n=", 2, "found 'n=' in a problem of axpby, expected NAME=VALUE", NULL},
        {"--op axpby --problem =4", 2, "found '=4' in a problem of axpby, expected NAME=VALUE", NULL},
        {"--op axpby --problem n=4k", 2, "n is 4k: it must be a whole number of at least 1", NULL},
        {"--op axpby --problem T=f33", 2, "f33 is no value of T, expected one of f32 f64", NULL},
        {"--op axpby --problem size=4", 2, "axpby has no variable size; it has n, T", NULL},
        {"--op cast_transpose --problem rows=4", 2, "cols has no default: give it as in cols=4096", NULL},
        {"--op cast_transpose --problem rows=4,cols=4,D=fp8", 2,
         "fp8 is no value of D, expected one of e4m3 e5m2 bf16 f16 f32", NULL},
        {"--op cast_transpose --problem rows=4,cols=4,outputs=2", 2,
         "cast_transpose cannot be 4x4, outputs=2: `outputs IN (1, 3, 5, 7)` must hold", NULL},
        {"--op copy --problem bites=4", 2, "copy has no variable bites; did you mean bytes?", NULL},
        {"--problem n=4", 2,
         "--problem n=4: of what? Name a built-in operation with --op, or your file with --kernel", NULL},
    };
    EXPECT_ALL(errors);
}

static void about_machines(void **state) {
    (void)state;
    static const error errors[] = {
        {"--sizes 64", 3,
         "the CUDA driver finds no GPU on this machine; search a recording with --device replay:FILE",
         "HOSTCUDA_FAULTS=driver:no_device"},
        {"--sizes 64", 3,
         "TILETUNE_NVRTC names /none/libnvrtc.so, which cannot be loaded: /none/libnvrtc.so: cannot open "
         "shared "
         "object file: No such file or directory",
         "TILETUNE_NVRTC=/none/libnvrtc.so"},
        {"--sizes 64", 1, "TILETUNE_WORKER names /none/worker, which cannot be run",
         "TILETUNE_WORKER=/none/worker"},
        {"--sizes 64 --device 9", 3, "there is no device 9; this machine has: 0 (hostcuda)", NULL},
        {"--sizes 64 --device gpu0", 2,
         "--device: \"gpu0\" is neither a device number (0, 1, ...), a list of them, \"all\", nor "
         "replay:FILE; \"tune doctor\" lists the devices",
         NULL},
        {"--op copy --problem bytes=1000000000", 2,
         "bytes=1000000000 needs 5.13 GB of device memory (its buffers, and copies to verify and measure "
         "with); "
         "hostcuda has 1.07 GB: choose a smaller problem",
         NULL},
        {"best --size 64", 2,
         "which GPU? There is none here: give --gpu NAME (the store knows none yet; with "
         "tiletune come: NVIDIA H200, NVIDIA H100 80GB HBM3)",
         "HOSTCUDA_FAULTS=driver:no_device"},
    };
    EXPECT_ALL(errors);
}

static void about_recordings(void **state) {
    (void)state;
    static const error errors[] = {
        {"--sizes 64 --device replay:", 2,
         "--device: \"replay:\" names no file: write replay:FILE, as in replay:recordings/h200.json", NULL},
        {"--sizes 64 --device replay:@/none.json", 1, "cannot read @/none.json: No such file or directory",
         NULL},
        {"--sizes 64 --device replay:@", 1, "cannot read @: it is a folder, and only regular files are read",
         NULL},
        {"--sizes 64 --device replay:@/text.json", 2,
         "@/text.json: not valid JSON (6 bytes): is the file complete?", NULL},
        {"import @/other.json --kernel copy_linear", 2,
         "--gpu, --kernel and a problem belong together: --gpu is missing; a recording of tiletune needs "
         "none of them",
         NULL},
        {"import @/other.json", 2,
         "@/other.json: not a recording that `tune export` wrote, nor T4 results, nor a cache file of Kernel "
         "Tuner: it has no \"results\" and no \"cache\"",
         NULL},
    };
    char line[TEXT_MAX];
    snprintf(line, sizeof line, "--sizes 100 --device replay:%s", getenv("TT_RECORDING"));
    write_in(folder, "text.json", "hello\n");
    write_in(folder, "other.json", "{}");
    EXPECT_ALL(errors);
    expect(&(error){line, 2,
                    "the recording has no transpose of 100x100; it has: 1024x1024; 2048x2048; 4096x4096; "
                    "8192x8192; 16384x16384",
                    NULL},
           false);
}

static void about_stores(void **state) {
    (void)state;
    static const error before[] = {
        {"show --size 64", 4,
         "nothing was tuned yet: there is no @/tiletune/tiletune.db (tune first, or name one with --db)",
         NULL},
        {"list --db @/none.db", 4,
         "@/none.db: there is no store here, and a read-only one is not created: tune first, or name another "
         "file (--db, tt_open_opts.db_path)",
         NULL},
        {"--sizes 64 --db @/none/s.db", 4,
         "@/none/s.db: the folder of the store does not exist: create it, or name another file (--db, "
         "tt_open_opts.db_path)",
         NULL},
        {"--sizes 64 --db @", 4, "@: this is a folder: name a file in it, such as @/tiletune.db", NULL},
        {"--sizes 64 --db @/text.db", 4,
         "@/text.db: cannot open the store: this is not a tiletune store (not an SQLite database, or its "
         "header is damaged). It is left as it is: move it away, or name another file (--db, "
         "tt_open_opts.db_path)",
         NULL},
    };
    static const error after[] = {
        {"best --size 64 --gpu A100 --db @/s.db", 2,
         "GPU \"A100\": no such GPU in @/s.db; it has: NVIDIA H200 (with tiletune come: NVIDIA H200, NVIDIA "
         "H100 80GB HBM3)",
         NULL},
        {"show --size 65 --gpu H200 --db @/s.db", 1,
         "transpose of 65x65 was not tuned on NVIDIA H200; \"tune list\" shows what was, \"tune best\" what "
         "would be taken",
         NULL},
        {"export --gpu H200 --size 65 --kernel transpose_tiled --db @/s.db", 1,
         "@/s.db has no trials of transpose_tiled for this problem on this GPU: \"tune list\" shows what was "
         "tuned",
         NULL},
        {"export --gpu H200 --output /none/x.json --db @/s.db", 1,
         "cannot write /none/x.json: No such file or directory", NULL},
    };
    static const error others[] = {
        {"--sizes 64 --db @/s.db", 4,
         "@/s.db: cannot read and write the store: Permission denied: change the permissions, open it "
         "read-only, or name another file (--db, tt_open_opts.db_path)",
         NULL},
        {"--sizes 64 --db @/new.db", 4,
         "@/new.db: cannot create the store: Permission denied (name another file: --db, "
         "tt_open_opts.db_path)",
         NULL},
    };
    char line[TEXT_MAX];
    run_result r;
    write_in(folder, "text.db",
             "no database, but as long as the header of one has to be, which is 100 bytes, and some");
    chmod(replaced(line, "@/text.db", "@", folder), 0600);
    EXPECT_ALL(before);
    snprintf(line, sizeof line, "merge %s/s.db %s", folder, getenv("TT_RECORDING"));
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    run_free(&r);
    EXPECT_ALL(after);
    chmod(replaced(line, "@/s.db", "@", folder), 0444);
    chmod(folder, 0555);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(&others[i], true);
    chmod(folder, 0755);
}

/* A kernel with another first line. */
static void write_kernel(const char *name, const char *line) {
    char text[TEXT_MAX];
    snprintf(text, sizeof text,
             "%s\n//@ kernel k\n//@ problem n 1000\n//@ param B 32 64\n//@ buffer x f32 n out\n//@ block B\n"
             "//@ grid 1\n//@ args x, i64 n\n//@ default B=32\n"
             "extern \"C\" __global__ void k(float *x, long long n) {}\n",
             line);
    write_in(folder, name, text);
}

static const char wrong[] =
    "//@ kernel k\n//@ problem n 64\n//@ buffer y f32 n out\n//@ block 64\n//@ grid 1\n//@ args y, i64 n\n"
    "//@ reference r\n//@ block 64\n//@ grid 1\n//@ args y\n"
    "extern \"C\" __global__ void k(float *y, long long n) { y[threadIdx.x] = 2; y[n] = 3; }\n"
    "extern \"C\" __global__ void r(float *y) { y[threadIdx.x] = 2; }\n";

static void about_kernels(void **state) {
    (void)state;
    static const error errors[] = {
        {"--kernel @/none.cu", 1, "cannot read @/none.cu: No such file or directory", NULL},
        {"check @", 1, "cannot read @: it is a folder, and only regular files are read", NULL},
        {"--kernel @/plain.cu", 2,
         "@/plain.cu: it has no annotations, which are lines such as //@ kernel NAME: \"tune new\" writes a "
         "kernel with all that are needed",
         NULL},
        {"--kernel @/typo.cu", 2, "@/typo.cu:1:5: unknown annotation 'wher'; did you mean where?", NULL},
        {"--kernel @/name.cu", 2, "@/name.cu:1:11: unknown name C", NULL},
        {"--kernel @/chain.cu", 2,
         "@/chain.cu:1:19: found '<=' after a comparison: write 16 <= B AND B <= 64, or put one of the two "
         "comparisons in parentheses",
         NULL},
        {"--kernel @/never.cu", 2,
         "@/never.cu:9:13: the default configuration is not legal for the default problem: k B=32 cannot do "
         "n=1000: `B > 100` does not hold (@/never.cu:1)",
         NULL},
        {"best --gpu H200 --kernel @/large.cu --problem n=64", 1,
         "no configuration of k is legal for n=64 on NVIDIA H200: `tune check` says what removes them", NULL},
        {"--quiet --kernel @/large.cu --problem n=64 --unverified", 1,
         "n=64: no configuration is legal for it: `tune check` says what removes them", NULL},
        {"--quiet --json --kernel @/wrong.cu", 1,
         "n=64: every configuration failed, the first: wrong_result: wrote to y[64], and y has 64 elements",
         NULL},
        {"show --kernel @/wrong.cu", 1,
         "k of n=64 has no winner on hostcuda: 1 screened, 1 wrong_result; the first: wrote to y[64], and y "
         "has "
         "64 elements",
         NULL},
        {"--kernel @/large.cu", 2,
         "k names no reference, so that no result of it can be verified: add a `reference`, a `verify` or an "
         "`expect`, "
         "or "
         "say --unverified (tt_tune_opts.unverified)",
         NULL},
        {"--kernel @/large.cu --only k", 2,
         "@/large.cu competes with no template: leave --only and --template out", NULL},
        {"--sizes 64 --template @/large.cu", 2,
         "@/large.cu says itself what it works on, and competes with nothing: tune it with --kernel "
         "(tt_problem.kernel)",
         NULL},
        {"new @/plain.cu", 2, "@/plain.cu is there already and is left as it is: name a new file", NULL},
    };
    write_in(folder, "plain.cu", "extern \"C\" __global__ void k(float *x) {}\n");
    write_in(folder, "wrong.cu", wrong);
    write_kernel("typo.cu", "//@ wher B > 1");
    write_kernel("name.cu", "//@ where C > 1");
    write_kernel("chain.cu", "//@ where 16 <= B <= 64");
    write_kernel("never.cu", "//@ where B > 100");
    write_kernel("large.cu", "//@ where n > 100");
    EXPECT_ALL(errors);
}

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    chmod(folder, 0755); /* for `as_nobody` */
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, run_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(about_command_lines), TEST(about_permutations), TEST(about_operations), TEST(about_machines),
        TEST(about_recordings),    TEST(about_stores),       TEST(about_kernels),
    };
    return cmocka_run_group_tests_name("cli-errors", tests, NULL, NULL);
}
