/*
 * getopt_long finds options. Its '?' and ':' become messages that name the argument and say what is right. A
 * setter gets one value, and fails with a message that the option's name is prefixed to.
 */
#include "tuner/cli/shell/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/str.h"
#include "tuner/strategy/strategy.h"

/* ---- Values: a message says what is wrong and what is right; `apply` adds the option ----------------------
 */

/* A whole number from `min` to `max` that fills text[0..n). */
static tt_status parse_number(int64_t *out, const char *text, size_t n, int64_t min, int64_t max) {
    size_t i = n && text[0] == '-' ? 1 : 0, sign = i;
    while (i < n && isdigit((unsigned char)text[i]))
        i++;
    if (i < n || n == sign)
        return tt__fail(TT_E_INVALID, "\"%.*s\" is not a whole number; write digits only, as in 4096",
                        (int)(n < 64 ? n : 64), text);
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (value < min)
        return tt__fail(TT_E_INVALID, "%.*s: at least %lld is needed", (int)(n < 64 ? n : 64), text,
                        (long long)min);
    if (errno == ERANGE || value > max)
        return tt__fail(TT_E_INVALID, "%.*s is too large: at most %lld", (int)(n < 64 ? n : 64), text,
                        (long long)max);
    *out = value;
    return TT_OK;
}

static tt_status parse_count(int64_t *out, const char *text, size_t n, int64_t max) {
    return parse_number(out, text, n, 1, max);
}

static const int64_t dimension_max = INT64_C(1) << 44; /* the library limits the product to the same number */

static tt_status add_problem(tt__cli_args *args, int64_t rows, int64_t cols) {
    for (size_t i = 0; i < args->n_problems; i++)
        if (args->problems[i].rows == rows && args->problems[i].cols == cols)
            return TT_OK;
    TT_TRY(TT__GROW(args->problems, args->n_problems));
    args->problems[args->n_problems++] =
        (tt_problem){.rows = rows, .cols = cols}; /* options.c adds the rest */
    return TT_OK;
}

static tt_status add_size(tt__cli_args *args, const char *item, size_t n) {
    int64_t size;
    if (memchr(item, 'x', n))
        return tt__fail(TT_E_INVALID, "\"%.*s\" is not one number; shapes go to --shape or --shapes",
                        (int)(n < 64 ? n : 64), item);
    TT_TRY(parse_count(&size, item, n, dimension_max));
    return add_problem(args, size, size);
}

static tt_status add_shape(tt__cli_args *args, const char *item, size_t n) {
    const char *x = memchr(item, 'x', n);
    if (!x || x == item || x == item + n - 1)
        return tt__fail(TT_E_INVALID, "\"%.*s\" is not a shape: write ROWSxCOLS, as in 4096x1024",
                        (int)(n < 64 ? n : 64), item);
    int64_t rows, cols;
    size_t rows_n = (size_t)(x - item);
    TT_TRY(parse_count(&rows, item, rows_n, dimension_max));
    TT_TRY(parse_count(&cols, x + 1, n - rows_n - 1, dimension_max));
    return add_problem(args, rows, cols);
}

static tt_status each_item(tt__cli_args *args, const char *list, const char *example,
                           tt_status (*add)(tt__cli_args *, const char *, size_t)) {
    for (const char *item = list;; item++) {
        size_t n = strcspn(item, ",");
        if (n == 0)
            return tt__fail(TT_E_INVALID, "\"%s\" has an empty item; write it as in %s", list, example);
        TT_TRY(add(args, item, n));
        item += n;
        if (!*item)
            return TT_OK;
    }
}

tt_status tt__cli_set_sizes(tt__cli_args *args, const char *value) {
    return each_item(args, value, "4096,8192", add_size);
}

tt_status tt__cli_set_shapes(tt__cli_args *args, const char *value) {
    return each_item(args, value, "4096x1024,8192x512", add_shape);
}

static tt_status add_axis(tt__cli_args *args, const char *item, size_t n) {
    if (n > 2 || !isdigit((unsigned char)item[0]) || !isdigit((unsigned char)item[n - 1]))
        return tt__fail(TT_E_INVALID, "\"%.*s\" is not an axis: axes are numbered from 0",
                        (int)(n < 64 ? n : 64), item);
    if (args->n_perm == TT_RANK_MAX)
        return tt__fail(TT_E_INVALID, "more than %d axes", TT_RANK_MAX);
    args->perm[args->n_perm++] = atoi(item);
    return TT_OK;
}

