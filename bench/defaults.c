/*
 * Is a winner ever slower than the template's default? Searches recordings again and again, each time with
 * another seed, strategy and number of trials, and compares each winner with the default of its template by
 * their recorded samples. Then it asks for random shapes that nobody tuned, and looks up what the answers
 * were when they won. Last, it takes all winners away: what does the default of the operation cost, beside
 * the fastest configuration that was recorded?
 *
 *   bench-defaults [--searches N] [--shapes N] RECORDING...
 *
 * Exit 1: a winner is slower beyond the noise.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/random.h"
#include "bench/args.h"
#include "db/exchange/recording.h"
#include "dispatch/ladder.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "tuner/finals/finals.h"

/* Screening takes few samples, so its medians are right within a few percent. */
static const double screening_noise = 1.06;
static const size_t trials[] = {0, 6, 12, 24, 48, 96};
enum { N_TRIALS = sizeof trials / sizeof *trials };

typedef struct file {
    const char *path;
    tt__recording *recording;
    size_t n;
    tt_problem *problems;
} file;

typedef struct tally {
    size_t winners, defaults, finals, screened, none, slower; /* none: its template has no default there */
    double worst_final, worst_screened;                       /* the winner's time over the default's */
} tally;

static tt__template_set templates;
static tally all;

static int fail(void) {
    fprintf(stderr, "bench-defaults: %s\n", tt_last_error());
    return 1;
}

