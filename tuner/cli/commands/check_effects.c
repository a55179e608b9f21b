/*
 * Which parameters change nothing? A #define left in the code can make one dead, and all its values would be
 * measured as if they differed. Configurations that differ in one parameter only are launched the same way
 * with the same code if it is dead. Others may need particular values beside it, so several are compared.
 */
#include <string.h>

#include "base/clock.h"
#include "base/words.h"
#include "kernel/space/config.h"
#include "tuner/cli/commands/check.h"

enum { BASES_MAX = 4 };
static const double compare_s = 10; /* in all; parameters left then are not named */

typedef struct effects {
    tt__examined *e;
    tt__str base; /* the cubin of the configuration that others are compared with */
    double until_s;
    bool alive[TT__PARAMS_MAX], compared[TT__PARAMS_MAX];
} effects;

/* A file that defines a parameter again is wrong, whichever configuration shows it. */
static tt_status note_refusal(effects *f) {
    tt__str *misfits = &f->e->misfits;
    if (strstr(tt_last_error(), " changes nothing, because ") &&
        !strstr(tt__str_text(misfits), tt_last_error()))
        tt__str_addf(misfits, "%s%s", misfits->len ? "\n" : "", tt_last_error());
    return tt__str_check(misfits);
}

/* Compares the neighbour in parameter p with the base. One that does not compile differs. */
static tt_status compare(effects *f, size_t p, const tt__candidate *base, const tt__candidate *c) {
    tt__str cubin = {0};
    bool same_launch = memcmp(&base->launch, &c->launch, sizeof c->launch) == 0;
    f->compared[p] = true;
    f->alive[p] = !same_launch;
    if (!same_launch || f->e->t->params[p].runtime)
        return TT_OK;
    tt_status status = tt__check_compile(&cubin, f->e, c);
    f->alive[p] = f->base.len != cubin.len || memcmp(f->base.text, cubin.text, cubin.len) != 0;
    tt__str_free(&cubin);
    return status == TT_E_COMPILE ? note_refusal(f) : status;
}

/* Compares a configuration with those beside it: of each parameter the first and the last other value. */
static tt_status compare_beside(effects *f, const tt__candidate *base) {
    const tt__template *t = f->e->t;
    size_t here[TT__PARAMS_MAX], there[TT__PARAMS_MAX];
    tt__space beside = {0};
    tt_status status;
    TT_GOTO(tt__space_neighbours(&beside, t, &f->e->gpu, &f->e->p, base->config, 0));
    TT_GOTO(tt__config_parse(here, t, base->config));
    for (size_t i = 0, p = 0, first = 0; i < beside.n; i++) {
        TT_GOTO(tt__config_parse(there, t, beside.items[i].config));
        if (here[p] == there[p]) { /* the neighbours come by parameter */
            while (here[p] == there[p])
                p++;
            first = i;
        }
        bool last = i + 1 == beside.n;
        if (!last) {
            TT_GOTO(tt__config_parse(there, t, beside.items[i + 1].config));
            last = here[p] == there[p];
        }
        if (f->alive[p] || (i > first && !last) || tt__now_s() > f->until_s)
            continue;
        TT_GOTO(compare(f, p, base, &beside.items[i]));
    }
out:
    tt__space_free(&beside);
    return status;
}

/* Does the text have #define NAME? */
static bool defines(const char *text, const char *name) {
    for (const char *at = text; (at = strchr(at, '#'));) {
        at += 1 + strspn(at + 1, " \t");
        if (strncmp(at, "define", 6) != 0)
            continue;
        at += 6 + strspn(at + 6, " \t");
        const size_t n = strlen(name);
        if (strncmp(at, name, n) == 0 && !tt__is_word_char(at[n]))
            return true;
    }
    return false;
}

static bool any_left(const effects *f) {
    bool left = false;
    for (size_t p = 0; p < f->e->t->n_params; p++)
        left |= !f->alive[p] && f->e->t->params[p].n_values > 1;
    return left && tt__now_s() < f->until_s;
}

tt_status tt__check_effects(tt__examined *e, const tt__str *cubin) {
    const tt__template *t = e->t;
    effects f = {.e = e, .until_s = tt__now_s() + compare_s};
    tt_status status = TT_OK;
    tt__str_addn(&f.base, cubin->text, cubin->len);
    for (size_t i = 0; i < BASES_MAX && i < e->space.n && status == TT_OK && any_left(&f); i++) {
        const tt__candidate *base = &e->space.items[i * e->space.n / BASES_MAX];
        if (i > 0)
            status = tt__check_compile(&f.base, e, base);
        if (status == TT_OK)
            status = compare_beside(&f, base);
        else if (status == TT_E_COMPILE)
            status = note_refusal(&f);
        tt__str_free(&f.base);
    }
    for (size_t p = 0; p < t->n_params && status == TT_OK; p++)
        if (f.compared[p] && !f.alive[p])
            tt__str_addf(&e->warnings,
                         "%sthe parameter %s changes nothing%s: code and launch are the same in all "
                         "configurations compared",
                         e->warnings.len ? "\n" : "", t->params[p].name,
                         defines(t->source, t->params[p].name) ? ", because the code defines it again" : "");
    tt__str_free(&f.base);
    return status;
}
