/*
 * Reads the annotations line by line. A table has for each keyword the function that reads its line, how
 * often it may appear, and its form.
 */
#include "kernel/annotation/annotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/str.h"
#include "code/cxx.h"
#include "kernel/annotation/include.h"
#include "kernel/annotation/reader.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

static tt_status read_value(tt__reader *r, tt__param *p, tt__span value) {
    if (!tt__is_integer(value.at, value.n) && !tt__is_word(value.at, value.n) &&
        !tt__is_real(value.at, value.n))
        return FAIL(r, value.at, "value '%.*s' of %s is neither a number nor a plain word", SHOW(value),
                    p->name);
    if (value.n >= TT__NAME_MAX)
        return FAIL(r, value.at, "a value of %zu characters, the limit is %d", value.n, TT__NAME_MAX - 1);
    for (size_t i = 0; i < p->n_values; i++)
        if (tt__span_is(value, p->values[i]))
            return FAIL(r, value.at, "value %s of %s is given twice", p->values[i], p->name);
    if (p->n_values == TT__VALUES_MAX)
        return FAIL(r, value.at, "%s has more than %d values", p->name, TT__VALUES_MAX);
    TT_TRY(TT__GROW(p->values, p->n_values));
    TT_TRY(tt__template_keep(r->t, &p->values[p->n_values], value.at, value.n));
    p->n_values++;
    return TT_OK;
}

/* Takes these two words off the end. */
static bool take_end(tt__span *rest, const char *first, const char *second) {
    tt__span left = *rest, word = {0}, before = {0};
    while (left.n > 0) {
        before = word;
        word = tt__take_word(&left);
    }
    if (!before.n || !tt__span_is(before, first) || !tt__span_is(word, second))
        return false;
    *rest = tt__trim((tt__span){rest->at, (size_t)(before.at - rest->at)});
    return true;
}

static tt_status read_param(tt__reader *r, tt__span rest) {
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
        tt__span value = tt__take_word(&rest);
        TT_TRY(read_value(r, p, value));
    }
    return TT_OK;
}

