/*
 * SQLite's JSON functions take the file apart. Tables say of each member where it stands, what it may be and
 * whether it must be there; all become texts.
 */
#include "db/t1.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "db/import.h"

typedef enum form { NAME = 1, NUMBER = 2, TRUTH = 4, LIST = 8, EXPRESSION = NAME | NUMBER } form;

typedef struct member {
    const char *name;
    size_t at; /* of a char * in its struct */
    int forms; /* of `form`, added up */
    bool needed;
} member;

typedef struct reader {
    const char *path;
    tt__str text;
    sqlite3 *db;
    sqlite3_stmt *get; /* type and value of ?2 in ?1 */
    tt__t1 *t1;
} reader;

static const member param_members[] = {
    {"Name", offsetof(tt__t1_param, name), NAME, true},
    {"Type", offsetof(tt__t1_param, type), NAME, false},
    {"Values", offsetof(tt__t1_param, values), NAME | LIST, true},
    {"Default", offsetof(tt__t1_param, initial), EXPRESSION | TRUTH | LIST, false},
};
static const member arg_members[] = {
    {"Name", offsetof(tt__t1_arg, name), NAME, false},
    {"Type", offsetof(tt__t1_arg, type), NAME, true},
    {"MemoryType", offsetof(tt__t1_arg, memory), NAME, true},
    {"AccessType", offsetof(tt__t1_arg, access), NAME, false},
    {"FillType", offsetof(tt__t1_arg, fill), NAME, false},
    {"FillValue", offsetof(tt__t1_arg, value), EXPRESSION | TRUTH, false},
    {"Size", offsetof(tt__t1_arg, size), EXPRESSION, false},
    {"TypeSize", offsetof(tt__t1_arg, type_size), NUMBER, false},
    {"DataSource", offsetof(tt__t1_arg, source), NAME, false},
    {"MemType", offsetof(tt__t1_arg, mem_type), NAME, false},
    {"Output", offsetof(tt__t1_arg, output), NUMBER | TRUTH, false},
};
static const member expected_members[] = {
    {"TargetName", offsetof(tt__t1_expected, target), NAME, true},
    {"FillType", offsetof(tt__t1_expected, fill), NAME, false},
    {"DataSource", offsetof(tt__t1_expected, source), NAME, false},
    {"ValidationMethod", offsetof(tt__t1_expected, method), NAME, false},
    {"ValidationThreshold", offsetof(tt__t1_expected, threshold), NUMBER, false},
};
static const member budget_members[] = {
    {"Type", offsetof(tt__t1_budget, type), NAME, true},
    {"BudgetValue", offsetof(tt__t1_budget, value), NUMBER, true},
};
static const member file_members[] = {
    {"General.BenchmarkName", offsetof(tt__t1, benchmark), NAME, false},
    {"Search.Name", offsetof(tt__t1, search), NAME, false},
    {"KernelSpecification.Language", offsetof(tt__t1, language), NAME, true},
    {"KernelSpecification.KernelName", offsetof(tt__t1, kernel), NAME, true},
    {"KernelSpecification.KernelFile", offsetof(tt__t1, file), NAME, true},
    {"KernelSpecification.KernelTypeNames", offsetof(tt__t1, type_names), LIST, false},
    {"KernelSpecification.GlobalSizeType", offsetof(tt__t1, size_type), NAME, false},
    {"KernelSpecification.SharedMemory", offsetof(tt__t1, shared), EXPRESSION, false},
    {"KernelSpecification.GlobalSize.X", offsetof(tt__t1, global[0]), EXPRESSION, false},
    {"KernelSpecification.GlobalSize.Y", offsetof(tt__t1, global[1]), EXPRESSION, false},
    {"KernelSpecification.GlobalSize.Z", offsetof(tt__t1, global[2]), EXPRESSION, false},
    {"KernelSpecification.LocalSize.X", offsetof(tt__t1, local[0]), EXPRESSION, false},
    {"KernelSpecification.LocalSize.Y", offsetof(tt__t1, local[1]), EXPRESSION, false},
    {"KernelSpecification.LocalSize.Z", offsetof(tt__t1, local[2]), EXPRESSION, false},
};

