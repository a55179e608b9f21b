/*
 * Configurations to and from text, and as compiler options.
 */
#include "kernel/space/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "code/cubin.h"
#include "code/headers.h"
#include "code/nvrtc.h"
#include "code/source.h"
#include "kernel/annotation/annotation.h"
#include "kernel/expression/expr.h"

#define BLANKS " \t"
enum { SHOWN_MAX = 80 };

static tt_status no_param(const tt__template *t, const char *name, size_t n) {
    tt__suggest near = tt__suggest_for(name, n);
    for (size_t p = 0; p < t->n_params; p++)
        tt__suggest_try(&near, t->params[p].name);
    return tt__fail(TT_E_INVALID, "%s has no parameter %.*s%s", t->kernel, (int)n, name,
                    tt__suggest_text(&near));
}

/* One NAME=VALUE of n characters, with '=' at `split`. */
static tt_status choose(size_t *choice, bool *chosen, const tt__template *t, const char *at, size_t split,
                        size_t n) {
    const tt__param *param = tt__template_param(t, at, split);
    if (!param)
        return no_param(t, at, split);
    const size_t p = (size_t)(param - t->params);
    if (chosen[p])
        return tt__fail(TT_E_INVALID, "%s is given twice", param->name);
    const char *value = at + split + 1;
    size_t n_value = n - split - 1, v = 0;
    while (v < param->n_values && !tt__word_is(value, n_value, param->values[v]))
        v++;
    if (v < param->n_values) {
        choice[p] = v;
        chosen[p] = true;
        return TT_OK;
    }
    tt__str list = {0};
    for (v = 0; v < param->n_values; v++)
        tt__str_addf(&list, " %s", param->values[v]);
    tt__fail(TT_E_INVALID, "%.*s is no value of %s, expected one of%s", (int)n_value, value, param->name,
             tt__str_text(&list));
    tt__str_free(&list);
    return TT_E_INVALID;
}

/* The next word of *at, its length and the position of '='. False at the end. */
static bool next_word(const char **at, size_t *n, size_t *split) {
    *at += strspn(*at, BLANKS);
    *n = strcspn(*at, BLANKS);
    const char *sign = memchr(*at, '=', *n);
    *split = sign ? (size_t)(sign - *at) : *n;
    return *n > 0;
}

tt_status tt__config_parse(size_t choice[TT__PARAMS_MAX], const tt__template *t, const char *config) {
    bool chosen[TT__PARAMS_MAX] = {false};
    size_t n, split;
    for (const char *at = config; next_word(&at, &n, &split); at += n) {
        int shown = n > SHOWN_MAX ? SHOWN_MAX : (int)n;
        if (n > SHOWN_MAX * 2 || split == n)
            return tt__fail(TT_E_INVALID, "found '%.*s', expected NAME=VALUE", shown, at);
        TT_TRY(choose(choice, chosen, t, at, split, n));
    }
    for (size_t p = 0; p < t->n_params; p++)
        if (!chosen[p])
            return tt__fail(TT_E_INVALID, "no value for the parameter %s", t->params[p].name);
    return TT_OK;
}

tt_status tt__config_adapt(char out[TT__CONFIG_MAX], const tt__template *t, const char *config) {
    size_t choice[TT__PARAMS_MAX], n, split;
    bool chosen[TT__PARAMS_MAX] = {false};
    TT_TRY(tt__config_parse(choice, t, t->default_config));
    for (const char *at = config; next_word(&at, &n, &split); at += n)
        if (split < n && tt__template_param(t, at, split))
            TT_TRY(choose(choice, chosen, t, at, split, n));
    tt__config_format(out, t, choice);
    return TT_OK;
}

/* Appends a piece to `used` bytes, as far as it fits, and returns how many there are. Pieces have few bytes,
 * and each member of a space is made of many, so a loop is faster than strlen and memcpy. */
static size_t add_piece(char *out, size_t size, size_t used, const char *piece) {
    while (*piece && used < size - 1)
        out[used++] = *piece++;
    out[used] = '\0';
    return used;
}

