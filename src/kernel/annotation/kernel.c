/*
 * The keywords of what is tuned: parameters and constraints, compiler options, launches, tensor maps.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/str.h"
#include "kernel/annotation/annotation.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

/* ---- Parameters and the compiler ----------------------------------------------------------------------- */

static tt_status read_value(tt__reader *r, tt__param *p, tt__slice value) {
    if (!tt__is_integer(value.at, value.n) && !tt__is_word(value.at, value.n) &&
        !tt__is_real(value.at, value.n))
        return FAIL(r, value.at, "value '%.*s' of %s is neither a number nor a plain word%s", SHOW(value),
                    p->name,
                    memchr(value.at, ',', value.n) ? ": blanks stand between values"
                    : *value.at == '='             ? ": values follow the name"
                                                   : "");
    if (value.n >= TT__NAME_MAX)
        return FAIL(r, value.at, "a value of %zu characters, the limit is %d", value.n, TT__NAME_MAX - 1);
    for (size_t i = 0; i < p->n_values; i++)
        if (tt__slice_is(value, p->values[i]))
            return FAIL(r, value.at, "value %s of %s is given twice", p->values[i], p->name);
    if (p->n_values == TT__VALUES_MAX)
        return FAIL(r, value.at, "%s has more than %d values", p->name, TT__VALUES_MAX);
    TT_TRY(TT__GROW(p->values, p->n_values));
    TT_TRY(tt__template_keep(r->t, &p->values[p->n_values], value.at, value.n));
    p->n_values++;
    return TT_OK;
}

/* Takes these two words off the end. */
static bool take_end(tt__slice *rest, const char *first, const char *second) {
    tt__slice left = *rest, word = {0}, before = {0};
    while (left.n > 0) {
        before = word;
        word = tt__take_word(&left);
    }
    if (!before.n || !tt__slice_is(before, first) || !tt__slice_is(word, second))
        return false;
    *rest = tt__trim((tt__slice){rest->at, (size_t)(before.at - rest->at)});
    return true;
}

static tt_status read_param(tt__reader *r, tt__slice rest) {
    tt__template *t = r->t;
    if (t->n_params == TT__PARAMS_MAX)
        return FAIL(r, rest.at, "more than %d parameters", TT__PARAMS_MAX);
    tt__param *p = &t->params[t->n_params];
    TT_TRY(tt__read_name(r, p->name, sizeof p->name, rest));
    for (size_t i = 0; i < t->n_params; i++)
        if (strcmp(t->params[i].name, p->name) == 0)
            return FAIL(r, rest.at, "the parameter %s is declared twice", p->name);
    TT_TRY(tt__read_new_name(r, p->name, sizeof p->name, rest));
    p->line = r->line;
    p->column = tt__read_column(r, rest.at);
    t->n_params++;
    tt__take_word(&rest);
    p->as_template = take_end(&rest, "as", "template");
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no values", p->name);
    while (rest.n > 0) {
        tt__slice value = tt__take_word(&rest);
        TT_TRY(read_value(r, p, value));
    }
    return TT_OK;
}

static tt_status read_derived(tt__reader *r, tt__slice rest) {
    tt__template *t = r->t;
    if (t->n_derived == TT__DERIVED_MAX)
        return FAIL(r, rest.at, "more than %d lines of `derived` and `let`", TT__DERIVED_MAX);
    tt__derived *d = &t->derived[t->n_derived];
    TT_TRY(tt__read_new_name(r, d->name, sizeof d->name, rest));
    t->n_derived++;
    d->macro = strcmp(r->keyword, "derived") == 0;
    d->column = tt__read_column(r, rest.at);
    tt__take_word(&rest);
    return tt__read_expr(r, &d->value, rest);
}

static tt_status read_where(tt__reader *r, tt__slice rest) {
    if (r->t->n_wheres == TT__WHERES_MAX)
        return FAIL(r, rest.at, "more than %d `where` lines", TT__WHERES_MAX);
    return tt__read_expr(r, &r->t->wheres[r->t->n_wheres++], rest);
}

/* The first `kernel` line may stand anywhere. Later ones start a kernel, and the lines after them belong to
 * it. */
