/* The costs of the store: opening it, looking up the best configuration among many winners, and its size with
 * many trials. Needs no GPU. bench-store [WINNERS [TRIALS]] prints a line for each figure; docs/store.md has
 * them. bench-store --shards N TRIALS FOLDER writes N stores of so many trials, for bench/merge. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/problem.h"
#include "base/clock.h"
#include "dispatch/context.h"
#include "kernel/load/builtin.h"
#include "tuner/measure/noise.h"

enum { SAMPLES = 8, CONFIGS = 1000, ASKED = 1000, REPEATS = 1000000, OPENINGS = 101, BATCH = 20000 };

static const tt_match ANY = (tt_match)-1; /* whatever the rung */

static const tt__gpu gpu = {.name = "Benchmark GPU",
                            .cc = 90,
                            .sm_count = 132,
                            .memory_bytes = 80000000000,
                            .l2_bytes = 50000000,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 232448};
static const tt__env env = {"580.159.04", "13.0", TT__METHOD};

static void must(tt_status status) {
    if (status == TT_OK)
        return;
    fprintf(stderr, "bench-store: %s\n", tt_last_error());
    exit(1);
}

/* Problem i of many: all different, most of them rectangular. */
static tt_problem problem(size_t i) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = 64 + (int64_t)(i % 1000) * 16;
    p.cols = 64 + (int64_t)(i / 1000) * 16;
    return p;
}

static void report(const char *what, double *us, size_t n) {
    qsort(us, n, sizeof *us, tt__by_number);
    printf("%-52s median %10.2f us, 99 %% within %10.2f us\n", what, us[n / 2], us[n * 99 / 100]);
}

static void fill_winners(const char *path, size_t n) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    int64_t gpu_id, run, config, id;
    must(tt_open(&ctx, &opts));
    const tt__template *t = tt__template_set_find(&ctx->templates, "transpose_tiled");
    must(tt__template_read(&t));
    must(tt__store_gpu(ctx->store, &gpu, &gpu_id));
    must(tt__store_run_begin(ctx->store, gpu_id, &env, "measured", &run));
    must(tt__store_config(ctx->store, t->kernel, t->op, t->hash, t->default_config, &config));
    for (size_t i = 0; i < n; i++) {
        tt_problem asked = problem(i);
        tt__problem p;
        tt__winner w = {
            .time_us = 50, .copy_us = 49, .copy_fraction = 0.98, .speedup_vs_default = 1.1, .trials = 850};
        if (i % BATCH == 0)
            must(tt__store_begin(ctx->store));
        must(tt__matrix_problem(&p, &asked));
        must(tt__store_problem(ctx->store, &p, &id));
        must(tt__store_winner_put(ctx->store, run, id, config, &w));
        if (i % BATCH == BATCH - 1 || i == n - 1)
            must(tt__store_commit(ctx->store));
    }
    tt_close(&ctx);
}

/* Times spread by some percent, as real ones are. Each problem gets a winner. */
static void fill_trials(const char *path, size_t n, size_t first_problem) {
    tt__store *s;
    int64_t gpu_id, run, problem_id = 0, config[CONFIGS];
    unsigned seed = 1;
    must(tt__store_open(&s, path, TT__STORE_READ_WRITE));
    must(tt__store_gpu(s, &gpu, &gpu_id));
    must(tt__store_run_begin(s, gpu_id, &env, "measured", &run));
    for (int i = 0; i < CONFIGS; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "READ_RUN=256 WRITE_RUN=256 VL=16 VS=8 THREADS=512 STREAM=0 ROTATE=0 ORDER=%d", i);
        must(tt__store_config(s, "transpose_vector", "transpose", "0123456789abcdef", text, &config[i]));
    }
    for (size_t i = 0; i < n; i++) {
        tt_problem asked = problem(first_problem + i / CONFIGS);
        tt__problem p;
        tt__winner w = {.time_us = 30, .trials = CONFIGS};
        tt__trial t = {.time_us = 30 + 100.0 * (rand_r(&seed) % 10000) / 10000,
                       .compile_ms = 40,
                       .regs = 32,
                       .n_samples = SAMPLES};
        for (int k = 0; k < SAMPLES; k++)
            t.samples_us[k] = (float)(t.time_us * (1 + 0.05 * ((rand_r(&seed) % 1000) / 1000.0 - 0.5)));
        if (i % BATCH == 0)
            must(tt__store_begin(s));
        if (i % CONFIGS == 0) {
            must(tt__matrix_problem(&p, &asked));
            must(tt__store_problem(s, &p, &problem_id));
            must(tt__store_winner_put(s, run, problem_id, config[0], &w));
        }
        must(tt__store_trial_put(s, run, problem_id, config[i % CONFIGS], TT__STAGE_SCREEN, &t));
        if (i % BATCH == BATCH - 1 || i == n - 1)
            must(tt__store_commit(s));
    }
    tt__store_close(&s);
}

static double ask(tt_ctx *ctx, const tt_problem *p, tt_match wanted) {
    tt_choice c = TT_INIT(tt_choice);
    double start = tt__now_s();
    must(tt_best(&c, ctx, p));
    double us = (tt__now_s() - start) * 1e6;
    if (c.match != wanted && wanted != ANY) {
        fprintf(stderr, "bench-store: %lld x %lld is %s, not %s\n", (long long)p->rows, (long long)p->cols,
                tt_match_name(c.match), tt_match_name(wanted));
        exit(1);
    }
    return us;
}

