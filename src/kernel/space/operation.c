/*
 * The problems of an operation: from text and to text, and their values, distances and metrics.
 */
#include "kernel/space/operation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kernel/space/config.h"

bool tt__template_does(const tt__template *t, const tt__problem *p) {
    return tt__problem_is_of(p, t->op, t->own ? t->operation->t->hash : "");
}

bool tt__operation_prefers(char out[TT__NAME_MAX], const tt__operation *op, const char **at) {
    size_t n = 0;
    *at = *at ? *at : op->prefer.text ? op->prefer.text : "";
    for (; **at && **at != ' '; ++*at)
        if (n < TT__NAME_MAX - 1)
            out[n++] = **at;
    out[n] = '\0';
    while (**at == ' ')
        ++*at;
    return n > 0;
}

/* ---- Facts --------------------------------------------------------------------------------------------- */

tt_status tt__facts_of(tt__facts *out, const tt__operation *op, const tt__gpu *gpu, const tt__problem *p) {
    static const tt__gpu no_gpu;
    gpu = gpu ? gpu : &no_gpu;
    *out = (tt__facts){.operation = op,
                       .values = {[TT__FACT_ELEM_SIZE] = tt__problem_elem_size(p),
                                  [TT__FACT_ALIGN] = tt__problem_align(p),
                                  [TT__FACT_MAX_THREADS] = gpu->max_threads_per_block,
                                  [TT__FACT_SHARED] = gpu->shared_per_block,
                                  [TT__FACT_SM_COUNT] = gpu->sm_count,
                                  [TT__FACT_CC] = gpu->cc,
                                  [TT__FACT_L2_BYTES] = gpu->l2_bytes},
                       .time_ns = 1000};
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__setting *s = tt__problem_setting_at(p, i, v->name);
        if (!s || (s->type != TT__TYPE_NONE) != (v->n_types > 0))
            return tt__fail(TT_E_INVALID, "a problem of %s without %s: the operation has changed since",
                            p->op, v->name);
        out->variables[i] = v->n_types ? (int64_t)s->type : s->number;
    }
    return TT_OK;
}

static void find_usual(bool usual[TT__VARIABLES_MAX], const tt__facts *facts) {
    const tt__operation *op = facts->operation;
    tt__inputs in;
    tt__inputs_start(&in, op->t, facts, NULL);
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__value value = tt__expr_value(&in, &v->value);
        usual[i] = v->n_types ? facts->variables[i] == (int64_t)v->types[0]
                              : value.kind == TT__VALUE_INT && value.i == facts->variables[i];
    }
}

tt_status tt__operation_usual(bool usual[TT__VARIABLES_MAX], const tt__operation *op, const tt__problem *p) {
    tt__facts facts;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    find_usual(usual, &facts);
    return TT_OK;
}

int tt__facts_offset(const tt__facts *facts) {
    const tt__operation *op = facts->operation;
    const int align = (int)facts->values[TT__FACT_ALIGN];
    const tt__variable *v = align < 16 ? tt__operation_variable(op, "align", strlen("align")) : NULL;
    tt__inputs in;
    if (!v || !v->value.text)
        return 0;
    tt__inputs_start(&in, op->t, facts, NULL);
    const tt__value usual = tt__expr_value(&in, &v->value);
    return usual.kind == TT__VALUE_INT && align < usual.i ? align : 0;
}

/* ---- Distance ------------------------------------------------------------------------------------------ */

static double doublings(int64_t a, int64_t b) {
    return a == b ? 0 : fabs(tt__number_log(a) - tt__number_log(b));
}

double tt__operation_distance(const tt__operation *op, const tt__problem *asked, const tt__problem *other,
                              bool *same) {
    double far = 0;
    *same = true;
    if (other->unverified && !asked->unverified)
        return INFINITY;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__setting *a = tt__problem_setting_at(asked, i, v->name),
                          *b = tt__problem_setting_at(other, i, v->name);
        if (!a || !b)
            return INFINITY;
        double apart = v->n_types ? a->type != b->type : doublings(a->number, b->number);
        *same &= !v->same || apart == 0;
        far += v->weight * apart;
    }
    return far;
}

/* ---- Metrics ------------------------------------------------------------------------------------------- */

bool tt__operation_verifies(const tt__operation *op) {
    bool expects = false;
    for (size_t i = 0; i < op->n_operands; i++)
        expects |= op->operands[i].expect[0] != '\0';
    return op->asides[TT__REFERENCE].n || op->asides[TT__VERIFY].n || expects;
}

int tt__metric_named(const tt__operation *op, const char *name) {
    for (size_t i = 0; i < op->n_metrics; i++)
        if (strcmp(op->metrics[i].name, name) == 0)
            return (int)i;
    return -1;
}

tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us) {
    const tt__operation *op = t->operation;
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__facts facts;
    tt__inputs in;
    *out = 0;
    TT_TRY(tt__config_parse(choice, op->t, config && op->t == t ? config : op->t->default_config));
    TT_TRY(tt__facts_of(&facts, op, gpu, p));
    facts.time_ns = time_us * 1e3;
    tt__inputs_start(&in, op->t, &facts, choice);
    *out = tt__value_number(tt__expr_value(&in, &op->metrics[metric].value));
    return TT_OK;
}

bool tt__problem_copy(tt__problem *out, const tt__problem *p) {
    static const double most = 0x1p42; /* far more than any memory */
    double bytes = floor(p->moved_bytes / 2 + 0.5);
    bool known = bytes >= 1 && bytes < most;
    *out = (tt__problem){.op = "copy", .warm = p->warm, .in_graph = p->in_graph, .moved_bytes = 2 * bytes};
    tt__problem_set(out, "bytes", known ? (int64_t)bytes : 1);
    return known;
}

enum { PERMUTE_NAME = 16 }; /* bytes of a name */

/* Names are not compared. */
static void add_setting(tt__problem *p, const char name[static PERMUTE_NAME], int64_t number) {
    tt__setting *s = &p->settings[p->n++];
    memcpy(s->name, name, PERMUTE_NAME);
    s->number = number;
}

void tt__problem_permute(tt__problem *out, int n, const int64_t *dims, const int64_t *strides, int elem_size,
                         int align) {
    static const char names[2][TT__PERMUTE_DIMS][PERMUTE_NAME] = {
        {"dim0", "dim1", "dim2", "dim3", "dim4", "dim5", "dim6", "dim7", "dim8", "dim9", "dim10", "dim11",
         "dim12", "dim13", "dim14", "dim15"},
        {"stride0", "stride1", "stride2", "stride3", "stride4", "stride5", "stride6", "stride7", "stride8",
         "stride9", "stride10", "stride11", "stride12", "stride13", "stride14", "stride15"}};
    static const char elem_size_name[PERMUTE_NAME] = "elem_size", align_name[PERMUTE_NAME] = "align";
    double bytes = elem_size;
    tt__copy(out->op, sizeof out->op, "permute");
    for (int i = 0; i < TT__PERMUTE_DIMS; i++) {
        add_setting(out, names[0][i], i < n ? dims[i] : 1);
        bytes *= i < n ? (double)dims[i] : 1;
    }
    for (int i = 0; i < TT__PERMUTE_DIMS; i++)
        add_setting(out, names[1][i], i < n ? strides[i] : 1);
    add_setting(out, elem_size_name, elem_size);
    add_setting(out, align_name, align);
    out->moved_bytes = 2 * bytes;
}

bool tt__problem_as_permute(tt__problem *out, const tt__problem *p) {
    if (!tt__problem_is_of(p, "transpose", ""))
        return false;
    const int64_t rows = tt__problem_number(p, "rows", 1), cols = tt__problem_number(p, "cols", 1),
                  batch = tt__problem_number(p, "batch", 1);
    const int64_t dims[] = {rows, cols, batch};
    const int64_t strides[] = {tt__problem_number(p, "lds", cols), 1, tt__problem_number(p, "src_stride", 1)};
    if (tt__problem_number(p, "ldd", rows) != rows ||
        (batch > 1 && tt__problem_number(p, "dst_stride", rows * cols) != rows * cols))
        return false;
    *out = (tt__problem){.warm = p->warm, .in_graph = p->in_graph};
    tt__problem_permute(out, batch > 1 ? 3 : 2, dims, strides, tt__problem_elem_size(p),
                        tt__problem_align(p));
    return true;
}

/* ---- From text ----------------------------------------------------------------------------------------- */

/* The values that a text gives to variables. */
typedef struct taken {
    const tt__operation *op;
    const char *name; /* the operation's name */
    int64_t values[TT__VARIABLES_MAX];
    bool given[TT__VARIABLES_MAX], warm, in_graph;
} taken;

static int shown(size_t n) {
    return n > 60 ? 60 : (int)n;
}

static tt_status find_variable(size_t *out, const taken *k, const char *at, size_t n) {
    tt__suggest near = tt__suggest_for(at, n);
    for (size_t i = 0; i < k->op->n_variables; i++) {
        const char *name = k->op->variables[i].name;
        *out = i;
        if (tt__word_is(at, n, name))
            return k->given[i] ? tt__fail(TT_E_INVALID, "%s is given twice", name) : TT_OK;
        tt__suggest_try(&near, name);
    }
    tt__str known = {0};
    tt__str_addf(&known, "%s", tt__suggest_text(&near));
    for (size_t i = 0; !near.best && i < k->op->n_variables; i++)
        tt__str_addf(&known, "%s %s", i ? "," : "; it has", k->op->variables[i].name);
    tt__fail(TT_E_INVALID, "%s has no variable %.*s%s", k->name, shown(n), at, tt__str_text(&known));
    tt__str_free(&known);
    return TT_E_INVALID;
}