static tt_status read_kernel(tt__reader *r, tt__slice rest) {
    tt__template *t = r->t;
    if (t->n_passes == TT__PASSES_MAX)
        return FAIL(r, rest.at, "more than %d kernels", TT__PASSES_MAX);
    char *symbol = t->symbols.name[t->n_passes], name[TT__NAME_MAX];
    TT_TRY(tt__read_kernel(r, symbol, name, rest));
    if (t->n_passes == 0)
        tt__copy(t->kernel, sizeof t->kernel, name);
    r->symbol = symbol;
    r->launch = &t->passes[t->n_passes++];
    r->launch->line = r->line;
    r->launch->column = tt__read_column(r, rest.at);
    return TT_OK;
}

static tt_status read_op(tt__reader *r, tt__slice rest) {
    r->t->op_line = r->line;
    r->t->op_column = tt__read_column(r, rest.at);
    return tt__read_name(r, r->t->op, sizeof r->t->op, rest);
}

/* The headers are in the text by now; only the folder's name is still to be looked at. */
static tt_status read_include(tt__reader *r, tt__slice rest) {
    return rest.n < TT__PATH_MAX ? TT_OK : FAIL(r, rest.at, "a path of %zu characters", rest.n);
}

static tt_status read_default(tt__reader *r, tt__slice rest) {
    return tt__read_expr(r, &r->t->config, rest);
}

static tt_status read_runtime(tt__reader *r, tt__slice rest) {
    TT_TRY(read_param(r, rest));
    tt__param *p = &r->t->params[r->t->n_params - 1];
    if (p->as_template)
        return FAIL(r, rest.at, "%s is a `runtime` parameter, which no template argument can be: say `param`",
                    p->name);
    p->runtime = true;
    return TT_OK;
}

/* Options of NVRTC. Those with '=' need a value. `instead`: it is not allowed, and this is. */
static const struct {
    const char *name, *instead;
} known_options[] = {
    {"use_fast_math", NULL},
    {"ftz=", NULL},
    {"prec-div=", NULL},
    {"prec-sqrt=", NULL},
    {"fmad=", NULL},
    {"extra-device-vectorization", NULL},
    {"modify-stack-limit=", NULL},
    {"restrict", NULL},
    {"lineinfo", NULL},
    {"generate-line-info", NULL},
    {"dopt=", NULL},
    {"device-debug", NULL},
    {"G", NULL},
    {"disable-warnings", NULL},
    {"w", NULL},
    {"diag-error=", NULL},
    {"diag-suppress=", NULL},
    {"diag-warn=", NULL},
    {"device-int128", NULL},
    {"device-float128", NULL},
    {"device-as-default-execution-space", NULL},
    {"default-device", NULL},
    {"opt-info=", NULL},
    {"std=c++", NULL},
    {"ptxas-options=", NULL},
    {"Xptxas=", NULL},
    {"ptxas-options", "a value goes with =, as in --ptxas-options=-dlcm=cg"},
    {"Xptxas", "a value goes with =, as in --ptxas-options=-dlcm=cg"},
    {"std", "the standard goes with =, as in -std=c++20"},
    {"maxrregcount", "it is an annotation: //@ maxrregcount 64"},
    {"include-path", "it is an annotation: //@ include FOLDER"},
    {"I", "it is an annotation: //@ include FOLDER"},
    {"pre-include", "write #include in the file"},
    {"include", "write #include in the file"},
    {"gpu-architecture", "the code is made for the GPU that is tuned"},
    {"arch", "the code is made for the GPU that is tuned"},
    {"gencode", "the code is made for the GPU that is tuned"},
    {"O", "code is always optimized; --ptxas-options=-O1 asks the assembler for less"},
    {"D", "a macro goes without a blank, as in -DNAME=1"},
    {"U", "a macro goes without a blank, as in -UNAME"},
    {"expt-relaxed-constexpr", "it is nvcc's: write -default-device"},
    {"expt-extended-lambda", "it is nvcc's, and not needed"},
    {"extended-lambda", "it is nvcc's, and not needed"},
    {"Xcompiler", "it is for the compiler of the host"},
    {"rdc", "a file is compiled as a whole: let it include the others"},
    {"relocatable-device-code", "a file is compiled as a whole: let it include the others"},
    {"dc", "a file is compiled as a whole: let it include the others"},
    {"dlto", "a file is compiled as a whole: let it include the others"},
    {"l", "code of libraries cannot be linked: let the file include it"},
};

