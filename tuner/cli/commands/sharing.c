/*
 * A file's first bytes tell its type, not its name.
 */
#include "tuner/cli/commands/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_file.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/shell/problems.h"

/* The content of a file: a database or a recording. */
typedef struct shared {
    tt__store *scratch; /* or else */
    tt__recording *recording;
} shared;

/* Reads and checks the whole file, before the target store is locked. */
static tt_status read_database(shared *out, const char *path, bool trust) {
    tt__store *from = NULL;
    tt__merged read = {0};
    bool trusted;
    tt_status status;
    TT_GOTO(tt__store_open_foreign(&from, path, &trusted));
    if (trust && !trusted)
        tt__cli_say(stderr,
                    "tune: %s: others could have written it: its cubins are left out, its winners count as "
                    "imported\n",
                    path);
    TT_GOTO(tt__store_open_scratch(&out->scratch));
    TT_GOTO(tt__store_begin(out->scratch));
    TT_GOTO(tt__store_merge(out->scratch, from, &(tt__merge_opts){.trusted = trust && trusted}, &read));
    TT_GOTO(tt__store_commit(out->scratch));
out:
    tt__store_close(&from);
    return status;
}

static tt_status read_file(shared *out, const char *path, bool trust, const tt__foreign *foreign) {
    bool database = false;
    TT_TRY(tt__is_database(path, &database));
    if (database)
        return read_database(out, path, trust);
    TT_TRY(tt__recording_open_t4(&out->recording, path, foreign));
    const char *left_out = tt__recording_left_out(out->recording);
    if (*left_out)
        tt__cli_say(stderr, "tune: %s\n", left_out);
    return TT_OK;
}

/* A scratch has no cubins that must not be taken. */
static tt_status merge_all(tt__store *to, const shared *all, size_t n, tt__merged *report) {
    TT_TRY(tt__store_begin(to));
    for (size_t i = 0; i < n; i++)
        TT_TRY(tt__store_merge(to, all[i].scratch ? all[i].scratch : tt__recording_store(all[i].recording),
                               &(tt__merge_opts){.trusted = all[i].scratch != NULL}, report));
    return tt__store_commit(to);
}

tt_status tt__sharing_take(tt__store *to, const char *const *paths, size_t n, bool trust,
                           const tt__foreign *foreign, tt__merged *report) {
    shared *all = calloc(n + 1, sizeof *all);
    tt_status status = all ? TT_OK : tt__fail_memory(n * sizeof *all);
    for (size_t i = 0; status == TT_OK && i < n; i++)
        if (tt__same_file(paths[i], tt__store_path(to)))
            status = tt__fail(TT_E_INVALID, "%s: cannot be merged into itself", paths[i]);
    for (size_t i = 0; status == TT_OK && i < n; i++)
        status = read_file(&all[i], paths[i], trust, foreign);
    if (status == TT_OK)
        status = merge_all(to, all, n, report);
    for (size_t i = 0; all && i < n; i++) {
        tt__store_close(&all[i].scratch);
        tt__recording_close(&all[i].recording);
    }
    free(all);
    return status;
}

void tt__sharing_print(const tt__merged *r, const char *into) {
    char kept[64] = "";
    if (r->kept)
        snprintf(kept, sizeof kept, " (%lld more %s as good here already)", (long long)r->kept,
                 r->kept == 1 ? "is" : "are");
    tt__cli_say(stdout, "%s: %s%s, %s, %s new\n", into, tt__cli_count(r->winners, "winner").text, kept,
                tt__cli_count(r->trials, "trial").text, tt__cli_count(r->cubins, "cubin").text);
}

tt_status tt__sharing_open(tt__store **out, const char *path, bool *is_new) {
    *is_new = false;
    if (strcmp(path, ":memory:") == 0)
        return tt__fail(TT_E_INVALID, ":memory: keeps nothing: name a file");
    *is_new = access(path, F_OK) != 0 && errno == ENOENT;
    return tt__store_open(out, path, TT__STORE_READ_WRITE);
}

tt_status tt__sharing_create(tt__store **out, const char *path, const char *otherwise, bool *is_new) {
    *is_new = false;
    if (access(path, F_OK) != 0)
        TT_TRY(tt__sharing_open(out, path, is_new));
    return *is_new ? TT_OK
                   : tt__fail(TT_E_INVALID, "%s is there already: name a new file, or %s", path, otherwise);
}

void tt__sharing_discard(tt__store **store, bool is_new) {
    if (is_new)
        tt__store_discard(store);
    tt__store_close(store);
}

/* The template that says what --problem, --size or --shape mean: that of --kernel, or one that does --op. */
static tt_status find_template(tt__template_set *set, const tt__cli_args *args, const tt__template **out) {
    if (args->kernel)
        return tt__cli_find_template(set, args, out);
    TT_TRY(tt__template_set_open(set, args->templates, args->n_templates));
    for (size_t i = 0; i < set->n && !*out; i++)
        if (strcmp(set->items[i]->op, args->op ? args->op : "transpose") == 0)
            *out = set->items[i];
    const tt__operation *op;
    return *out ? TT_OK : tt__operation_builtin(&op, args->op);
}

/* A kernel that is only a name needs no template. */
tt_status tt__sharing_part(tt__recording_part *out, tt__template_set *set, tt__problem *problem,
                           const tt__cli_args *args) {
    const tt__template *t = NULL;
    bool one = args->n_problems + args->n_texts > 0, file = args->kernel && tt__cli_is_file(args->kernel);
    *out = (tt__recording_part){.op = args->op, .kernel = args->kernel};
    if (!one && !file)
        return TT_OK;
    TT_TRY(find_template(set, args, &t));
    if (file)
        out->kernel = t->kernel;
    if (!one)
        return TT_OK;
    TT_TRY(tt__cli_find_problem(t, args, problem));
    tt__cli_set_regime(problem, args);
    out->problem = problem;
    return TT_OK;
}