static tt_status take_type(int64_t *out, const tt__variable *v, const char *value, size_t n) {
    tt__type type = tt__type_named(value, n);
    for (size_t k = 0; k < v->n_types; k++)
        if (v->types[k] == type) {
            *out = type;
            return TT_OK;
        }
    tt__str list = {0};
    for (size_t k = 0; k < v->n_types; k++)
        tt__str_addf(&list, " %s", tt__types[v->types[k]].name);
    tt__fail(TT_E_INVALID, "%.*s is no value of %s, expected one of%s", shown(n), value, v->name,
             tt__str_text(&list));
    tt__str_free(&list);
    return TT_E_INVALID;
}

/* Reads one NAME=VALUE of a problem's text. */
static tt_status take_value(taken *k, const char *at, size_t n) {
    const char *sign = memchr(at, '=', n);
    size_t i = 0;
    if (!sign || sign == at || sign + 1 == at + n)
        return tt__fail(TT_E_INVALID, "found '%.*s' in a problem of %s, expected NAME=VALUE", shown(n), at,
                        k->name);
    TT_TRY(find_variable(&i, k, at, (size_t)(sign - at)));
    const tt__variable *v = &k->op->variables[i];
    const char *value = sign + 1;
    size_t n_value = n - (size_t)(value - at);
    k->given[i] = true;
    if (v->n_types)
        return take_type(&k->values[i], v, value, n_value);
    if (!tt__is_integer(value, n_value) || strtoll(value, NULL, 10) < v->least)
        return tt__fail(TT_E_INVALID, "%s is %.*s: it must be a whole number of at least %d%s", v->name,
                        shown(n_value), value, v->least,
                        n_value > 18 ? " and at most 9223372036854775807" : "");
    k->values[i] = strtoll(value, NULL, 10);
    return TT_OK;
}

static tt_status take_values(taken *k, const char *text) {
    for (size_t n; *text; text += n) {
        text += strspn(text, ", \t");
        n = strcspn(text, ", \t");
        if (tt__word_is(text, n, "warm"))
            k->warm = true;
        else if (tt__word_is(text, n, "in_graph"))
            k->in_graph = true;
        else if (n &&
                 !(n == 1 && *text == '-')) /* tt__problem_text writes "-" for a problem without variables */
            TT_TRY(take_value(k, text, n));
    }
    return TT_OK;
}

/* The default of a variable, which may use the variables before it. */
static tt_status default_value(int64_t *out, const tt__operation *op, const tt__facts *facts,
                               const tt__variable *v) {
    const tt__template *t = op->t;
    char text[TT__NAME_MAX];
    tt__inputs in;
    if (v->n_types) {
        *out = v->types[0];
        return TT_OK;
    }
    if (!v->value.text)
        return tt__fail(TT_E_INVALID, "%s has no default: give it as in %s=4096", v->name, v->name);
    tt__inputs_start(&in, t, facts, NULL);
    const tt__value value = tt__expr_value(&in, &v->value);
    if (value.kind != TT__VALUE_INT || value.i < v->least)
        return tt__template_fail(
            t->path, v->value.line, v->value.column,
            "the default of %s `%.200s` comes to %s, expected a whole number of at least %d", v->name,
            v->value.text, tt__value_text(text, value), v->least);
    *out = value.i;
    return TT_OK;
}

/* Fills in defaults. They depend on earlier variables, and not on the device. */
static tt_status fill_in(taken *k) {
    tt__facts facts = {.operation = k->op};
    facts.values[TT__FACT_ELEM_SIZE] = 4;
    facts.values[TT__FACT_ALIGN] = 16;
    memcpy(facts.variables, k->values, sizeof facts.variables);
    for (size_t i = 0; i < k->op->n_variables; i++) {
        const tt__variable *v = &k->op->variables[i];
        if (!k->given[i])
            TT_TRY(default_value(&facts.variables[i], k->op, &facts, v));
        if (v->n_types)
            facts.values[TT__FACT_ELEM_SIZE] = tt__types[facts.variables[i]].size;
    }
    memcpy(k->values, facts.variables, sizeof facts.variables);
    return TT_OK;
}

/* 1 GB/s over 1 us is 1000 bytes. */
static tt_status find_moved(tt__problem *p, const tt__operation *op) {
    int gbps = tt__metric_named(op, "gbps");
    double rate = 0;
    if (gbps >= 0)
        TT_TRY(tt__metric_value(&rate, op->t, (size_t)gbps, NULL, p, NULL, 1));
    p->moved_bytes = rate > 0 && rate < 0x1p50 ? floor(rate * 1e3 + 0.5) : 0;
    return TT_OK;
}

