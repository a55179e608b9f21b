/*
 * bench-peers: tiletune's winners against cuMemcpyDtoD, tuned copies, cuBLAS geam and cuTENSOR.
 *
 *   bench-peers [--db PATH] [--device N] [--cases default|quick|narrow|FILE] [--rounds N] [--tune]
 * ...
 *
 * One process, one stream, the same arrays for all. A contender that is wrong or fails is named and left out,
 * and so is a case that fails. Only a lost CUDA context ends the run. The file then has all earlier figures.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/args.h"
#include "bench/peers.h"
#include "bench/texts.h"
#include "code/nvrtc.h"
#include "gpu/device.h"
#include "kernel/load/parse.h"

const bench_peer_kind bench_peer_kinds[BENCH_PEERS] = {
    [BENCH_OURS] = {"ours", BENCH_IS_TRANSPOSE, bench_ours_open},
    [BENCH_MEMCPY] = {"memcpy", BENCH_IS_COPY, bench_memcpy_open},
    [BENCH_COPY] = {"copy", BENCH_IS_COPY, bench_copy_open},
    [BENCH_MIRRORED] = {"mirrored", BENCH_IS_PERMUTATION, bench_mirrored_open},
    [BENCH_GEAM] = {"geam", BENCH_IS_TRANSPOSE, bench_geam_open},
    [BENCH_CUTENSOR] = {"cutensor", BENCH_IS_TRANSPOSE, bench_cutensor_open},
};

/* ---- Tuning what is missing ---------------------------------------------------------------------------- */

typedef struct tuning {
    double until_s;
    size_t at;
} tuning;

static int time_is_up(void *user) {
    return tt__now_s() > ((const tuning *)user)->until_s;
}

static void show_progress(void *user, const tt_progress *p) {
    tuning *t = user;
    if (p->problem + 1 == t->at)
        return;
    t->at = p->problem + 1;
    fprintf(stderr, "tuning %zu of %zu: %lld x %lld\n", t->at, p->n_problems, (long long)p->rows,
            (long long)p->cols);
}

static tt_status tune(bench *b, const tt_problem *problems, size_t n, double until_s) {
    tt_report *report;
    tuning t = {.until_s = until_s};
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    opts.device = b->options->device;
    opts.should_stop = time_is_up;
    opts.on_progress = show_progress;
    opts.max_trials = (size_t)b->options->max_trials;
    opts.user = &t;
    tt_status status = tt_tune(&report, b->ctx, problems, n, &opts);
    tt_report_free(&report);
    return status;
}

static bool is_missing(bench *b, const tt_problem *problem) {
    tt_choice best = TT_INIT(tt_choice);
    return tt_best(&best, b->ctx, problem) != TT_OK || best.match != TT_MATCH_EXACT;
}

/* With --graphs it needs another winner in a graph. */
static size_t note_missing(bench *b, const tt_problem *problem, tt_problem *missing) {
    size_t n = 0;
    for (int in_graph = 0; in_graph <= b->options->graphs; in_graph++) {
        missing[n] = *problem;
        missing[n].in_graph = in_graph;
        n += is_missing(b, &missing[n]);
    }
    return n;
}

/* Finds problems without a winner. A case that is also measured warm needs two. `missing` has room for four
 * per case, and one more. */
static size_t find_missing(bench *b, const bench_cases *cases, tt_problem *missing) {
    size_t n = 0;
    for (size_t i = 0; i < cases->n; i++) {
        const bench_case *c = &cases->items[i];
        bench_case warm;
        n += note_missing(b, &c->public, missing + n);
        if (bench_wanted_warm(b, c) && bench_warm_case(&warm, c) == TT_OK)
            n += note_missing(b, &warm.public, missing + n);
    }
    return n;
}

