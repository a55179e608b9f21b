/*
 * Makes problems again of what programs have collected. A kernel may be gone or edited since, and a variable
 * renamed. Such a problem says why it is left out, and the others are used.
 */
#include "tuner/cli/commands/collected.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/ladder.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "tuner/cli/shell/table.h"

/* Lines that cannot be read. Nothing is said of them where the file turns out to be none of collected
 * problems. */
typedef struct bad_lines {
    tt__str text;
    size_t n, n_more;
} bad_lines;

static void note_bad(void *user, const char *why) {
    enum { SAID_MAX = 20 };
    bad_lines *bad = user;
    if (bad->n++ < SAID_MAX)
        tt__str_addf(&bad->text, "tune: %s: the line is left out\n", why);
    else
        bad->n_more++;
}

static tt_status read_collection(tt__collection *out, const tt__cli_args *args) {
    bad_lines bad = {.n = 0};
    tt_status status = tt__collection_read(out, args->collected, note_bad, &bad);
    if (status == TT_OK)
        status = tt__str_check(&bad.text);
    if (status == TT_OK && !args->quiet)
        tt__cli_say(stderr, "%s", tt__str_text(&bad.text));
    if (status == TT_OK && !args->quiet && bad.n_more)
        tt__cli_say(stderr, "tune: %s: %s %s left out\n", args->collected,
                    tt__cli_count((int64_t)bad.n_more, "more line").text, bad.n_more == 1 ? "is" : "are");
    tt__str_free(&bad.text);
    return status;
}

/* ---- What a line means today --------------------------------------------------------------------------- */

/* The template in a user's file, read once. */
static tt_status find_own(const tt__template **out, tt__asked_list *l, const char *path) {
    tt__template *t;
    for (size_t i = 0; i < l->own.n; i++)
        if (strcmp(l->own.items[i]->path, path) == 0) {
            *out = l->own.items[i];
            return TT_OK;
        }
    TT_TRY(tt__template_load(&t, path));
    if (!t->own) {
        tt__template_free(&t);
        return tt__fail(TT_E_INVALID, "%s: it is a template of a built-in operation now", path);
    }
    const tt__template *other = tt__template_set_find(&l->judge.templates, t->kernel);
    if (!other)
        other = tt__template_set_find(&l->own, t->kernel);
    if (other) {
        tt__fail(TT_E_INVALID, "%s and %s both define the kernel %s: tune it by itself, with --kernel", path,
                 other->path, t->kernel);
        tt__template_free(&t);
        return TT_E_INVALID;
    }
    TT_TRY(tt__template_set_add(&l->own, t));
    *out = t;
    return TT_OK;
}

static tt_status find_builtin(const tt__template **out, const tt__asked_list *l, const char *op) {
    const tt__template_set *set = &l->judge.templates;
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i]->op, op) == 0) {
            *out = set->items[i];
            return tt__template_read(out);
        }
    return tt__fail(TT_E_INVALID, "there is no operation %s here", op);
}

static tt_status find_problem(tt__asked *a, tt__asked_list *l, const tt__cli_args *args) {
    const tt__collected *is = a->is;
    const tt__template *t = NULL;
    if (is->kernel)
        TT_TRY(find_own(&t, l, is->kernel));
    else
        TT_TRY(find_builtin(&t, l, is->op));
    TT_TRY(tt__operation_problem(&a->problem, t->operation, t->op, is->values));
    if (a->problem.unverified && !args->unverified)
        return tt__fail(TT_E_INVALID,
                        "%s has no reference to verify with: --unverified tunes it all the same", is->kernel);
    a->t = t;
    return TT_OK;
}

static tt_status find_winner(tt__asked *a, const tt__asked_list *l) {
    char name[TT__GPU_TEXT_MAX], why[160];
    int64_t gpu_id, problem_id;
    tt__winner w;
    tt__gpu gpu;
    bool found = false;
    if (!l->store || tt__store_find_gpu(l->store, a->is->gpu, &gpu, &gpu_id) != TT_OK ||
        strcmp(tt__gpu_text(name, &gpu), a->is->gpu) != 0)
        return TT_OK;
    TT_TRY(tt__store_known_problem(l->store, &a->problem, &problem_id));
    if (problem_id >= 0)
        TT_TRY(tt__store_winner_get(l->store, gpu_id, problem_id, &w, &found));
    if (found)
        tt__stale_why(&l->judge, &w, why, sizeof why);
    a->solved = found && !*why;
    return TT_OK;
}