static tt_status check(const tt__operation *op, const tt__problem *p) {
    char text[TT__PROBLEM_TEXT_MAX];
    tt__facts facts;
    tt__inputs in;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    tt__inputs_start(&in, op->t, &facts, NULL);
    for (size_t i = 0; i < op->n_requires; i++)
        if (!tt__value_holds(tt__expr_value(&in, &op->requires[i])))
            return tt__fail(TT_E_INVALID, "%s cannot be %s: `%.200s` must hold", p->op,
                            tt__problem_words(text, op, p), op->requires[i].text);
    return TT_OK;
}

tt_status tt__operation_problem(tt__problem *out, const tt__operation *op, const char *name,
                                const char *text) {
    taken k = {.op = op, .name = name};
    *out = (tt__problem){0};
    TT_TRY(take_values(&k, text ? text : ""));
    TT_TRY(fill_in(&k));
    tt__copy(out->op, sizeof out->op, name);
    if (!op->t->n_defines)
        tt__copy(out->text, sizeof out->text, op->t->hash);
    out->warm = k.warm;
    out->in_graph = k.in_graph;
    out->unverified = !tt__operation_verifies(op);
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        if (v->n_types)
            tt__problem_set_type(out, v->name, (tt__type)k.values[i]);
        else
            tt__problem_set(out, v->name, k.values[i]);
    }
    TT_TRY(check(op, out));
    return find_moved(out, op);
}

tt_status tt__operation_sample(tt__problem *out, const tt__operation *op, const char *name) {
    return tt__operation_problem(out, op, name, op->samples[0].text);
}

/* ---- To text ------------------------------------------------------------------------------------------- */

static bool in_shape(const tt__operation *op, size_t variable) {
    for (size_t i = 0; i < op->n_shape; i++)
        if ((size_t)op->shape[i] == variable)
            return true;
    return false;
}

/* Appends the variables that differ from their defaults. `shape`: those of the shape stand there already.
 * Each is appended at once, since a look-up waits for it. */
static void add_unusual(tt__str *out, const tt__facts *facts, bool shape) {
    const tt__operation *op = facts->operation;
    bool usual[TT__VARIABLES_MAX];
    char text[TT__NAME_MAX + TT__INTEGER_TEXT_MAX + 4];
    const char *before = shape ? ", " : "";
    find_usual(usual, facts);
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        if (usual[i] || (shape && in_shape(op, i)))
            continue;
        char *at = stpcpy(stpcpy(stpcpy(text, before), v->name), "=");
        if (v->n_types)
            at = stpcpy(at, tt__types[facts->variables[i]].name);
        else
            at += tt__integer_text(at, facts->variables[i]);
        tt__str_addn(out, text, (size_t)(at - text));
        before = shape ? ", " : ",";
    }
}

void tt__facts_add_unusual(tt__str *out, const tt__facts *facts, const tt__problem *p) {
    const size_t start = out->len;
    add_unusual(out, facts, false);
    if (p->warm)
        tt__str_add(out, out->len > start ? ",warm" : "warm");
    if (p->in_graph)
        tt__str_add(out, out->len > start ? ",in_graph" : "in_graph");
}

tt_status tt__problem_add_unusual(tt__str *out, const tt__operation *op, const tt__problem *p) {
    tt__facts facts;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    tt__facts_add_unusual(out, &facts, p);
    return TT_OK;
}

char *tt__problem_words(char out[TT__PROBLEM_TEXT_MAX], const tt__operation *op, const tt__problem *p) {
    tt__str text = {0};
    tt__facts facts;
    for (size_t i = 0; op && i < op->n_shape; i++)
        tt__str_addf(&text, "%s%lld", i ? "x" : "",
                     (long long)tt__problem_number(p, op->variables[op->shape[i]].name, 0));
    if (op && op->n_shape && tt__facts_of(&facts, op, NULL, p) == TT_OK)
        add_unusual(&text, &facts, true);
    else if (!op || !op->n_shape)
        tt__problem_add_settings(&text, p, ", ");
    tt__copy_short(out, TT__PROBLEM_TEXT_MAX, text.len ? text.text : "-");
    tt__str_free(&text);
    return out;
}

const char *tt__operand_text(char out[static TT__OPERAND_TEXT_MAX], const tt__operation *op, size_t k) {
    char lanes[16] = "";
    if (k >= op->n_operands)
        return NULL;
    const tt__operand *o = &op->operands[k];
    if (o->lanes > 1)
        snprintf(lanes, sizeof lanes, "x%d", o->lanes);
    snprintf(out, TT__OPERAND_TEXT_MAX, "%s %s%s %s", o->name,
             o->variable >= 0 ? op->variables[o->variable].name : tt__types[o->type].name, lanes,
             tt__directions[o->scalar ? TT__SCALAR : o->direction]);
    return out;
}