static tt_status read_derived(tt__reader *r, tt__span rest) {
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

static tt_status read_where(tt__reader *r, tt__span rest) {
    if (r->t->n_wheres == TT__WHERES_MAX)
        return FAIL(r, rest.at, "more than %d `where` lines", TT__WHERES_MAX);
    return tt__read_expr(r, &r->t->wheres[r->t->n_wheres++], rest);
}

/* The first `kernel` line may stand anywhere. Later ones start a kernel, and the lines after them belong to
 * it. */
static tt_status read_kernel(tt__reader *r, tt__span rest) {
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

static tt_status read_op(tt__reader *r, tt__span rest) {
    r->t->op_line = r->line;
    r->t->op_column = tt__read_column(r, rest.at);
    return tt__read_name(r, r->t->op, sizeof r->t->op, rest);
}

static tt_status read_defines(tt__reader *r, tt__span rest) {
    tt__template *t = r->t;
    for (; rest.n > 0 && t->n_defines < TT__COUNT(t->defines); t->n_defines++) {
        tt__span word = tt__take_word(&rest);
        TT_TRY(tt__template_keep(t, &t->defines[t->n_defines], word.at, word.n));
    }
    return rest.n ? FAIL(r, rest.at, "more than %zu names", TT__COUNT(t->defines)) : TT_OK;
}

/* The headers are in the text by now; only the folder's name is still to be looked at. */
static tt_status read_include(tt__reader *r, tt__span rest) {
    return rest.n < TT__PATH_MAX ? TT_OK : FAIL(r, rest.at, "a path of %zu characters", rest.n);
}

static tt_status read_default(tt__reader *r, tt__span rest) {
    return tt__read_expr(r, &r->t->config, rest);
}

static tt_status read_runtime(tt__reader *r, tt__span rest) {
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

static tt_status read_options(tt__reader *r, tt__span rest) {
    tt__template *t = r->t;
    while (rest.n > 0) {
        const char *instead;
        tt__span option = tt__take_word(&rest);
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

static tt_status read_max_regs(tt__reader *r, tt__span rest) {
    return tt__read_expr(r, &r->t->max_regs, rest);
}

/* How often a keyword may appear. */
typedef enum times { ONCE, OF_LAUNCH, OFTEN } times;

/* DECLARES: it is optional. A file that has it declares its own operation. */
typedef enum need { OPTIONAL, REQUIRED, DECLARES } need;

static const struct {
    const char *word;
    tt_status (*read)(tt__reader *r, tt__span rest);
    times times; /* OF_LAUNCH: once for each kernel and the reference */
    need need;
    const char *form;
} keywords[] = {
    {"kernel", read_kernel, OFTEN, REQUIRED, "kernel NAME"},
    {"op", read_op, ONCE, REQUIRED, "op NAME"},
    {"param", read_param, OFTEN, OPTIONAL, "param NAME VALUE ... [as template]"},
    {"runtime", read_runtime, OFTEN, OPTIONAL, "runtime NAME VALUE ..."},
    {"derived", read_derived, OFTEN, OPTIONAL, "derived NAME EXPRESSION"},
    {"let", read_derived, OFTEN, OPTIONAL, "let NAME EXPRESSION"},
    {"where", read_where, OFTEN, OPTIONAL, "where EXPRESSION"},
    {"block", tt__read_dims, OF_LAUNCH, REQUIRED, "block EXPRESSION, ..."},
    {"grid", tt__read_dims, OF_LAUNCH, REQUIRED, "grid EXPRESSION, ..."},
    {"cluster", tt__read_dims, OF_LAUNCH, OPTIONAL, "cluster EXPRESSION, ..."},
    {"shared", tt__read_shared, OF_LAUNCH, OPTIONAL, "shared EXPRESSION"},
    {"args", tt__read_args, OF_LAUNCH, REQUIRED, "args dst, src, TYPE EXPRESSION, ..."},
    {"when", tt__read_when, OF_LAUNCH, OPTIONAL, "when EXPRESSION"},
    {"repeat", tt__read_repeat, OF_LAUNCH, OPTIONAL, "repeat EXPRESSION [as NAME]"},
    {"swap", tt__read_swap, OF_LAUNCH, OPTIONAL, "swap BUFFER BUFFER"},
    {"launch", tt__read_launch, OF_LAUNCH, OPTIONAL, "launch early|cooperative"},
    {"tensormap", tt__read_tensormap, OFTEN, OPTIONAL, "tensormap NAME BUFFER (DIMENSIONS) box (SIZES)"},
    {"default", read_default, ONCE, OPTIONAL, "default NAME=VALUE ..."}, /* needed if there are parameters */
    {"include", read_include, OFTEN, OPTIONAL, "include FOLDER"},
    {"options", read_options, OFTEN, OPTIONAL, "options -OPTION ..."},
    {"maxrregcount", read_max_regs, ONCE, OPTIONAL, "maxrregcount EXPRESSION"},
    {"problem", tt__read_problem, OFTEN, DECLARES, "problem NAME VALUE"},
    {"type", tt__read_type, OFTEN, DECLARES, "type NAME TYPE ..."},
    {"buffer", tt__read_buffer, OFTEN, DECLARES, "buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]"},
    {"constant", tt__read_constant, OFTEN, DECLARES, "constant NAME TYPE LENGTH [DATA]"},
    {"scalar", tt__read_scalar, OFTEN, DECLARES, "scalar NAME TYPE VALUE"},
    {"reference", tt__read_aside, OFTEN, DECLARES, "reference KERNEL | reference default"},
    {"verify", tt__read_aside, ONCE, DECLARES, "verify KERNEL"},
    {"data", tt__read_aside, OFTEN, DECLARES, "data KERNEL"},
    {"per", tt__read_per, ONCE, DECLARES, "per configuration"},
    {"limit", tt__read_limit, ONCE, DECLARES, "limit NUMBER"},
    {"expect", tt__read_expect, OFTEN, DECLARES, "expect BUFFER FILE"},
    {"tolerance", tt__read_tolerance, OFTEN, DECLARES,
     "tolerance [BUFFER] abs NUMBER rel NUMBER scale NUMBER"},
    {"metric", tt__read_metric, OFTEN, DECLARES, "metric NAME EXPRESSION"},
    {"objective", tt__read_objective, ONCE, DECLARES, "objective minimize|maximize METRIC"},
    {"require", tt__read_require, OFTEN, DECLARES, "require EXPRESSION"},
    {"macros", tt__read_macros, ONCE, DECLARES, "macros variables"},
    {"shape", tt__read_shape, ONCE, DECLARES, "shape VARIABLE ..."},
    {"near", tt__read_near, OFTEN, DECLARES, "near VARIABLE WEIGHT [same]"},
    {"batch", tt__read_batch, ONCE, DECLARES, "batch VARIABLE"},
    {"moves", tt__read_moves, ONCE, DECLARES, "moves bytes | moves ROWS, COLUMNS, LEADING_DIMENSION"},
    {"sample", tt__read_sample, OFTEN, DECLARES, "sample VARIABLE=VALUE ..."},
    {"prefer", tt__read_prefer, ONCE, DECLARES, "prefer TEMPLATE ..."},
    {"defines", read_defines, ONCE, OPTIONAL, "defines OPERATION ..."},
};

/* The line of each keyword; 0: not seen yet. */
typedef struct seen {
    int line[TT__COUNT(keywords)];
} seen;

/* A new kernel or the reference begins. The previous launch must be complete, and its keywords may appear
 * again. The lines of the first launch may stand before its name. */
static tt_status end_launch(const tt__reader *r, seen *seen, bool last) {
    const char *name = r->launch == &r->t->passes[0] ? NULL : r->symbol;
    for (size_t k = 0; k < TT__COUNT(keywords); k++) {
        bool of_launch = keywords[k].times == OF_LAUNCH;
        bool missing = !seen->line[k] && keywords[k].need == REQUIRED && (last || of_launch);
        if (missing && (name || !last) && of_launch)
            return tt__template_fail(r->t->path, r->launch->line, r->launch->column,
                                     "no `%s` annotation behind `%s`, expected a line: //@ %s",
                                     keywords[k].word, name ? name : r->t->kernel, keywords[k].form);
        if (missing)
            return tt__fail(TT_E_TEMPLATE, "%s: no `%s` annotation, expected a line: //@ %s", r->t->path,
                            keywords[k].word, keywords[k].form);
        if (of_launch)
            seen->line[k] = 0;
    }
    return TT_OK;
}

/* The index of a keyword; TT__COUNT(keywords): it is none. */
static size_t find_keyword(tt__span word) {
    size_t k = 0;
    while (k < TT__COUNT(keywords) && !tt__span_is(word, keywords[k].word))
        k++;
    return k;
}

static tt_status fail_keyword(tt__reader *r, tt__span word) {
    tt__suggest near = tt__suggest_for(word.at, word.n);
    for (size_t k = 0; k < TT__COUNT(keywords); k++)
        tt__suggest_try(&near, keywords[k].word);
    return FAIL(r, word.at, "unknown annotation '%.*s'%s", SHOW(word), tt__suggest_text(&near));
}

static bool begins_launch(tt_status (*read)(tt__reader *r, tt__span rest), tt__span rest) {
    return read == read_kernel || (read == tt__read_aside && !tt__span_is(rest, "default"));
}

/* Only after a name is the rest of a line a remark. */
static tt_status check_end(tt__reader *r, tt__span rest, tt_status (*read)(tt__reader *r, tt__span rest)) {
    if (rest.at[rest.n - 1] == '\\')
        return FAIL(
            r, rest.at + rest.n - 1,
            "an annotation ends with its line, and a backslash makes the next line a comment: write all "
            "in one line");
    for (size_t i = 0; i + 1 < rest.n && !begins_launch(read, rest) && read != read_op; i++)
        if ((i == 0 || tt__is_blank(rest.at[i - 1])) && rest.at[i] == '/' && strchr("/*", rest.at[i + 1]))
            return FAIL(r, rest.at + i,
                        "found '%.2s', but no comment may follow in the line of an annotation (and / divides "
                        "without a fraction): give it a line of its own",
                        rest.at + i);
    return TT_OK;
}

static tt_status read_annotation(tt__reader *r, seen *seen, tt__span rest) {
    tt__span word = tt__take_word(&rest);
    const size_t k = find_keyword(word);
    if (word.n == 0)
        return FAIL(r, word.at, "an empty annotation, expected a keyword after //@");
    if (k == TT__COUNT(keywords))
        return fail_keyword(r, word);
    r->keyword = keywords[k].word;
    if (rest.n == 0)
        return FAIL(r, word.at, "`%s` stands alone, expected: %s", r->keyword, keywords[k].form);
    TT_TRY(check_end(r, rest, keywords[k].read));
    if (seen->line[k] && keywords[k].times != OFTEN)
        return FAIL(r, word.at, "a second `%s`, the first is in line %d", r->keyword, seen->line[k]);
    bool first = r->t->n_passes == 0 && r->launch == &r->t->passes[0]; /* nothing has begun */
    if (!first && begins_launch(keywords[k].read, rest))
        TT_TRY(end_launch(r, seen, false));
    seen->line[k] = r->line;
    if (keywords[k].need == DECLARES)
        TT_TRY(tt__declare_operation(r->t));
    return keywords[k].read(r, rest);
}

/* Exceptions from REQUIRED: a file with `defines` needs no kernel, one with its own operation needs no op,
 * and one without parameters needs no default. */
static void mark_present(const tt__template *t, seen *seen) {
    for (size_t k = 0; k < TT__COUNT(keywords); k++) {
        bool no_op = keywords[k].read == read_op && t->own;
        bool no_kernel = keywords[k].read == read_kernel && t->n_defines;
        if ((no_op || no_kernel) && !seen->line[k])
            seen->line[k] = 1;
        if (keywords[k].read == read_default && t->n_params == 0 && !seen->line[k])
            seen->line[k] = 1;
    }
}

/* If a pasted header begins here, returns the line that tt__include_expand writes after it: the number of the
 * next line of this file. A `#line` without such an end is the user's. */
static const char *header_end(const tt__reader *r, const char *at) {
    const char *slash = strrchr(r->t->path, '/');
    tt__str last = {0};
    if (strncmp(at, "#line 1 \"", strlen("#line 1 \"")) != 0)
        return NULL;
    tt__str_add(&last, "\n");
    tt__line_directive(&last, r->line + 1, slash ? slash + 1 : r->t->path);
    const char *found = last.failed ? NULL : strstr(at, tt__str_text(&last));
    tt__str_free(&last);
    return found ? found + 1 : NULL;
}

/* The source without a byte order mark. */
static const char *text_of(const tt__template *t) {
    return t->source + (strncmp(t->source, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
}

/* The lines of a file. Those of a pasted header count as the line that includes it. */
typedef struct course {
    tt__cxx_lines lines;
    const char *resume; /* where this file goes on after a header; NULL: in no header */
    tt__span header;    /* its name */
    int header_line;
    int n_ifs, if_line; /* open conditions, and where the outermost begins */
} course;

static void follow_header(course *c, const tt__reader *r) {
    static const char directive[] = "#line ";
    const char *at = c->lines.at;
    if (!c->resume || at == c->resume)
        c->resume = header_end(r, at);
    const char *name =
        c->resume && strncmp(at, directive, strlen(directive)) == 0 ? memchr(at, '"', c->lines.n) : NULL;
    c->header_line++;
    if (name) {
        c->header = (tt__span){name + 1, strcspn(name + 1, "\"\n")};
        c->header_line = atoi(at + strlen(directive)) - 1;
    }
}

static void follow_conditions(course *c, const tt__reader *r, tt__span line) {
    if (c->lines.inside != TT__CXX_CODE || line.n == 0 || *line.at != '#')
        return;
    line = tt__trim((tt__span){line.at + 1, line.n - 1});
    if (line.n > 1 && strncmp(line.at, "if", 2) == 0 && c->n_ifs++ == 0)
        c->if_line = r->line;
    else if (line.n > 4 && strncmp(line.at, "endif", 5) == 0 && c->n_ifs > 0)
        c->n_ifs--;
}

/* A line that has the form of an annotation, in a place where none counts. */
static tt_status fail_place(const course *c, tt__reader *r, const char *at, tt__span word) {
    static const char *const why[] = {
        [TT__CXX_CODE] = NULL,
        [TT__CXX_COMMENT] = "is in the comment that begins in",
        [TT__CXX_RAW_TEXT] = "is in the text that begins in",
        [TT__CXX_CONTINUED] = "belongs to a line that ends with a backslash,",
    };
    static const char advice[] = "move it out, or put another // in front of it";
    char header[TT__FILE_MAX];
    const tt__cxx_lines *l = &c->lines;
    tt__copy(header, c->header.n < sizeof header ? c->header.n + 1 : sizeof header,
             c->header.at ? c->header.at : "");
    if (c->resume)
        return tt__template_fail(header, c->header_line, tt__read_column(r, at),
                                 "`//@ %.*s` is in a header, where no annotation counts: move it to %s",
                                 SHOW(word), r->t->path);
    if (at != tt__trim((tt__span){l->at, l->n}).at)
        return FAIL(
            r, at,
            "`//@ %.*s` stands behind something else, and does not count there: give it a line of its own",
            SHOW(word));
    if (l->inside != TT__CXX_CODE)
        return FAIL(r, at, "`//@ %.*s` %s line %d, and does not count there: %s", SHOW(word), why[l->inside],
                    r->line - (l->number - l->since), advice);
    return FAIL(r, at,
                "`//@ %.*s` is in the #if of line %d, but an annotation counts whatever the condition is: %s",
                SHOW(word), c->if_line, advice);
}

/* Doxygen writes //@{ and //@}. */
static bool is_of_doxygen(tt__span rest) {
    return rest.n && (*rest.at == '{' || *rest.at == '}');
}

static tt_status read_line(course *c, tt__reader *r, seen *seen) {
    const tt__cxx_lines *l = &c->lines;
    tt__span line = tt__trim((tt__span){l->at, l->n});
    const bool first = line.n >= 3 && memcmp(line.at, "//@", 3) == 0;
    const char *at = first ? line.at : l->comment;
    follow_conditions(c, r, line);
    if (!at || strncmp(at, "//@", 3) != 0)
        return TT_OK;
    tt__span rest = tt__trim((tt__span){at + 3, line.n - (size_t)(at - line.at) - 3}), word = rest;
    word = tt__take_word(&word);
    const bool counts = first && !c->resume && l->inside == TT__CXX_CODE;
    if ((!counts || c->n_ifs) && find_keyword(word) < TT__COUNT(keywords))
        return fail_place(c, r, at, word);
    return counts && !is_of_doxygen(rest) ? read_annotation(r, seen, rest) : TT_OK;
}

tt_status tt__annotation_read(tt__template *t) {
    seen seen = {{0}};
    tt__reader r = {.t = t, .line = 1, .launch = &t->passes[0]};
    const char *at = text_of(t);
    if (!strstr(at, "//@"))
        return tt__fail(TT_E_TEMPLATE,
                        "%s: it has no annotations, which are lines such as //@ kernel NAME: \"tune new\" "
                        "writes a kernel with all that are needed",
                        t->path);
    course c = {.lines.source = at};
    while (tt__cxx_next_line(&c.lines)) {
        r.line_start = c.lines.at;
        follow_header(&c, &r);
        TT_TRY(read_line(&c, &r, &seen));
        r.line += !c.resume;
    }
    mark_present(t, &seen);
    for (size_t k = 0; k < TT__COUNT(keywords); k++)
        if (!seen.line[k] && keywords[k].read == read_default)
            return tt__fail(TT_E_TEMPLATE, "%s: no `%s` annotation, expected a line: //@ %s", t->path,
                            keywords[k].word, keywords[k].form);
    TT_TRY(end_launch(&r, &seen, true));
    return tt__annotation_end_operation(t);
}

/* Does a comment look like an annotation? Documentation has `@param NAME` too, which prose follows. */
static bool looks_meant(tt__span comment, tt__span *word) {
    const size_t third = comment.n > 2 && strchr("/!", comment.at[2]) ? 1 : 0;
    tt__span rest = {comment.at + 2 + third, comment.n - 2 - third}, start = tt__trim(rest);
    if (start.n == 0 || *start.at != '@' || (!third && start.at == rest.at))
        return false;
    start = (tt__span){start.at + 1, start.n - 1};
    rest = start;
    *word = tt__take_word(&rest);
    if (find_keyword(*word) == TT__COUNT(keywords))
        return false;
    if (word->at > start.at || !tt__span_is(*word, "param"))
        return true;
    tt__take_word(&rest);
    tt__span value = tt__take_word(&rest);
    return value.n == 0 || tt__is_integer(value.at, value.n) || tt__is_real(value.at, value.n);
}

tt_status tt__annotation_lookalikes(tt__str *out, const tt__template *t) {
    tt__reader r = {.t = (tt__template *)t, .line = 1}; /* only its position changes */
    course c = {.lines.source = text_of(t)};
    for (tt__span word; tt__cxx_next_line(&c.lines); r.line += !c.resume) {
        const tt__span line = tt__trim((tt__span){c.lines.at, c.lines.n});
        follow_header(&c, &r);
        if (!c.resume && c.lines.inside == TT__CXX_CODE && c.lines.comment == line.at &&
            looks_meant(line, &word))
            tt__str_addf(out, "%sline %d: `%.*s` is a comment only: an annotation begins with //@",
                         out->len ? "\n" : "", r.line, (int)(word.at + word.n - line.at), line.at);
    }
    return tt__str_check(out);
}