/* Of shapes left out of an H200's recordings, nine in ten of those that a rule expects to lose so little did.
 */
static const double loss_most = 0.02;

/* A GPU that neither a store nor the library knows has no rule. */
static tt_status find_answer(tt__asked *a, const tt__asked_list *l, const tt__cli_args *args) {
    const tt__template_set own = {1, (tt__template **)&a->t};
    tt__gpu gpu;
    int64_t id;
    char name[TT__GPU_TEXT_MAX];
    double loss = INFINITY;
    if (tt__layers_find_gpu(l->ctx, a->is->gpu, &gpu, &id) != TT_OK ||
        strcmp(tt__gpu_text(name, &gpu), a->is->gpu) != 0)
        return TT_OK;
    const tt_status status = tt__ladder_loss(&a->answer, &loss, l->ctx,
                                             a->is->kernel ? &own : &l->judge.templates, &gpu, &a->problem);
    if (status != TT_OK)
        *a->answer.kernel = '\0';
    a->ruled = status == TT_OK && loss <= log1p(loss_most) && !args->force;
    return status == TT_E_NO_MEMORY ? status : TT_OK;
}

static tt_status ask(tt__asked *a, tt__asked_list *l, const tt__cli_args *args) {
    const tt_status status = find_problem(a, l, args);
    if (status == TT_E_NO_MEMORY)
        return status;
    if (status != TT_OK)
        tt__copy_short(a->why, sizeof a->why, tt_last_error());
    if (status == TT_OK && !args->force)
        TT_TRY(find_winner(a, l));
    return *a->why || a->solved ? TT_OK : find_answer(a, l, args);
}

static tt_status open_context(tt__asked_list *l, const tt__cli_args *args) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = l->store ? args->db : ":memory:";
    opts.read_only = 1;
    opts.collect_file = "";
    return tt_open(&l->ctx, &opts);
}

tt_status tt__asked_open(tt__asked_list *l, const tt__cli_args *args, bool new_store) {
    const bool absent =
        new_store && args->db && access(args->db, F_OK) != 0 && strcmp(args->db, ":memory:") != 0;
    *l = (tt__asked_list){0};
    TT_TRY(read_collection(&l->file, args));
    if (!l->file.n && !l->file.version)
        return tt__fail(
            TT_E_INVALID,
            "%s has no problems that a program collected: TILETUNE_COLLECT=FILE makes such a file",
            args->collected);
    if (l->file.version > TT__COLLECTED_VERSION && !args->quiet)
        tt__cli_say(stderr, "tune: %s is of version %d, and this tiletune knows %d: what it knows is used\n",
                    args->collected, l->file.version, TT__COLLECTED_VERSION);
    if (!absent && !tt__cli_storeless(args))
        TT_TRY(tt__cli_store_open(&l->store, args, TT__STORE_READ_ONLY));
    TT_TRY(tt__stale_open(&l->judge, l->store, args));
    TT_TRY(open_context(l, args));
    if (!(l->items = calloc(l->file.n + 1, sizeof *l->items)))
        return tt__fail_memory(l->file.n * sizeof *l->items);
    for (l->n = 0; l->n < l->file.n; l->n++)
        l->items[l->n].is = &l->file.items[l->n];
    for (size_t i = 0; i < l->n; i++)
        TT_TRY(ask(&l->items[i], l, args));
    return TT_OK;
}

void tt__asked_close(tt__asked_list *l) {
    free(l->items);
    tt__template_set_close(&l->own);
    tt__stale_close(&l->judge);
    tt_close(&l->ctx);
    tt__store_close(&l->store);
    tt__collection_free(&l->file);
}

/* ---- What is worth tuning ------------------------------------------------------------------------------ */