/* What may follow --ptxas-options=. Others write files, or contradict what is measured. */
static const char *const ptxas_options[] = {"-O",
                                            "--opt-level=",
                                            "-dlcm=",
                                            "--def-load-cache=",
                                            "-dscm=",
                                            "--def-store-cache=",
                                            "--allow-expensive-optimizations=",
                                            "-allow-expensive-optimizations=",
                                            "--disable-optimizer-constants",
                                            "-warn-spills",
                                            "--warn-on-spills"};

/* Each of the options between commas. */
static bool ptxas_allowed(const char *at, size_t n) {
    for (size_t length; n > 0; at += length, n -= length) {
        bool known = false;
        length = 0;
        while (length < n && at[length] != ',')
            length++;
        for (size_t i = 0; i < TT__COUNT(ptxas_options); i++)
            known |= length >= strlen(ptxas_options[i]) &&
                     memcmp(at, ptxas_options[i], strlen(ptxas_options[i])) == 0;
        if (!known)
            return false;
        length += length < n;
    }
    return true;
}

/* Does the option have this name, with a value if the name ends with '='? One that is known to be refused
 * may have a value or not, and a single letter is followed by it. */
static bool is_option(const char *name, size_t n, size_t known) {
    const char *wanted = known_options[known].name;
    const size_t length = strlen(wanted);
    if (n < length || memcmp(name, wanted, length) != 0)
        return false;
    return known_options[known].instead    ? n == length || name[length] == '=' || length == 1
           : strcspn(wanted, "=") < length ? n > length
                                           : n == length;
}

/* May a file give this option to NVRTC? Allowed are options that only change how code is generated. Not
 * allowed are options that read or write files, produce another output, or take the next word as their
 * value. *instead: what to write in place of a refused one. -D and -U are followed by a name directly. */
static bool option_allowed(const char *option, size_t n, const char **instead) {
    size_t dashes = n > 1 && option[0] == '-' ? 1 + (option[1] == '-') : 0;
    const char *name = option + dashes;
    *instead = "only options of NVRTC that say how code is made are, in one word each";
    n -= dashes;
    for (size_t i = 0; i < n; i++)
        if (name[i] <= ' ' || name[i] >= 127)
            return false;
    if (dashes == 1 && n > 1 && (name[0] == 'D' || name[0] == 'U'))
        return tt__is_word(name + 1,
                           strcspn(name + 1, "= \t\r\n") < n ? strcspn(name + 1, "= \t\r\n") : n - 1);
    for (size_t i = 0; dashes && i < TT__COUNT(known_options); i++) {
        if (!is_option(name, n, i))
            continue;
        if (known_options[i].instead) {
            *instead = known_options[i].instead;
            return false;
        }
        const size_t value = strlen(known_options[i].name);
        const bool ptxas = strstr(known_options[i].name, "ptxas");
        if (ptxas && !ptxas_allowed(name + value, n - value)) {
            *instead = "of ptxas -O, -dlcm, -dscm, --allow-expensive-optimizations and "
                       "--disable-optimizer-constants are";
            return false;
        }
        return true;
    }
    return false;
}

static tt_status read_options(tt__reader *r, tt__slice rest) {
    tt__template *t = r->t;
    while (rest.n > 0) {
        const char *instead;
        tt__slice option = tt__take_word(&rest);
        if (*option.at != '-')
            return FAIL(r, option.at, "found '%.*s', expected an option of NVRTC, as in --use_fast_math",
                        SHOW(option));
        if (!option_allowed(option.at, option.n, &instead))
            return FAIL(r, option.at, "%.*s is not allowed: %s", SHOW(option), instead);
        if (t->n_options == TT__OPTIONS_MAX)
            return FAIL(r, option.at, "more than %d options", TT__OPTIONS_MAX);
        TT_TRY(tt__read_expr(r, &t->options[t->n_options], option));
        t->n_options++;
    }
    return TT_OK;
}

static tt_status read_max_regs(tt__reader *r, tt__slice rest) {
    return tt__read_expr(r, &r->t->max_regs, rest);
}

/* ---- Launches ------------------------------------------------------------------------------------------ */

/* `block`, `grid` and `cluster`. */
/* Is it a list in parentheses? What is between them. */
static bool take_list(tt__slice *s) {
    int depth = 0;
    for (size_t i = 0; i < s->n; i++) {
        depth += (s->at[i] == '(') - (s->at[i] == ')');
        if (depth == 0 && i + 1 < s->n)
            return false;
    }
    if (s->n < 2 || *s->at != '(' || depth != 0)
        return false;
    *s = tt__trim((tt__slice){s->at + 1, s->n - 2});
    return true;
}