/* The lists of the file: what is read of each item, or the item itself where there are no members. */
static const struct list {
    const char *place;
    size_t at, item, count; /* of the array, an item of it, and its n_... */
    size_t max;
    const member *members;
    size_t n_members;
    bool needed;
} lists[] = {
    {"ConfigurationSpace.TuningParameters", offsetof(tt__t1, params), sizeof(tt__t1_param),
     offsetof(tt__t1, n_params), TT__T1_PARAMS_MAX, param_members, sizeof param_members / sizeof(member),
     true},
    {"KernelSpecification.Arguments", offsetof(tt__t1, args), sizeof(tt__t1_arg), offsetof(tt__t1, n_args),
     TT__T1_ARGS_MAX, arg_members, sizeof arg_members / sizeof(member), false},
    {"KernelSpecification.ReferenceArguments", offsetof(tt__t1, expected), sizeof(tt__t1_expected),
     offsetof(tt__t1, n_expected), TT__T1_ARGS_MAX, expected_members,
     sizeof expected_members / sizeof(member), false},
    {"Budget", offsetof(tt__t1, budgets), sizeof(tt__t1_budget), offsetof(tt__t1, n_budgets), 4,
     budget_members, sizeof budget_members / sizeof(member), false},
    {"KernelSpecification.CompilerOptions", offsetof(tt__t1, options), sizeof(char *),
     offsetof(tt__t1, n_options), TT__T1_OPTIONS_MAX, NULL, 0, false},
};

static tt_status sql_failed(const reader *r) {
    if ((sqlite3_errcode(r->db) & 0xff) == SQLITE_NOMEM)
        return tt__fail_memory(r->text.len);
    return tt__fail(TT_E_INVALID, "%s: %s", r->path, sqlite3_errmsg(r->db));
}

static const char *article(const char *type) {
    static const char *const words[][2] = {{"object", "an object"},
                                           {"array", "a list"},
                                           {"text", "a text"},
                                           {"true", "true"},
                                           {"false", "false"},
                                           {"null", "null"},
                                           {"real", "a number with a fraction"},
                                           {"integer", "a whole number"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(type, words[i][0]) == 0)
            return words[i][1];
    return type;
}

static int form_of(const char *type) {
    return strcmp(type, "text") == 0                                   ? NAME
           : strcmp(type, "integer") == 0 || strcmp(type, "real") == 0 ? NUMBER
           : strcmp(type, "true") == 0 || strcmp(type, "false") == 0   ? TRUTH
           : strcmp(type, "array") == 0                                ? LIST
                                                                       : 0;
}

/* "a text or a number" */
static void name_forms(tt__str *out, int forms) {
    static const char *const words[] = {"a text", "a number", "true or false", "a list"};
    for (int i = 0; i < 4; i++)
        if (forms & 1 << i)
            tt__str_addf(out, "%s%s", out->len ? " or " : "", words[i]);
}

static tt_status fail_form(const reader *r, const char *place, const char *type, int forms) {
    tt__str wanted = {0};
    name_forms(&wanted, forms);
    tt_status status = tt__fail(TT_E_INVALID, "%s: %s is %s: expected %s", r->path, place,
                                type ? article(type) : "missing", tt__str_text(&wanted));
    tt__str_free(&wanted);
    return status;
}

/* The type of what stands at a place, "" if nothing or null does; the statement stays at its row. */
static tt_status look(reader *r, const char *place, const char **type) {
    tt__str path = {0};
    tt__str_addf(&path, "$.%s", place);
    tt_status status = tt__str_check(&path);
    sqlite3_reset(r->get);
    if (status == TT_OK &&
        (sqlite3_bind_text(r->get, 2, tt__str_text(&path), -1, SQLITE_TRANSIENT) != SQLITE_OK ||
         sqlite3_step(r->get) != SQLITE_ROW))
        status = sql_failed(r);
    tt__str_free(&path);
    if (status != TT_OK)
        return status;
    *type = (const char *)sqlite3_column_text(r->get, 0);
    if (!*type || strcmp(*type, "null") == 0)
        *type = "";
    return TT_OK;
}

static tt_status keep(reader *r, char **out, const char *text) {
    TT_TRY(TT__GROW(r->t1->texts, r->t1->n_texts));
    *out = r->t1->texts[r->t1->n_texts] = strdup(text);
    if (!*out)
        return tt__fail_memory(strlen(text) + 1);
    r->t1->n_texts++;
    return TT_OK;
}

static tt_status read_value(reader *r, const char *place, int forms, bool needed, char **out) {
    const char *type;
    TT_TRY(look(r, place, &type));
    if (!*type)
        return needed ? fail_form(r, place, NULL, forms) : TT_OK;
    if (!(form_of(type) & forms))
        return fail_form(r, place, type, forms);
    const char *text = (const char *)sqlite3_column_text(r->get, 1);
    if (!text)
        return tt__fail_memory(0);
    if (strlen(text) != (size_t)sqlite3_column_bytes(r->get, 1))
        return tt__fail(TT_E_INVALID, "%s: %s has a NUL character", r->path, place);
    return keep(r, out, text);
}

static tt_status read_members(reader *r, const char *place, const member *m, size_t n, void *object) {
    tt_status status = TT_OK;
    tt__str path = {0};
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        path.len = 0;
        tt__str_addf(&path, "%s%s%s", place, *place ? "." : "", m[i].name);
        status = tt__str_check(&path);
        if (status == TT_OK)
            status = read_value(r, tt__str_text(&path), m[i].forms, m[i].needed,
                                (char **)((char *)object + m[i].at));
    }
    tt__str_free(&path);
    return status;
}

