/*
 * Any lines as the words of a command line. They are refused with a message, or become options where every
 * number is in range. No command is run.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "tuner/cli/pages.h"
#include "tuner/cli/shell/options.h"

enum { WORDS_MAX = 64 };

static bool power_of_two(int64_t n, int64_t max) {
    return n >= 1 && n <= max && (n & (n - 1)) == 0;
}

static void look_at(const tt__cli_args *a) {
    for (size_t i = 0; i < a->n_problems; i++) {
        tt__problem p;
        const tt_problem *q = &a->problems[i];
        fuzz_want(tt__matrix_problem(&p, q) == TT_OK, "a problem");
        int64_t lds = tt__problem_number(&p, "lds", 0), ldd = tt__problem_number(&p, "ldd", 0);
        fuzz_want(lds >= q->cols && ldd >= q->rows && lds <= (INT64_C(1) << 44) / q->rows,
                  "dimensions within bounds");
        for (size_t k = 0; k < i; k++)
            fuzz_want(q->rows != a->problems[k].rows || q->cols != a->problems[k].cols, "no problem twice");
    }
    fuzz_want(a->elem_size == 0 || power_of_two(a->elem_size, 16), "an element size");
    fuzz_want(a->align == 0 || power_of_two(a->align, 16), "an alignment");
    fuzz_want(a->batch >= 0 && a->lds >= 0 && a->ldd >= 0 && a->seed >= 0, "counts");
    fuzz_want(a->device >= 0 && a->device <= 9999 && a->jobs >= 0 && a->jobs <= 1024, "a device and jobs");
    fuzz_want(a->max_trials >= 0 && a->max_trials <= INT32_MAX, "trials");
    fuzz_want(a->older_than_days >= 0 && a->older_than_days <= 36500, "days");
    fuzz_want(a->budget_s >= 0 && a->budget_s <= 7 * 86400, "a budget");
    fuzz_want(a->trial_timeout_s >= 0 && a->trial_timeout_s <= 86400, "a time limit");
    fuzz_want(a->compile_timeout_s >= 0 && a->compile_timeout_s <= 86400, "a time limit");
    for (size_t i = 0; i < a->n_only; i++)
        fuzz_want(*a->only[i] && !strchr(a->only[i], ','), "a name");
}

static void parse(const tt__cli_command *c, int argc, char **argv) {
    tt__cli_args args;
    tt_status status = tt__cli_parse(&args, c, argc, argv);
    if (status == TT_OK && !args.help && !args.version) {
        look_at(&args);
        status = c->check ? c->check(&args) : TT_OK;
    }
    fuzz_want(status == TT_OK || ((status == TT_E_INVALID || status == TT_E_UNSUPPORTED) && *tt_last_error()),
              "a refusal");
    tt__cli_args_free(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), *argv[WORDS_MAX + 1] = {"tune"};
    int argc = 1;
    fuzz_want(text != NULL, "memory");
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; argc < WORDS_MAX; at++) {
        argv[argc++] = at;
        at += strcspn(at, "\n");
        if (!*at)
            break;
        *at = '\0';
    }
    const tt__cli_command *c = argv[1][0] == '-' ? tt__cli_all.items[0] : tt__cli_find(argv[1]);
    if (!c)
        fuzz_want(*tt_last_error(), "a refusal");
    else
        parse(c, argc - (*c->name != '\0'), argv + (*c->name != '\0'));
    free(text);
    return 0;
}

/* Commands and options as the tables have them, and values. */
static size_t list_words(const char *words[], size_t max) {
    static char values[] =
        "\n#4096#8192#4096x1024#,#x#=#--#-#-h#10s#500ms#2m#1h#1e3#0.01#86400#quick#standard#"
        "exhaustive#f16#f32#complex128#replay:FILE#transpose_tiled#random#surrogate#help#:memory:#"
        "17592186044416#+1# 1#0x10#nan#inf#\n--sizes\n4096#--shape\n";
    static char options[512][40];
    size_t n = fuzz_split(words, max, values), n_options = 0;
    for (size_t c = 0; c < tt__cli_all.n; c++) {
        words[n++] = tt__cli_all.items[c]->name;
        for (const tt__cli_option *o = tt__cli_all.items[c]->options; o->name && n < max; o++) {
            snprintf(options[n_options], sizeof options[0], "\n--%s%s", o->name, o->arg ? "\n" : "");
            words[n++] = options[n_options++];
        }
    }
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static const char *words[512];
    static size_t n;
    if (!n)
        n = list_words(words, 400);
    return fuzz_mutate_words(data, size, max_size, seed, words, n);
}