static tt_status read_dims(tt__reader *r, tt__slice rest) {
    tt__expr *dims = strcmp(r->keyword, "block") == 0  ? r->launch->block
                     : strcmp(r->keyword, "grid") == 0 ? r->launch->grid
                                                       : r->launch->cluster;
    tt__slice item, list = rest;
    if (rest.n > 4 && memcmp(rest.at, "dim3", 4) == 0) /* as the launch has it */
        list = tt__trim((tt__slice){rest.at + 4, rest.n - 4});
    if (take_list(&list))
        rest = list;
    for (int n = 0; tt__take_item(&item, &rest); n++) {
        if (n == 3)
            return FAIL(r, item.at, "`%s` has more than 3 dimensions", r->keyword);
        TT_TRY(tt__read_expr(r, &dims[n], item));
    }
    return TT_OK;
}

static tt_status read_shared(tt__reader *r, tt__slice rest) {
    return tt__read_expr(r, &r->launch->shared, rest);
}

/* Arguments so far of all kernels of this role. One launch holds them all. */
static int n_args_of(const tt__reader *r) {
    const tt__geometry_expr *launches = r->t->passes;
    for (int role = 0; r->t->own && role < TT__ROLE_COUNT; role++) {
        const tt__geometry_expr *of_role = r->t->own->asides[role].launches;
        if (r->launch >= of_role && r->launch < of_role + TT__PASSES_MAX)
            launches = of_role;
    }
    int n = 0;
    for (int i = 0; i < TT__PASSES_MAX; i++)
        n += launches[i].n_args;
    return n;
}

/* Takes the suffix of a number off, as in 3ull: true if all of its letters are in `letters`. */
static bool take_suffix(tt__slice *word, const char *letters, int *of_u, int *of_l) {
    *of_u = *of_l = 0;
    while (word->n > 1 && strchr(letters, word->at[word->n - 1])) {
        const char last = (char)(word->at[--word->n] | 32);
        *of_u += last == 'u';
        *of_l += last == 'l';
    }
    return *of_u <= 1 && *of_l <= 2;
}

/* 0x10, within 64 bits. */
static bool is_hexadecimal(tt__slice w) {
    if (w.n < 3 || w.n > 18 || w.at[0] != '0' || (w.at[1] | 32) != 'x')
        return false;
    for (size_t i = 2; i < w.n; i++)
        if (!strchr("0123456789abcdefABCDEF", w.at[i]))
            return false;
    return w.n < 18 || strchr("01234567", w.at[2]); /* expressions have signed numbers */
}

/* The type that C++ gives a literal; TT__TYPE_NONE: it is none. Takes off the u of 3u and the f of 0.5f. */
static tt__type literal_type(tt__slice *word) {
    static const tt__slice null = {"0", 1};
    tt__slice w = *word, digits = w;
    int of_u, of_l;
    if (tt__slice_is(w, "true") || tt__slice_is(w, "false"))
        return TT__TYPE_BOOL;
    if (tt__slice_is(w, "nullptr") || tt__slice_is(w, "NULL")) {
        *word = null;
        return TT__TYPE_U64;
    }
    const bool suffix = take_suffix(&digits, "uUlL", &of_u, &of_l);
    const bool hexadecimal = is_hexadecimal(digits);
    if (suffix && (hexadecimal || tt__is_integer(digits.at, digits.n))) {
        const long long value = strtoll(w.at, NULL, hexadecimal ? 16 : 10); /* ends at the suffix */
        *word = digits;
        if (of_u || (hexadecimal && value > INT32_MAX && value <= UINT32_MAX && !of_l))
            return value <= UINT32_MAX && !of_l ? TT__TYPE_U32 : TT__TYPE_U64;
        return value >= INT32_MIN && value <= INT32_MAX && !of_l ? TT__TYPE_I32 : TT__TYPE_I64;
    }
    const bool single = w.n > 1 && (w.at[w.n - 1] | 32) == 'f';
    if (!tt__is_real(w.at, w.n - single))
        return TT__TYPE_NONE;
    word->n -= single;
    return single ? TT__TYPE_F32 : TT__TYPE_F64;
}