/* Each reason once, with the first problem of it. */
static void say_left_out(const tt__asked_list *l) {
    enum { SAID_MAX = 20 };
    size_t n_said = 0, n_more = 0;
    for (size_t i = 0; i < l->n; i++) {
        const tt__asked *a = &l->items[i];
        size_t n = 0;
        bool said = !*a->why;
        for (size_t k = 0; k < l->n && !said; k++) {
            const bool same = strcmp(l->items[k].why, a->why) == 0;
            said = same && k < i;
            n += same;
        }
        if (said)
            continue;
        if (n_said++ < SAID_MAX)
            tt__cli_say(stderr, "tune: %s %s left out: %s\n", tt__cli_count((int64_t)n, "problem").text,
                        n == 1 ? "is" : "are", a->why);
        else
            n_more += n;
    }
    if (n_more)
        fprintf(stderr, "tune: %zu more are left out: \"tune list --collected\" says why\n", n_more);
}

void tt__asked_choose(tt__asked_list *l, const tt__gpu *gpu, const tt__cli_args *args) {
    const double worth = 0.01; /* of all */
    char name[TT__GPU_TEXT_MAX];
    double all_us = 0, rest_us = 0, chosen_us = 0, ruled_us = 0;
    size_t n = 0, n_rest = 0, n_ruled = 0;
    tt__gpu_text(name, gpu);
    for (size_t i = 0; i < l->n; i++) {
        tt__asked *a = &l->items[i];
        const double us = tt__collected_us(a->is);
        if (strcmp(a->is->gpu, name) != 0) {
            snprintf(a->why, sizeof a->why, "it was launched on %s, and this is %s", a->is->gpu, name);
            continue;
        }
        if (!*a->why && !a->solved && !a->ruled && tt__tune_fits(a->t, gpu, &a->problem) != TT_OK)
            tt__copy_short(a->why, sizeof a->why, tt_last_error());
        l->n_left_out += *a->why != '\0';
        if (*a->why)
            continue;
        all_us += us;
        n_ruled += a->ruled;
        ruled_us += a->ruled ? us : 0;
        rest_us += a->ruled || a->solved ? 0 : us;
    }
    if (!args->quiet)
        say_left_out(l);
    for (size_t i = 0; i < l->n; i++) {
        const tt__asked a = l->items[i];
        if (*a.why || a.solved || a.ruled)
            continue;
        if (rest_us - chosen_us < worth * all_us) {
            n_rest++;
            continue;
        }
        chosen_us += tt__collected_us(a.is);
        l->items[n++] = a;
    }
    l->n = n;
    if (n_ruled && !args->quiet)
        fprintf(stderr, "tune: %s %s left to a rule, which is as good: %.2g%% of the launched time\n",
                tt__cli_count((int64_t)n_ruled, "problem").text, n_ruled == 1 ? "is" : "are",
                ruled_us / all_us * 100);
    if (n_rest && !args->quiet)
        fprintf(stderr, "tune: %s %s not worth it: %.2g%% of the launched time\n",
                tt__cli_count((int64_t)n_rest, "more problem").text, n_rest == 1 ? "is" : "are",
                (rest_us - chosen_us) / all_us * 100);
}

/* What costs most gets most of a budget. To set a problem up takes time, too, which does not depend on its
 * cost: so much of what each has on average. */
static const double set_up = 0.25;

void tt__asked_worth(const tt__asked_list *l, double *worth) {
    double all_us = 0;
    for (size_t i = 0; i < l->n; i++)
        all_us += tt__collected_us(l->items[i].is);
    for (size_t i = 0; i < l->n; i++)
        worth[i] = all_us > 0 ? tt__collected_us(l->items[i].is) + set_up * all_us / (double)l->n : 1;
}

/* ---- tune list --collected ----------------------------------------------------------------------------- */

static const tt__column columns[] = {
    {"operation", false, TT__KEEP}, {"problem", false, TT__WRAP}, {"launches", true, TT__KEEP},
    {"a launch", true, TT__KEEP},   {"of all", true, TT__KEEP},   {"GPU", false, TT__BELOW},
    {"state", false, TT__BELOW},
};

static const char *state_of(const tt__asked *a) {
    return a->solved ? "tuned" : *a->why ? "left out" : a->ruled ? "rule" : "to tune";
}

