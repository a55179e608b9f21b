/* The configuration space of a T1 file: its parameters with their values, the problem's size, and its
 * conditions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "template/scan.h"
#include "tuner/t1/convert.h"

static const char params_place[] = "ConfigurationSpace.TuningParameters";

/* ---- Parameters ---------------------------------------------------------------------------------------- */

static tt_status check_name(const tt__t1_work *w, const char *name) {
    if (!tt__is_word(name, strlen(name)))
        return tt__fail(TT_E_INVALID, "\"%.60s\" is no name of a macro", name);
    if (strlen(name) >= TT__NAME_MAX)
        return tt__fail(TT_E_INVALID, "%.20s...: a name of %zu characters, the limit is %d", name,
                        strlen(name), TT__NAME_MAX - 1);
    const char *taken = tt__name_taken(name);
    if (taken)
        return tt__fail(TT_E_INVALID, "%s is %s to tiletune: rename it, in the kernel, too", name, taken);
    for (size_t i = 0; i < w->n_params; i++)
        if (strcasecmp(w->params[i].name, name) == 0)
            return tt__fail(TT_E_INVALID, "%s is there twice (upper and lower case are equal here)", name);
    return TT_OK;
}

/* A value as it is written in a `param` line. */
static tt_status value_text(const char **out, tt__py_arena *arena, tt__py v) {
    if (v.kind == TT__PY_REAL)
        return tt__fail(TT_E_INVALID, "the value %g: values are whole numbers and plain words", v.low);
    if (v.kind == TT__PY_BOOL)
        v = tt__py_integer(v.value);
    if (v.kind == TT__PY_INT && v.constant)
        return tt__py_text(out, arena, &v);
    if (v.kind != TT__PY_WORD)
        return tt__fail(TT_E_INVALID, "a value that is neither a number nor a word");
    size_t n = strlen(v.text);
    if ((!tt__is_word(v.text, n) && !tt__is_integer(v.text, n)) || n >= TT__NAME_MAX)
        return tt__fail(TT_E_INVALID, "the value \"%.60s\": values are whole numbers and plain words",
                        v.text);
    *out = v.text;
    return TT_OK;
}

static tt_status read_values(tt__t1_work *w, tt__t1_values *p, const tt__t1_param *from) {
    tt__py list;
    TT_TRY(tt__py_read(&list, &w->arena, from->values, NULL, 0));
    const tt__py *items = list.kind == TT__PY_LIST ? list.items : &list;
    size_t n = list.kind == TT__PY_LIST ? list.n : 1;
    p->values = tt__py_alloc(&w->arena, (n < TT__VALUES_MAX ? n : TT__VALUES_MAX) * sizeof *p->values);
    if (!p->values)
        return TT_E_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const char *text;
        bool twice = false;
        TT_TRY(value_text(&text, &w->arena, items[i]));
        for (size_t k = 0; k < p->n; k++)
            twice |= strcmp(p->values[k], text) == 0;
        if (twice)
            continue;
        if (p->n == TT__VALUES_MAX)
            return tt__fail(TT_E_INVALID, "more than %d values: take away those that are of little use",
                            TT__VALUES_MAX);
        p->values[p->n++] = text;
    }
    return p->n ? TT_OK : tt__fail(TT_E_INVALID, "no values");
}

/* The default, if it is one of the values: T1 does not ask for any. */
static void find_wanted(tt__t1_work *w, tt__t1_values *p, const char *initial) {
    const char *text = initial;
    tt__py v;
    if (!initial)
        return;
    if (tt__py_read(&v, &w->arena, initial, NULL, 0) == TT_OK) {
        if (v.kind == TT__PY_LIST && v.n == 1)
            v = v.items[0];
        if (value_text(&text, &w->arena, v) != TT_OK)
            text = initial;
    }
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->values[i], text) == 0) {
            p->wanted = i;
            return;
        }
    tt__t1_note(w->notes, "the default %.40s of %s is none of its values: %s is taken", initial, p->name,
                p->values[0]);
}

/* What a parameter is to an expression, and what it is to a length. */
static tt_status add_names(tt__t1_work *w, const tt__t1_values *p) {
    tt__py *items = tt__py_alloc(&w->arena, p->n * sizeof *items);
    tt__py v = {.kind = TT__PY_INT, .level = 100, .text = p->name, .low = HUGE_VAL, .high = -HUGE_VAL};
    if (!items)
        return TT_E_NO_MEMORY;
    for (size_t i = 0; i < p->n; i++) {
        items[i] = tt__py_integer(0);
        if (tt__is_integer(p->values[i], strlen(p->values[i])))
            items[i] = tt__py_integer(strtoll(p->values[i], NULL, 10));
        else
            items[i] = (tt__py){.kind = TT__PY_WORD, .constant = true, .text = p->values[i], .level = 100};
        v.low = fmin(v.low, items[i].low);
        v.high = fmax(v.high, items[i].high);
        if (items[i].kind == TT__PY_WORD)
            v.kind = TT__PY_WORD;
    }
    v.n = p->n;
    v.items = items;
    w->names[w->n_names] = (tt__py_name){p->name, p->folded ? items[0] : v};
    w->lists[w->n_names++] = (tt__py_name){p->name, {.kind = TT__PY_LIST, .n = p->n, .items = items}};
    return TT_OK;
}

