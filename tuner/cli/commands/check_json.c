/* `tune check FILE.cu --json`. */
#include "kernel/space/workload.h"
#include "tuner/cli/commands/check.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/shell/cli.h"

static void write_template(tt__json *j, const tt__examined *e) {
    const tt__template *t = e->t;
    TT__JSON_STRINGS(j, {"file", t->path}, {"kernel", t->kernel}, {"hash", t->hash});
    tt__json_open(j, "params", '[');
    for (size_t i = 0; i < t->n_params; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", t->params[i].name);
        tt__json_string(j, "kind", t->params[i].runtime ? "runtime" : "macro");
        tt__json_open(j, "values", '[');
        for (size_t v = 0; v < t->params[i].n_values; v++)
            tt__json_string(j, NULL, t->params[i].values[v]);
        tt__json_close(j, ']');
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    tt__json_open(j, "derived", '[');
    for (size_t i = 0; i < t->n_derived; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", t->derived[i].name);
        tt__json_string(j, "text", t->derived[i].value.text);
        tt__json_int(j, "line", t->derived[i].value.line);
        if (e->space.n && e->space.items[0].derived[i] != TT__NO_INTEGER)
            tt__json_int(j, "value", e->space.items[0].derived[i]);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
}

/* For a user's own operation: the problem, the operands, and how results are verified. */
static tt_status write_operation(tt__json *j, const tt__examined *e) {
    const tt__operation *operation = e->t->own;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, e->t, &e->gpu, &e->p) : tt__fail_memory(sizeof *w);
    tt__json_string(j, "problem", tt__problem_text(text, &e->p));
    tt__json_open(j, "operands", '[');
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        tt__json_open(j, NULL, '{');
        TT__JSON_STRINGS(j, {"name", a->name}, {"direction", tt__directions[a->direction]},
                         {"type", tt__types[a->type].name});
        tt__json_int(j, "count", a->count);
        tt__json_int(j, "bytes", tt__array_bytes(a));
        if (a->by_config)
            tt__json_int(j, "largest", 1);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    if (operation->by_default)
        tt__json_string(j, "reference", "default");
    else if (operation->asides[TT__REFERENCE].n)
        tt__json_string(j, "reference", operation->asides[TT__REFERENCE].symbols.name[0]);
    else
        tt__json_number(j, "reference", (double)NAN, 1);
    if (operation->per_config)
        tt__json_int(j, "reference_per_configuration", 1);
    if (operation->asides[TT__VERIFY].n)
        tt__json_string(j, "verify", operation->asides[TT__VERIFY].symbols.name[0]);
    if (!tt__operation_verifies(operation))
        tt__json_int(j, "unverified", 1);
    free(w);
    return status;
}

static void write_space(tt__json *j, const tt__examined *e) {
    tt__json_string(j, "gpu", e->gpu.name);
    tt__json_int(j, "cc", e->gpu.cc);
    tt__cli_json_problem(j, &e->p);
    tt__json_number(j, "combinations", e->survey.combinations, 17);
    tt__json_number(j, "configurations", e->space.legal, 17); /* an estimate may be beyond int64_t */
    if (e->space.sampled)
        tt__json_int(j, "estimated", 1);
    if (!e->counted) {
        tt__json_number(j, "wheres", (double)NAN, 1);
        tt__json_number(j, "limits", (double)NAN, 1);
        return;
    }
    tt__json_open(j, "wheres", '[');
    for (size_t i = 0; i < e->t->n_wheres; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "text", e->t->wheres[i].text);
        tt__json_int(j, "line", e->t->wheres[i].line);
        tt__json_int(j, "removes", (int64_t)e->survey.wheres[i].removed);
        tt__json_int(j, "alone", (int64_t)e->survey.wheres[i].alone);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    tt__json_open(j, "limits", '{');
    for (size_t i = 0; i < TT__PART_COUNT; i++)
        tt__json_int(j, tt__check_parts[i].key, (int64_t)e->survey.beyond[i]);
    tt__json_close(j, '}');
}

static void write_triple(tt__json *j, const char *key, const unsigned *values) {
    tt__json_open(j, key, '[');
    for (size_t i = 0; i < 3; i++)
        tt__json_int(j, NULL, values[i]);
    tt__json_close(j, ']');
}

static void write_launch(tt__json *j, const tt__examined *e, int i) {
    const tt__compiled *c = &e->compiled[i];
    bool known = !*tt__str_text(&e->not_compiled);
    if (e->space.n) {
        const tt__pass *p = &e->space.items[0].launch.passes[i];
        known = known && !p->off;
        write_triple(j, "grid", p->grid);
        write_triple(j, "block", p->block);
        tt__json_int(j, "shared_bytes", p->shared_bytes);
        if (p->early)
            tt__json_int(j, "early", 1);
        if (p->off)
            tt__json_int(j, "off", 1);
    }
    tt__json_number(j, "regs", known ? c->needs.regs : (double)NAN, 9);
    tt__json_number(j, "static_shared_bytes", known ? c->needs.static_shared_bytes : (double)NAN, 9);
    tt__json_number(j, "stack_bytes", known ? c->needs.stack_bytes : (double)NAN, 9);
    tt__json_number(j, "occupancy", known && c->resident_blocks >= 0 ? c->occupancy : (double)NAN, 4);
}

/* Several launches are also in a list, with the first. */
static void write_first(tt__json *j, const tt__examined *e) {
    if (e->space.n)
        tt__json_config(j, "config", e->space.items[0].config);
    else
        tt__json_number(j, "config", (double)NAN, 1);
    write_launch(j, e, 0);
    if (e->space.n && e->t->n_passes > 1) {
        tt__json_open(j, "launches", '[');
        for (int i = 0; i < e->t->n_passes; i++) {
            tt__json_open(j, NULL, '{');
            tt__json_string(j, "kernel", e->t->symbols.name[i]);
            write_launch(j, e, i);
            tt__json_close(j, '}');
        }
        tt__json_close(j, ']');
    }
    TT__JSON_STRINGS(j, {"not_default", tt__str_text(&e->not_default)},
                     {"not_compiled", tt__str_text(&e->not_compiled)},
                     {"does_not_fit", tt__str_text(&e->misfits)}, {"warnings", tt__str_text(&e->warnings)});
}

tt_status tt__check_print_json(const tt__examined *e) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__json_open(&j, NULL, '{');
    write_template(&j, e);
    tt_status status = e->t->own ? write_operation(&j, e) : TT_OK;
    write_space(&j, e);
    write_first(&j, e);
    if (status != TT_OK) {
        tt__str_free(&text);
        return status;
    }
    return tt__cli_print_json(&j);
}
