/*
 * What a report is about: opens its files, finds the winners, and reads the trials behind one of them, which
 * say what its kernel's parameters are worth.
 */
#include "tuner/cli/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/read_file.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "tuner/cli/shell/problems.h"

enum { ENOUGH = 8 }; /* trials, to tell parameters apart */
/* Whatever a store holds, figures and logarithms need ordinary numbers. */
#define WORTH_MIN 1e-12
#define WORTH_MAX 1e15
/* Two processes load a kernel to other addresses, and the GPU is not equally warm. */
static const double between_processes = 0.01;

/* ---- Files ------------------------------------------------------------------------------------------- */

static bool is_store(const char *path) {
    bool is; /* the store's own message names a file that cannot be read */
    return tt__is_database(path, &is) == TT_OK ? is : access(path, R_OK) != 0;
}

/* A file, or the default store if `path` is NULL. */
static tt_status add_source(tt__report *r, const char *path, bool store, const tt__cli_args *args) {
    TT_TRY(TT__GROW(r->sources, r->n_sources));
    tt__source *s = &r->sources[r->n_sources++];
    *s = (tt__source){0};
    if (!path)
        TT_TRY(tt__cli_store_open(&s->store, args, TT__STORE_READ_ONLY));
    else if (store)
        TT_TRY(tt__store_open(&s->store, path, TT__STORE_READ_ONLY));
    else
        TT_TRY(tt__recording_open(&s->recording, path));
    if (s->recording)
        s->store = tt__recording_store(s->recording);
    TT_TRY(tt__store_hold(s->store));
    const char *name = path ? path : tt__store_path(s->store), *slash = strrchr(name, '/');
    tt__copy(s->name, sizeof s->name, slash ? slash + 1 : name);
    return TT_OK;
}

static tt_status open_sources(tt__report *r, const tt__cli_args *args) {
    if (args->replay)
        TT_TRY(add_source(r, args->replay, false, args));
    for (size_t i = 0; i < args->n_files; i++)
        TT_TRY(add_source(r, args->files[i], is_store(args->files[i]), args));
    return r->n_sources ? TT_OK : add_source(r, NULL, true, args);
}

/* ---- Winners ----------------------------------------------------------------------------------------- */

typedef struct tt__report_filter {
    const char *op;               /* NULL: any */
    const char *text;             /* hash of --kernel; NULL: any */
    size_t n;                     /* 0: any */
    tt__problem first, *problems; /* first: as it was asked; problems: sorted */
    char hash[TT__HASH_SIZE];
} filter;

static tt_status add_problem(filter *f, const tt__problem *p, const tt__cli_args *args) {
    TT_TRY(TT__GROW(f->problems, f->n));
    f->problems[f->n] = *p;
    tt__cli_set_regime(&f->problems[f->n++], args);
    return TT_OK;
}

static tt_status open_filter(filter *f, const tt__cli_args *args) {
    tt__template *own = NULL;
    const tt__operation *op = NULL;
    tt__problem p;
    tt_status status = TT_OK;
    if (args->kernel_file) {
        TT_TRY(tt__template_load(&own, args->kernel_file));
        op = own->own;
        if (!op)
            TT_GOTO(tt__fail(TT_E_INVALID, "%s is a template for `op %s`: give --op %s", args->kernel_file,
                             own->op, own->op));
        tt__copy(f->hash, sizeof f->hash, own->hash);
        f->text = f->hash;
    } else if (args->op) {
        f->op = args->op;
        TT_GOTO(tt__operation_builtin(&op, args->op));
    }
    for (size_t i = 0; i < args->n_problems; i++) {
        TT_GOTO(tt__matrix_problem(&p, &args->problems[i]));
        TT_GOTO(add_problem(f, &p, args));
    }
    for (size_t i = 0; i < args->n_texts; i++) {
        TT_GOTO(tt__operation_problem(&p, op, own ? own->op : args->op, args->texts[i]));
        TT_GOTO(add_problem(f, &p, args));
    }
    if (f->n) {
        f->first = f->problems[0];
        qsort(f->problems, f->n, sizeof *f->problems, tt__problem_compare);
    }
out:
    tt__template_free(&own);
    return status;
}

