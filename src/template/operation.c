/*
 * The built-in operations, read once from their files; problems as text; metrics.
 */
#include "template/operation.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "template/config.h"
#include "template/expr.h"
#include "template/scan.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- Built-in operations ------------------------------------------------------------------------------- */

enum { OPS_MAX = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tt__template *files[OPS_MAX];

/* The query kept by evaluate_defaults, and its operation. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static tt__query *kept;
static const tt__operation *kept_of;

void tt__operation_forget(void) {
    if (pthread_mutex_trylock(&kept_lock) != 0)
        return;
    tt__query_close(kept);
    kept = NULL;
    kept_of = NULL;
    pthread_mutex_unlock(&kept_lock);
}

/* Runs when the library is unloaded or the program ends. Other threads may still be running. */
__attribute__((destructor)) static void free_files(void) {
    size_t n = 0;
    tt__operation_forget();
    for (size_t i = 0; i < OPS_MAX; i++)
        n += files[i] != NULL;
    if (tt__templates_alive() > n)
        return;
    for (size_t i = 0; i < OPS_MAX; i++)
        tt__template_free(&files[i]);
}

/* File i, read on first use and kept, because every template borrows its operation from it. */
static tt_status file_at(tt__template **out, size_t i) {
    tt_status status = TT_OK;
    pthread_mutex_lock(&lock);
    if (!files[i])
        status = tt__template_builtin(&files[i], &tt__ops[i]);
    *out = files[i];
    pthread_mutex_unlock(&lock);
    return status;
}

/* Is there a built-in operation of that name? Only its own file is read. */
static bool known(const tt__operation **out, tt_status *status, const char *name) {
    for (size_t i = 0; i < tt__n_ops && i < OPS_MAX; i++) {
        tt__template *file;
        if (!tt__builtin_says(&tt__ops[i], "defines", name))
            continue;
        *status = file_at(&file, i);
        *out = *status == TT_OK ? file->own : NULL;
        return true;
    }
    return false;
}

tt_status tt__operation_builtin(const tt__operation **out, const char *name) {
    tt__suggest near = tt__suggest_for(name, strlen(name));
    tt__str names = {0};
    tt_status status = TT_OK;
    *out = NULL;
    if (known(out, &status, name))
        return status;
    for (size_t i = 0; i < tt__n_ops && i < OPS_MAX && status == TT_OK; i++) {
        tt__template *file;
        status = file_at(&file, i);
        for (size_t k = 0; status == TT_OK && k < file->n_defines; k++) {
            tt__suggest_try(&near, file->defines[k]);
            tt__str_addf(&names, "%s%s", names.len ? ", " : "", file->defines[k]);
        }
    }
    if (status == TT_OK)
        status = tt__fail(TT_E_INVALID, "there is no operation %s%s (there are %s)", name,
                          tt__suggest_text(&near), tt__str_text(&names));
    tt__str_free(&names);
    return status;
}

/* The operation of a problem if it is built-in, else NULL. Sets no error. */
static const tt__operation *known_operation(const tt__problem *p) {
    const tt__operation *op = NULL;
    tt_status status;
    if (!*p->text)
        known(&op, &status, p->op);
    return op;
}

bool tt__template_does(const tt__template *t, const tt__problem *p) {
    return tt__problem_is_of(p, t->op, t->own ? t->hash : "");
}

size_t tt__operation_preference(const tt__operation *op, const char *kernel) {
    const size_t n = strlen(kernel);
    for (const char *at = op->prefer.text ? op->prefer.text : "", *word = at; *at;
         word = at += strspn(at, " ")) {
        at += strcspn(at, " ");
        if ((size_t)(at - word) == n && strncmp(word, kernel, n) == 0)
            return (size_t)(word - op->prefer.text);
    }
    return SIZE_MAX;
}

/* ---- From text ----------------------------------------------------------------------------------------- */

/* The values that a text gives to variables. */
typedef struct taken {
    const tt__operation *op;
    const char *name; /* the operation's name */
    int64_t values[TT__VARIABLES_MAX];
    bool given[TT__VARIABLES_MAX], warm;
} taken;

static int shown(size_t n) {
    return n > 60 ? 60 : (int)n;
}

static tt_status find_variable(size_t *out, const taken *k, const char *at, size_t n) {
    tt__suggest near = tt__suggest_for(at, n);
    for (size_t i = 0; i < k->op->n_variables; i++) {
        const char *name = k->op->variables[i].name;
        *out = i;
        if (strlen(name) == n && memcmp(name, at, n) == 0)
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
    if (!tt__is_integer(value, n_value) || strtoll(value, NULL, 10) < 1)
        return tt__fail(TT_E_INVALID, "%s is %.*s: it must be a whole number of at least 1", v->name,
                        shown(n_value), value);
    k->values[i] = strtoll(value, NULL, 10);
    return TT_OK;
}

static tt_status take_values(taken *k, const char *text) {
    for (size_t n; *text; text += n) {
        text += strspn(text, ", \t");
        n = strcspn(text, ", \t");
        if (n == 4 && strncmp(text, "warm", n) == 0)
            k->warm = true;
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
    const tt__expr *column = &v->value;
    char text[TT__NAME_MAX];
    tt__query *q;
    bool found;
    if (v->n_types) {
        *out = v->types[0];
        return TT_OK;
    }
    if (!column->text)
        return tt__fail(TT_E_INVALID, "%s has no default: give it as in %s=4096", v->name, v->name);
    TT_TRY(tt__query_problem(&q, t, facts, &column, 1));
    tt_status status = tt__query_next(q, &found);
    tt__value value = status == TT_OK && found ? tt__query_value(q, 0) : (tt__value){TT__VALUE_NULL, 0, 0};
    tt__query_close(q);
    if (status == TT_OK && (value.kind != TT__VALUE_INT || value.i < 1))
        status =
            tt__template_fail(t->path, v->value.line, v->value.column,
                              "the default of %s `%.200s` comes to %s, expected a whole number of at least 1",
                              v->name, v->value.text, tt__value_text(text, value));
    *out = value.i;
    return status;
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
    out->unverified = !tt__operation_verifies(op);
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        if (v->n_types)
            tt__problem_set_type(out, v->name, (tt__type)k.values[i]);
        else
            tt__problem_set(out, v->name, k.values[i]);
    }
    TT_TRY(tt__operation_check(op, out));
    return find_moved(out, op);
}

tt_status tt__operation_sample(tt__problem *out, const tt__operation *op, const char *name) {
    return tt__operation_problem(out, op, name, op->samples[0].text);
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
        const tt__setting *s = tt__problem_setting(p, v->name);
        if (!s || (s->type != TT__TYPE_NONE) != (v->n_types > 0))
            return tt__fail(TT_E_INVALID, "a problem of %s without %s: the operation has changed since",
                            p->op, v->name);
        out->variables[i] = v->n_types ? (int64_t)s->type : s->number;
    }
    return TT_OK;
}

/* Evaluates columns that use no parameter. */
static tt_status evaluate(tt__value *out, const tt__operation *op, const tt__problem *p,
                          const tt__expr *const *columns, size_t n) {
    tt__facts facts;
    tt__query *q;
    bool found;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    TT_TRY(tt__query_problem(&q, op->t, &facts, columns, n));
    tt_status status = tt__query_next(q, &found);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        out[i] = tt__query_value(q, i);
    tt__query_close(q);
    return status;
}

/* Evaluates all defaults. Opening a query takes longer than a look-up in the store. The query of a built-in
 * operation is kept for the next problem. */
static tt_status evaluate_defaults(tt__value *out, const tt__operation *op, const tt__problem *p,
                                   const tt__expr *const *columns, size_t n) {
    tt__facts facts;
    bool found;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    if (known_operation(p) != op || pthread_mutex_trylock(&kept_lock) != 0)
        return evaluate(out, op, p, columns, n);
    if (kept_of != op) {
        tt__query_close(kept);
        kept = NULL;
    }
    kept_of = op;
    tt_status status =
        kept ? tt__query_again(kept, &facts) : tt__query_problem(&kept, op->t, &facts, columns, n);
    if (status == TT_OK)
        status = tt__query_next(kept, &found);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        out[i] = tt__query_value(kept, i);
    if (status != TT_OK)
        kept_of = NULL;
    pthread_mutex_unlock(&kept_lock);
    return status;
}

tt_status tt__operation_usual(bool usual[TT__VARIABLES_MAX], const tt__operation *op, const tt__problem *p) {
    const tt__expr *columns[TT__VARIABLES_MAX];
    tt__value values[TT__VARIABLES_MAX];
    size_t at[TT__VARIABLES_MAX], n = 0;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__setting *s = tt__problem_setting(p, v->name);
        usual[i] = v->n_types && s && s->type == v->types[0];
        if (v->value.text) {
            at[n] = i;
            columns[n++] = &v->value;
        }
    }
    if (n == 0)
        return TT_OK;
    TT_TRY(evaluate_defaults(values, op, p, columns, n));
    for (size_t i = 0; i < n; i++)
        usual[at[i]] = values[i].kind == TT__VALUE_INT &&
                       values[i].i == tt__problem_number(p, op->variables[at[i]].name, 0);
    return TT_OK;
}

