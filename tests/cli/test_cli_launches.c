/*
 * Launches that are no ordinary ones: cooperative, in clusters, with tensor maps, in loops. The CPU stand-in
 * checks what it is asked for as the driver does, and runs the blocks one after the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    return 0;
}

typedef struct one_case {
    int code;
    const char *says, *line, *instead; /* the text with this line changed; NULL: as it is */
    const char *problem, *cc;
} one_case;

static const char *changed(const one_case *c, const char *text) {
    static char out[8192];
    const char *at = c->line ? strstr(text, c->line) : text;
    assert_non_null(at);
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, c->line ? c->instead : "",
             at + (c->line ? strlen(c->line) : 0));
    return out;
}

/* Tunes a kernel from an empty store, and expects the words on standard output or, where it fails, on
 * standard error. */
static void expect(const one_case *c, const char *text) {
    char line[512];
    run_result r;
    write_in(folder, "k.cu", changed(c, text));
    setenv("HOSTCUDA_CC", c->cc ? c->cc : "90", 1);
    snprintf(line, sizeof line, "--kernel %s/k.cu --db :memory:%s%s", folder, c->problem ? " --problem " : "",
             c->problem ? c->problem : "");
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    unsetenv("HOSTCUDA_CC");
    assert_code(&r, c->code);
    assert_has(&r, c->code ? r.err : r.out, c->says);
    run_free(&r);
}

static void expect_all(const char *text, const one_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect(&cases[i], text);
}

#define EXPECT_ALL(text, cases) expect_all(text, cases, sizeof(cases) / sizeof *(cases))

/* The grid grows with a parameter. The stand-in has 4 SMs of 2048 threads and 32 blocks. */
static const char cooperative[] =
    "//@ kernel    twice\n"
    "//@ problem   n 1000\n"
    "//@ buffer    y f32 n inout\n"
    "//@ param     THREADS 64 512\n"
    "//@ param     EACH 1 4 16\n"
    "//@ launch    cooperative\n"
    "//@ block     THREADS\n"
    "//@ grid      sm_count * EACH\n"
    "//@ args      y, i32 n\n"
    "//@ default   THREADS=64 EACH=1\n"
    "//@ reference plain\n"
    "//@ block     64\n"
    "//@ grid      1\n"
    "//@ args      y, i32 n\n"
    "extern \"C\" __global__ void twice(float *y, int n) {\n"
    "    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) y[i] *= 2;\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *y, int n) {\n"
    "    for (int i = threadIdx.x; i < n; i += 64) y[i] *= 2;\n"
    "}\n";

static void test_cooperative(void **state) {
    (void)state;
    static const one_case cases[] = {
        {0, "5 of 5 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {0, "5 of 5 configurations tried, 0 failed", NULL, NULL, NULL, "80"},
        {0, "4 of 4 configurations tried, 0 failed", NULL, NULL, NULL, "75"},
        {0, "6 of 6 configurations tried, 0 failed", "//@ launch    cooperative\n", "", NULL, NULL},
        {2, "`sm_count * EACH` makes 1600 blocks that wait for each other (`launch cooperative`), and the GPU",
         "THREADS=64 EACH=1", "THREADS=512 EACH=16", NULL, NULL},
        {2, "k.cu:6:15: found 'alone', expected: early or cooperative", "cooperative", "alone", NULL, NULL},
        {2,
         "k.cu:1:15: twice waits for its whole grid (this_grid), so all of its blocks must be on the GPU at",
         "//@ launch    cooperative\n", "//@ where EACH < 4\n", NULL, NULL},
    };
    enum { ORDINARY = 6 };
    static char waits[4096];
    EXPECT_ALL(cooperative, (one_case[]){cases[0]});
    for (int i = 0; i < ORDINARY; i++)
        expect(&cases[i], cooperative);
    static const char *const ways[] = {
        "cooperative_groups::this_grid().sync(); y[i]",
        "auto g = cooperative_groups::this_grid(); g.sync(); y[i]",
        "cg::grid_group whole = cg::this_grid(); cg::sync(whole); y[i]",
        "cg::sync(cg::this_grid()); y[i]",
        "auto g = cg::this_grid(); g.barrier_wait(g.barrier_arrive()); y[i]",
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const one_case c = {0, NULL, "y[i]", ways[i], NULL, NULL};
        snprintf(waits, sizeof waits, "%s", changed(&c, cooperative));
        expect(&cases[ORDINARY], waits);
    }
}

static const char cluster[] =
    "//@ kernel    twice\n"
    "//@ problem   n 1024\n"
    "//@ buffer    y f32 n inout\n"
    "//@ param     THREADS 32 64\n"
    "//@ param     BLOCKS 1 2 8 16\n"
    "//@ block     THREADS\n"
    "//@ grid      n / THREADS\n"
    "//@ cluster   BLOCKS\n"
    "//@ args      y\n"
    "//@ default   THREADS=32 BLOCKS=2\n"
    "//@ reference plain\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ args      y\n"
    "extern \"C\" __global__ void twice(float *y) { y[blockIdx.x * THREADS + threadIdx.x] *= 2; }\n"
    "extern \"C\" __global__ void plain(float *y) { y[blockIdx.x * 64 + threadIdx.x] *= 2; }\n";

static void test_cluster(void **state) {
    (void)state;
    static const one_case cases[] = {
        {0, "8 of 8 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {0, "3 of 3 configurations tried, 0 failed", NULL, NULL, "n=192", NULL},
        {1, "no configuration is legal for it", NULL, NULL, NULL, "89"},
        {2, "makes a grid of 32x1x1 blocks, which is no multiple of the cluster of 3x1x1", "cluster   BLOCKS",
         "cluster 3", NULL, NULL},
        {2, "`17` is 17, the limit of cluster.x is 16", "cluster   BLOCKS", "cluster 17", NULL, NULL},
        {2, "`4` makes clusters of 32 blocks, the limit is 16", "cluster   BLOCKS", "cluster 4, 8", NULL,
         NULL},
        {2, "cluster `BLOCKS - 2` is 0", "cluster   BLOCKS", "cluster BLOCKS - 2", NULL, NULL},
        {2,
         "twice works in clusters of blocks (this_cluster), and nothing says how large they are: add a line "
         "such as //@ cluster 2",
         "//@ cluster   BLOCKS\n", "", NULL, NULL},
    };
    enum { LAST = sizeof cases / sizeof *cases - 1 };
    static char works[4096];
    for (int i = 0; i < LAST; i++)
        expect(&cases[i], cluster);
    const one_case c = {0, NULL, "{ y", "{ cooperative_groups::this_cluster().sync(); y", NULL, NULL};
    snprintf(works, sizeof works, "%s", changed(&c, cluster));
    expect(&cases[LAST], works);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cooperative),
        cmocka_unit_test(test_cluster),
    };
    return cmocka_run_group_tests_name("cli-launches", tests, enter, run_leave);
}