/* One word more of the text, which a template without parameters begins. */
static size_t add_word(char *out, size_t size, size_t used, const char *name, const char *value) {
    const char *const pieces[] = {used ? " " : "", name, "=", value};
    for (size_t i = 0; i < TT__COUNT(pieces); i++)
        used = add_piece(out, size, used, pieces[i]);
    return used;
}

void tt__config_format(char out[TT__CONFIG_MAX], const tt__template *t, const size_t *choice) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t p = 0; p < t->n_params; p++)
        used = add_word(out, TT__CONFIG_MAX, used, t->params[p].name, t->params[p].values[choice[p]]);
}

int tt__config_without(char (*out)[TT__CONFIG_MAX], int most, const tt__template *t, const char *config) {
    size_t choice[TT__PARAMS_MAX], on[TT__PARAMS_MAX], n_on = 0;
    int n = 0;
    if (tt__config_parse(choice, t, config) != TT_OK)
        return 0;
    for (size_t i = t->n_params; i-- > 0;)
        if (choice[i] != t->default_choice[i] && strcmp(t->params[i].values[t->default_choice[i]], "0") == 0)
            on[n_on++] = i;
    for (size_t apart = 0; apart < n_on; apart++)
        for (size_t k = 0; k + apart < n_on && n < most; k++) {
            size_t less[TT__PARAMS_MAX];
            memcpy(less, choice, sizeof less);
            less[on[k]] = t->default_choice[on[k]];
            less[on[k + apart]] = t->default_choice[on[k + apart]];
            tt__config_format(out[n++], t, less);
        }
    return n;
}

void tt__config_make_default(tt__template *t, const size_t *choice) {
    memcpy(t->default_choice, choice, t->n_params * sizeof *choice);
    tt__config_format(t->default_config, t, choice);
}

/* Each option ends with a NUL, which a "%c" writes. */
static tt_status add_macros(tt__str *out, const tt__template *t, const char *config) {
    size_t length, split;
    for (const char *at = config; next_word(&at, &length, &split); at += length) {
        const char *value = at + split + 1;
        if (split == length || !tt__is_word(at, split) ||
            (!tt__is_word(value, length - split - 1) && !tt__is_integer(value, length - split - 1) &&
             !tt__is_real(value, length - split - 1)))
            return tt__fail(TT_E_INVALID, "found '%.*s' in a configuration, expected NAME=VALUE",
                            length > SHOWN_MAX ? SHOWN_MAX : (int)length, at);
        const tt__param *param = t ? tt__template_param(t, at, split) : NULL;
        if (param && (param->runtime || param->as_template))
            continue;
        tt__str_addf(out, "-D%.*s%c", (int)length, at, '\0');
    }
    return TT_OK;
}