tt_status tt__operation_check(const tt__operation *op, const tt__problem *p) {
    const tt__expr *columns[COUNT(op->requires)];
    tt__value values[COUNT(op->requires)];
    char text[TT__PROBLEM_TEXT_MAX];
    for (size_t i = 0; i < op->n_requires; i++)
    columns[i] = &op->requires[i];
    if (op->n_requires == 0)
        return TT_OK;
    TT_TRY(evaluate(values, op, p, columns, op->n_requires));
    for (size_t i = 0; i < op->n_requires; i++)
        if (values[i].kind != TT__VALUE_INT || !values[i].i)
            return tt__fail(TT_E_INVALID, "%s cannot be %s: `%.200s` must hold", p->op,
                            tt__problem_text(text, p), op->requires[i].text);
    return TT_OK;
}

tt_status tt__problem_offset(int *out, const tt__operation *op, const tt__problem *p) {
    *out = 0;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__expr *column = &op->variables[i].value;
        tt__value usual;
        int align = tt__problem_align(p);
        if (strcmp(op->variables[i].name, "align") != 0 || align >= 16 || !column->text)
            continue;
        TT_TRY(evaluate(&usual, op, p, &column, 1));
        *out = usual.kind == TT__VALUE_INT && align < usual.i ? align : 0;
    }
    return TT_OK;
}

