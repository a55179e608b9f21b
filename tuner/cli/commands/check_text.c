/* `tune check FILE.cu` as text. */
#include "kernel/space/workload.h"
#include "tuner/cli/commands/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/load/builtin.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/table.h"

static tt_status print_params(const tt__template *t) {
    static const tt__column columns[] = {
        {"parameter", false, false}, {"", false, false}, {"values", false, true}};
    tt__table table = {.n_columns = 3, .columns = columns};
    if (t->n_params + t->n_derived == 0)
        return TT_OK;
    for (size_t i = 0; i < t->n_params; i++) {
        tt__str values = {0};
        for (size_t v = 0; v < t->params[i].n_values; v++)
            tt__str_addf(&values, "%s%s", v ? " " : "", t->params[i].values[v]);
        TT__TABLE_TEXTS(&table, t->params[i].name, t->params[i].runtime ? "run time" : "macro",
                        tt__str_text(&values));
        tt__str_free(&values);
    }
    for (size_t i = 0; i < t->n_derived; i++)
        TT__TABLE_TEXTS(&table, t->derived[i].name, t->derived[i].macro ? "derived" : "let",
                        t->derived[i].value.text);
    printf("\n");
    return tt__table_show(&table);
}

/* The operands, and how results are verified. */
static tt_status print_operation(const tt__examined *e) {
    static const tt__column columns[] = {{"operand", false, false},
                                         {"", false, false},
                                         {"type", false, false},
                                         {"elements", true, false},
                                         {"bytes", true, false}};
    tt__table table = {.n_columns = 5, .columns = columns};
    const tt__operation *operation = e->t->own;
    if (!operation)
        return TT_OK;
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, e->t, &e->gpu, &e->p) : tt__fail_memory(sizeof *w);
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        TT__TABLE_TEXTS(&table, a->name, tt__directions[a->direction], tt__types[a->type].name);
        const char *form = !a->count ? "-" : a->by_config ? "<=%lld" : "%lld";
        tt__table_cell(&table, form, (long long)a->count);
        tt__table_cell(&table, form, (long long)tt__array_bytes(a));
    }
    printf("\n");
    if (status == TT_OK)
        status = tt__table_show(&table);
    const tt__aside *reference = &operation->asides[TT__REFERENCE], *verify = &operation->asides[TT__VERIFY];
    if (!tt__operation_verifies(operation))
        printf("\nNOT VERIFIED: no `reference`, no `verify`, no `expect`; tuning it takes --unverified\n");
    else if (!reference->n && !verify->n)
        printf("\nverified against raw data\n");
    if (operation->by_default)
        printf("\nverified against the default configuration, which is right by `reference default`\n");
    else if (reference->n)
        printf("\nverified against %s%s\n", reference->symbols.name[0],
               operation->per_config ? ", for each configuration" : "");
    if (verify->n)
        printf("%sverified by %s, to an error of %g\n", reference->n ? "" : "\n", verify->symbols.name[0],
               operation->limit);
    free(w);
    return status;
}

static tt_status print_survey(const tt__examined *e) {
    static const tt__column columns[] = {
        {"removes", true, false}, {"alone", true, false}, {"line", true, false}, {"what", false, true}};
    tt__table table = {.n_columns = 4, .columns = columns};
    char problem[TT__PROBLEM_TEXT_MAX];
    printf("\n%s on %s (sm_%d): %.0f combinations of values,\n", tt__problem_text(problem, &e->p),
           e->gpu.name, e->gpu.cc, e->survey.combinations);
    if (e->space.sampled)
        printf("about %.2g configurations, of which a search begins with a sample of %zu\n", e->space.legal,
               e->space.n);
    else
        printf("%zu configuration%s\n", e->space.n, e->space.n == 1 ? "" : "s");
    if (!e->counted) {
        printf("These are too many to count what each `where` removes.\n");
        return TT_OK;
    }
    for (size_t i = 0; i < e->t->n_wheres; i++) {
        tt__table_cell(&table, "%zu", e->survey.wheres[i].removed);
        tt__table_cell(&table, "%zu", e->survey.wheres[i].alone);
        tt__table_cell(&table, "%d", e->t->wheres[i].line);
        tt__table_cell(&table, "where %s", e->t->wheres[i].text);
    }
    for (size_t i = 0; i < TT__PART_COUNT; i++) {
        if (i == TT__PART_REGS && !e->t->max_regs.text)
            continue;
        tt__table_cell(&table, "%zu", e->survey.beyond[i]);
        TT__TABLE_TEXTS(&table, "", "", tt__check_parts[i].text);
    }
    printf("\n");
    return tt__table_show(&table);
}

