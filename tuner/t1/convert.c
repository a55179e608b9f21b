/*
 * A T1 file as a kernel file: each part writes its annotations, the default is made one that is legal, and
 * what came of it is read as any template is before anybody sees it.
 */
#include "tuner/t1/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "template/config.h"
#include "template/scan.h"
#include "template/task.h"

enum { CLIMB_TRIES = 4000 };

static const tt__gpu ordinary = {.name = "an ordinary GPU",
                                 .cc = 90,
                                 .sm_count = 100,
                                 .memory_bytes = INT64_C(64) << 30,
                                 .l2_bytes = INT64_C(50) << 20,
                                 .max_threads_per_block = 1024,
                                 .shared_per_block = 227 << 10};

tt_status tt__t1_at(const tt__t1_work *w, tt_status status, const char *fmt, ...) {
    char place[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    for (char *c = place; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
    return status == TT_E_INVALID ? tt__fail_prefix(status, "%s: %s", w->path, place) : status;
}

/* One line each, whatever the texts of the file hold. */
void tt__t1_note(tt__str *notes, const char *fmt, ...) {
    char text[700];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *c = text; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
    tt__str_addf(notes, "%s\n", text);
}

/* ---- The text ------------------------------------------------------------------------------------------ */

static void write_notes(tt__str *out, const tt__t1_work *w) {
    const char *notes = tt__str_text(w->notes);
    if (*notes)
        tt__str_add(out, "//\n// To be looked at:\n");
    for (const char *line = notes; *line; line += strcspn(line, "\n") + 1)
        tt__str_addf(out, "// - %.*s\n", (int)strcspn(line, "\n"), line);
}

/* What T1 says of the search goes to options of `tune`. */
static void write_budget(tt__str *out, const tt__t1 *t1) {
    for (size_t i = 0; i < t1->n_budgets; i++) {
        double value = strtod(t1->budgets[i].value, NULL);
        if (strcmp(t1->budgets[i].type, "TuningDuration") == 0 && value > 0)
            tt__str_addf(out, "// Its budget: --budget %.9gs\n", value);
        if (strcmp(t1->budgets[i].type, "ConfigurationCount") == 0 && value >= 1)
            tt__str_addf(out, "// Its budget: --max-trials %.0f\n", value);
    }
}

static void write_problem(tt__str *out, const tt__t1_work *w) {
    for (size_t i = 0; i < w->n_problem; i++) {
        const tt__py *v = &w->problem[i];
        if (!v->constant && v->value && strstr(tt__str_text(&w->body), v->text))
            tt__str_addf(out, "//@ problem  %s %lld\n", v->text, (long long)v->value);
    }
}

static void write_default(tt__str *out, const tt__t1_work *w) {
    const char *before = "//@ default  ";
    for (size_t i = 0; i < w->n_params; i++)
        if (!w->params[i].folded) {
            tt__str_addf(out, "%s%s=%s", before, w->params[i].name, w->params[i].values[w->params[i].wanted]);
            before = " ";
        }
    tt__str_add(out, *before == ' ' ? "\n" : "");
}

static tt_status write_all(tt__str *out, const tt__t1_work *w, const char *source) {
    const char *name = strrchr(w->path, '/') ? strrchr(w->path, '/') + 1 : w->path;
    tt__str head = {0};
    tt__t1_note(&head, "// Made from %.200s (T1), and the kernel of %.200s.", name, w->t1->file);
    tt__str_add(out, tt__str_text(&head));
    tt__str_free(&head);
    write_notes(out, w);
    write_budget(out, w->t1);
    tt__str_addf(out, "//\n//@ kernel   %s\n", w->t1->kernel);
    write_problem(out, w);
    tt__str_add(out, tt__str_text(&w->body));
    write_default(out, w);
    tt__str_add(out, "\n");
    for (size_t i = 0; i < w->n_params; i++)
        if (w->params[i].folded)
            tt__str_addf(out, "#define %s %s\n", w->params[i].name, w->params[i].values[0]);
    tt__str_add(out, source);
    return tt__str_check(out);
}

/* ---- The default --------------------------------------------------------------------------------------- */

/* The text's parameters are those that are not folded. */
static tt__t1_values *param_of(tt__t1_work *w, size_t index) {
    for (size_t i = 0; i < w->n_params; i++)
        if (!w->params[i].folded && index-- == 0)
            return &w->params[i];
    return NULL;
}

/* The more parameters keep their values the better, and then the less the others move. */
static size_t likeness(const tt__template *t, const size_t *a, const size_t *b) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_params; i++) {
        size_t steps = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        n += steps == 0 ? 10000 : TT__VALUES_MAX - steps;
    }
    return n;
}

static bool legal(const tt__template *t, const tt__problem *p, const size_t *choice) {
    char config[TT__CONFIG_MAX];
    tt__candidate c;
    tt__config_format(config, t, choice);
    return tt__space_resolve(&c, t, &ordinary, p, config) == TT_OK;
}

/* Of a space that is too large to list: one or two values are changed, until that is legal. */
static void climb(const tt__template *t, const tt__problem *p, size_t *choice) {
    int tries = CLIMB_TRIES;
    for (size_t i = 0; i < t->n_params; i++)
        for (size_t k = i; k < t->n_params; k++) {
            size_t was_i = choice[i], was_k = choice[k];
            for (size_t v = 0; v < t->params[i].n_values * (k == i ? 1 : t->params[k].n_values); v++) {
                choice[i] = v % t->params[i].n_values;
                if (k != i)
                    choice[k] = v / t->params[i].n_values;
                if (tries-- <= 0 || legal(t, p, choice))
                    return;
            }
            choice[i] = was_i;
            choice[k] = was_k;
        }
}