static tt_status add_dim(tt__cli_args *args, const char *item, size_t n) {
    if (args->n_sizes == TT_RANK_MAX)
        return tt__fail(TT_E_INVALID, "more than %d dimensions", TT_RANK_MAX);
    return parse_count(&args->sizes[args->n_sizes++], item, n, dimension_max);
}

tt_status tt__cli_set_permute(tt__cli_args *args, const char *value) {
    args->permute = value;
    args->n_perm = 0;
    return each_item(args, value, "0,2,1,3", add_axis);
}

tt_status tt__cli_set_dims(tt__cli_args *args, const char *value) {
    args->dims = value;
    args->n_sizes = 0;
    return each_item(args, value, "32,2048,16,64", add_dim);
}

static tt_status choose_elem_size(tt__cli_args *args, int bytes) {
    if (args->elem_size && args->elem_size != bytes)
        return tt__fail(TT_E_INVALID,
                        "%d bytes, but %d bytes were asked for before; one element size at a time", bytes,
                        args->elem_size);
    args->elem_size = bytes;
    return TT_OK;
}

tt_status tt__cli_set_elem_size(tt__cli_args *args, const char *value) {
    static const char *const sizes[] = {"1", "2", "4", "8", "16"};
    for (int i = 0; i < 5; i++)
        if (strcmp(value, sizes[i]) == 0)
            return choose_elem_size(args, 1 << i);
    return tt__fail(TT_E_INVALID, "\"%s\" is not an element size: it is 1, 2, 4, 8 or 16 bytes", value);
}

static const struct dtype {
    int bytes;
    const char *names[16];
} dtypes[] = {
    {1, {"u8", "i8", "s8", "e4m3", "e5m2", "uint8", "int8", "bool", "fp8"}},
    {2, {"f16", "bf16", "u16", "i16", "fp16", "float16", "half", "bfloat16", "uint16", "int16"}},
    {4, {"f32", "u32", "i32", "tf32", "fp32", "float32", "float", "uint32", "int32"}},
    {8, {"f64", "u64", "i64", "c64", "fp64", "float64", "double", "uint64", "int64", "complex64"}},
    {16, {"c128", "complex128"}},
};

tt_status tt__cli_set_dtype(tt__cli_args *args, const char *value) {
    tt__suggest near = tt__suggest_for(value, strlen(value));
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (const char *const *name = dtypes[i].names; *name; name++) {
            if (strcmp(value, *name) == 0) {
                args->dtype = value;
                return choose_elem_size(args, dtypes[i].bytes);
            }
            tt__suggest_try(&near, *name);
        }
    const char *known = "; known are " TT__DTYPES " (or use --elem-size)";
    return tt__fail(TT_E_INVALID, "unknown type \"%s\"%s", value,
                    near.best ? tt__suggest_text(&near) : known);
}

tt_status tt__cli_read_count(void *out, const char *value) {
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno || n < 1)
        return tt__fail(TT_E_INVALID, "\"%s\" is not a number of at least 1", value);
    *(int64_t *)out = n;
    return TT_OK;
}

tt_status tt__cli_set_align(tt__cli_args *args, const char *value) {
    TT_TRY(tt__cli_read_count(&args->align, value));
    return args->align <= 16 && (args->align & (args->align - 1)) == 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "\"%s\" is not an alignment: it is 1, 2, 4, 8 or 16 bytes", value);
}