static bool asked_for(const filter *f, const tt__problem *p) {
    return (!f->n || bsearch(p, f->problems, f->n, sizeof *f->problems, tt__problem_compare)) &&
           (!f->text || strcmp(f->text, p->text) == 0);
}

typedef struct collecting {
    tt__report *r;
    const tt__source *source;
    size_t first; /* subject of this source */
    size_t at;    /* subject of this GPU; winners come by GPU ... */
    int64_t gpu_id;
    char op[TT__NAME_MAX];
    uint32_t n_ops; /* ... and operation */
} collecting;

/* The subject of this GPU; it is added if it is new. */
static tt_status find_subject(const collecting *c, const tt__gpu *gpu, size_t *out) {
    tt__report *r = c->r;
    size_t at = c->first;
    while (at < r->n && !tt__same_gpu(&r->subjects[at].gpu, gpu))
        at++;
    if (at == r->n) {
        TT_TRY(TT__GROW(r->subjects, r->n));
        r->subjects[r->n++] = (tt__subject){.source = c->source, .gpu = *gpu, .filter = r->filter};
    }
    *out = at;
    return TT_OK;
}

static tt_status add_winner(void *user, const tt__winner_listed *w) {
    collecting *c = user;
    const filter *f = c->r->filter;
    tt__winner whole;
    bool found;
    if (f->n || f->text || w->gpu_id != c->gpu_id) {
        TT_TRY(tt__store_winner_get(c->source->store, w->gpu_id, w->problem_id, &whole, &found));
        if (!found || !asked_for(f, &whole.problem))
            return TT_OK;
        TT_TRY(find_subject(c, &whole.gpu, &c->at));
        c->gpu_id = w->gpu_id;
    }
    tt__subject *s = &c->r->subjects[c->at];
    TT_TRY(TT__GROW(s->winners, s->n));
    c->n_ops += strcmp(c->op, w->op) != 0;
    tt__copy(c->op, sizeof c->op, w->op);
    if (s->n == 0 || w->unix_ms > s->newest_ms) {
        s->newest_ms = w->unix_ms;
        s->newest_id = w->problem_id;
    }
    s->winners[s->n++] = (tt__listed){.problem_id = w->problem_id, .trials = w->trials, .op = c->n_ops};
    return TT_OK;
}

static tt_status count_unsolved(void *user, const tt__unsolved *u) {
    collecting *c = user;
    size_t at;
    if (!asked_for(c->r->filter, &u->problem))
        return TT_OK;
    TT_TRY(find_subject(c, &u->gpu, &at));
    c->r->subjects[at].n_unsolved++;
    return TT_OK;
}

static tt_status read_winner(const tt__subject *s, int64_t problem_id, tt__winner *out) {
    bool found;
    TT_TRY(tt__store_winner_get(s->source->store, s->gpu_id, problem_id, out, &found));
    return found ? TT_OK : tt__fail(TT_E_INTERNAL, "%s: a winner is gone", s->source->name);
}

tt_status tt__subject_winner(const tt__subject *s, size_t at, tt__winner *out) {
    return read_winner(s, s->winners[at].problem_id, out);
}

typedef struct passing_on {
    const tt__subject *s;
    tt__unsolved_fn fn;
    void *user;
} passing_on;

static tt_status pass_on(void *user, const tt__unsolved *u) {
    const passing_on *to = user;
    return asked_for(to->s->filter, &u->problem) ? to->fn(to->user, u) : TT_OK;
}

tt_status tt__subject_unsolved(const tt__subject *s, tt__unsolved_fn fn, void *user) {
    passing_on to = {s, fn, user};
    return s->n_unsolved ? tt__store_unsolved(s->source->store, s->gpu_id, s->filter->op, pass_on, &to)
                         : TT_OK;
}

/* "tune --op transpose --problem rows=64,cols=64". */
tt_status tt__report_command(tt__str *out, const tt__problem *p, const char *kernel_file) {
    const tt__operation *op;
    tt_status status = TT_OK;
    tt__str_add(out, kernel_file ? "tune --kernel " : "tune --op ");
    tt__str_add_word(out, kernel_file ? kernel_file : p->op);
    if (p->n > 0)
        tt__str_add(out, " --problem ");
    if (kernel_file)
        tt__problem_add_settings(out, p, ",");
    else if ((status = tt__operation_builtin(&op, p->op)) == TT_OK)
        return tt__problem_add_unusual(out, op, p);
    tt__str_add(out, p->warm && kernel_file ? ",warm" : "");
    tt__str_add(out, p->in_graph && kernel_file ? ",in_graph" : "");
    return status;
}