/* One number of a struct, or as many as a vector has. CUDA's vectors of two and four are aligned as a whole.
 */
static tt_status add_field(tt__reader *r, tt__arg_expr *arg, tt__type type, int lanes, int of_vector,
                           tt__slice value) {
    enum { ALIGN_MAX = 16 };
    tt__template *t = r->t;
    if (t->n_fields == TT__FIELDS_MAX)
        return FAIL(r, value.at, "more than %d numbers in structs", TT__FIELDS_MAX);
    tt__struct_member *f = &t->fields[t->n_fields];
    const int size = tt__types[type].size, whole = size * of_vector;
    *f = (tt__struct_member){.type = type, .lanes = lanes, .align = size};
    if (of_vector == 2 || of_vector == 4)
        f->align = whole < ALIGN_MAX ? whole : ALIGN_MAX;
    TT_TRY(tt__read_expr(r, &f->value, value));
    t->n_fields++;
    arg->n_fields++;
    return TT_OK;
}

/* A vector: a number for all of its lanes, or one for each in parentheses. */
static tt_status read_vector(tt__reader *r, tt__arg_expr *arg, tt__type type, int lanes, tt__slice rest) {
    tt__slice list = rest, item, left;
    int n = 0;
    if (take_list(&list)) {
        for (left = list; tt__take_item(&item, &left);)
            n++;
        if (n > 1 && n != lanes)
            return FAIL(r, rest.at, "%d values, expected 1 or %d", n, lanes);
    }
    if (n <= 1)
        return add_field(r, arg, type, lanes, lanes, rest);
    left = list;
    for (int k = 0; tt__take_item(&item, &left); k++)
        TT_TRY(add_field(r, arg, type, 1, k ? 1 : lanes, item));
    return TT_OK;
}

static tt_status fail_cxx_type(tt__reader *r, tt__slice type, const char *meant, tt__slice value) {
    return FAIL(r, type.at, "%.*s is a type of C++: write %s %.*s", SHOW(type), meant, SHOW(value));
}

/* struct (TYPE VALUE, ...) */
static tt_status read_struct(tt__reader *r, tt__arg_expr *arg, tt__slice rest) {
    tt__slice item;
    if (!take_list(&rest))
        return FAIL(r, rest.at, "found '%.*s', expected: struct (TYPE VALUE, ...)", SHOW(rest));
    while (tt__take_item(&item, &rest)) {
        int lanes;
        char meant[TT__TYPE_TEXT_MAX];
        tt__slice value = item, word = tt__take_type(&value);
        if (value.n && tt__type_meant(meant, word.at, word.n))
            return fail_cxx_type(r, word, meant, value);
        if (tt__slice_is(word, "struct"))
            return FAIL(
                r, word.at,
                "a struct in a struct: list its members among those of the outer one, with the padding "
                "that C++ adds");
        TT_TRY(tt__take_lanes(r, &word, &lanes));
        tt__type type = tt__type_named(word.at, word.n);
        if (!type && value.n == 0 && lanes == 1 && (type = literal_type(&word)) != TT__TYPE_NONE)
            value = word;
        if (!type && value.n == 0 && lanes == 1 && tt__is_word(word.at, word.n)) {
            TT_TRY(add_field(r, arg, TT__TYPE_NONE, 1, 1, word)); /* an operand: it is looked up at the end */
            continue;
        }
        if (!type || !tt__types[type].argument || value.n == 0)
            return FAIL(
                r, item.at,
                "found '%.*s' in a struct, expected a type and a value, as in i32 n, or the name of a "
                "buffer or scalar",
                SHOW(item));
        TT_TRY(read_vector(r, arg, type, lanes, value));
    }
    return TT_OK;
}