tt_status tt__cli_set_device(tt__cli_args *args, const char *value) {
    static const char replay[] = "replay:";
    args->replay = NULL;
    if (strncmp(value, replay, sizeof replay - 1) == 0) {
        args->replay = value + sizeof replay - 1;
        return *args->replay ? TT_OK
                             : tt__fail(TT_E_INVALID,
                                        "\"%s\" names no file: write replay:FILE, as in "
                                        "replay:recordings/h200.json",
                                        value);
    }
    args->n_devices = 0;
    args->all_devices = strcmp(value, "all") == 0;
    for (const char *at = value; !args->all_devices; at++) {
        size_t n = strspn(at, "0123456789");
        if (n == 0 || n > 4 || (at[n] && at[n] != ',') ||
            args->n_devices == sizeof args->devices / sizeof *args->devices)
            return tt__fail(
                TT_E_INVALID,
                "\"%s\" is neither a device number (0, 1, ...), a list of them, \"all\", nor replay:FILE; "
                "\"tune doctor\" lists the devices",
                value);
        args->devices[args->n_devices++] = atoi(at);
        at += n;
        if (!*at)
            break;
    }
    args->device = args->all_devices ? 0 : args->devices[0];
    return TT_OK;
}

tt_status tt__cli_set_one_device(tt__cli_args *args, const char *value) {
    TT_TRY(tt__cli_set_device(args, value));
    return args->n_devices > 1 || args->all_devices
               ? tt__fail(TT_E_INVALID, "\"%s\": one device at a time; \"tune doctor\" lists them", value)
               : TT_OK;
}

tt_status tt__cli_set_jobs(tt__cli_args *args, const char *value) {
    int64_t n;
    TT_TRY(parse_count(&n, value, strlen(value), 1024));
    args->jobs = (int)n;
    return TT_OK;
}

tt_status tt__cli_read_seconds(void *out, const char *value) {
    char *end;
    double s = tt__strtod(value, &end);
    bool decimal = strspn(value, "0123456789.eE-+") == strlen(value);
    if (!decimal || end == value || *end)
        return tt__fail(TT_E_INVALID, "\"%s\" is not a number of seconds", value);
    if (!(s >= 0.01 && s <= 86400))
        return tt__fail(TT_E_INVALID, "%s seconds: it must be from 0.01 to 86400", value);
    *(double *)out = s;
    return TT_OK;
}

tt_status tt__cli_read_once(void *out, const char *value) {
    const char **text = out;
    if (*text && strcmp(*text, value) != 0)
        return tt__fail(TT_E_INVALID, "%s, but %s was asked for before; one at a time", value, *text);
    *text = value;
    return TT_OK;
}

static tt_status add_only(tt__cli_args *args, const char *item, size_t n) {
    TT_TRY(TT__GROW(args->only, args->n_only));
    args->only[args->n_only] = strndup(item, n);
    return args->only[args->n_only++] ? TT_OK : tt__fail_memory(n);
}

tt_status tt__cli_add_only(tt__cli_args *args, const char *value) {
    return each_item(args, value, "transpose_tiled,transpose_vector", add_only);
}

tt_status tt__cli_set_effort(tt__cli_args *args, const char *value) {
    static const struct {
        const char *name;
        tt_effort effort;
    } efforts[] = {
        {"quick", TT_EFFORT_QUICK}, {"standard", TT_EFFORT_STANDARD}, {"exhaustive", TT_EFFORT_EXHAUSTIVE}};
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++)
        if (strcmp(value, efforts[i].name) == 0) {
            args->effort = efforts[i].effort;
            return TT_OK;
        }
    return tt__fail(TT_E_INVALID, "\"%s\" is no effort: it is quick, standard or exhaustive", value);
}

tt_status tt__cli_set_budget(tt__cli_args *args, const char *value) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    size_t digits = strspn(value, "0123456789.");
    char *end;
    double seconds = -1, number = tt__strtod(value, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (digits > 0 && end == value + digits && strcmp(end, units[i].name) == 0)
            seconds = number * units[i].seconds;
    if (seconds < 0)
        return tt__fail(TT_E_INVALID, "\"%s\" is not a time: write it as in 10s, 500ms, 2m or 1h", value);
    if (!(seconds >= 0.01 && seconds <= 7 * 86400))
        return tt__fail(TT_E_INVALID, "%s: it must be from 10ms to 168h", value);
    args->budget_s = seconds;
    return TT_OK;
}

tt_status tt__cli_set_max_trials(tt__cli_args *args, const char *value) {
    return parse_count(&args->max_trials, value, strlen(value), INT32_MAX);
}

tt_status tt__cli_set_seed(tt__cli_args *args, const char *value) {
    return parse_number(&args->seed, value, strlen(value), 0, INT64_MAX);
}