/* Says what to run. */
static tt_status fail_empty(const tt__report *r, const tt__cli_args *args) {
    const filter *f = r->filter;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__str command = {0};
    if (f->n == 0 && f->text) {
        tt__str_add_word(&command, args->kernel_file);
        tt__fail(TT_E_NO_WINNER, "%s was not tuned: \"tune --kernel %s\" does it", args->kernel_file,
                 tt__str_text(&command));
        tt__str_free(&command);
        return TT_E_NO_WINNER;
    }
    if (f->n == 0)
        return tt__fail(TT_E_NO_WINNER, "%s has nothing to report%s%s: tune first, as in \"tune --%s\"",
                        r->sources[0].name, f->op ? " of " : "", f->op ? f->op : "",
                        f->op ? "op NAME --problem NAME=VALUE" : "sizes 4096");
    const tt__problem *p = &f->first;
    tt_status status = tt__report_command(&command, p, f->text ? args->kernel_file : NULL);
    if (status == TT_OK)
        status = tt__fail(TT_E_NO_WINNER, "%s of %s was not tuned: \"%s\" does it", p->op,
                          tt__problem_text(text, p), tt__str_text(&command));
    tt__str_free(&command);
    return status;
}

static tt_status find_subjects(tt__report *r, const tt__cli_args *args) {
    for (size_t i = 0; i < r->n_sources; i++) {
        const tt__source *source = &r->sources[i];
        collecting c = {.r = r, .source = source, .first = r->n};
        tt__gpu gpu;
        int64_t gpu_id = 0;
        if (args->gpu)
            TT_TRY(tt__store_find_gpu(source->store, args->gpu, &gpu, &gpu_id));
        TT_TRY(tt__store_winners_listed(source->store, gpu_id, r->filter->op, add_winner, &c));
        TT_TRY(tt__store_unsolved(source->store, gpu_id, r->filter->op, count_unsolved, &c));
        for (size_t k = c.first; k < r->n; k++) {
            tt__subject *s = &r->subjects[k];
            TT_TRY(tt__store_known_gpu(source->store, &s->gpu, &s->gpu_id));
            TT_TRY(tt__store_peaks_get(source->store, s->gpu_id, &s->peaks));
            if (s->n)
                TT_TRY(read_winner(s, s->newest_id, &s->newest));
        }
    }
    return r->n ? TT_OK : fail_empty(r, args);
}

tt_status tt__report_open(tt__report *out, const tt__cli_args *args) {
    *out = (tt__report){.filter = calloc(1, sizeof *out->filter)};
    if (!out->filter)
        return tt__fail_memory(sizeof *out->filter);
    TT_TRY(open_filter(out->filter, args));
    TT_TRY(open_sources(out, args));
    return find_subjects(out, args);
}

void tt__report_close(tt__report *r) {
    for (size_t i = 0; i < r->n; i++)
        free(r->subjects[i].winners);
    for (size_t i = 0; i < r->n_sources; i++)
        if (r->sources[i].recording)
            tt__recording_close(&r->sources[i].recording);
        else
            tt__store_close(&r->sources[i].store);
    if (r->filter)
        free(r->filter->problems);
    free(r->filter);
    free(r->subjects);
    free(r->sources);
    *r = (tt__report){0};
}

/* ---- Trials ----------------------------------------------------------------------------------------- */

typedef struct reading {
    size_t n;
    tt__report_row *rows;
} reading;

/* Of each configuration the newest trial stays. */
static tt_status add_row(void *user, const tt__trial_row *r) {
    reading *all = (reading *)user + (r->stage == TT__STAGE_FINAL);
    tt__report_row *row = all->n ? &all->rows[all->n - 1] : NULL;
    if (!row || row->config_id != r->config_id) {
        TT_TRY(TT__GROW(all->rows, all->n));
        row = &all->rows[all->n++];
    } else if (r->run_age <= row->run_age) {
        return TT_OK;
    }
    *row = (tt__report_row){.trial = *r->trial,
                            .config_id = r->config_id,
                            .run_id = r->run_id,
                            .run_age = r->run_age,
                            .unix_ms = r->unix_ms};
    tt__copy(row->kernel, sizeof row->kernel, r->kernel);
    tt__copy(row->hash, sizeof row->hash, r->hash);
    tt__copy(row->config, sizeof row->config, r->config);
    tt__clean(row->kernel, TT__CLEAN_NAME);
    tt__clean(row->config, TT__CLEAN_NAME);
    double worth = r->trial->time_us * (r->trial->weight > 0 ? r->trial->weight : 1);
    if (r->trial->status == TT__TRIAL_OK && worth > WORTH_MIN && worth < WORTH_MAX)
        row->worth = worth;
    return TT_OK;
}