/* ---- To text ------------------------------------------------------------------------------------------- */

static bool in_shape(const tt__operation *op, size_t variable) {
    for (size_t i = 0; i < op->n_shape; i++)
        if ((size_t)op->shape[i] == variable)
            return true;
    return false;
}

/* Appends the shape, and the variables that differ from their defaults. */
static void add_shape(tt__str *out, const tt__operation *op, const tt__problem *p) {
    bool usual[TT__VARIABLES_MAX];
    char value[TT__SETTING_TEXT_MAX];
    for (size_t i = 0; i < op->n_shape; i++)
        tt__str_addf(out, "%s%lld", i ? "x" : "",
                     (long long)tt__problem_number(p, op->variables[op->shape[i]].name, 0));
    if (tt__operation_usual(usual, op, p) != TT_OK)
        return;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__setting *s = tt__problem_setting(p, op->variables[i].name);
        if (s && !usual[i] && !in_shape(op, i))
            tt__str_addf(out, ", %s=%s", s->name, tt__setting_text(value, s));
    }
}

tt_status tt__problem_add_unusual(tt__str *out, const tt__operation *op, const tt__problem *p) {
    bool usual[TT__VARIABLES_MAX];
    char value[TT__SETTING_TEXT_MAX];
    const char *between = "";
    TT_TRY(tt__operation_usual(usual, op, p));
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__setting *s = tt__problem_setting(p, op->variables[i].name);
        if (!s || usual[i])
            continue;
        tt__str_addf(out, "%s%s=%s", between, s->name, tt__setting_text(value, s));
        between = ",";
    }
    tt__str_addf(out, "%s", p->warm ? *between ? ",warm" : "warm" : "");
    return TT_OK;
}

char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p) {
    const tt__operation *op = known_operation(p);
    tt__str text = {0};
    if (op && op->n_shape)
        add_shape(&text, op, p);
    else
        tt__problem_add_settings(&text, p, ", ");
    tt__copy(out, TT__PROBLEM_TEXT_MAX, text.len ? text.text : "-");
    if (text.len >= TT__PROBLEM_TEXT_MAX)
        tt__copy(out + TT__PROBLEM_TEXT_MAX - 4, 4, "...");
    tt__str_free(&text);
    return out;
}

/* ---- Distance ------------------------------------------------------------------------------------------ */

/* The setting of variable i. It is at place i unless the operation has changed. */
static const tt__setting *setting_of(const tt__problem *p, size_t i, const char *name) {
    bool there = i < (size_t)p->n && strcmp(p->settings[i].name, name) == 0;
    return there ? &p->settings[i] : tt__problem_setting(p, name);
}

static double doublings(int64_t a, int64_t b) {
    return a == b ? 0 : fabs(log2((double)a / (double)b));
}

double tt__operation_distance(const tt__operation *op, const tt__problem *asked, const tt__problem *other,
                              bool *same) {
    double far = 0;
    *same = true;
    if (other->unverified && !asked->unverified)
        return INFINITY;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__setting *a = setting_of(asked, i, v->name), *b = setting_of(other, i, v->name);
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
    const tt__expr *column = &op->metrics[metric].value;
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__facts facts;
    tt__query *q;
    bool found;
    *out = 0;
    TT_TRY(tt__config_parse(choice, op->t, op->t != t ? "" : config ? config : t->default_config));
    TT_TRY(tt__facts_of(&facts, op, gpu, p));
    facts.time_ns = time_us * 1e3;
    TT_TRY(tt__query_open(&q, op->t, &facts, choice, &column, 1));
    tt_status status = tt__query_next(q, &found);
    if (status == TT_OK && found) {
        tt__value v = tt__query_value(q, 0);
        *out = v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL ? v.f : 0;
    }
    tt__query_close(q);
    return status;
}

bool tt__problem_copy(tt__problem *out, const tt__problem *p) {
    static const double most = 0x1p42; /* far more than any memory */
    double bytes = floor(p->moved_bytes / 2 + 0.5);
    bool known = bytes >= 1 && bytes < most;
    *out = (tt__problem){.op = "copy", .warm = p->warm, .moved_bytes = 2 * bytes};
    tt__problem_set(out, "bytes", known ? (int64_t)bytes : 1);
    return known;
}
