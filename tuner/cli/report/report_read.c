/*
 * Opens the files of a report and finds the winners that it is about.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/read_file.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/problem_text.h"
#include "tuner/cli/report/report.h"

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

static tt_status add_problem(filter *f, const tt__problem *p, bool warm) {
    TT_TRY(TT__GROW(f->problems, f->n));
    f->problems[f->n] = *p;
    f->problems[f->n++].warm |= warm;
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
        TT_GOTO(add_problem(f, &p, args->warm));
    }
    for (size_t i = 0; i < args->n_texts; i++) {
        TT_GOTO(tt__operation_problem(&p, op, own ? own->op : args->op, args->texts[i]));
        TT_GOTO(add_problem(f, &p, args->warm));
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
    char op[TT__NAME_MAX];
    uint32_t n_ops; /* winners come by operation */
} collecting;

/* The subject of this GPU; it is added if it is new. */
static tt_status find_subject(const collecting *c, const tt__gpu *gpu, tt__subject **out) {
    tt__report *r = c->r;
    size_t at = c->first;
    while (at < r->n && !tt__same_gpu(&r->subjects[at].gpu, gpu))
        at++;
    if (at == r->n) {
        TT_TRY(TT__GROW(r->subjects, r->n));
        r->subjects[r->n++] = (tt__subject){.source = c->source, .gpu = *gpu, .filter = r->filter};
    }
    *out = &r->subjects[at];
    return TT_OK;
}

static tt_status add_winner(void *user, const tt__winner *w) {
    collecting *c = user;
    tt__subject *s;
    if (!asked_for(c->r->filter, &w->problem))
        return TT_OK;
    TT_TRY(find_subject(c, &w->gpu, &s));
    TT_TRY(TT__GROW(s->winners, s->n));
    c->n_ops += strcmp(c->op, w->problem.op) != 0;
    tt__copy(c->op, sizeof c->op, w->problem.op);
    s->newest = s->n == 0 || w->unix_ms > s->newest.unix_ms ? *w : s->newest;
    s->winners[s->n] = (tt__listed){.trials = w->trials, .op = c->n_ops};
    return tt__store_known_problem(c->source->store, &w->problem, &s->winners[s->n++].problem_id);
}

static tt_status count_unsolved(void *user, const tt__unsolved *u) {
    collecting *c = user;
    tt__subject *s;
    if (!asked_for(c->r->filter, &u->problem))
        return TT_OK;
    TT_TRY(find_subject(c, &u->gpu, &s));
    s->n_unsolved++;
    return TT_OK;
}

tt_status tt__subject_winner(const tt__subject *s, size_t at, tt__winner *out) {
    bool found;
    TT_TRY(tt__store_winner_get(s->source->store, s->gpu_id, s->winners[at].problem_id, out, &found));
    return found ? TT_OK : tt__fail(TT_E_INTERNAL, "%s: a winner is gone", s->source->name);
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

static tt_status collect(tt__report *r, const tt__cli_args *args) {
    for (size_t i = 0; i < r->n_sources; i++) {
        const tt__source *source = &r->sources[i];
        collecting c = {.r = r, .source = source, .first = r->n};
        tt__gpu gpu;
        int64_t gpu_id = 0;
        if (args->gpu)
            TT_TRY(tt__store_find_gpu(source->store, args->gpu, &gpu, &gpu_id));
        TT_TRY(tt__store_winners(source->store, gpu_id, 0, r->filter->op, add_winner, &c));
        TT_TRY(tt__store_unsolved(source->store, gpu_id, r->filter->op, count_unsolved, &c));
        for (size_t k = c.first; k < r->n; k++) {
            TT_TRY(tt__store_known_gpu(source->store, &r->subjects[k].gpu, &r->subjects[k].gpu_id));
            TT_TRY(tt__store_peaks_get(source->store, r->subjects[k].gpu_id, &r->subjects[k].peaks));
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
    return collect(out, args);
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