static void add_compiled(tt__table *table, const tt__examined *e, const tt__compiled *c) {
    const tt__cubin_needs *n = &c->needs;
    tt__str stack = {0};
    tt__str_addf(&stack,
                 "%d bytes of local memory a thread (spilled registers, or arrays indexed at run time)",
                 n->stack_bytes);
    TT__TABLE_PAIR(table, "compiled", "sm_%d: %d registers, %d bytes of static shared memory, %s", e->gpu.cc,
                   n->regs, n->static_shared_bytes,
                   n->stack_bytes ? tt__str_text(&stack) : "nothing spilled");
    tt__str_free(&stack);
    tt__table_cell(table, "occupancy");
    if (c->resident_blocks > 0)
        tt__table_cell(table, "%.1f%%: an SM holds %d of these blocks at once", c->occupancy * 100,
                       c->resident_blocks);
    else
        tt__table_cell(table, "%s",
                       c->resident_blocks == 0
                           ? "none: a block needs more registers or shared memory than an SM has"
                           : "not known for this architecture");
}

static void add_launch(tt__table *table, const tt__examined *e, int i) {
    const tt__pass *p = &e->space.items[0].launch.passes[i];
    const unsigned *grid = p->grid, *block = p->block;
    if (e->t->n_passes > 1)
        TT__TABLE_PAIR(table, "kernel", "%s, %d of %d", e->t->symbols.name[i], i + 1, e->t->n_passes);
    if (p->off) {
        TT__TABLE_PAIR(table, "launch", "none in this configuration");
        return;
    }
    TT__TABLE_PAIR(table, "launch", "grid %ux%ux%u, block %ux%ux%u, %u bytes of dynamic shared memory%s",
                   grid[0], grid[1], grid[2], block[0], block[1], block[2], p->shared_bytes,
                   p->early ? ", early" : "");
    if (!*tt__str_text(&e->not_compiled))
        add_compiled(table, e, &e->compiled[i]);
}

static tt_status print_first(const tt__examined *e) {
    static const tt__column columns[] = {{"", false, false}, {"", false, true}};
    tt__table table = {.n_columns = 2, .columns = columns};
    if (*tt__str_text(&e->not_default))
        TT__TABLE_PAIR(&table, "default", "not legal here: %s", tt__str_text(&e->not_default));
    if (e->space.n) {
        const tt__candidate *c = &e->space.items[0];
        tt__str derived = {0};
        tt__table_cell(&table, "%s", *tt__str_text(&e->not_default) ? "first" : "default");
        tt__table_cell(&table, "%s", *c->config ? c->config : "no parameters");
        for (size_t i = 0; i < e->t->n_derived; i++)
            if (c->derived[i] != TT__NO_INTEGER)
                tt__str_addf(&derived, "%s%s=%" PRId64, derived.len ? " " : "", e->t->derived[i].name,
                             c->derived[i]);
        if (derived.len)
            TT__TABLE_PAIR(&table, "derived", "%s", tt__str_text(&derived));
        tt__str_free(&derived);
        for (int i = 0; i < e->t->n_passes; i++)
            add_launch(&table, e, i);
        if (*tt__str_text(&e->not_compiled))
            TT__TABLE_PAIR(&table, "compiled", "%s: %s", e->refused ? "FAILED" : "not known",
                           e->refused ? "the compiler's words are below" : tt__str_text(&e->not_compiled));
    }
    printf("\n");
    return tt__table_show(&table);
}

tt_status tt__check_print_text(const tt__examined *e) {
    tt__cli_say(stdout, "%s: kernel %s", e->t->path, e->t->kernel);
    for (int i = 1; i < e->t->n_passes; i++)
        printf(", then %s", e->t->symbols.name[i]);
    if (!e->t->own)
        printf(", op %s", e->t->op);
    printf("\n");
    TT_TRY(print_operation(e));
    TT_TRY(print_params(e->t));
    TT_TRY(print_survey(e));
    TT_TRY(print_first(e));
    const char *line = tt__str_text(&e->warnings);
    for (size_t n; *line; line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        printf("\nWARNING: %.*s\n", (int)n, line);
    }
    return TT_OK;
}