/* All in one run; if a problem breaks it, those that are left one by one. */
static void tune_missing(bench *b, const bench_cases *cases) {
    double started_s = tt__now_s(), until_s = started_s + b->options->tune_limit_s;
    tt_problem *missing = calloc(4 * cases->n + 1, sizeof *missing);
    size_t n = missing ? find_missing(b, cases, missing) : 0;
    tt_status status = n ? tune(b, missing, n, until_s) : TT_OK;
    bool broken = status != TT_OK && status != TT_E_INTERRUPTED && status != TT_E_NO_WINNER;
    if (status != TT_OK)
        fprintf(stderr, "tuning: %s: %s\n", tt_strerror(status), tt_last_error());
    size_t left = broken ? find_missing(b, cases, missing) : 0;
    for (size_t i = 0; i < left && tt__now_s() < until_s; i++)
        if ((status = tune(b, &missing[i], 1, until_s)) != TT_OK)
            fprintf(stderr, "tuning %lld x %lld: %s: %s\n", (long long)missing[i].rows,
                    (long long)missing[i].cols, tt_strerror(status), tt_last_error());
    if (n) {
        double took_s = tt__now_s() - started_s;
        size_t without = find_missing(b, cases, missing);
        fprintf(stderr, "tuned %zu problems in %.0f s\n", n - without, took_s);
        if (without)
            fprintf(stderr,
                    "%zu problems have no winner of their own: raise --tune-limit, now %g s, or see above\n",
                    without, b->options->tune_limit_s);
    }
    free(missing);
}

/* ---- The program --------------------------------------------------------------------------------------- */