tt_status tt__cli_set_strategy(tt__cli_args *args, const char *value) {
    const tt__strategy *found;
    args->strategy = value;
    return tt__strategy_find(&found, value);
}

tt_status tt__cli_set_older_than(tt__cli_args *args, const char *value) {
    enum { DAYS_MAX = 36500 };
    return parse_count(&args->older_than_days, value, strlen(value), DAYS_MAX);
}

tt_status tt__cli_add_template(tt__cli_args *args, const char *value) {
    TT_TRY(TT__GROW(args->templates, args->n_templates));
    args->templates[args->n_templates++] = value;
    return TT_OK;
}

tt_status tt__cli_add_text(tt__cli_args *args, const char *value) {
    TT_TRY(TT__GROW(args->texts, args->n_texts));
    args->texts[args->n_texts++] = value;
    return TT_OK;
}

/* ---- Options ----------------------------------------------------------------------------------------------
 */

enum {
    OPTIONS_MAX = 48,
    FIRST_OPTION = 256, /* getopt's return value for the first row of the table */
};

static const char *help_call(const tt__cli_command *c, char *out, size_t size) {
    snprintf(out, size, "tune %s%s--help", c->name, *c->name ? " " : "");
    return out;
}

/* getopt returned '?': an unknown or ambiguous option, or a value where none belongs. */
static tt_status fail_unknown(const tt__cli_command *c, const char *arg) {
    char help[64];
    const char *word = strncmp(arg, "--", 2) == 0 ? arg + 2 : "";
    int n = (int)strcspn(word, "=");
    const char *prefixed[2];
    size_t n_prefixed = 0;
    tt__suggest near = tt__suggest_for(word, (size_t)n);
    for (const tt__cli_option *o = c->options; n && o->name; o++) {
        bool prefix = strncmp(o->name, word, (size_t)n) == 0;
        if (prefix && !o->name[n] && word[n])
            return tt__fail(TT_E_INVALID, "--%s takes no value, but was given \"%s\"", o->name, word + n + 1);
        if (prefix && n_prefixed < 2)
            prefixed[n_prefixed++] = o->name;
        tt__suggest_try(&near, o->name);
    }
    if (n_prefixed == 2)
        return tt__fail(TT_E_INVALID, "--%.*s could be --%s or --%s", n, word, prefixed[0], prefixed[1]);
    if (near.best)
        return tt__fail(TT_E_INVALID, "unknown option --%.*s; did you mean --%s?", n, word, near.best);
    return tt__fail(TT_E_INVALID, "unknown option %.64s; \"%s\" lists the options", arg,
                    help_call(c, help, sizeof help));
}