static void add_row(tt__table *t, const tt__asked *a, double part) {
    tt__table_cell(t, "%s", a->is->op);
    tt__table_cell(t, "%s", a->is->values);
    tt__table_cell(t, "%llu", (unsigned long long)a->is->launches);
    tt__table_cell(t, "%s", tt__cli_time(a->is->time_us).text);
    tt__table_cell(t, "%s", tt__cli_percent(part).text);
    tt__table_cell(t, "%s", a->is->gpu);
    tt__table_cell(t, "%s%s%s", state_of(a), *a->why ? ": " : "", a->why);
}

static void add_json(tt__json *j, const tt__asked *a, double part) {
    const tt__collected *is = a->is;
    tt__json_open(j, NULL, '{');
    TT__JSON_STRINGS(j, {"gpu", is->gpu}, {"op", is->op}, {"problem", is->values});
    if (is->kernel)
        tt__json_string(j, "file", is->kernel);
    tt__json_int(j, "launches", (int64_t)is->launches);
    TT__JSON_KNOWN(j, {"time_us", is->time_us, 7}, {"part", part, 5});
    TT__JSON_STRINGS(j, {"state", state_of(a)}, {"why", a->why});
    tt__json_close(j, '}');
}

static tt_status print_text(const tt__asked_list *l, double all_us, const char *path) {
    tt__table t = {.n_columns = TT__COUNT(columns), .columns = columns};
    double solved_us = 0, ruled_us = 0;
    for (size_t i = 0; i < l->n; i++) {
        const double us = tt__collected_us(l->items[i].is);
        solved_us += l->items[i].solved ? us : 0;
        ruled_us += l->items[i].ruled ? us : 0;
        add_row(&t, &l->items[i], us / all_us);
    }
    if (l->n == 0) {
        tt__cli_say(stdout, "%s has no problem%s.\n", path,
                    l->file.n_bad ? " that can be read" : ": all that was launched had an exact winner");
        return TT_OK;
    }
    TT_TRY(tt__table_show(&t));
    tt__cli_say(
        stdout,
        "\n%s, %s of them by estimate; %.1f%% of that is tuned by now, and a rule is as good for %.1f%%.\n",
        tt__cli_count((int64_t)l->n, "problem").text, tt__cli_time(all_us).text,
        all_us > 0 ? solved_us / all_us * 100 : 0, all_us > 0 ? ruled_us / all_us * 100 : 0);
    return TT_OK;
}

static tt_status print_json(const tt__asked_list *l, double all_us) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    tt__json_open(&j, "collected", '[');
    for (size_t i = 0; i < l->n; i++)
        add_json(&j, &l->items[i], tt__collected_us(l->items[i].is) / all_us);
    tt__json_close(&j, ']');
    tt__json_int(&j, "unread", (int64_t)l->file.n_bad);
    return tt__cli_print_json(&j);
}

/* Of the GPUs whose names match best. */
static tt_status keep_gpu(tt__asked_list *l, const tt__cli_args *args) {
    const char *there = l->n ? l->items[0].is->gpu : NULL;
    tt__gpu_match best = TT__GPU_TEXT_PART;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        tt__gpu gpu = {0};
        tt__gpu_set_text(&gpu, l->items[i].is->gpu);
        const tt__gpu_match match = tt__gpu_matches(&gpu, args->gpu);
        if (match < best)
            continue;
        n = match > best ? 0 : n;
        best = match;
        l->items[n++] = l->items[i];
    }
    l->n = n;
    return n || !there ? TT_OK
                       : tt__fail(TT_E_INVALID,
                                  "GPU \"%s\": nothing in %s was launched on it; what cost most was on %s",
                                  args->gpu, args->collected, there);
}

int tt__asked_print(const tt__cli_args *args) {
    tt__asked_list l;
    double all_us = 0;
    tt_status status = tt__asked_open(&l, args, false);
    if (status == TT_OK && args->gpu)
        status = keep_gpu(&l, args);
    for (size_t i = 0; i < l.n; i++)
        all_us += tt__collected_us(l.items[i].is);
    if (status == TT_OK)
        status = args->json ? print_json(&l, all_us) : print_text(&l, all_us, args->collected);
    tt__asked_close(&l);
    return tt__cli_fail(status);
}
