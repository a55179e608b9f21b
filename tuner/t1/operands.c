/* The arguments of a T1 file as buffers and scalars, and what the buffers must hold afterwards. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "template/scan.h"
#include "tuner/t1/convert.h"
#include "tuner/t1/python_value.h"

/* ---- What it works on ---------------------------------------------------------------------------------- */

static const struct {
    const char *t1, *ours; /* of a scalar, ours is known as one, too, unless it is small */
    int lanes;
} types[] = {
    {"bool", "u8", 1},      {"int8", "i8", 1},       {"uint8", "u8", 1},    {"int16", "i16", 1},
    {"uint16", "u16", 1},   {"int32", "i32", 1},     {"uint32", "u32", 1},  {"int64", "i64", 1},
    {"uint64", "u64", 1},   {"int", "i32", 1},       {"uint", "u32", 1},    {"half", "f16", 1},
    {"half2", "f16", 2},    {"half4", "f16", 4},     {"half8", "f16", 8},   {"half16", "f16", 16},
    {"float", "f32", 1},    {"float2", "f32", 2},    {"float4", "f32", 4},  {"float8", "f32", 8},
    {"float16", "f32", 16}, {"double", "f64", 1},    {"double2", "f64", 2}, {"double4", "f64", 4},
    {"double8", "f64", 8},  {"double16", "f64", 16}, {"custom", "u8", 0},
};

typedef struct operand {
    const tt__t1_arg *from;
    char name[TT__NAME_MAX];
    const char *type;
    int lanes; /* 0: as many as TypeSize says */
    bool floating, result;
} operand;

static bool is(const char *text, const char *word) {
    return text && strcmp(text, word) == 0;
}

static bool name_taken(const tt__t1_work *w, const char *name) {
    bool taken = tt__name_taken(name) || tt__type_named(name, strlen(name)) ||
                 strncasecmp(name, "problem_size_", 13) == 0;
    for (size_t i = 0; i < w->n_params; i++)
        taken |= strcasecmp(w->params[i].name, name) == 0;
    for (size_t i = 0; i < w->n_operands; i++)
        taken |= strcasecmp(w->operands[i], name) == 0;
    return taken;
}

/* Arguments go by their place: a name that means something else gets a line below. */
static tt_status choose_name(tt__t1_work *w, operand *o, size_t index) {
    char *name = o->name;
    if (o->from->name && *o->from->name)
        snprintf(name, TT__NAME_MAX - 8, "%s", o->from->name);
    else
        snprintf(name, TT__NAME_MAX, "arg%zu", index);
    if (*name >= '0' && *name <= '9')
        *name = '_';
    for (char *c = name; *c; c++)
        *c = tt__is_word_char(*c) ? *c : '_';
    for (size_t n = strlen(name); name_taken(w, name); n++) {
        if (n + 1 == TT__NAME_MAX)
            return tt__fail(TT_E_INVALID, "too many arguments of one name");
        name[n] = '_';
        name[n + 1] = '\0';
    }
    char *copy = tt__py_alloc(&w->arena, TT__NAME_MAX);
    if (!copy)
        return TT_E_NO_MEMORY;
    tt__copy(copy, TT__NAME_MAX, name);
    if (w->n_operands == TT__OPERANDS_MAX)
        return tt__fail(TT_E_INVALID, "more than %d buffers and scalars", TT__OPERANDS_MAX);
    w->operands[w->n_operands++] = copy;
    return TT_OK;
}

static tt_status find_type(operand *o) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(o->from->type, types[i].t1)) {
            o->type = types[i].ours;
            o->lanes = types[i].lanes;
            o->floating = *o->type == 'f';
            return TT_OK;
        }
    return tt__fail(TT_E_INVALID,
                    "Type is \"%.40s\": expected bool, int8 to uint64, half, float, double, with 2 to 16 "
                    "lanes, or custom",
                    o->from->type);
}

static tt_status fill_value(tt__t1_work *w, const operand *o, double *out) {
    tt__py v;
    TT_TRY(tt__py_read(&v, &w->arena, o->from->value, NULL, 0));
    if ((v.kind != TT__PY_INT && v.kind != TT__PY_REAL && v.kind != TT__PY_BOOL) || !v.constant)
        return tt__fail(TT_E_INVALID, "FillValue is \"%.60s\": expected a number", o->from->value);
    *out = v.low;
    return TT_OK;
}

/* A file that lies beside this one, as `file` and `expect` can name it. */
static bool beside(const char *name) {
    size_t n = name ? strlen(name) : 0;
    return n > 0 && n < TT__FILE_MAX && *name != '.' && strcspn(name, "/ \t\r\n\v\f\\") == n;
}