/* The type's name in the code. A file that includes CUDA's header for it gets CUDA's type. */
static const char *type_in_code(const tt__template *t, tt__type type) {
    if (type == TT__TYPE_F16 && strstr(t->source, "<cuda_fp16.h>"))
        return "__half";
    if (type == TT__TYPE_BF16 && strstr(t->source, "<cuda_bf16.h>"))
        return "__nv_bfloat16";
    return tt__types[type].cuda;
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void add_bare(tt__str *out, const char *symbol) {
    size_t end = strcspn(symbol, "<"), start = end;
    while (start > 0 && tt__is_word_char(symbol[start - 1]))
        start--;
    tt__str_addf(out, "%.*s ", (int)(end - start), symbol + start);
}

/* The names of all kernels that are launched, without template arguments and namespaces. */
static void add_users(tt__str *out, const tt__template *t) {
    tt__str_add(out, TT__USERS);
    for (int i = 0; i < t->n_passes; i++)
        add_bare(out, t->symbols.name[i]);
    for (int role = 0; t->own && role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n; i++)
            add_bare(out, t->own->asides[role].symbols.name[i]);
    tt__str_addn(out, "", 1);
}

/* The name as the compiler gets it, where values stand for `as template` parameters, if that differs. */
static void add_expression(tt__str *out, const tt__template *t, const size_t *choice, const char *symbol) {
    tt__str text = {0};
    bool differs = false;
    for (size_t n; *symbol; symbol += n) {
        for (n = 0; tt__is_word_char(symbol[n]);)
            n++;
        const tt__param *p = n ? tt__template_param(t, symbol, n) : NULL;
        const bool value = p && p->as_template;
        n = n ? n : 1;
        differs |= value;
        if (value)
            tt__str_add(&text, p->values[choice[p - t->params]]);
        else
            tt__str_addn(&text, symbol, n);
    }
    if (differs)
        tt__str_addf(out, "\n%s", tt__str_text(&text));
    tt__str_free(&text);
}

static void add_kernel(tt__str *out, const tt__template *t, const size_t *choice, const char *symbol) {
    tt__str_addf(out, TT__KERNEL "%s", symbol);
    add_expression(out, t, choice, symbol);
    tt__str_addn(out, "", 1);
}

/* Kernels that are said to be extern "C" right there. A block of extern "C" may hold none of them, and other
 * functions may be extern "C", too. */
static size_t count_plain(const char *text) {
    static const char external[] = "extern \"C\"";
    size_t n = 0;
    while ((text = strstr(text, external))) {
        text += sizeof external - 1;
        const char *kernel = strstr(text, "__global__");
        n += kernel && kernel < text + strcspn(text, "{;(");
    }
    return n;
}

/* Without extern "C" the compiler chooses the name of a kernel, and must be asked for it. */
static tt_status add_kernels(tt__str *out, const tt__template *t, const char *config) {
    bool all = count_plain(t->source) < count(t->source, "__global__");
    size_t choice[TT__PARAMS_MAX] = {0};
    TT_TRY(tt__config_parse(choice, t, config));
    for (int i = 0; i < t->n_passes; i++)
        if (all || !tt__lowered_is_plain(t->symbols.name[i]))
            add_kernel(out, t, choice, t->symbols.name[i]);
    for (int role = 0; t->own && role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n && !(role == TT__REFERENCE && t->own->by_default); i++) {
            const char *name = t->own->asides[role].symbols.name[i];
            if ((all || !tt__lowered_is_plain(name)) && tt__index_operand(t, name) < 0)
                add_kernel(out, t, choice, name);
        }
    return TT_OK;
}

/* Appends an option of the file, with the values of the parameters that it names. */
static tt_status add_with_values(tt__str *out, const tt__template *t, const char *config,
                                 const char *option) {
    size_t choice[TT__PARAMS_MAX] = {0};
    if (strchr(option, '{'))
        TT_TRY(tt__config_parse(choice, t, config));
    while (*option) {
        size_t plain = strcspn(option, "{"), name = strcspn(option + plain, "}");
        tt__str_addn(out, option, plain);
        option += plain;
        const tt__param *param = name > 1 ? tt__template_param(t, option + 1, name - 1) : NULL;
        if (param)
            tt__str_add(out, param->values[choice[param - t->params]]);
        option += name + (option[name] != '\0');
    }
    tt__str_addn(out, "", 1);
    return TT_OK;
}

/* The copy that a problem is compared with has other variables. */
static bool has_variable(const tt__template *t, const char *name) {
    return !t->operation || tt__operation_variable(t->operation, name, strlen(name));
}

/* `macros variables`: does the code have this variable's number as a macro? ELEM_SIZE is always there. */
static bool is_macro(const tt__template *t, const tt__setting *s) {
    return t && t->operation && t->operation->macros && !t->sized_by_args && s->type == TT__TYPE_NONE &&
           strcmp(s->name, "elem_size") != 0;
}

/* The variable's name in capital letters. Returns out. */
static const char *macro_name(char out[TT__NAME_MAX], const tt__setting *s) {
    size_t i = 0;
    for (; s->name[i]; i++)
        out[i] = (char)(s->name[i] >= 'a' && s->name[i] <= 'z' ? s->name[i] - 'a' + 'A' : s->name[i]);
    out[i] = '\0';
    return out;
}

tt_status tt__config_max_regs(int *out, const tt__template *t, const char *config) {
    static const tt__facts facts;
    char text[TT__NAME_MAX];
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__inputs in;
    TT_TRY(tt__config_parse(choice, t, config));
    tt__inputs_start(&in, t, &facts, choice);
    const tt__value v = tt__expr_value(&in, &t->max_regs);
    if (v.kind != TT__VALUE_INT || v.i < TT__REGS_MIN || v.i > TT__REGS_MAX)
        return tt__template_fail(t->path, t->max_regs.line, t->max_regs.column,
                                 "`%.200s` comes to %s, expected 16 to 255 registers", t->max_regs.text,
                                 tt__value_text(text, v));
    *out = (int)v.i;
    return TT_OK;
}

static tt_status add_all(tt__str *out, const tt__configuration *c, const tt__problem *p) {
    const tt__template *t = c->t;
    char name[TT__NAME_MAX];
    TT_TRY(add_macros(out, t, c->config));
    for (size_t i = 0; i < t->n_derived; i++)
        if (t->derived[i].macro)
            tt__str_addf(out, "-D%s=%" PRId64 "%c", t->derived[i].name, c->derived[i], '\0');
    for (int i = 0; i < p->n; i++)
        if (p->settings[i].type != TT__TYPE_NONE && has_variable(t, p->settings[i].name))
            tt__str_addf(out, TT__TYPEDEF "%s=%s%c", p->settings[i].name,
                         type_in_code(t, p->settings[i].type), '\0');
    tt__str_addf(out, "-DELEM_SIZE=%d%c", tt__problem_elem_size(p), '\0');
    for (int i = 0; i < p->n; i++)
        if (is_macro(t, &p->settings[i]))
            tt__str_addf(out, "-D%s=%" PRId64 "%c", macro_name(name, &p->settings[i]), p->settings[i].number,
                         '\0');
    if (t->symbols.foreign)
        add_users(out, t);
    for (size_t i = 0; i < t->n_options; i++)
        TT_TRY(add_with_values(out, t, c->config, t->options[i].text));
    TT_TRY(add_kernels(out, t, c->config));
    for (size_t i = 0; t->own && i < t->own->n_operands; i++) {
        const tt__operand *o = &t->own->operands[i];
        if (!o->index.text)
            continue;
        tt__str_add(out, TT__CODE);
        tt__index_code(out, t, i,
                       o->variable < 0 ? type_in_code(t, o->type) : t->own->variables[o->variable].name);
        tt__str_addn(out, "", 1);
    }
    if (t->max_regs.text) {
        int regs;
        TT_TRY(tt__config_max_regs(&regs, t, c->config));
        tt__str_addf(out, "--maxrregcount=%d%c", regs, '\0');
    }
    return TT_OK;
}

tt_status tt__config_options(tt__str *out, int *n, const tt__configuration *c, const tt__problem *p) {
    *out = (tt__str){0};
    *n = 0;
    tt_status status = c->t ? add_all(out, c, p) : add_macros(out, NULL, c->config);
    if (status == TT_OK)
        status = tt__str_check(out);
    if (status != TT_OK)
        tt__str_free(out);
    for (size_t i = 0; i < out->len; i++)
        *n += out->text[i] == '\0';
    return status;
}

void tt__config_build(char out[TT__BUILD_MAX], const tt__configuration *c, const tt__problem *p) {
    char value[TT__SETTING_TEXT_MAX];
    size_t used = add_piece(out, TT__CONFIG_MAX, 0, c->config);
    for (int i = 0; i < p->n; i++) {
        bool argument = p->settings[i].type == TT__TYPE_NONE && !is_macro(c->t, &p->settings[i]);
        if (argument || (c->t && c->t->operation && c->t->operation->macros && p->settings[i].number == 1))
            continue; /* a macro of 1 is left out, so that the text stays short */
        used =
            add_word(out, TT__BUILD_MAX, used, p->settings[i].name, tt__setting_text(value, &p->settings[i]));
    }
    for (size_t i = 0; c->t && i < c->t->n_derived; i++) {
        if (!c->t->derived[i].macro)
            continue;
        tt__integer_text(value, c->derived[i]);
        used = add_word(out, TT__BUILD_MAX, used, c->t->derived[i].name, value);
    }
}