/* One item of `args`: a type and an expression, or an operand's name. Operands are looked up at the end. */
static tt_status read_arg(tt__reader *r, tt__slice item) {
    tt__template *t = r->t;
    tt__arg_expr *arg = &t->args[t->n_args];
    if (item.n == 0)
        return FAIL(r, item.at, "`args` has an empty item");
    if (n_args_of(r) == TT__ARGS_MAX)
        return FAIL(r, item.at, "more than %d arguments%s", TT__ARGS_MAX,
                    t->n_passes > 1 ? " of all kernels together" : "");
    tt__slice rest = item, word = tt__take_type(&rest);
    char meant[TT__TYPE_TEXT_MAX];
    int lanes = 1;
    *arg = (tt__arg_expr){.first_field = t->n_fields};
    if (rest.n > 0)
        TT_TRY(tt__take_lanes(r, &word, &lanes));
    arg->type = tt__type_named(word.at, word.n);
    if (arg->type && !tt__types[arg->type].argument)
        return FAIL(r, word.at, "%.*s is a type of buffers, and no argument has it", SHOW(word));
    if (!arg->type && rest.n == 0 && (arg->type = literal_type(&word)) != TT__TYPE_NONE)
        rest = word;
    if (arg->type && lanes > 1) {
        TT_TRY(read_vector(r, arg, arg->type, lanes, rest));
        arg->by_value = true;
    }
    if (!arg->type && tt__slice_is(word, "struct")) {
        const bool sizes = tt__slice_is(rest, "permute_any");
        TT_TRY(sizes ? TT_OK : read_struct(r, arg, rest));
        arg->type = TT__TYPE_U8;
        arg->by_value = true;
        t->sized_by_args |= sizes;
    }
    if (!arg->type && rest.n > 0 && tt__type_meant(meant, word.at, word.n))
        return fail_cxx_type(r, word, meant, rest);
    if (!arg->type && rest.n > 0 && tt__is_word(word.at, word.n)) {
        tt__suggest near = tt__suggest_for(word.at, word.n);
        if (*rest.at == '(')
            return FAIL(r, rest.at,
                        "found '%.*s' after %.*s, expected ','; a struct is written as struct %.*s",
                        SHOW(rest), SHOW(word), SHOW(rest));
        for (tt__type k = TT__TYPE_NONE + 1; k < TT__TYPE_COUNT; k++)
            if (tt__types[k].argument)
                tt__suggest_try(&near, tt__types[k].name);
        return FAIL(r, rest.at, "found '%.*s' after %.*s, expected ','%s", SHOW(rest), SHOW(word),
                    tt__suggest_text(&near));
    }
    if (!arg->type && memchr(item.at, '{', item.n))
        return FAIL(r, item.at, "found '%.*s', but a struct is written as struct (TYPE VALUE, ...)",
                    SHOW(item));
    if (!arg->type && !tt__is_word(word.at, word.n))
        return FAIL(r, word.at, "found '%.*s', expected an operand's name, or a type and an expression",
                    SHOW(word));
    if (!arg->by_value)
        TT_TRY(tt__read_expr(r, &arg->value, arg->type ? rest : word));
    t->n_args++;
    r->launch->n_args++;
    return TT_OK;
}

static tt_status read_args(tt__reader *r, tt__slice rest) {
    tt__slice item;
    r->launch->first_arg = r->t->n_args;
    while (tt__take_item(&item, &rest))
        TT_TRY(read_arg(r, item));
    return TT_OK;
}

static tt_status read_when(tt__reader *r, tt__slice rest) {
    return tt__read_expr(r, &r->launch->when, rest);
}

/* The kernel is launched in each turn of the loop of the kernel above. */
static tt_status read_together(tt__reader *r, tt__slice rest) {
    tt__geometry_expr *g = r->launch, *above = g - 1;
    bool first = g == r->t->passes;
    for (int role = 0; r->t->own && role < TT__ROLE_COUNT; role++)
        first |= g == r->t->own->asides[role].launches;
    if (first || !(above->repeat.text || above->joins))
        return FAIL(r, rest.at, "`repeat together` joins the loop of the kernel above, and %s",
                    first ? "there is none" : "that one has no `repeat`");
    g->joins = true;
    tt__copy(g->turn, sizeof g->turn, above->turn);
    return TT_OK;
}

/* The same, without the word that was found. */
static size_t take_past(tt__slice *before, tt__slice *rest, const char *const *words, size_t n) {
    const size_t k = tt__take_until(before, rest, words, n);
    if (k < n)
        tt__take_word(rest);
    return k;
}