static int by_time(const void *a, const void *b) {
    const tt__report_row *s = a, *t = b;
    int order = (s->unix_ms > t->unix_ms) - (s->unix_ms < t->unix_ms);
    return order ? order : (s->config_id > t->config_id) - (s->config_id < t->config_id);
}

static int by_worth(const void *a, const void *b) {
    const tt__report_row *s = a, *t = b;
    return s->worth != t->worth ? (s->worth < t->worth ? -1 : 1)
                                : (s->place > t->place) - (s->place < t->place);
}

/* Keeps the rows of each kernel's newest text. Rows are in the order of time. */
static void drop_old_texts(reading *all) {
    size_t kept = 0, newest = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (newest <= i || strcmp(all->rows[newest].kernel, all->rows[i].kernel) != 0)
            newest = all->n - 1;
        while (strcmp(all->rows[newest].kernel, all->rows[i].kernel) != 0)
            newest--;
        if (strcmp(all->rows[newest].hash, all->rows[i].hash) == 0 && kept++ < i)
            all->rows[kept - 1] = all->rows[i];
    }
    all->n = kept;
}

/* Reads the stages from that one on, in the order of time. */
static tt_status read_stages(reading out[2], const tt__subject *s, int64_t problem_id, const tt__env *env,
                             tt__stage from) {
    TT_TRY(tt__store_trials_by_key(s->source->store, s->gpu_id, env, problem_id, from, add_row, out));
    for (int stage = from; stage < 2; stage++) {
        reading *all = &out[stage];
        if (all->n)
            qsort(all->rows, all->n, sizeof *all->rows, by_time);
        for (size_t i = 0; i < all->n; i++)
            all->rows[i].place = i;
        drop_old_texts(all);
    }
    return TT_OK;
}

static bool is_winner(const tt__report_row *row, const tt__winner *w) {
    return strcmp(row->kernel, w->kernel) == 0 && strcmp(row->config, w->config) == 0;
}

/* Samples pair up within a run, so those of the winner's run stay. */
static void keep_finals(reading *finals, const tt__winner *w) {
    int64_t run_id = -1;
    size_t kept = 0;
    for (size_t i = 0; i < finals->n; i++)
        if (is_winner(&finals->rows[i], w))
            run_id = finals->rows[i].run_id;
    for (size_t i = 0; i < finals->n; i++)
        if (finals->rows[i].run_id == run_id && finals->rows[i].worth > 0)
            finals->rows[kept++] = finals->rows[i];
    finals->n = kept;
    if (kept)
        qsort(finals->rows, kept, sizeof *finals->rows, by_worth);
}

/* ---- Counting ---------------------------------------------------------------------------------------- */

static int by_best(const void *a, const void *b) {
    const tt__report_kernel *s = a, *t = b;
    double x = s->best > 0 ? s->best : INFINITY, y = t->best > 0 ? t->best : INFINITY;
    return x != y ? (x < y ? -1 : 1) : strcmp(s->name, t->name);
}

static tt_status count_kernel(tt__details *d, const tt__report_row *row) {
    size_t k = 0;
    while (k < d->n_kernels && strcmp(d->kernels[k].name, row->kernel) != 0)
        k++;
    if (k == d->n_kernels) {
        TT_TRY(TT__GROW(d->kernels, d->n_kernels));
        d->kernels[d->n_kernels++] = (tt__report_kernel){.name = row->kernel};
    }
    tt__report_kernel *kernel = &d->kernels[k];
    kernel->n++;
    if (row->worth > 0 && (!(kernel->best > 0) || row->worth < kernel->best))
        kernel->best = row->worth;
    return TT_OK;
}

