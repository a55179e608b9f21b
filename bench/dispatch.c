/*
 * bench-dispatch: the host's time for a launch, through the library and without it, and for the first launch
 * of a new process.
 *
 *   bench-dispatch [--db PATH] [--device N] [--size N] [--calls N] [--threads N] [--asking N] [--starts N]
 *                  [--output FILE] ...
 *
 * Without --db the problem is tuned in a store of its own, in the folder for temporary files, which is
 * removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "bench/args.h"
#include "bench/dispatch.h"
#include "gpu/device.h"

enum { THREADS_MAX = 256, STARTS_MAX = 128 };

typedef struct results {
    dispatch_cost one[DISPATCH_WAYS], many[DISPATCH_WAYS]; /* with the driver */
    dispatch_cost own_one[DISPATCH_WAYS], own_many[DISPATCH_WAYS];
    dispatch_start start;
} results;

tt_status dispatch_open_cuda(dispatch *d) {
    CUdevice device;
    TT_TRY(tt__driver_open(&d->cu));
    TT_TRY(tt__cu_check(d->cu->cuDeviceGet(&device, d->options->device), "cuDeviceGet (%d)",
                        d->options->device));
    TT_TRY(tt__cu_check(d->cu->cuDevicePrimaryCtxRetain(&d->context, device), "cuDevicePrimaryCtxRetain"));
    return tt__cu_check(d->cu->cuCtxSetCurrent(d->context), "cuCtxSetCurrent");
}

/* ---- What comes out ------------------------------------------------------------------------------------ */

static void put_costs(tt__json *j, const char *key, int threads, const dispatch_cost *costs) {
    tt__json_open(j, key, '{');
    tt__json_int(j, "threads", threads);
    for (int way = 0; way < DISPATCH_WAYS; way++) {
        if (!costs[way].in)
            continue;
        tt__json_open(j, dispatch_way_names[way], '{');
        tt__json_number(j, "median_ns", costs[way].median, 5);
        tt__json_number(j, "p10_ns", costs[way].p10, 5);
        tt__json_number(j, "p90_ns", costs[way].p90, 5);
        tt__json_number(j, "over_cuLaunchKernel_ns", costs[way].over, 4);
        tt__json_close(j, '}');
    }
    tt__json_close(j, '}');
}

static void put_start(tt__json *j, const dispatch_start *s, int n) {
    tt__json_open(j, "first_launch", '{');
    tt__json_int(j, "starts", n);
    tt__json_string(j, "match", tt_match_name(s->match));
    tt__json_number(j, "beyond_cuda_ms", s->beyond, 4);
    tt__json_number(j, "exec_ms", s->exec, 4);
    tt__json_number(j, "cuInit_and_context_ms", s->cuda, 4);
    tt__json_number(j, "tt_open_ms", s->open, 4);
    tt__json_number(j, "tt_plan_create_ms", s->plan, 4);
    tt__json_number(j, "tt_plan_launch_ms", s->launch, 4);
    tt__json_int(j, "nvrtc_loaded", s->nvrtc);
    tt__json_close(j, '}');
}