static tt_status open_device(bench *b) {
    CUdevice dev;
    CUfunction fill;
    TT_TRY(tt__driver_open(&b->cu));
    TT_TRY(tt__device_gpu(&b->gpu, b->options->device));
    TT_TRY(tt__cu_check(b->cu->cuDeviceGet(&dev, b->options->device), "cuDeviceGet"));
    TT_TRY(tt__cu_check(b->cu->cuDevicePrimaryCtxRetain(&b->context, dev), "cuDevicePrimaryCtxRetain"));
    TT_TRY(tt__cu_check(b->cu->cuCtxSetCurrent(b->context), "cuCtxSetCurrent"));
    TT_TRY(tt__cu_check(b->cu->cuStreamCreate(&b->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
    TT_TRY(tt__nvrtc_open());
    tt__driver_version(b->env.driver, sizeof b->env.driver);
    tt__copy(b->env.nvrtc, sizeof b->env.nvrtc, tt__nvrtc_version());
    tt__copy(b->env.library, sizeof b->env.library, TT__METHOD);
    TT_TRY(tt__template_parse(&b->mirrored, "mirrored.cu", bench_text("mirrored.cu")));
    TT_TRY(bench_flusher(b, &fill));
    return bench_timer_open(&b->timer, b, fill);
}

static void close_device(bench *b) {
    bench_libraries_close();
    bench_kernels_close(b);
    bench_timer_close(&b->timer);
    bench_checkers_close(b);
    if (b->mirrored)
        tt__template_free(&b->mirrored);
    tt_close(&b->ctx);
    if (b->stream)
        b->cu->cuStreamDestroy(b->stream);
}

static tt_status run(bench *b, const bench_cases *cases, int *exit_status) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = b->options->db;
    opts.read_only = 0;
    *exit_status = 1;
    TT_TRY(tt_open(&b->ctx, &opts));
    TT_TRY(open_device(b));
    if (b->options->tune)
        tune_missing(b, cases);
    TT_TRY(tt__store_known_gpu(b->ctx->store, &b->gpu, &b->gpu_id));
    if (b->options->graphs) {
        *exit_status = 0;
        return bench_graphs(b, cases);
    }
    bench_report report;
    bench_report_open(&report, b);
    bool going = true;
    double started_s = tt__now_s();
    for (size_t i = 0; i < cases->n && going; i++)
        going = bench_run_case(b, &cases->items[i], &report);
    printf("%zu of %zu cases in %.0f s: %s\n", report.n_cases, cases->n, tt__now_s() - started_s,
           report.path);
    tt__str_free(&report.cases);
    *exit_status = !going ? 1 : report.n_failed ? 3 : 0;
    return TT_OK;
}

static const char usage[] =
    "usage: bench-peers [--db PATH] [--device N] [--cases default|quick|narrow|FILE] [--rounds N]\n"
    "                   [--tune] [--tune-limit SECONDS] [--max-trials N] [--without PEER,...] [--output "
    "FILE]\n"
    "                   [--part K/N] [--commit TEXT] [--cublas FILE] [--cutensor FILE] [--graphs]\n"
    "PEER: memcpy, copy, mirrored, geam, cutensor. A FILE of cases has lines\n"
    "ROWS COLS [ELEM_SIZE [LDS LDD [BATCH [IN_PLACE]]]]; 0 is the default. See bench/README.md.\n";

static bool leave_out(bench_options *o, const char *list) {
    for (size_t n; *list; list += n + (list[n] == ',')) {
        int id = BENCH_MEMCPY;
        n = strcspn(list, ",");
        while (id < BENCH_PEERS &&
               !(strncmp(list, bench_peer_kinds[id].name, n) == 0 && !bench_peer_kinds[id].name[n]))
            id++;
        if (id == BENCH_PEERS) {
            fprintf(stderr, "bench-peers: there is no peer \"%.*s\"\n", (int)n, list);
            return false;
        }
        o->without[id] = true;
    }
    return true;
}

/* -1: go on; else the exit status. */
static int parse(bench_options *o, int argc, char **argv) {
    const char *without = "", *part = "1/1";
    *o = (bench_options){.cases = "default", .commit = "unknown", .tune_limit_s = 300};
    const bench_arg args[] = {{"db", BENCH_TEXT, &o->db},
                              {"device", BENCH_INT, &o->device},
                              {"cases", BENCH_TEXT, &o->cases},
                              {"rounds", BENCH_INT, &o->rounds},
                              {"tune", BENCH_FLAG, &o->tune},
                              {"tune-limit", BENCH_REAL, &o->tune_limit_s},
                              {"max-trials", BENCH_INT, &o->max_trials},
                              {"graphs", BENCH_FLAG, &o->graphs},
                              {"without", BENCH_TEXT, &without},
                              {"output", BENCH_TEXT, &o->output},
                              {"part", BENCH_TEXT, &part},
                              {"commit", BENCH_TEXT, &o->commit},
                              {"cublas", BENCH_TEXT, &o->cublas},
                              {"cutensor", BENCH_TEXT, &o->cutensor},
                              {0}};
    const int done = bench_args_read(args, usage, argc, argv);
    if (done >= 0)
        return done;
    if (!leave_out(o, without))
        return 2;
    char end;
    if (sscanf(part, "%d/%d%c", &o->part, &o->parts, &end) != 2 || o->part < 1 || o->part > o->parts) {
        fprintf(stderr, "bench-peers: --part \"%s\": write K/N with K from 1 to N, as in 1/2\n", part);
        return 2;
    }
    return optind < argc || o->rounds < 0 || o->max_trials < 0 || o->rounds > TT__SAMPLES_MAX
               ? bench_args_wrong(usage)
               : -1;
}

static void keep_part(bench_cases *cases, const bench_options *o) {
    size_t n = 0;
    for (size_t i = (size_t)o->part - 1; i < cases->n; i += (size_t)o->parts)
        cases->items[n++] = cases->items[i];
    cases->n = n;
}

int main(int argc, char **argv) {
    bench_options options;
    bench_cases cases = {0};
    bench b = {.options = &options};
    int exit_status = 1;
    int done = parse(&options, argc, argv);
    if (done >= 0)
        return done;
    tt_status status = bench_cases_get(&cases, options.cases);
    if (status == TT_OK) {
        keep_part(&cases, &options);
        status = run(&b, &cases, &exit_status);
    }
    if (status != TT_OK)
        fprintf(stderr, "bench-peers: %s: %s\n", tt_strerror(status), tt_last_error());
    if (b.cu && !(status == TT_OK && exit_status == 1)) /* a lost context frees nothing */
        close_device(&b);
    free(cases.items);
    return exit_status;
}