static tt_status count(tt__details *d) {
    for (size_t i = 0; i < d->n; i++) {
        tt__trial_status status = d->rows[i].trial.status;
        d->by_status[status]++;
        d->n_failed += status != TT__TRIAL_OK && status != TT__TRIAL_SKIPPED;
        d->weighed = d->weighed || (d->rows[i].worth > 0 && d->rows[i].worth != d->rows[i].trial.time_us);
        TT_TRY(count_kernel(d, &d->rows[i]));
    }
    if (d->n_kernels) {
        qsort(d->kernels, d->n_kernels, sizeof *d->kernels, by_best);
        d->best = d->kernels[0].best;
    }
    return TT_OK;
}

/* ---- Parameters -------------------------------------------------------------------------------------- */

static void copy_part(char out[TT__NAME_MAX], const char *text, size_t n) {
    n = n < TT__NAME_MAX ? n : TT__NAME_MAX - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* Takes "NAME=VALUE" from the text. False: there is none. */
static bool take_setting(const char **text, char name[TT__NAME_MAX], char value[TT__NAME_MAX]) {
    size_t n = strcspn(*text, " "), equals = strcspn(*text, "=");
    if (equals >= n)
        return false;
    copy_part(name, *text, equals);
    copy_part(value, *text + equals + 1, n - equals - 1);
    *text += n + strspn(*text + n, " ");
    return true;
}

/* Numbers in their order, then words. */
static int by_value(const void *a, const void *b) {
    const tt__report_value *s = a, *t = b;
    char *s_end, *t_end;
    long long x = strtoll(s->text, &s_end, 10), y = strtoll(t->text, &t_end, 10);
    if (*s_end || *t_end)
        return *s_end && *t_end ? strcmp(s->text, t->text) : (*s_end ? 1 : -1);
    return (x > y) - (x < y);
}

static size_t find_value(const tt__report_param *p, const char *text) {
    size_t v = 0;
    while (v < p->n && strcmp(p->values[v].text, text) != 0)
        v++;
    return v;
}

/* False: there are too many. */
static bool name_params(tt__details *d, const char *config) {
    char name[TT__NAME_MAX], value[TT__NAME_MAX];
    d->n_params = 0;
    while (take_setting(&config, name, value)) {
        if (d->n_params == TT__PARAMS_MAX)
            return false;
        tt__copy(d->params[d->n_params++].name, TT__NAME_MAX, name);
    }
    return true;
}

/* False: the configuration is not like the first one, or has too much. */
static bool note_trial(tt__details *d, const tt__report_row *row) {
    char name[TT__NAME_MAX], text[TT__NAME_MAX];
    const char *config = row->config;
    size_t at = 0;
    for (; take_setting(&config, name, text); at++) {
        tt__report_param *p = &d->params[at];
        if (at == d->n_params || strcmp(p->name, name) != 0)
            return false;
        size_t v = find_value(p, text);
        if (v == TT__VALUES_MAX)
            return false;
        tt__report_value *value = &p->values[v];
        if (v == p->n) {
            tt__copy(value->text, sizeof value->text, text);
            value->seen = p->n++;
        }
        d->level[d->n_own * d->n_params + at] = (unsigned char)v;
        value->n++;
        if (!(value->best > 0) || row->worth < value->best)
            value->best = row->worth;
    }
    d->own[d->n_own++] = row->worth;
    return at == d->n_params;
}

/* Sorts the values of a parameter, of which levels have been noted. */
static void sort_values(tt__details *d, size_t param) {
    tt__report_param *p = &d->params[param];
    unsigned char now[TT__VALUES_MAX];
    qsort(p->values, p->n, sizeof *p->values, by_value);
    for (size_t v = 0; v < p->n; v++)
        now[p->values[v].seen] = (unsigned char)v;
    for (size_t i = 0; i < d->n_own; i++) {
        unsigned char *level = &d->level[i * d->n_params + param];
        *level = now[*level];
    }
}

static bool counts(const tt__details *d, const tt__report_row *row) {
    return row->worth > 0 && strcmp(row->kernel, d->w->kernel) == 0;
}

/* The shares, the costs, and which parameters come first. */
static void rank(tt__details *d) {
    double most = -1;
    for (size_t p = 0; p < d->n_params; p++) {
        tt__report_param *param = &d->params[p];
        double worst = 0;
        for (size_t v = 0; v < param->n; v++) {
            worst = param->values[v].best > worst ? param->values[v].best : worst;
            param->best = param->values[v].best < param->values[param->best].best ? v : param->best;
        }
        param->cost = worst / param->values[param->best].best;
        param->share = d->importance->alone[p];
        param->total = d->importance->total[p];
        size_t at = p;
        for (; at > 0 && d->params[d->order[at - 1]].total < param->total; at--)
            d->order[at] = d->order[at - 1];
        d->order[at] = p;
        for (size_t q = 0; q < p; q++) {
            double both = param->share + d->params[q].share + d->importance->pair[p][q];
            if (both > most && param->n > 1 && d->params[q].n > 1) {
                most = both;
                d->pair[0] = q;
                d->pair[1] = p;
            }
        }
    }
}

static tt_status analyse(tt__details *d) {
    tt__importance_of of = {.n = d->n_own, .n_params = d->n_params, .level = d->level};
    double *logs = calloc(d->n_own, sizeof *logs);
    d->importance = calloc(1, sizeof *d->importance);
    if (!logs || !d->importance) {
        free(logs);
        return tt__fail_memory(d->n_own * sizeof *logs);
    }
    of.value = logs;
    for (size_t p = 0; p < d->n_params; p++)
        of.n_levels[p] = d->params[p].n;
    for (size_t i = 0; i < d->n_own; i++)
        logs[i] = log(d->own[i]);
    tt_status status = tt__importance_find(d->importance, &of);
    free(logs);
    if (status == TT_OK)
        rank(d);
    return status;
}

static tt_status study_params(tt__details *d) {
    const tt__report_row *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (counts(d, &d->rows[i]) && n++ == 0)
            first = &d->rows[i];
    if (n < ENOUGH)
        return TT_OK;
    d->params = calloc(TT__PARAMS_MAX, sizeof *d->params);
    if (!d->params)
        return tt__fail_memory(TT__PARAMS_MAX * sizeof *d->params);
    bool alike = name_params(d, first->config) && d->n_params; /* a kernel may have none */
    if (!alike) {
        d->n_params = 0;
        return TT_OK;
    }
    d->level = calloc(n, d->n_params);
    d->own = calloc(n, sizeof *d->own);
    if (!d->level || !d->own)
        return tt__fail_memory(n * sizeof *d->own);
    for (size_t i = 0; i < d->n && alike; i++)
        alike = !counts(d, &d->rows[i]) || note_trial(d, &d->rows[i]);
    if (!alike) {
        d->n_params = 0;
        return TT_OK;
    }
    for (size_t p = 0; p < d->n_params; p++)
        sort_values(d, p);
    return analyse(d);
}

/* ---- The whole --------------------------------------------------------------------------------------- */

static tt_status add_energy(void *user, const char *kernel, const char *config, const tt__energy *energy) {
    tt__details *d = user;
    TT_TRY(TT__GROW(d->energies, d->n_energies));
    tt__report_energy *e = &d->energies[d->n_energies];
    *e = (tt__report_energy){.energy = *energy};
    d->n_energies += energy->joules > 0 && energy->time_us > 0;
    tt__copy(e->kernel, sizeof e->kernel, kernel);
    tt__copy(e->config, sizeof e->config, config);
    return TT_OK;
}

/* What `tune explain` has found out. */
static tt_status read_facts(tt__details *d, int64_t problem_id) {
    tt__store *store = d->subject->source->store;
    TT_TRY(tt__store_flop_get(store, problem_id, &d->flop));
    return tt__store_energies(store, d->subject->gpu_id, problem_id, add_energy, d);
}

tt_status tt__details_open(tt__details **out, const tt__subject *s, const tt__winner *w) {
    reading all[2] = {0}, *finals = &all[TT__STAGE_FINAL];
    tt__details *d = *out = calloc(1, sizeof *d);
    if (!d)
        return tt__fail_memory(sizeof *d);
    d->subject = s;
    d->w = w;
    tt_status status = read_stages(all, s, w->problem_id, &w->env, TT__STAGE_SCREEN);
    keep_finals(finals, w);
    d->rows = all[TT__STAGE_SCREEN].rows;
    d->n = all[TT__STAGE_SCREEN].n;
    d->finals = finals->rows;
    d->n_finals = finals->n;
    if (status == TT_OK)
        status = count(d);
    if (status == TT_OK)
        status = read_facts(d, w->problem_id);
    return status == TT_OK ? study_params(d) : status;
}

void tt__details_close(tt__details **d) {
    if (!*d)
        return;
    free((*d)->rows);
    free((*d)->finals);
    free((*d)->kernels);
    free((*d)->energies);
    free((*d)->params);
    free((*d)->importance);
    free((*d)->level);
    free((*d)->own);
    free(*d);
    *d = NULL;
}

/* The final trial of the winner, or NULL. */
static const tt__report_row *final_of_winner(const tt__details *d) {
    for (size_t i = 0; i < d->n_finals; i++)
        if (is_winner(&d->finals[i], d->w))
            return &d->finals[i];
    return NULL;
}

tt__ratio tt__details_ratio(const tt__details *d, const tt__report_row *final) {
    const tt__report_row *w = final_of_winner(d);
    double ratio = w ? final->worth / w->worth : 1;
    if (!w || final->trial.n_samples != w->trial.n_samples || w->trial.n_samples == 0)
        return (tt__ratio){ratio, ratio, ratio};
    tt__ratio r = tt__paired_ratio(final->trial.samples_us, w->trial.samples_us, (size_t)w->trial.n_samples);
    double weight = final->trial.weight / w->trial.weight;
    return (tt__ratio){r.median * weight, r.low * weight, r.high * weight};
}

const char *tt__details_reason(const tt__details *d, tt__trial_status status) {
    for (size_t i = 0; i < d->n; i++)
        if (d->rows[i].trial.status == status && *d->rows[i].trial.reason)
            return d->rows[i].trial.reason;
    return "";
}

/* ---- Two subjects ------------------------------------------------------------------------------------ */

/* Half the 95 % interval of the winner's median, relative. */
static tt_status spread(double *out, const tt__subject *s, int64_t problem_id, const tt__winner *w) {
    reading all[2] = {0}, *finals = &all[TT__STAGE_FINAL];
    *out = 0;
    tt_status status = read_stages(all, s, problem_id, &w->env, TT__STAGE_FINAL);
    for (size_t i = 0; status == TT_OK && i < finals->n; i++) {
        const tt__trial *t = &finals->rows[i].trial;
        if (is_winner(&finals->rows[i], w) && t->n_samples)
            *out = tt__relative_spread(t->samples_us, (size_t)t->n_samples);
    }
    free(finals->rows);
    return status;
}

tt_status tt__report_change(tt__change *out, const tt__subject *before, size_t at, const tt__subject *after,
                            bool *both) {
    double a, b;
    int64_t problem_id;
    tt__store *store = after->source->store;
    *out = (tt__change){.ratio = 0};
    TT_TRY(tt__subject_winner(before, at, &out->before));
    TT_TRY(tt__store_known_problem(store, &out->before.problem, &problem_id));
    TT_TRY(tt__store_winner_get(store, after->gpu_id, problem_id, &out->after, both));
    *both = *both && out->before.time_us > 0 && out->after.time_us > 0;
    if (!*both)
        return TT_OK;
    TT_TRY(spread(&a, before, before->winners[at].problem_id, &out->before));
    TT_TRY(spread(&b, after, problem_id, &out->after));
    out->ratio = out->after.time_us / out->before.time_us;
    out->noise = sqrt(a * a + b * b + between_processes * between_processes);
    out->kind = out->ratio < 1 - out->noise   ? TT__CHANGE_FASTER
                : out->ratio > 1 + out->noise ? TT__CHANGE_SLOWER
                                              : TT__CHANGE_NONE;
    return TT_OK;
}

const char *tt__change_what(const tt__change *c) {
    const tt__winner *a = &c->before, *b = &c->after;
    const struct {
        const char *what, *before, *after;
    } parts[] = {{"another GPU", a->gpu.name, b->gpu.name},
                 {"another kernel", a->kernel, b->kernel},
                 {"another configuration", a->config, b->config},
                 {"the kernel's text", a->hash, b->hash},
                 {"the driver", a->env.driver, b->env.driver},
                 {"NVRTC", a->env.nvrtc, b->env.nvrtc},
                 {"the measuring method", a->env.library, b->env.library}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].before, parts[i].after) != 0)
            return parts[i].what;
    return "nothing";
}