/* COUNT [as NAME [from START] [by STEP | times FACTOR | over DIVISOR]] */
static tt_status read_repeat(tt__reader *r, tt__slice rest) {
    static const char *const as[] = {"as"};
    static const char *const steps[] = {"by", "times", "over"}; /* in the order of tt__progress */
    static const char *const from[] = {"from"};
    tt__geometry_expr *g = r->launch;
    tt__slice part;
    if (tt__slice_is(rest, "together"))
        return read_together(r, rest);
    const bool named = take_past(&part, &rest, as, 1) == 0;
    TT_TRY(tt__read_expr(r, &g->repeat, part));
    if (!named)
        return TT_OK;
    const tt__slice name = rest;
    TT_TRY(tt__read_new_name(r, g->turn, sizeof g->turn, rest));
    tt__take_word(&rest);
    if (rest.n == 0)
        return TT_OK;
    tt__slice step = rest;
    const size_t progress = take_past(&part, &step, steps, TT__COUNT(steps));
    const tt__slice start = part;
    tt__slice value = start;
    if (start.n > 0 && (take_past(&part, &value, from, 1) > 0 || part.n > 0 || value.n == 0))
        return FAIL(r, start.at, "found '%.*s' after %.*s, expected: %s", SHOW(start), (int)strlen(g->turn),
                    name.at, "from START, and by STEP, times FACTOR or over DIVISOR");
    if (start.n > 0)
        TT_TRY(tt__read_expr(r, &g->from, value));
    if (progress == TT__COUNT(steps))
        return TT_OK;
    if (step.n == 0)
        return FAIL(r, rest.at, "`%s` stands at the end, expected a number after it", steps[progress]);
    g->progress = (tt__progress)progress;
    return tt__read_expr(r, &g->step, step);
}

/* The names are looked up at the end. */
static tt_status read_swap(tt__reader *r, tt__slice rest) {
    for (int i = 0; i < 2; i++) {
        TT_TRY(tt__read_name(r, r->launch->swap[i], sizeof r->launch->swap[i], rest));
        tt__take_word(&rest);
    }
    r->launch->swap_line = r->line;
    return TT_OK;
}

static tt_status read_launch(tt__reader *r, tt__slice rest) {
    r->launch->early = tt__slice_is(rest, "early");
    r->launch->cooperative = tt__slice_is(rest, "cooperative");
    if (!r->launch->early && !r->launch->cooperative)
        return FAIL(r, rest.at, "found '%.*s', expected: early or cooperative", SHOW(rest));
    return TT_OK;
}

/* ---- Tensor maps --------------------------------------------------------------------------------------- */

/* A list of one expression for each dimension, in parentheses. */
static tt_status read_dimensions(tt__reader *r, tt__expr out[TT__RANK_MAX], int *n, tt__slice list,
                                 const char *what) {
    tt__slice item, left = list;
    const tt__slice whole = list;
    *n = 0;
    if (!take_list(&left))
        return FAIL(r, whole.at, "found '%.*s', expected %s in parentheses, as in (cols, rows)", SHOW(whole),
                    what);
    while (tt__take_item(&item, &left)) {
        if (*n == TT__RANK_MAX)
            return FAIL(r, item.at, "a tensor map has at most %d dimensions", TT__RANK_MAX);
        TT_TRY(tt__read_expr(r, &out[(*n)++], item));
    }
    return TT_OK;
}

/* One property of a map. The words come in any order. */
static tt_status read_property(tt__reader *r, tt__map_expr *m, size_t k, tt__slice value, bool *has_box) {
    enum { BOX, STRIDES, STEPS, SWIZZLE, L2, FILL };
    int n = m->rank;
    if (k == BOX)
        TT_TRY(read_dimensions(r, m->box, &n, value, "the elements of a box"));
    else if (k == STRIDES)
        TT_TRY(read_dimensions(r, m->strides, &n, value, "the elements between rows"));
    else if (k == STEPS)
        TT_TRY(read_dimensions(r, m->steps, &n, value, "the steps of a box"));
    else if (k == SWIZZLE || k == L2)
        TT_TRY(tt__read_expr(r, k == L2 ? &m->l2 : &m->swizzle, value));
    else if (k == FILL && (m->fills_nan = tt__slice_is(value, "nan"), !m->fills_nan) &&
             !tt__slice_is(value, "zero"))
        return FAIL(r, value.at, "found '%.*s', expected: fill zero or nan", SHOW(value));
    *has_box |= k == BOX;
    const int expected = m->rank - (k == STRIDES);
    return n == expected || k > STEPS
               ? TT_OK
               : FAIL(r, value.at, "%d values, expected %d%s", n, expected,
                      k == STRIDES ? ": the first dimension has none" : ", one for each dimension");
}