static tt_status apply(tt__cli_args *args, const tt__cli_option *o, const char *value) {
    if (value && !*value)
        return tt__fail(TT_E_INVALID, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
    tt_status s = TT_OK;
    void *at = (char *)args + o->at;
    if (o->set)
        s = o->set(args, value);
    else if (o->read)
        s = o->read(at, value);
    else if (o->arg)
        *(const char **)at = value;
    else
        *(bool *)at = true;
    return s == TT_OK ? s : tt__fail_prefix(s, "--%s", o->name);
}

/* --permute and --dims as a permutation, checked. */
static tt_status finish_permutation(tt__cli_args *args) {
    tt__problem checked;
    if (!args->permute || !args->dims)
        return tt__fail(TT_E_INVALID, "--permute and --dims go together, as in --permute 0,2,1,3 --dims "
                                      "32,2048,16,64");
    if (args->n_perm != args->n_sizes)
        return tt__fail(TT_E_INVALID, "--permute %s has %d axes and --dims %s has %d", args->permute,
                        args->n_perm, args->dims, args->n_sizes);
    args->permutation = (tt_permutation){.size = sizeof args->permutation,
                                         .rank = args->n_perm,
                                         .elem_size = args->elem_size,
                                         .dims = args->sizes,
                                         .perm = args->perm,
                                         .align = (int)args->align,
                                         .warm = args->warm,
                                         .in_graph = args->in_graph};
    return tt__permutation_problem(&checked, &args->permutation, args->align ? (int)args->align : 16);
}

static tt_status finish(tt__cli_args *args) {
    for (size_t i = 0; i < args->n_problems; i++) {
        tt_problem *p = &args->problems[i];
        tt__problem checked;
        *p = (tt_problem){.size = sizeof *p,
                          .rows = p->rows,
                          .cols = p->cols,
                          .elem_size = args->elem_size ? args->elem_size : 4,
                          .batch = args->batch,
                          .lds = args->lds,
                          .ldd = args->ldd,
                          .align = (int)args->align,
                          .in_place = args->in_place,
                          .warm = args->warm,
                          .in_graph = args->in_graph};
        TT_TRY(tt__matrix_problem(&checked, p));
    }
    return args->permute || args->dims ? finish_permutation(args) : TT_OK;
}

static tt_status fail_stray(const tt__cli_command *c, const char *word) {
    char help[64];
    if (isdigit((unsigned char)*word) && c->options[0].set == tt__cli_set_sizes)
        return tt__fail(TT_E_INVALID, "unexpected \"%s\"; sizes are given as --%s %s", word,
                        c->options[0].name, word);
    return tt__fail(TT_E_INVALID,
                    "unexpected \"%s\"; a command comes first (\"tune help\"), and \"%s\" lists "
                    "the options",
                    word, help_call(c, help, sizeof help));
}

/* Handles one result of getopt. `arg` is the last argument it used. */
static tt_status take(tt__cli_args *args, const tt__cli_command *c, int found, const char *arg) {
    bool missing = found == ':';
    const tt__cli_option *o = &c->options[(missing ? optopt : found) - FIRST_OPTION];
    bool swallowed =
        o->arg && optarg == arg && strncmp(optarg, "--", 2) == 0; /* the value is the next option */
    return apply(args, o, missing || swallowed ? "" : optarg);
}

char tt__cli_letter(const tt__cli_option *o) {
    static const struct {
        const char *name;
        char letter;
    } letters[] = {{"help", 'h'}, {"version", 'V'}, {"quiet", 'q'}, {"verbose", 'v'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(o->name, letters[i].name) == 0)
            return letters[i].letter;
    return '\0';
}

/* What getopt returns for the long form of the option with this letter; '?': the command has none. */
static int long_of(const tt__cli_command *c, int letter) {
    for (int i = 0; c->options[i].name; i++)
        if (tt__cli_letter(&c->options[i]) == letter)
            return FIRST_OPTION + i;
    return '?';
}

tt_status tt__cli_parse(tt__cli_args *out, const tt__cli_command *c, int argc, char **argv) {
    struct option longs[OPTIONS_MAX + 1] = {{0}};
    *out = (tt__cli_args){0};
    for (int i = 0; c->options[i].name && i < OPTIONS_MAX; i++)
        longs[i] = (struct option){c->options[i].name, c->options[i].arg ? required_argument : no_argument,
                                   NULL, FIRST_OPTION + i};
    optind = 0; /* glibc: start again */
    opterr = 0;
    for (int found; (found = getopt_long(argc, argv, ":hVqv", longs, NULL)) != -1;) {
        if (found == '?' && optopt &&
            optopt < FIRST_OPTION) /* in a cluster of short options, optind has not moved */
            return fail_unknown(c, (char[]){'-', (char)optopt, '\0'});
        const char *arg = argv[optind - 1];
        if (found == '?')
            return fail_unknown(c, arg);
        const int letter = found;
        if (isalpha(letter) && (found = long_of(c, letter)) == '?')
            return fail_unknown(c, (char[]){'-', (char)letter, '\0'});
        TT_TRY(take(out, c, found, arg));
        if (out->help)
            return TT_OK;
    }
    if (c->takes_files) {
        out->n_files = (size_t)(argc - optind);
        out->files = (const char *const *)argv + optind;
        optind = argc;
    }
    return optind < argc ? fail_stray(c, argv[optind]) : finish(out);
}

void tt__cli_args_free(tt__cli_args *args) {
    free(args->problems);
    free(args->templates);
    free(args->texts);
    for (size_t i = 0; i < args->n_only; i++)
        free(args->only[i]);
    free(args->only);
    *args = (tt__cli_args){0};
}