static tt_status add_problem(void *user, const tt__problem *p) {
    file *f = user;
    TT_TRY(TT__GROW(f->problems, f->n));
    f->problems[f->n++] = tt__matrix_of(p);
    return TT_OK;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static tt_status open_file(file *f, const char *path) {
    f->path = path;
    TT_TRY(tt__recording_open(&f->recording, path));
    TT_TRY(tt__recording_problems(f->recording, "transpose", add_problem, f));
    return tt__recording_problems(f->recording, "transpose_in_place", add_problem, f);
}

static tt_status look_up(const file *f, const tt__problem *p, const char *kernel, const char *config,
                         tt__trial of_stages[2]) {
    for (int i = 0; i < 2; i++) {
        bool found;
        TT_TRY(tt__recording_trial(f->recording, p, kernel, config, i ? TT__STAGE_FINAL : TT__STAGE_SCREEN,
                                   &of_stages[i], &found));
        if (!found)
            of_stages[i] = (tt__trial){.status = TT__TRIAL_SKIPPED};
    }
    return TT_OK;
}

static bool are_known(const tt__trial *a, const tt__trial *b) {
    return a->status == TT__TRIAL_OK && b->status == TT__TRIAL_OK && a->time_us > 0 && b->time_us > 0;
}

/* Compares a configuration of a recorded problem with the default of its template. */
static tt_status compare(tally *t, const file *f, const tt_problem *matrix, const char *kernel,
                         const char *config) {
    tt__problem p;
    tt__trial winner[2], normal[2];
    const tt__template *of = tt__template_set_find(&templates, kernel);
    t->winners++;
    if (!of || strcmp(of->default_config, config) == 0) {
        t->defaults++;
        return TT_OK;
    }
    TT_TRY(tt__matrix_problem(&p, matrix));
    TT_TRY(look_up(f, &p, kernel, config, winner));
    TT_TRY(look_up(f, &p, kernel, of->default_config, normal));
    bool paired = are_known(&winner[1], &normal[1]) && winner[1].n_samples == normal[1].n_samples;
    if (!paired && !are_known(&winner[0], &normal[0])) {
        t->none++;
        return TT_OK;
    }
    tt__ratio ratio = tt__compare_trials(&winner[paired], &normal[paired]);
    double limit = paired ? 1.0 : screening_noise;
    bool slower = (paired ? ratio.low : winner[0].time_us / normal[0].time_us) > limit;
    if (paired) {
        t->finals++;
        t->worst_final = fmax(t->worst_final, ratio.median);
    } else {
        t->screened++;
        t->worst_screened = fmax(t->worst_screened, winner[0].time_us / normal[0].time_us);
    }
    if (slower) {
        char text[TT__PROBLEM_TEXT_MAX];
        printf("slower: %s, %s, %s %s: %.4f (from %.4f) of the default, %s\n", f->path,
               tt__problem_text(text, &p), kernel, config, ratio.median, ratio.low,
               paired ? "finals" : "screening");
        t->slower++;
    }
    return TT_OK;
}

static void print_tally(const char *name, const tally *t) {
    printf("%-36s %6zu %8zu %7zu %7.4f %9zu %7.4f %8zu %7zu\n", name, t->winners, t->defaults, t->finals,
           t->worst_final, t->screened, t->worst_screened, t->none, t->slower);
    all.slower += t->slower;
}

static tt_status search(tally *t, const file *f, size_t number) {
    tt_ctx *ctx;
    tt_report *report = NULL;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    open.db_path = ":memory:";
    tune.replay = f->path;
    tune.seed = number;
    tune.max_trials = trials[number % N_TRIALS];
    tune.strategy = number % 2 ? "random" : NULL;
    TT_TRY(tt_open(&ctx, &open));
    tt_status status = tt_tune(&report, ctx, f->problems, f->n, &tune);
    for (size_t i = 0; status == TT_OK && i < report->n_results; i++) {
        const tt_result *r = tt_report_result(report, i);
        status = compare(t, f, &f->problems[i], r->kernel, r->config);
    }
    tt_report_free(&report);
    tt_close(&ctx);
    return status;
}

/* ---- Random shapes ------------------------------------------------------------------------------------- */

static int64_t random_side(uint64_t *state) {
    return (int64_t)pow(2, 1 + 14 * tt__random_unit(state));
}

/* The recorded problem that an answer was measured for. */
static const tt_problem *origin(const file *f, const tt_choice *c, int elem_size) {
    for (size_t i = 0; i < f->n; i++) {
        tt__problem p;
        char text[TT__PROBLEM_TEXT_MAX];
        if (f->problems[i].elem_size == elem_size && tt__matrix_problem(&p, &f->problems[i]) == TT_OK &&
            strcmp(tt__problem_text(text, &p), c->problem) == 0)
            return &f->problems[i];
    }
    return NULL;
}

static tt_status ask(tally *t, const file *files, size_t n_files, const char *gpu, size_t n) {
    tt_ctx *ctx;
    tt_open_opts open = TT_INIT(tt_open_opts);
    uint64_t state = 1;
    open.db_path = ":memory:";
    open.gpu = gpu;
    TT_TRY(tt_open(&ctx, &open));
    tt_status status = TT_OK;
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_choice choice = TT_INIT(tt_choice);
        tt_problem p = TT_INIT(tt_problem);
        p.rows = random_side(&state);
        p.cols = random_side(&state);
        p.elem_size = 1 << tt__random(&state) % 5;
        status = tt_best(&choice, ctx, &p);
        if (status != TT_OK || choice.match == TT_MATCH_DEFAULT) {
            t->winners++;
            t->defaults++;
            continue;
        }
        const tt_problem *from = NULL;
        for (size_t k = 0; k < n_files && !from && status == TT_OK; k++)
            if (strcmp(tt__recording_gpu(files[k].recording)->name, choice.gpu) == 0 &&
                (from = origin(&files[k], &choice, p.elem_size)))
                status = compare(t, &files[k], from, choice.kernel, choice.config);
        t->none += !from;
        t->winners += !from;
    }
    tt_close(&ctx);
    return status;
}

/* ---- Without any winner -------------------------------------------------------------------------------- */

/* What a look-up answers if nothing at all was tuned. */
static tt_status untuned(tt__configuration *best, const tt__gpu *gpu, const tt__problem *p) {
    const tt__template *t = tt__template_set_for(&templates, p);
    *best = (tt__configuration){0};
    if (t)
        TT_TRY(tt__ladder_default(best, &templates, t->operation, gpu, p));
    return best->t ? TT_OK : tt__fail(TT_E_UNSUPPORTED, "no default does %s", p->op);
}