/* NAME BUFFER (DIMENSIONS) box (SIZES) [strides (...)] [steps (...)] [swizzle E] [l2 E] [fill zero|nan] */
static tt_status read_tensormap(tt__reader *r, tt__slice rest) {
    static const char *const words[] = {"box", "strides", "steps", "swizzle", "l2", "fill"};
    tt__template *t = r->t;
    const tt__slice all = rest;
    bool has_box = false;
    if (t->n_maps == TT__MAPS_MAX)
        return FAIL(r, rest.at, "more than %d tensor maps", TT__MAPS_MAX);
    tt__map_expr *m = &t->maps[t->n_maps];
    TT_TRY(tt__read_new_name(r, m->name, sizeof m->name, rest));
    tt__take_word(&rest);
    const tt__slice buffer = tt__take_word(&rest);
    TT_TRY(tt__read_expr(r, &m->buffer, buffer));
    tt__slice part;
    size_t k = take_past(&part, &rest, words, TT__COUNT(words));
    TT_TRY(read_dimensions(r, m->dims, &m->rank, part, "the dimensions of the buffer"));
    while (k < TT__COUNT(words)) {
        const size_t property = k;
        k = take_past(&part, &rest, words, TT__COUNT(words));
        TT_TRY(read_property(r, m, property, part, &has_box));
    }
    t->n_maps++;
    return has_box
               ? TT_OK
               : FAIL(r, all.at,
                      "%s has no box, the part of the buffer that one copy moves: add box (64, 32)", m->name);
}

/* ---- The table ----------------------------------------------------------------------------------------- */

/* In the order in which a missing one is named. */
const tt__keyword tt__kernel_keywords[] = {
    {"kernel", read_kernel, TT__OFTEN, TT__REQUIRED, "kernel NAME"},
    {"op", read_op, TT__ONCE, TT__REQUIRED, "op NAME"},
    {"param", read_param, TT__OFTEN, TT__OPTIONAL, "param NAME VALUE ... [as template]"},
    {"runtime", read_runtime, TT__OFTEN, TT__OPTIONAL, "runtime NAME VALUE ..."},
    {"derived", read_derived, TT__OFTEN, TT__OPTIONAL, "derived NAME EXPRESSION"},
    {"let", read_derived, TT__OFTEN, TT__OPTIONAL, "let NAME EXPRESSION"},
    {"where", read_where, TT__OFTEN, TT__OPTIONAL, "where EXPRESSION"},
    {"block", read_dims, TT__OF_LAUNCH, TT__REQUIRED, "block EXPRESSION, ..."},
    {"grid", read_dims, TT__OF_LAUNCH, TT__REQUIRED, "grid EXPRESSION, ..."},
    {"cluster", read_dims, TT__OF_LAUNCH, TT__OPTIONAL, "cluster EXPRESSION, ..."},
    {"shared", read_shared, TT__OF_LAUNCH, TT__OPTIONAL, "shared EXPRESSION"},
    {"args", read_args, TT__OF_LAUNCH, TT__REQUIRED, "args dst, src, TYPE EXPRESSION, ..."},
    {"when", read_when, TT__OF_LAUNCH, TT__OPTIONAL, "when EXPRESSION"},
    {"repeat", read_repeat, TT__OF_LAUNCH, TT__OPTIONAL, "repeat EXPRESSION [as NAME]"},
    {"swap", read_swap, TT__OF_LAUNCH, TT__OPTIONAL, "swap BUFFER BUFFER"},
    {"launch", read_launch, TT__OF_LAUNCH, TT__OPTIONAL, "launch early|cooperative"},
    {"tensormap", read_tensormap, TT__OFTEN, TT__OPTIONAL, "tensormap NAME BUFFER (DIMENSIONS) box (SIZES)"},
    {"default", read_default, TT__ONCE, TT__OPTIONAL,
     "default NAME=VALUE ..."}, /* needed if there are parameters */
    {"include", read_include, TT__OFTEN, TT__OPTIONAL, "include FOLDER"},
    {"options", read_options, TT__OFTEN, TT__OPTIONAL, "options -OPTION ..."},
    {"maxrregcount", read_max_regs, TT__ONCE, TT__OPTIONAL, "maxrregcount EXPRESSION"},
};
const size_t tt__n_kernel_keywords = TT__COUNT(tt__kernel_keywords);
_Static_assert(TT__COUNT(tt__kernel_keywords) <= TT__KEYWORDS_MAX, "see seen in annotation.c");