static tt_status write_json(const dispatch *d, const results *r, const char *path) {
    const dispatch_options *o = d->options;
    const tt_choice *choice = tt_plan_choice(d->plan);
    char driver[32], date[32];
    time_t now = time(NULL);
    struct tm utc;
    tt__str text = {0};
    tt__json j = {.out = &text};
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    tt__driver_version(driver, sizeof driver);
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "gpu", d->gpu.name);
    tt__json_string(&j, "driver", driver);
    tt__json_string(&j, "commit", o->commit);
    tt__json_string(&j, "date", date);
    tt__json_string(&j, "cublas", d->cublas);
    tt__json_int(&j, "rows", d->problem.rows);
    tt__json_int(&j, "cols", d->problem.cols);
    tt__json_string(&j, "kernel", choice->kernel);
    tt__json_config(&j, "config", choice->config);
    tt__json_string(&j, "match", tt_match_name(choice->match));
    tt__json_int(&j, "calls", o->calls);
    put_costs(&j, "one_thread", 1, r->one);
    put_costs(&j, "many_threads", o->threads, r->many);
    put_costs(&j, "one_thread_empty_driver", 1, r->own_one);
    put_costs(&j, "many_threads_empty_driver", o->threads, r->own_many);
    tt__json_int(&j, "asked_beside_many_threads", d->asked);
    put_start(&j, &r->start, o->starts);
    tt__json_close(&j, '}');
    tt_status status = tt__str_check(&text);
    FILE *f = status == TT_OK ? fopen(path, "w") : NULL;
    if (status == TT_OK && (!f || fprintf(f, "%s\n", tt__str_text(&text)) < 0))
        status = tt__fail(TT_E_IO, "%s cannot be written", path);
    if (f && fclose(f) != 0 && status == TT_OK)
        status = tt__fail(TT_E_IO, "%s cannot be written", path);
    tt__str_free(&text);
    return status;
}

static void print_costs(const char *what, int threads, const dispatch_cost *costs) {
    printf("\n%s, %d thread%s\n", what, threads, threads > 1 ? "s" : "");
    for (int way = 0; way < DISPATCH_WAYS; way++)
        if (costs[way].in)
            printf("  %-16s %9.1f ns   [%.1f, %.1f]   %+8.1f ns\n", dispatch_way_names[way],
                   costs[way].median, costs[way].p10, costs[way].p90, costs[way].over);
}

static void print_target(const char *what, double value, double limit, const char *unit) {
    printf("  %-58s %9.2f %s   at most %g: %s\n", what, value, unit, limit,
           value <= limit ? "met" : "MISSED");
}

static void print_results(const dispatch *d, const results *r) {
    const dispatch_start *s = &r->start;
    int threads = d->options->threads;
    print_costs("time of a call: median [10 %, 90 %] and, in the median, over the raw launch", 1, r->one);
    print_costs("the same", threads, r->many);
    print_costs("the library's own part: a driver that does nothing", 1, r->own_one);
    print_costs("the same", threads, r->own_many);
    if (d->asked)
        printf("\nbeside many threads, others asked for %d new shapes\n", d->asked);
    printf("\na new process, %s: %.2f ms to main, %.2f ms CUDA, %.2f ms tt_open, %.2f ms tt_plan_create, "
           "%.3f ms "
           "tt_plan_launch; NVRTC %s\n\n",
           tt_match_name(s->match), s->exec, s->cuda, s->open, s->plan, s->launch,
           s->nvrtc ? "IS LOADED" : "not loaded");
    print_target("tt_plan_launch over cuLaunchKernel", r->one[DISPATCH_PLAN].over, 50, "ns");
    print_target("tt_transpose over cuLaunchKernel", r->one[DISPATCH_TRANSPOSE].over, 100, "ns");
    print_target("tt_transpose over cuLaunchKernel, many threads", r->many[DISPATCH_TRANSPOSE].over, 200,
                 "ns");
    print_target("first tuned launch beyond cuInit and the context", s->beyond, 5, "ms");
}

/* ---- The program --------------------------------------------------------------------------------------- */

static tt_status measure(dispatch *d, results *r) {
    int threads = d->options->threads;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = d->db;
    opts.tune_budget_s = d->options->tune_s;
    TT_TRY(dispatch_open_cuda(d));
    TT_TRY(tt__device_current(&d->gpu));
    TT_TRY(tt_open(&d->ctx, &opts));
    TT_TRY(tt_plan_create(&d->plan, d->ctx, &d->problem));
    const tt_choice *choice = tt_plan_choice(d->plan);
    printf("%s: %d x %d fp32, %s %s, match: %s%s%s\n", d->gpu.name, d->options->size, d->options->size,
           choice->kernel, choice->config, tt_match_name(choice->match), *choice->why ? ": " : "",
           choice->why);
    fflush(stdout);
    TT_TRY(dispatch_starts(d, &r->start));
    TT_TRY(dispatch_calls(d, 1, false, r->one));
    TT_TRY(dispatch_calls(d, threads, false, r->many));
    TT_TRY(dispatch_calls(d, 1, true, r->own_one));
    TT_TRY(dispatch_calls(d, threads, true, r->own_many));
    print_results(d, r);
    return d->options->output ? write_json(d, r, d->options->output) : TT_OK;
}

