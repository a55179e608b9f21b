/* See the header. */
#include "tuner/cli/shell/problems.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"

tt_status tt__cli_problems_open(tt__cli_problems *out, tt_ctx *ctx, const tt__cli_args *args) {
    const bool matrices = !args->kernel_file && !args->op && !args->permute;
    *out = (tt__cli_problems){0};
    if (args->kernel_file)
        TT_TRY(tt_kernel_open(&out->kernel, ctx, args->kernel_file, NULL));
    const size_t n = matrices ? args->n_problems : args->n_texts ? args->n_texts : 1;
    if (!(out->items = malloc((n + 1) * sizeof *out->items)))
        return tt__fail_memory(n * sizeof *out->items);
    for (size_t i = 0; i < n; i++) /* without text: all defaults */
        out->items[i] = matrices ? args->problems[i]
                                 : (tt_problem){.size = sizeof *out->items,
                                                .warm = args->warm,
                                                .in_graph = args->in_graph,
                                                .op = args->op,
                                                .kernel = out->kernel,
                                                .values = args->n_texts ? args->texts[i] : NULL,
                                                .permutation = args->permute ? &args->permutation : NULL};
    out->n = n;
    return TT_OK;
}

void tt__cli_problems_close(tt__cli_problems *p) {
    tt_kernel_close(&p->kernel);
    free(p->items);
    *p = (tt__cli_problems){0};
}

char *tt__cli_words(char out[TT__WORDS_MAX], const tt__cli_args *args, const char *text) {
    char given[32];
    const size_t n = (size_t)snprintf(given, sizeof given, "elem_size=%d", args->elem_size);
    const char *at = args->dtype ? strstr(text, given) : NULL;
    size_t used = 0;
    for (*out = '\0'; at && used < TT__WORDS_MAX; text = at + n, at = strstr(text, given)) {
        const bool whole = !isdigit((unsigned char)at[n]);
        used += (size_t)snprintf(out + used, TT__WORDS_MAX - used, "%.*s%s", (int)(at - text), text,
                                 whole ? args->dtype : given);
    }
    if (used < TT__WORDS_MAX)
        snprintf(out + used, TT__WORDS_MAX - used, "%s", text);
    return out;
}

char *tt__cli_asked(char out[TT__WORDS_MAX], const tt__cli_args *args, const char *problem) {
    if (!args->permute)
        return tt__cli_words(out, args, problem);
    int n = snprintf(out, TT__WORDS_MAX, "%s of ", args->permute);
    for (int i = 0; i < args->n_sizes; i++)
        n +=
            snprintf(out + n, (size_t)(TT__WORDS_MAX - n), "%s%lld", i ? "x" : "", (long long)args->sizes[i]);
    if (args->dtype)
        snprintf(out + n, (size_t)(TT__WORDS_MAX - n), ", %s", args->dtype);
    else if (args->elem_size && args->elem_size != 4)
        snprintf(out + n, (size_t)(TT__WORDS_MAX - n), ", elem_size=%d", args->elem_size);
    return out;
}

tt_status tt__cli_reword(tt_status status, const tt__cli_args *args) {
    char before[TT__WORDS_MAX], words[TT__WORDS_MAX];
    if (status == TT_OK || status == TT_E_INTERRUPTED || (!args->dtype && !args->permute) ||
        !*tt_last_error())
        return status;
    tt__copy_short(before, sizeof before, tt_last_error());
    tt__cli_words(words, args, before);
    return args->permute ? tt__fail(status, "%s of %s: %s", args->permute, args->dims, words)
                         : tt__fail(status, "%s", words);
}

void tt__cli_json_asked(tt__json *j, const tt__cli_args *args) {
    if (args->dtype)
        tt__json_string(j, "dtype", args->dtype);
    if (!args->permute)
        return;
    tt__json_open(j, "permute", '[');
    for (int i = 0; i < args->n_perm; i++)
        tt__json_int(j, NULL, args->perm[i]);
    tt__json_close(j, ']');
    tt__json_open(j, "dims", '[');
    for (int i = 0; i < args->n_sizes; i++)
        tt__json_int(j, NULL, args->sizes[i]);
    tt__json_close(j, ']');
}