static tt_status read_item(reader *r, const struct list *list, size_t i, bool *found) {
    tt__str place = {0};
    const char *type = "";
    char *object = (char *)r->t1 + list->at + i * list->item;
    tt__str_addf(&place, "%s[%zu]", list->place, i);
    tt_status status = tt__str_check(&place);
    if (status == TT_OK)
        status = look(r, tt__str_text(&place), &type);
    *found = *type != '\0';
    if (status == TT_OK && *found && i == list->max)
        status = tt__fail(TT_E_INVALID, "%s: %s has more than %zu items", r->path, list->place, list->max);
    else if (status == TT_OK && *found && !list->members)
        status = read_value(r, tt__str_text(&place), NAME, true, (char **)object);
    else if (status == TT_OK && *found && strcmp(type, "object") != 0)
        status = tt__fail(TT_E_INVALID, "%s: %s is %s: expected an object", r->path, tt__str_text(&place),
                          article(type));
    else if (status == TT_OK && *found)
        status = read_members(r, tt__str_text(&place), list->members, list->n_members, object);
    tt__str_free(&place);
    return status;
}

static tt_status read_list(reader *r, const struct list *list) {
    const char *type;
    bool found = true;
    size_t *count = (size_t *)((char *)r->t1 + list->count);
    TT_TRY(look(r, list->place, &type));
    if (!*type && !list->needed)
        return TT_OK;
    if (strcmp(type, "array") != 0) {
        bool alone = strcmp(type, "object") == 0 && strcmp(list->place, "Budget") == 0; /* older files */
        *count = alone;
        return alone ? read_members(r, list->place, list->members, list->n_members, (char *)r->t1 + list->at)
                     : fail_form(r, list->place, *type ? type : NULL, LIST);
    }
    while (found) {
        TT_TRY(read_item(r, list, *count, &found));
        *count += found;
    }
    return TT_OK;
}

/* Conditions are objects of which only the expression is of use. */
static tt_status read_conditions(reader *r) {
    static const member expression[] = {{"Expression", 0, NAME, true}};
    static const struct list list = {"ConfigurationSpace.Conditions",
                                     offsetof(tt__t1, conditions),
                                     sizeof(char *),
                                     offsetof(tt__t1, n_conditions),
                                     TT__T1_CONDITIONS_MAX,
                                     expression,
                                     1,
                                     false};
    return read_list(r, &list);
}

/* A number, a text or a list of up to three of them. */
static tt_status read_problem_size(reader *r) {
    static const char place[] = "KernelSpecification.ProblemSize";
    const char *type;
    TT_TRY(look(r, place, &type));
    if (strcmp(type, "array") != 0)
        return read_value(r, place, EXPRESSION | LIST, false, &r->t1->problem[0]);
    static const member sizes[] = {{"ProblemSize[0]", offsetof(tt__t1, problem[0]), EXPRESSION, false},
                                   {"ProblemSize[1]", offsetof(tt__t1, problem[1]), EXPRESSION, false},
                                   {"ProblemSize[2]", offsetof(tt__t1, problem[2]), EXPRESSION, false}};
    TT_TRY(look(r, "KernelSpecification.ProblemSize[3]", &type));
    if (*type)
        return tt__fail(TT_E_INVALID, "%s: %s has more than 3 items", r->path, place);
    return read_members(r, "KernelSpecification", sizes, 3, r->t1);
}