static const char usage[] =
    "usage: bench-dispatch [--db PATH] [--device N] [--size N] [--calls N] [--threads N] [--asking N]\n"
    "                      [--starts N] [--tune-budget S] [--output FILE] [--commit TEXT] [--cublas FILE]\n"
    "See bench/README.md.\n";

/* -1: go on; else the exit status. */
static int parse(dispatch_options *o, const char **started, int argc, char **argv) {
    *o = (dispatch_options){
        .commit = "unknown", .threads = 16, .starts = 21, .size = 256, .calls = 1000000, .tune_s = 120};
    const bench_arg args[] = {{"db", BENCH_TEXT, &o->db},
                              {"device", BENCH_INT, &o->device},
                              {"size", BENCH_INT, &o->size},
                              {"calls", BENCH_INT, &o->calls},
                              {"threads", BENCH_INT, &o->threads},
                              {"asking", BENCH_INT, &o->asking},
                              {"starts", BENCH_INT, &o->starts},
                              {"output", BENCH_TEXT, &o->output},
                              {"commit", BENCH_TEXT, &o->commit},
                              {"cublas", BENCH_TEXT, &o->cublas},
                              {"started", BENCH_TEXT, started},
                              {"tune-budget", BENCH_REAL, &o->tune_s},
                              {0}};
    const int done = bench_args_read(args, usage, argc, argv);
    if (done >= 0)
        return done;
    bool good = optind == argc && o->size > 0 && o->size <= 65536 && o->calls > 0 && o->threads > 0 &&
                o->threads <= THREADS_MAX && o->asking >= 0 && o->asking <= ASKING_MAX && o->starts > 0 &&
                o->starts <= STARTS_MAX;
    return good ? -1 : bench_args_wrong(usage);
}

/* A folder of its own for the store, unless one is named. */
static bool choose_store(dispatch *d, char *folder, size_t size) {
    const char *temporary = getenv("TMPDIR");
    folder[0] = '\0';
    if (d->options->db) {
        tt__copy(d->db, sizeof d->db, d->options->db);
        return true;
    }
    snprintf(folder, size, "%s/bench-dispatch-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "bench-dispatch: %s cannot be made\n", folder);
        return false;
    }
    snprintf(d->db, sizeof d->db, "%s/store.db", folder);
    return true;
}

static void remove_store(const char *db, const char *folder) {
    static const char *const endings[] = {"", "-wal", "-shm", "-tuning"};
    char path[4200];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s%s", db, endings[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv) {
    dispatch_options options;
    const char *started = NULL;
    char folder[2048];
    results r = {0};
    int done = parse(&options, &started, argc, argv);
    if (done >= 0)
        return done;
    dispatch d = {.options = &options, .problem = TT_INIT(tt_problem)};
    d.problem.rows = d.problem.cols = options.size;
    if (started)
        return dispatch_be_started(started, &d);
    if (!choose_store(&d, folder, sizeof folder))
        return 1;
    tt_status status = measure(&d, &r);
    if (status != TT_OK)
        fprintf(stderr, "bench-dispatch: %s: %s\n", tt_strerror(status), tt_last_error());
    tt_plan_free(&d.plan);
    tt_close(&d.ctx);
    if (folder[0])
        remove_store(d.db, folder);
    return status != TT_OK;
}