/* The words behind the direction of an `in` or `inout` buffer. */
static tt_status write_data(tt__t1_work *w, const operand *o) {
    const char *fill = o->from->fill ? o->from->fill : "Constant";
    double value = is(fill, "Random") ? 1 : 0;
    if (is(fill, "BinaryRaw") && beside(o->from->source)) {
        tt__str_addf(&w->body, " file %s", o->from->source);
        return TT_OK;
    }
    if (!is(fill, "Constant") && !is(fill, "Random")) {
        tt__t1_note(
            w->notes,
            "argument %s is filled by %.20s%s%.80s, which has no counterpart: it gets numbers at random",
            o->name, fill, o->from->source ? " " : "", o->from->source ? o->from->source : "");
        return TT_OK;
    }
    if (o->from->value)
        TT_TRY(fill_value(w, o, &value));
    if (value == 0)
        tt__str_add(&w->body, " zeros");
    else if (o->lanes == 0)
        tt__t1_note(w->notes, "argument %s is of a type of its own: it gets bits at random", o->name);
    else if (is(fill, "Constant"))
        tt__str_addf(&w->body, " uniform %.9g %.9g", value, value);
    else
        tt__str_addf(&w->body, " uniform %.9g %.9g", value < 0 ? value : 0, value < 0 ? 0 : value);
    return TT_OK;
}

static tt_status write_length(tt__t1_work *w, const operand *o) {
    const char *text, *size = o->from->size;
    tt__py v, lanes = tt__py_integer(o->lanes ? o->lanes : 1);
    if (!size)
        return tt__fail(TT_E_INVALID, "Size is missing: expected the number of elements");
    TT_TRY(tt__py_read(&v, &w->arena, size, w->lists, w->n_names));
    if (v.kind == TT__PY_LIST && v.n == 1)
        v = v.items[0];
    if (v.kind == TT__PY_LIST)
        return tt__fail(TT_E_INVALID,
                        "Size \"%.200s\": a length cannot depend on a parameter of several values", size);
    TT_TRY(tt__py_whole(&v, &w->arena));
    if (o->lanes == 0 && o->from->type_size)
        TT_TRY(tt__py_read(&lanes, &w->arena, o->from->type_size, NULL, 0));
    TT_TRY(tt__py_times(&v, &w->arena, v, lanes));
    if (v.kind != TT__PY_INT || (v.constant && v.value < 1))
        return tt__fail(TT_E_INVALID, "Size is \"%.60s\": expected a whole number of at least 1", size);
    TT_TRY(tt__py_text(&text, &w->arena, &v));
    tt__str_addf(&w->body, "//@ buffer   %s %s %s", o->name, o->type, text);
    return TT_OK;
}

static tt_status write_buffer(tt__t1_work *w, operand *o) {
    const char *access = o->from->access ? o->from->access : "ReadWrite";
    bool in = is(access, "ReadOnly"), out = is(access, "WriteOnly");
    if (!in && !out && !is(access, "ReadWrite"))
        return tt__fail(TT_E_INVALID, "AccessType is \"%.40s\": expected ReadOnly, WriteOnly or ReadWrite",
                        access);
    o->result = !in;
    tt_status status = write_length(w, o);
    if (status != TT_OK)
        return status;
    tt__str_addf(&w->body, " %s", in ? "in" : out ? "out" : "inout");
    if (!out)
        TT_TRY(write_data(w, o));
    tt__str_add(&w->body, "\n");
    if (is(o->from->mem_type, "Constant"))
        tt__t1_note(
            w->notes,
            "argument %s is copied into constant memory by Kernel Tuner, and not here: a __constant__ "
            "array of that name stays zero",
            o->name);
    return tt__str_check(&w->body);
}

/* A scalar of one value, or an argument that the parameters or the problem say. */
static tt_status write_scalar(tt__t1_work *w, const operand *o, tt__str *args) {
    const char *text;
    tt__py v;
    bool wide = o->lanes == 1 && tt__types[tt__type_named(o->type, strlen(o->type))].argument;
    if (!wide)
        return tt__fail(TT_E_INVALID,
                        "a scalar of type %.20s: expected int32, uint32, int64, uint64, float or double",
                        o->from->type);
    if (!o->from->value)
        return tt__fail(TT_E_INVALID, "FillValue is missing: expected the number that the kernel gets");
    TT_TRY(tt__py_read(&v, &w->arena, o->from->value, w->names, w->n_names));
    if (!o->floating)
        TT_TRY(tt__py_whole(&v, &w->arena));
    if (v.kind == TT__PY_BOOL)
        v = tt__py_integer(v.value);
    TT_TRY(tt__py_number(&v));
    if (v.kind == TT__PY_RATIO)
        TT_TRY(tt__py_to_real(&v, &w->arena));
    if (v.constant && v.kind == TT__PY_INT)
        tt__str_addf(&w->body, "//@ scalar   %s %s %lld\n", o->name, o->type, (long long)v.value);
    else if (v.constant)
        tt__str_addf(&w->body, "//@ scalar   %s %s %.17g\n", o->name, o->type, v.low);
    if (v.constant) {
        tt__str_add(args, o->name);
        return tt__str_check(&w->body);
    }
    w->n_operands--;
    TT_TRY(tt__py_text(&text, &w->arena, &v));
    tt__str_addf(args, "%s %s", o->type, text);
    return tt__str_check(args);
}