void tt__cli_set_regime(tt__problem *p, const tt__cli_args *args) {
    p->warm |= args->warm;
    p->in_graph |= args->in_graph;
}

bool tt__cli_has_layout(const tt__cli_args *args) {
    return args->elem_size || args->batch || args->lds || args->ldd || args->align || args->in_place;
}

tt_status tt__cli_check_problems(const tt__cli_args *args) {
    const char *what = args->kernel_file ? args->kernel_file : args->op;
    if (args->permute && (what || args->n_problems || args->n_texts || args->batch || args->lds ||
                          args->ldd || args->in_place))
        return tt__fail(
            TT_E_INVALID,
            "--permute %s: --dims, --dtype, --align, --warm and --graph say all of a permutation, so "
            "leave sizes, layouts and other operations out",
            args->permute);
    if (args->kernel_file && args->op)
        return tt__fail(TT_E_INVALID, "--op %s and --kernel %s: one or the other", args->op,
                        args->kernel_file);
    if (!what && args->n_texts)
        return tt__fail(
            TT_E_INVALID,
            "--problem %s: of what? Name a built-in operation with --op, or your file with --kernel",
            args->texts[0]);
    if (what && (args->n_problems || tt__cli_has_layout(args)))
        return tt__fail(TT_E_INVALID,
                        "%s: sizes, shapes and layouts are for matrices; name its variables with --problem",
                        what);
    if (args->unverified && !args->kernel_file)
        return tt__fail(TT_E_INVALID,
                        "--unverified is for a kernel of yours, and --kernel names none: leave it out");
    if (args->kernel_file && (args->n_only || args->n_templates))
        return tt__fail(TT_E_INVALID, "%s competes with no template: leave --only and --template out",
                        args->kernel_file);
    return TT_OK;
}

tt_status tt__cli_check_one(const tt__cli_args *args, const char *command, const char *does) {
    TT_TRY(tt__cli_check_problems(args));
    if (args->n_problems == 0 && !args->kernel_file && !args->op && !args->permute)
        return tt__fail(
            TT_E_INVALID,
            "which problem? give --size or --shape, as in \"tune %s --size 4096\", or --permute, --op or "
            "--kernel",
            command);
    if (args->n_problems + args->n_texts > 1)
        return tt__fail(TT_E_INVALID, "%zu problems, but %s %s: ask for each",
                        args->n_problems + args->n_texts, command, does);
    return TT_OK;
}

bool tt__cli_is_file(const char *kernel) {
    size_t n = strlen(kernel);
    return n > 3 && strcmp(kernel + n - 3, ".cu") == 0;
}

tt_status tt__cli_find_template(tt__template_set *set, const tt__cli_args *args, const tt__template **out) {
    TT_TRY(tt__template_set_open(set, args->templates, args->n_templates));
    if (tt__cli_is_file(args->kernel)) {
        tt__template *own;
        TT_TRY(tt__template_load(&own, args->kernel));
        TT_TRY(tt__template_set_add(set, own));
        *out = own;
        return TT_OK;
    }
    *out = tt__template_set_find(set, args->kernel);
    return *out ? TT_OK
                : tt__fail(TT_E_INVALID,
                           "--kernel: there is no template %s; \"tune doctor\" lists them, and --template "
                           "names one "
                           "of yours",
                           args->kernel);
}

tt_status tt__cli_find_problem(const tt__template *t, const tt__cli_args *args, tt__problem *out) {
    if (args->n_problems + args->n_texts > 1)
        return tt__fail(TT_E_INVALID, "%zu problems: one at a time", args->n_problems + args->n_texts);
    if (!args->n_problems)
        return tt__operation_problem(out, t->operation, t->op, args->n_texts ? args->texts[0] : NULL);
    TT_TRY(tt__matrix_problem(out, &args->problems[0]));
    return tt__template_does(t, out)
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "%s is for %s, and --size and --shape are for %s: name its variables "
                          "with --problem",
                          t->kernel, t->op, out->op);
}