/* Where there are more parameters than a template may have, those of one value need not be any. */
static tt_status fold(tt__t1_work *w) {
    size_t left = w->n_params, length = 0;
    for (size_t i = 0; i < w->n_params; i++) {
        size_t longest = 0;
        for (size_t k = 0; k < w->params[i].n; k++)
            longest = strlen(w->params[i].values[k]) > longest ? strlen(w->params[i].values[k]) : longest;
        length += strlen(w->params[i].name) + longest + 2;
    }
    if (left <= TT__PARAMS_MAX && length <= TT__CONFIG_MAX)
        return TT_OK;
    for (size_t i = 0; i < w->n_params; i++) {
        w->params[i].folded = w->params[i].n == 1;
        left -= w->params[i].folded;
    }
    if (left <= TT__PARAMS_MAX)
        return TT_OK;
    return tt__fail(TT_E_INVALID, "%zu parameters of more than one value, the limit is %d", left,
                    TT__PARAMS_MAX);
}

tt_status tt__t1_params(tt__t1_work *w) {
    const tt__t1 *t1 = w->t1;
    for (size_t i = 0; i < t1->n_params; i++) {
        tt__t1_values *p = &w->params[i];
        p->name = t1->params[i].name;
        tt_status status = check_name(w, p->name);
        if (status == TT_OK)
            status = read_values(w, p, &t1->params[i]);
        if (status != TT_OK)
            return tt__t1_at(w, status, "%s[%zu] (%.60s)", params_place, i, p->name);
        find_wanted(w, p, t1->params[i].initial);
        w->n_params++;
    }
    tt_status status = fold(w);
    if (status != TT_OK)
        return tt__t1_at(w, status, "%s", params_place);
    for (size_t i = 0; i < w->n_params; i++)
        TT_TRY(add_names(w, &w->params[i]));
    return TT_OK;
}

bool tt__t1_has(const tt__t1_work *w, const char *param) {
    for (size_t i = 0; i < w->n_params; i++)
        if (strcmp(w->params[i].name, param) == 0)
            return true;
    return false;
}

tt_status tt__t1_write_params(tt__t1_work *w) {
    for (size_t i = 0; i < w->n_params; i++) {
        const tt__t1_values *p = &w->params[i];
        if (p->folded)
            continue;
        tt__str_addf(&w->body, "//@ param    %s", p->name);
        for (size_t k = 0; k < p->n; k++)
            tt__str_addf(&w->body, " %s", p->values[k]);
        tt__str_add(&w->body, "\n");
    }
    return tt__str_check(&w->body);
}

/* ---- The problem --------------------------------------------------------------------------------------- */

static const char *const variables[3] = {"problem_size_x", "problem_size_y", "problem_size_z"};

/* A size that is a number becomes a variable of the problem, so that others can be asked for. */
static tt_status read_size(tt__t1_work *w, int axis) {
    tt__py *v = &w->problem[axis];
    bool taken = false;
    TT_TRY(tt__py_read(v, &w->arena, w->t1->problem[axis], w->names, w->n_names));
    TT_TRY(tt__py_whole(v, &w->arena));
    if (v->constant && v->value < 1)
        return tt__fail(TT_E_INVALID, "%lld: at least 1 is needed", (long long)v->value);
    for (size_t i = 0; i < w->n_params; i++)
        taken |= strcasecmp(w->params[i].name, variables[axis]) == 0;
    if (v->constant && !taken)
        *v = (tt__py){.kind = TT__PY_INT,
                      .level = 100,
                      .text = variables[axis],
                      .low = 1,
                      .high = HUGE_VAL,
                      .value = v->value};
    return TT_OK;
}

tt_status tt__t1_problem(tt__t1_work *w) {
    for (int i = 0; i < 3 && w->t1->problem[i]; i++) {
        tt_status status = read_size(w, i);
        if (status != TT_OK)
            return tt__t1_at(w, status, "KernelSpecification.ProblemSize[%d]", i);
        w->n_problem++;
    }
    tt__py_name sizes = {"ProblemSize", {.kind = TT__PY_LIST, .n = w->n_problem, .items = w->problem}};
    w->names[w->n_names] = sizes;
    w->lists[w->n_names++] = sizes;
    return TT_OK;
}

/* ---- Conditions ---------------------------------------------------------------------------------------- */

static tt_status write_condition(tt__t1_work *w, const char *expression, size_t *n) {
    tt__py v;
    const char *text;
    TT_TRY(tt__py_read(&v, &w->arena, expression, w->names, w->n_names));
    TT_TRY(tt__py_condition(&v));
    if (v.constant && !v.value)
        return tt__fail(TT_E_INVALID, "it never holds: there is no configuration");
    if (v.constant) {
        tt__t1_note(w->notes, "the condition \"%.200s\" always holds and is left out", expression);
        return TT_OK;
    }
    if ((*n)++ == TT__WHERES_MAX)
        return tt__fail(TT_E_INVALID, "more than %d conditions", TT__WHERES_MAX);
    TT_TRY(tt__py_text(&text, &w->arena, &v));
    tt__str_addf(&w->body, "//@ where    %s\n", text);
    return tt__str_check(&w->body);
}

tt_status tt__t1_write_conditions(tt__t1_work *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->t1->n_conditions; i++) {
        const char *expression = w->t1->conditions[i];
        tt_status status = write_condition(w, expression, &n);
        if (status != TT_OK)
            return tt__t1_at(w, status, "ConfigurationSpace.Conditions[%zu] \"%.200s\"", i, expression);
    }
    return TT_OK;
}