/* The legal configuration that is most like what was wanted. */
static tt_status nearest(size_t *choice, const tt__template *t, const tt__problem *p, tt__str *notes) {
    tt__space space = {0};
    size_t wanted[TT__PARAMS_MAX], at[TT__PARAMS_MAX], best = 0;
    tt_status status = tt__space_add(&space, t, &ordinary, p);
    memcpy(wanted, choice, sizeof wanted);
    if (status ==
        TT_E_TEMPLATE) { /* or an expression comes to nothing, which the template's reader will say */
        tt__t1_note(notes, "the space cannot be listed: %s", tt_last_error());
        if (!legal(t, p, choice))
            climb(t, p, choice);
        tt__space_free(&space);
        return TT_OK;
    }
    if (status == TT_OK && space.n == 0)
        status = tt__fail(TT_E_INVALID, "no combination of values is legal");
    for (size_t i = 0; i < space.n && status == TT_OK; i++) {
        status = tt__config_parse(at, t, space.items[i].config);
        size_t n = likeness(t, at, wanted) + 1;
        if (status == TT_OK && n > best) {
            best = n;
            memcpy(choice, at, sizeof at);
        }
    }
    tt__space_free(&space);
    return status;
}

static tt_status choose_default(tt__t1_work *w, const tt__template *t) {
    size_t choice[TT__PARAMS_MAX] = {0};
    bool changed = false;
    tt__problem p;
    TT_TRY(tt__task_problem(&p, t, NULL));
    TT_TRY(tt__config_parse(choice, t, t->default_config));
    TT_TRY(nearest(choice, t, &p, w->notes));
    for (size_t i = 0; i < t->n_params; i++) {
        tt__t1_values *v = param_of(w, i);
        changed |= v->wanted != choice[i];
        v->wanted = choice[i];
    }
    if (changed)
        tt__t1_note(w->notes,
                    "the default configuration was not legal: the nearest that is stands in its place");
    return TT_OK;
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

tt_status tt__t1_check_kernel(const tt__t1 *t1, const char *path) {
    size_t n = strlen(t1->kernel);
    if (strcmp(t1->language, "CUDA") != 0)
        return tt__fail(TT_E_INVALID, "%s: KernelSpecification.Language is \"%.40s\": expected CUDA", path,
                        t1->language);
    if (!tt__is_word(t1->kernel, n) || n >= TT__NAME_MAX)
        return tt__fail(TT_E_INVALID,
                        "%s: KernelSpecification.KernelName is \"%.80s\": expected the name of a function",
                        path, t1->kernel);
    if (t1->type_names && strcmp(t1->type_names, "[]") != 0)
        return tt__fail(TT_E_INVALID,
                        "%s: KernelSpecification.KernelTypeNames: a C++ template is no kernel here: add an "
                        "extern \"C\" kernel that calls it, and name that",
                        path);
    return TT_OK;
}

static tt_status convert(tt__t1_work *w, tt__str *out, const char *source) {
    tt__str text = {0}, code = {0};
    tt__template *t = NULL;
    tt_status status;
    TT_GOTO(tt__t1_check_kernel(w->t1, w->path));
    TT_GOTO(tt__t1_params(w));
    TT_GOTO(tt__t1_problem(w));
    TT_GOTO(tt__t1_write_operands(w));
    TT_GOTO(tt__t1_write_params(w));
    TT_GOTO(tt__t1_write_conditions(w));
    TT_GOTO(tt__t1_write_launch(w));
    TT_GOTO(tt__t1_write_options(w));
    status = tt__t1_source(&code, w->notes, source, w->t1->kernel);
    if (status != TT_OK)
        status = tt__t1_at(w, status, "KernelSpecification.KernelFile %.200s", w->t1->file);
    if (status == TT_OK)
        status = write_all(&text, w, code.text);
    tt__builtin unchecked = {w->path, tt__str_text(&text), NULL};
    if (status == TT_OK)
        status = tt__template_builtin(&t, &unchecked); /* the default is not known to be legal yet */
    if (status == TT_OK)
        status = choose_default(w, t);
    tt__template_free(&t);
    if (status == TT_OK)
        status = write_all(out, w, code.text);
    if (status == TT_OK)
        status = tt__template_parse(&t, "annotations", tt__str_text(out));
    if (status == TT_E_TEMPLATE)
        status = tt__fail_prefix(TT_E_INVALID, "%s: what it comes to is no template", w->path);
out:
    tt__template_free(&t);
    tt__str_free(&text);
    tt__str_free(&code);
    return status;
}

tt_status tt__t1_convert(tt__str *out, tt__str *notes, const tt__t1 *t1, const char *path,
                         const char *source) {
    tt__t1_work *w = calloc(1, sizeof *w);
    if (!w)
        return tt__fail_memory(sizeof *w);
    w->t1 = t1;
    w->path = path;
    w->notes = notes;
    tt_status status = convert(w, out, source);
    tt__py_free(&w->arena);
    tt__str_free(&w->body);
    free(w);
    return status;
}