static void measure_opening(const char *path) {
    double us[OPENINGS];
    for (int i = 0; i < OPENINGS; i++) {
        tt__store *s;
        double start = tt__now_s();
        must(tt__store_open(&s, path, TT__STORE_READ_WRITE));
        us[i] = (tt__now_s() - start) * 1e6;
        tt__store_close(&s);
    }
    report("opening the store", us, OPENINGS);
    for (int i = 0; i < OPENINGS; i++) {
        tt_ctx *ctx;
        tt_open_opts opts = TT_INIT(tt_open_opts);
        opts.db_path = path;
        double start = tt__now_s();
        must(tt_open(&ctx, &opts));
        us[i] = (tt__now_s() - start) * 1e6;
        tt_close(&ctx);
    }
    report("tt_open (the store, and all templates)", us, OPENINGS);
}

static void measure_best(const char *path, size_t n_winners) {
    static double us[ASKED];
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    opts.gpu = gpu.name;
    must(tt_open(&ctx, &opts));
    tt_problem p = problem(0);
    printf("%-52s %17.2f us\n", "the very first tt_best of a context", ask(ctx, &p, TT_MATCH_EXACT));
    for (size_t i = 0; i < ASKED; i++) {
        p = problem((i * 7919 + 1) % n_winners);
        us[i] = ask(ctx, &p, TT_MATCH_EXACT);
    }
    report("tt_best from the file, each problem the first time", us, ASKED);
    p = problem(0);
    p.rows++;
    p.align = 4;
    printf("%-52s %17.2f us\n", "the first tt_best that no store has, which reads all",
           ask(ctx, &p, TT_MATCH_NEAREST));
    for (size_t i = 0; i < ASKED; i++) {
        p = problem((i * 7919 + 3) % n_winners);
        us[i] = ask(ctx, &p, TT_MATCH_EXACT);
    }
    report("tt_best from memory, each problem the first time", us, ASKED);
    for (size_t i = 0; i < ASKED; i++) {
        p = problem((i * 7919 + 1) % n_winners);
        p.rows++;
        p.align = 4;
        us[i] = ask(ctx, &p, TT_MATCH_NEAREST);
    }
    report("tt_best of the nearest problem, the first time", us, ASKED);
    for (size_t i = 0; i < ASKED; i++) { /* beyond all circles */
        p = problem(0);
        p.rows = 1 + (int64_t)i % 2;
        p.cols = 4000000 + (int64_t)i;
        us[i] = ask(ctx, &p, ANY);
    }
    report("tt_best far from all winners, the first time", us, ASKED);
    p = problem(5);
    ask(ctx, &p, TT_MATCH_EXACT);
    tt_choice c = TT_INIT(tt_choice);
    double start = tt__now_s();
    for (size_t i = 0; i < REPEATS; i++)
        must(tt_best(&c, ctx, &p));
    printf("%-52s mean %12.3f us\n", "tt_best of a problem again", (tt__now_s() - start) * 1e6 / REPEATS);
    tt_close(&ctx);
}

/* Shapes that nobody tuned, on a GPU that the library has rules for. */
static void measure_new(const char *path) {
    static double us[ASKED];
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    opts.gpu = "NVIDIA H200";
    must(tt_open(&ctx, &opts));
    for (int kind = 0; kind < 2; kind++) {
        for (int64_t i = -ASKED; i < ASKED; i++) { /* the first ones read templates */
            const int64_t n = i + ASKED, dims[] = {8, 101 + n, 16, 64};
            const int perm[] = {0, 2, 1, 3};
            tt_permutation heads = TT_INIT(tt_permutation);
            tt_problem p = TT_INIT(tt_problem);
            heads.rank = 4;
            heads.dims = dims;
            heads.perm = perm;
            heads.elem_size = 2;
            p.permutation = kind ? &heads : NULL;
            p.rows = kind ? 0 : 501 + n * 7919 % 5500;
            p.cols = kind ? 0 : 503 + n * 6007 % 5500;
            us[i < 0 ? n : i] = ask(ctx, &p, kind ? TT_MATCH_DEFAULT : TT_MATCH_RULE);
        }
        report(kind ? "tt_best of a new permutation" : "tt_best of a new transpose, by a rule", us, ASKED);
    }
    tt_close(&ctx);
}

static void print_size(const char *what, const char *path, size_t rows) {
    struct stat st;
    if (stat(path, &st) == 0)
        printf("%-52s %zu rows, %.1f MB, %.1f bytes a row\n", what, rows, (double)st.st_size * 1e-6,
               (double)st.st_size / (double)rows);
}

static int write_shards(size_t n, size_t trials, const char *folder) {
    for (size_t k = 0; k < n; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%zu.db", folder, k + 1);
        fill_trials(path, trials, k * ((trials + CONFIGS - 1) / CONFIGS));
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "--shards") == 0)
        return write_shards(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4]);
    size_t winners = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000,
           trials = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    char folder[] = "/tmp/bench-store-XXXXXX", none[64], many[64], large[64];
    if (winners < ASKED || winners > 1000000 || trials < 1 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: bench-store [WINNERS [TRIALS]], 1000 to 1000000 winners\n");
        return 2;
    }
    setenv("TILETUNE_SYSTEM_DB", "", 1);
    snprintf(none, sizeof none, "%s/none.db", folder);
    snprintf(many, sizeof many, "%s/winners.db", folder);
    snprintf(large, sizeof large, "%s/trials.db", folder);
    measure_new(none);
    fill_winners(many, winners);
    measure_opening(many);
    measure_best(many, winners);
    print_size("winners", many, winners);
    fill_trials(large, trials, 0);
    print_size("trials, 8 samples each", large, trials);
    unlink(none);
    unlink(many);
    unlink(large);
    return rmdir(folder) == 0 ? 0 : 1;
}