static tt_status write_operand(tt__t1_work *w, operand *o, size_t index, tt__str *args, size_t *n_args) {
    if (is(o->from->memory, "Symbol")) {
        tt__t1_note(w->notes, "argument %.60s is a symbol of the kernel's module, which stays as it is",
                    o->from->name ? o->from->name : "");
        return TT_OK;
    }
    if (!is(o->from->memory, "Vector") && !is(o->from->memory, "Scalar"))
        return tt__fail(TT_E_INVALID, "MemoryType is \"%.40s\": expected Vector or Scalar", o->from->memory);
    if (*n_args == TT__ARGS_MAX)
        return tt__fail(TT_E_INVALID, "more than %d arguments", TT__ARGS_MAX);
    TT_TRY(find_type(o));
    TT_TRY(choose_name(w, o, index));
    if ((*n_args)++)
        tt__str_add(args, ", ");
    if (is(o->from->memory, "Scalar"))
        return write_scalar(w, o, args);
    tt__str_add(args, o->name);
    return write_buffer(w, o);
}

/* ---- What is right ------------------------------------------------------------------------------------- */

static const tt__t1_expected *expected_of(const tt__t1 *t1, const operand *o) {
    for (size_t i = 0; i < t1->n_expected; i++)
        if (is(t1->expected[i].target, o->from->name ? o->from->name : ""))
            return &t1->expected[i];
    return NULL;
}

/* Files say what is right if they say it of every result. */
static tt_status write_expected(tt__t1_work *w, const operand *operands) {
    const tt__t1 *t1 = w->t1;
    const tt__t1_expected *one = NULL;
    bool all = true;
    for (size_t i = 0; i < t1->n_args; i++) {
        if (!operands[i].result)
            continue;
        one = expected_of(t1, &operands[i]);
        all &= one && is(one->fill, "BinaryRaw") && beside(one->source);
    }
    if (!all || !one) {
        if (t1->n_expected)
            tt__t1_note(
                w->notes,
                "ReferenceArguments are no raw files beside this one for every result, and not taken over");
        tt__t1_note(w->notes,
                    "nothing says what is right: add a plain kernel and `reference NAME`, with its own grid, "
                    "block and args, or an `expect BUFFER FILE` for each result; until then tuning takes "
                    "--unverified");
        return TT_OK;
    }
    for (size_t i = 0; i < t1->n_args; i++)
        if (operands[i].result)
            tt__str_addf(&w->body, "//@ expect   %s %s\n", operands[i].name,
                         expected_of(t1, &operands[i])->source);
    if (!one->threshold) {
        tt__t1_note(w->notes,
                    "results are compared bit for bit: add a `tolerance` if a little less is right, too");
        return tt__str_check(&w->body);
    }
    bool relative = is(one->method, "SideBySideRelativeComparison");
    tt__str_addf(&w->body, "//@ tolerance %s %.9g\n", relative ? "rel" : "abs",
                 fabs(strtod(one->threshold, NULL)));
    return tt__str_check(&w->body);
}

tt_status tt__t1_write_operands(tt__t1_work *w) {
    const tt__t1 *t1 = w->t1;
    tt__str args = {0};
    tt_status status = TT_OK;
    size_t n_args = 0;
    bool result = false;
    operand *operands = calloc(t1->n_args + 1, sizeof *operands);
    if (!operands)
        return tt__fail_memory((t1->n_args + 1) * sizeof *operands);
    for (size_t i = 0; i < t1->n_args && status == TT_OK; i++) {
        operands[i].from = &t1->args[i];
        status = write_operand(w, &operands[i], i, &args, &n_args);
        if (status != TT_OK)
            status = tt__t1_at(w, status, "KernelSpecification.Arguments[%zu]%s%.60s%s", i,
                               t1->args[i].name ? " (" : "", t1->args[i].name ? t1->args[i].name : "",
                               t1->args[i].name ? ")" : "");
        result |= operands[i].result;
    }
    if (status == TT_OK && !result)
        status = tt__fail(TT_E_INVALID,
                          "%s: no argument is a Vector that is WriteOnly or ReadWrite: nothing would come of "
                          "the kernel",
                          w->path);
    if (status == TT_OK)
        tt__str_addf(&w->body, "//@ args     %s\n", tt__str_text(&args));
    if (status == TT_OK)
        status = write_expected(w, operands);
    tt__str_free(&args);
    free(operands);
    return status == TT_OK ? tt__str_check(&w->body) : status;
}