/* The shortest recorded time of each stage; 0: none. */
static tt_status fastest(double us[2], const file *f, const tt__gpu *gpu, const tt__problem *p) {
    tt__space space = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < templates.n && status == TT_OK; i++) {
        const tt__template *t = templates.items[i];
        if (tt__template_does(t, p) && (status = tt__template_read(&t)) == TT_OK)
            status = tt__space_add(&space, t, gpu, p);
    }
    us[0] = us[1] = 0;
    for (size_t i = 0; i < space.n && status == TT_OK; i++) {
        tt__trial trial[2];
        status = look_up(f, p, space.items[i].t->kernel, space.items[i].config, trial);
        for (int k = 0; k < 2 && status == TT_OK; k++)
            if (are_known(&trial[k], &trial[k]) && (us[k] == 0 || trial[k].time_us < us[k]))
                us[k] = trial[k].time_us;
    }
    tt__space_free(&space);
    return status;
}

/* Each problem of a file: the default's time over the shortest one. */
static tt_status take_away(const file *f, const char *name) {
    const tt__gpu *gpu = tt__recording_gpu(f->recording);
    double *ratios = calloc(f->n + 1, sizeof *ratios);
    size_t n = 0;
    tt_status status = ratios ? TT_OK : tt__fail_memory((f->n + 1) * sizeof *ratios);
    for (size_t i = 0; i < f->n && status == TT_OK; i++) {
        tt__problem p;
        tt__configuration c;
        tt__trial trial[2];
        double us[2];
        TT_GOTO(tt__matrix_problem(&p, &f->problems[i]));
        TT_GOTO(untuned(&c, gpu, &p));
        TT_GOTO(look_up(f, &p, c.t->kernel, c.config, trial));
        TT_GOTO(fastest(us, f, gpu, &p));
        int stage = are_known(&trial[1], &trial[1]);
        if (are_known(&trial[stage], &trial[stage]) && us[stage] > 0)
            ratios[n++] = trial[stage].time_us / us[stage];
    }
    qsort(ratios, n, sizeof *ratios, tt__by_number);
    printf("%-36s %6zu %8zu %7.3f %7.3f\n", name, f->n, f->n - n, n ? ratios[n / 2] : 0,
           n ? ratios[n - 1] : 0);
out:
    free(ratios);
    return status;
}

static tt_status bench(char **paths, size_t n, size_t n_searches, size_t n_shapes) {
    file *files = calloc(n, sizeof *files);
    if (!files)
        return tt__fail_memory(n * sizeof *files);
    tt_status status = tt__template_set_open(&templates, NULL, 0);
    printf("%-36s %6s %8s %7s %7s %9s %7s %8s %7s\n", "", "all", "default", "finals", "worst", "screened",
           "worst", "none", "slower");
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tally t = {0};
        status = open_file(&files[i], paths[i]);
        for (size_t k = 0; k < n_searches && status == TT_OK; k++)
            status = search(&t, &files[i], k);
        print_tally(base_name(paths[i]), &t);
    }
    static const char *const gpus[] = {"NVIDIA H200", "NVIDIA H100 80GB HBM3"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus && n_shapes && status == TT_OK; i++) {
        tally t = {0};
        status = ask(&t, files, n, gpus[i], n_shapes);
        print_tally(gpus[i], &t);
    }
    printf("\n%-36s %6s %8s %7s %7s\n", "without any winner", "all", "none", "median", "worst");
    for (size_t i = 0; i < n && status == TT_OK; i++)
        status = take_away(&files[i], base_name(paths[i]));
    for (size_t i = 0; i < n; i++) {
        tt__recording_close(&files[i].recording);
        free(files[i].problems);
    }
    free(files);
    tt__template_set_close(&templates);
    return status;
}

int main(int argc, char **argv) {
    static const char usage[] = "usage: bench-defaults [--searches N] [--shapes N] RECORDING...\n";
    int n_searches = 2 * N_TRIALS, n_shapes = 200;
    const bench_arg args[] = {{"searches", BENCH_INT, &n_searches}, {"shapes", BENCH_INT, &n_shapes}, {0}};
    const int done = bench_args_read(args, usage, argc, argv);
    if (done >= 0)
        return done;
    if (optind == argc || n_searches < 0 || n_shapes < 0)
        return bench_args_wrong(usage);
    if (bench(argv + optind, (size_t)(argc - optind), (size_t)n_searches, (size_t)n_shapes) != TT_OK)
        return fail();
    return all.slower > 0;
}
