/* The built-in ops' tasks, read once from their files; problems as text; workloads. */
#include "template/task.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "template/config.h"
#include "template/expr.h"
#include "template/scan.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- Built-in ops -------------------------------------------------------------------------------------- */

enum { OPS_MAX = 8 };

/* Read on first use and kept: they are few, and tasks are borrowed by every template. */
static tt_status find_op(const tt__template **out, const char *op) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static tt__template *ops[OPS_MAX];
    tt_status status = TT_OK;
    size_t length = strlen(op);
    *out = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < tt__n_ops && i < OPS_MAX && status == TT_OK && !*out; i++) {
        if (!ops[i])
            status = tt__template_builtin(&ops[i], &tt__ops[i]);
        for (const char *name = ops[i] ? ops[i]->defines : ""; *name; name += strspn(name, " ")) {
            size_t n = strcspn(name, " ");
            if (n == length && memcmp(name, op, n) == 0)
                *out = ops[i];
            name += n;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static tt_status unknown_op(const char *op) {
    static const char *const names[] = {"transpose", "transpose_in_place", "copy", "transpose_ladder"};
    tt__suggest near = tt__suggest_for(op, strlen(op));
    for (size_t i = 0; i < COUNT(names); i++)
        tt__suggest_try(&near, names[i]);
    const char *suggestion = tt__suggest_text(&near);
    return tt__fail(TT_E_INVALID, "there is no op %s%s", op,
                    *suggestion
                        ? suggestion
                        : ": it is transpose, transpose_in_place or copy; or leave it out and say with "
                          "`problem` and `buffer` what the kernel works on");
}

tt_status tt__op_task(const tt__task **out, const char *op) {
    const tt__template *t;
    *out = NULL;
    TT_TRY(find_op(&t, op));
    if (!t)
        return unknown_op(op);
    *out = t->own;
    return TT_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

static int64_t matrix_value(const tt__problem *p, const char *name) {
    const struct {
        const char *name;
        int64_t value;
    } values[] = {{"rows", p->rows},
                  {"cols", p->cols},
                  {"lds", p->lds},
                  {"ldd", p->ldd},
                  {"batch", p->batch},
                  {"src_stride", p->src_stride},
                  {"dst_stride", p->dst_stride}};
    for (size_t i = 0; i < COUNT(values); i++)
        if (strcmp(values[i].name, name) == 0)
            return values[i].value;
    return 0;
}

/* One NAME=VALUE of a problem's text. */
static tt_status take_value(int64_t *values, bool *given, const tt__template *t, const char *at, size_t n) {
    const tt__task *task = t->task;
    const char *sign = memchr(at, '=', n);
    size_t split = sign ? (size_t)(sign - at) : n, i = 0;
    int shown = n > 60 ? 60 : (int)n;
    if (split == n)
        return tt__fail(TT_E_INVALID, "found '%.*s' in a problem of %s, expected NAME=VALUE", shown, at,
                        t->kernel);
    tt__suggest near = tt__suggest_for(at, split);
    for (; i < task->n_variables; i++) {
        if (strlen(task->variables[i].name) == split && memcmp(task->variables[i].name, at, split) == 0)
            break;
        tt__suggest_try(&near, task->variables[i].name);
    }
    if (i == task->n_variables)
        return tt__fail(TT_E_INVALID, "%s has no variable %.*s%s", t->kernel, (int)(split > 60 ? 60 : split),
                        at, tt__suggest_text(&near));
    const tt__variable *v = &task->variables[i];
    if (given[i])
        return tt__fail(TT_E_INVALID, "%s is given twice", v->name);
    given[i] = true;
    const char *value = at + split + 1;
    size_t n_value = n - split - 1;
    tt__type type = tt__type_named(value, n_value);
    for (size_t k = 0; k < v->n_types; k++)
        if (v->types[k] == type) {
            values[i] = type;
            return TT_OK;
        }
    if (v->n_types) {
        tt__str list = {0};
        for (size_t k = 0; k < v->n_types; k++)
            tt__str_addf(&list, " %s", tt__types[v->types[k]].name);
        tt__fail(TT_E_INVALID, "%.*s is no value of %s, expected one of%s",
                 (int)(n_value > 60 ? 60 : n_value), value, v->name, tt__str_text(&list));
        tt__str_free(&list);
        return TT_E_INVALID;
    }
    if (!tt__is_integer(value, n_value) || strtoll(value, NULL, 10) < 1)
        return tt__fail(TT_E_INVALID, "%s is %.*s: it must be a whole number of at least 1", v->name,
                        (int)(n_value > 60 ? 60 : n_value), value);
    values[i] = strtoll(value, NULL, 10);
    return TT_OK;
}

static tt_status take_values(int64_t *values, bool *given, bool *warm, const tt__template *t,
                             const char *text, size_t length) {
    if (memchr(text, '/', length))
        return tt__fail(TT_E_INVALID, "found '/' in the problem %.*s, expected NAME=VALUE,NAME=VALUE",
                        (int)length, text);
    for (size_t at = 0, n; at < length; at += n) {
        at += strspn(text + at, ", \t");
        n = strcspn(text + at, ", \t");
        n = at + n > length ? length - at : n;
        if (n == 4 && strncmp(text + at, "warm", n) == 0)
            *warm = true;
        else if (n == 1 && text[at] == '-') /* how tt__problem_text says that there are none */
            continue;
        else if (n)
            TT_TRY(take_value(values, given, t, text + at, n));
        else
            break;
    }
    return TT_OK;
}

static void device_facts(tt__facts *out, const tt__gpu *gpu) {
    out->values[TT__FACT_MAX_THREADS] = gpu->max_threads_per_block;
    out->values[TT__FACT_SHARED] = gpu->shared_per_block;
    out->values[TT__FACT_SM_COUNT] = gpu->sm_count;
    out->values[TT__FACT_CC] = gpu->cc;
    out->values[TT__FACT_L2_BYTES] = gpu->l2_bytes;
}

tt_status tt__facts_of(tt__facts *out, const tt__task *task, const tt__gpu *gpu, const tt__problem *p) {
    size_t n;
    const char *text = tt__variables(p, &n);
    *out = (tt__facts){.task = task, .time_ns = 1000};
    device_facts(out, gpu);
    out->values[TT__FACT_ELEM_SIZE] = p->elem_size;
    out->values[TT__FACT_ALIGN] = p->align;
    if (text) {
        bool given[TT__VARIABLES_MAX] = {false}, warm;
        TT_TRY(take_values(out->variables, given, &warm, task->t, text, n));
        for (size_t i = 0; i < task->n_variables; i++)
            if (!given[i])
                return tt__fail(TT_E_INVALID, "a problem of %s without %s: the file has changed since",
                                task->t->kernel, task->variables[i].name);
        return TT_OK;
    }
    for (size_t i = 0; i < task->n_variables; i++)
        out->variables[i] = matrix_value(p, task->variables[i].name);
    return TT_OK;
}

/* The default of a variable, by those before it. */
static tt_status default_value(int64_t *out, const tt__template *t, const tt__facts *facts,
                               const tt__variable *v) {
    const tt__expr *column = &v->value;
    char text[TT__NAME_MAX];
    tt__query *q;
    bool found;
    if (v->n_types) {
        *out = v->types[0];
        return TT_OK;
    }
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

tt_status tt__task_problem(tt__problem *out, const tt__template *t, const char *text) {
    static const tt__gpu no_gpu;
    const tt__task *task = t->own;
    tt__facts facts = {.task = task};
    bool given[TT__VARIABLES_MAX] = {false};
    tt__str op = {0};
    *out =
        (tt__problem){.rows = 1, .cols = 1, .lds = 1, .ldd = 1, .batch = 1, .src_stride = 1, .dst_stride = 1};
    out->elem_size = 4;
    out->align = 16;
    device_facts(&facts, &no_gpu);
    facts.values[TT__FACT_ELEM_SIZE] = 4;
    facts.values[TT__FACT_ALIGN] = 16;
    bool warm = false;
    if (text)
        TT_TRY(take_values(facts.variables, given, &warm, t, text, strlen(text)));
    tt__str_addf(&op, "%s/", t->op);
    tt_status status = TT_OK;
    for (size_t i = 0; i < task->n_variables && status == TT_OK; i++) {
        const tt__variable *v = &task->variables[i];
        if (!given[i])
            status = default_value(&facts.variables[i], t, &facts, v);
        if (v->n_types) {
            tt__str_addf(&op, "%s%s=%s", i ? "," : "", v->name, tt__types[facts.variables[i]].name);
            facts.values[TT__FACT_ELEM_SIZE] = out->elem_size = tt__types[facts.variables[i]].size;
        } else {
            tt__str_addf(&op, "%s%s=%lld", i ? "," : "", v->name, (long long)facts.variables[i]);
        }
    }
    tt__str_addf(&op, "%s%s", tt__task_verifies(task) ? "" : TT__UNVERIFIED, warm ? TT__WARM : "");
    if (status == TT_OK)
        status = tt__str_check(&op);
    if (status == TT_OK && op.len >= sizeof out->op)
        status = tt__fail(TT_E_INVALID, "the problem's text is %zu characters long, the limit is %zu", op.len,
                          sizeof out->op - 1);
    if (status == TT_OK)
        tt__copy(out->op, sizeof out->op, tt__str_text(&op));
    tt__str_free(&op);
    return status;
}

bool tt__task_verifies(const tt__task *task) {
    bool expects = false;
    for (size_t i = 0; i < task->n_operands; i++)
        expects |= task->operands[i].expect[0] != '\0';
    return task->has_reference || expects;
}

/* ---- Workloads ----------------------------------------------------------------------------------------- */

/* The path of a file that lies beside the template. */
static tt_status beside(char out[TT__PATH_MAX], const tt__template *t, const char *name) {
    const char *slash = strrchr(t->path, '/');
    int n = *name
                ? snprintf(out, TT__PATH_MAX, "%.*s%s", slash ? (int)(slash - t->path + 1) : 0, t->path, name)
                : 0;
    return n < TT__PATH_MAX ? TT_OK : tt__fail(TT_E_INVALID, "%s: the path of %s is too long", t->path, name);
}

static const int64_t bytes_max = INT64_C(1) << 48;

static tt_status set_array(tt__array *a, const tt__task *task, const tt__facts *facts, size_t i,
                           tt__value count) {
    const tt__operand *o = &task->operands[i];
    const int elem_size = (int)facts->values[TT__FACT_ELEM_SIZE];
    char text[TT__NAME_MAX];
    tt__copy(a->name, sizeof a->name, o->name);
    a->direction = o->scalar ? TT__SCALAR : o->direction;
    a->type = o->variable < 0 ? o->type : (tt__type)facts->variables[o->variable];
    a->elem_size = tt__type_size(a->type, elem_size);
    a->init = !o->usual_init ? o->init : tt__types[a->type].floating ? TT__INIT_UNIFORM : TT__INIT_RANDOM;
    a->low = o->low;
    a->high = o->high;
    a->from = o->from;
    TT_TRY(beside(a->file, task->t, o->file));
    TT_TRY(beside(a->expect, task->t, o->expect));
    if (o->scalar)
        return TT_OK;
    if (count.kind != TT__VALUE_INT || count.i < 1 || count.i > bytes_max / a->elem_size)
        return tt__template_fail(
            task->t->path, o->count.line, o->count.column,
            "the length of %s `%.200s` comes to %s, expected a whole number of 1 to 2^48 / %d", o->name,
            o->count.text, tt__value_text(text, count), a->elem_size);
    a->count = count.i;
    return TT_OK;
}

static tt_status set_arrays(tt__workload *w, const tt__task *task, const tt__facts *facts) {
    const tt__expr *columns[TT__OPERANDS_MAX];
    size_t n = 0, at = 0;
    tt__query *q = NULL;
    bool found = false;
    tt_status status = TT_OK;
    for (size_t i = 0; i < task->n_operands; i++)
        if (!task->operands[i].scalar)
            columns[n++] = &task->operands[i].count;
    TT_TRY(tt__query_problem(&q, task->t, facts, columns, n));
    TT_GOTO(tt__query_next(q, &found));
    for (size_t i = 0; i < task->n_operands; i++) {
        tt__value count = {TT__VALUE_NULL, 0, 0};
        if (found && !task->operands[i].scalar)
            count = tt__query_value(q, at++);
        TT_GOTO(set_array(&w->arrays[i], task, facts, i, count));
        const tt__operand *o = &task->operands[i];
        const tt__array *a = &w->arrays[i], *from = &w->arrays[o->from];
        if (!o->scalar && o->init == TT__INIT_COPY && tt__array_bytes(from) < tt__array_bytes(a))
            TT_GOTO(tt__template_fail(task->t->path, o->count.line, o->count.column,
                                      "%s is to hold what %s does, but that has %lld bytes, and %s has %lld",
                                      a->name, from->name, (long long)tt__array_bytes(from), a->name,
                                      (long long)tt__array_bytes(a)));
    }
out:
    tt__query_close(q);
    return status;
}

tt_status tt__workload_of(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                          const tt__problem *p) {
    const tt__task *task = t->task;
    tt__facts facts;
    *out = (tt__workload){.n = (int)task->n_operands,
                          .align = p->align,
                          .offset = tt__base_offset(p),
                          .warm = tt__warm(p),
                          .has_reference = task->has_reference,
                          .reference = task->reference,
                          .abs_tolerance = task->abs_tolerance,
                          .rel_tolerance = task->rel_tolerance};
    TT_TRY(tt__facts_of(&facts, task, gpu, p));
    TT_TRY(set_arrays(out, task, &facts));
    if (!tt__is_matrix(p) || tt__in_place(p)) {
        tt__problem copy;
        double part;
        bool has;
        TT_TRY(tt__task_copy(&copy, &part, &has, t, gpu, p));
        out->copy_bytes = has ? tt__src_bytes(&copy) : 0;
    }
    if (task->has_reference) {
        tt__candidate c;
        TT_TRY(tt__space_reference(&c, task, gpu, p));
        out->launch = c.launch;
    }
    return TT_OK;
}

/* ---- Metrics ------------------------------------------------------------------------------------------- */

int tt__metric_named(const tt__task *task, const char *name) {
    for (size_t i = 0; i < task->n_metrics; i++)
        if (strcmp(task->metrics[i].name, name) == 0)
            return (int)i;
    return -1;
}

tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us) {
    const tt__task *task = t->task;
    const tt__expr *column = &task->metrics[metric].value;
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__facts facts;
    tt__query *q;
    bool found;
    *out = 0;
    TT_TRY(tt__config_parse(choice, task->t, task->t != t ? "" : config ? config : t->default_config));
    TT_TRY(tt__facts_of(&facts, task, gpu, p));
    facts.time_ns = time_us * 1e3;
    TT_TRY(tt__query_open(&q, task->t, &facts, choice, &column, 1));
    tt_status status = tt__query_next(q, &found);
    if (status == TT_OK && found) {
        tt__value v = tt__query_value(q, 0);
        *out = v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL ? v.f : 0;
    }
    tt__query_close(q);
    return status;
}

tt_status tt__task_copy(tt__problem *out, double *part, bool *has, const tt__template *t, const tt__gpu *gpu,
                        const tt__problem *p) {
    enum { ROW = 4096, WORD = 4 };
    int gbps = tt__is_matrix(p) ? -1 : tt__metric_named(t->task, "gbps");
    double rate, most = 0x1p40; /* far beyond any memory */
    *part = 1;
    *has = tt__is_matrix(p) || gbps >= 0;
    *out = tt__problem_copy(p);
    if (gbps < 0)
        return TT_OK;
    TT_TRY(tt__metric_value(&rate, t, (size_t)gbps, gpu, p, NULL, 1));
    double words = rate * 1e3 / 2 / WORD; /* of each side, at 1 us */
    *has = words > 0 && words < most;
    if (!*has)
        return TT_OK;
    out->elem_size = WORD;
    out->cols = words < ROW ? (int64_t)(words / WORD + 1) * WORD : ROW;
    out->rows = words < ROW ? 1 : (int64_t)(words / ROW + 0.999);
    out->lds = out->ldd = out->cols;
    out->src_stride = out->dst_stride = out->rows * out->cols;
    *part = words / (double)(out->rows * out->cols);
    return TT_OK;
}