/* A list of divisors, or one. */
static tt_status read_divisors(reader *r, int axis) {
    tt__str product = {0}, place = {0};
    const char *type = "";
    tt_status status = TT_OK;
    for (int i = 0;; i++) {
        char *text = NULL;
        place.len = 0;
        tt__str_addf(&place, "KernelSpecification.GridDiv%c", "XYZ"[axis]);
        TT_GOTO(tt__str_check(&place));
        TT_GOTO(look(r, tt__str_text(&place), &type));
        bool list = strcmp(type, "array") == 0;
        if (list)
            tt__str_addf(&place, "[%d]", i);
        TT_GOTO(tt__str_check(&place));
        TT_GOTO(read_value(r, tt__str_text(&place), EXPRESSION, false, &text));
        if (text)
            tt__str_addf(&product, "%s(%s)", i ? " * " : "", text);
        if (!list || !text)
            break;
    }
    TT_GOTO(tt__str_check(&product));
    if (product.len)
        status = keep(r, &r->t1->div[axis], product.text);
out:
    tt__str_free(&product);
    tt__str_free(&place);
    return status;
}

static tt_status read_all(reader *r) {
    TT_TRY(read_members(r, "", file_members, sizeof file_members / sizeof(member), r->t1));
    if (!r->t1->benchmark)
        TT_TRY(read_value(r, "KernelSpecification.BenchmarkName", NAME, false, &r->t1->benchmark));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        TT_TRY(read_list(r, &lists[i]));
    TT_TRY(read_conditions(r));
    TT_TRY(read_problem_size(r));
    for (int i = 0; i < 3; i++)
        TT_TRY(read_divisors(r, i));
    return TT_OK;
}

static tt_status check_json(reader *r) {
    sqlite3_stmt *stmt = NULL;
    tt_status status = TT_OK;
    if (sqlite3_prepare_v2(r->db, "SELECT iif(json_valid(?1), json_type(?1), '')", -1, &stmt, NULL) !=
            SQLITE_OK ||
        sqlite3_bind_text(stmt, 1, tt__str_text(&r->text), (int)r->text.len, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        status = sql_failed(r);
    else if (sqlite3_column_bytes(stmt, 0) == 0 || !tt__json_keys_are_strings(tt__str_text(&r->text)))
        status = tt__fail(TT_E_INVALID, "%s: not valid JSON (%zu bytes): is the file complete?", r->path,
                          r->text.len);
    else if (strcmp((const char *)sqlite3_column_text(stmt, 0), "object") != 0)
        status = tt__fail(TT_E_INVALID,
                          "%s: is %s: expected an object with ConfigurationSpace and KernelSpecification",
                          r->path, article((const char *)sqlite3_column_text(stmt, 0)));
    sqlite3_finalize(stmt);
    return status;
}

tt_status tt__t1_read_text(tt__str *out, const char *path, size_t max) {
    struct stat s;
    *out = (tt__str){0};
    if (stat(path, &s) != 0)
        return tt__fail(TT_E_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return tt__fail(TT_E_INVALID, "%s: no regular file", path);
    if (s.st_size > (off_t)max)
        return tt__fail(TT_E_INVALID, "%s: %lld bytes, the limit is %zu", path, (long long)s.st_size, max);
    TT_TRY(tt__read_file(out, path));
    if (strlen(tt__str_text(out)) == out->len)
        return TT_OK;
    tt_status status =
        tt__fail(TT_E_INVALID, "%s: not a text: a NUL byte at offset %zu", path, strlen(out->text));
    tt__str_free(out);
    return status;
}

tt_status tt__t1_read(tt__t1 **out, const char *path) {
    reader r = {.path = path};
    tt_status status;
    *out = r.t1 = calloc(1, sizeof *r.t1);
    if (!r.t1)
        return tt__fail_memory(sizeof *r.t1);
    TT_GOTO(tt__t1_read_text(&r.text, path, TT__T1_BYTES_MAX));
    if (sqlite3_open_v2(":memory:", &r.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) != SQLITE_OK)
        TT_GOTO(sql_failed(&r));
    TT_GOTO(check_json(&r));
    if (sqlite3_prepare_v2(r.db, "SELECT json_type(?1, ?2), json_extract(?1, ?2)", -1, &r.get, NULL) !=
            SQLITE_OK ||
        sqlite3_bind_text(r.get, 1, tt__str_text(&r.text), (int)r.text.len, SQLITE_STATIC) != SQLITE_OK)
        TT_GOTO(sql_failed(&r));
    status = read_all(&r);
out:
    sqlite3_finalize(r.get);
    sqlite3_close(r.db);
    tt__str_free(&r.text);
    return status;
}

void tt__t1_free(tt__t1 **t1) {
    if (!*t1)
        return;
    for (size_t i = 0; i < (*t1)->n_texts; i++)
        free((*t1)->texts[i]);
    free((*t1)->texts);
    free(*t1);
    *t1 = NULL;
}
