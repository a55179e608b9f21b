/*
 * Cubins are stored in groups. A lost cubin costs one compile, but a commit for each would make the GPU wait.
 */
#include "tuner/farm/cubins.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/str.h"
#include "code/cubin.h"
#include "code/nvrtc.h"
#include "kernel/space/config.h"
#include "kernel/space/workload.h"
#include "tuner/measure/verify.h"

static const double save_every_s = 0.05;

static const char *source_of(const tt__cubin *cubin) {
    return cubin->t ? cubin->t->source : tt__checker[0].source;
}

/* Compares all that makes a cubin, except what is the same for the whole run. Templates may have one text: a
 * kernel and the one that it is judged by. */
static int by_input(const void *a, const void *b) {
    const tt__cubin *x = a, *y = b;
    const int text = x->t == y->t ? 0 : strcmp(source_of(x), source_of(y));
    if (text)
        return text;
    if (x->options.len != y->options.len)
        return x->options.len < y->options.len ? -1 : 1;
    return x->options.len ? memcmp(x->options.text, y->options.text, x->options.len) : 0;
}

static void drop(void *of) {
    tt__cubin *cubin = of;
    tt__str_free(&cubin->options);
    tt__str_free(&cubin->image);
    free(cubin);
}

void tt__cubins_close(tt__cubins *c) {
    tdestroy(c->by_input, drop); /* it has the cubins of the list */
    free(c->items);
    free(c->names);
    *c = (tt__cubins){0};
}

/* ---- Asking -------------------------------------------------------------------------------------------- */

/* Adds a cubin, with its image from the store if there is one. Takes ownership of the options. */
static tt_status add(tt__cubins *c, tt__cubin *fresh, tt__cubin **out) {
    bool found;
    tt_status status;
    tt__cubin_key(fresh->key, source_of(fresh), fresh->options.text, fresh->n_options, c->cc, c->nvrtc);
    TT_GOTO(TT__GROW(c->items, c->n));
    status = tt__store_cubin_get(c->store, fresh->key, &fresh->image, &found);
    if (status == TT_E_DB) { /* it is damaged: a new one will replace it */
        tt__str_free(&fresh->image);
        found = false;
    } else if (status != TT_OK) {
        goto out;
    }
    fresh->state = found ? TT__CUBIN_READY : TT__CUBIN_IDLE;
    if (!tsearch(fresh, &c->by_input, by_input))
        TT_GOTO(tt__fail_memory(sizeof *fresh));
    c->items[c->n++] = *out = fresh;
    c->n_idle += !found;
    return TT_OK;
out:
    drop(fresh);
    return status;
}

static tt_status find_or_add(tt__cubins *c, const tt__configuration *configuration, const tt__problem *p,
                             tt__cubin **out) {
    *out = NULL;
    tt__cubin *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return tt__fail_memory(sizeof *fresh);
    fresh->t = configuration->t;
    tt__copy(fresh->config, sizeof fresh->config, configuration->config);
    tt_status status = tt__config_options(&fresh->options, &fresh->n_options, configuration, p);
    tt__cubin *const *known = status == TT_OK ? tfind(fresh, &c->by_input, by_input) : NULL;
    if (status == TT_OK && !known)
        return add(c, fresh, out);
    *out = known ? *known : NULL;
    drop(fresh);
    return status;
}

tt_status tt__cubins_want(tt__cubins *c, const tt__configuration *configuration, const tt__problem *p,
                          tt__cubin **out) {
    TT_TRY(find_or_add(c, configuration, p, out));
    if (!(*out)->wanted)
        (*out)->wanted = ++c->n_wanted;
    return TT_OK;
}

/* ---- Compiling ----------------------------------------------------------------------------------------- */

static tt__cubin *next_wanted(const tt__cubins *c) {
    tt__cubin *best = NULL;
    for (size_t i = 0; c->n_idle && i < c->n; i++) {
        tt__cubin *x = c->items[i];
        if (x->state == TT__CUBIN_IDLE && x->wanted && (!best || x->wanted < best->wanted))
            best = x;
    }
    return best;
}

tt_status tt__cubins_next(tt__cubins *c, tt__expected *expected, tt__cubin **out) {
    tt__configuration expects;
    const tt__problem *p;
    tt__cubin *next = next_wanted(c);
    while (!next && tt__expected_next(expected, &expects, &p)) {
        TT_TRY(find_or_add(c, &expects, p, &next));
        if (next->state != TT__CUBIN_IDLE)
            next = NULL;
    }
    if (next) {
        next->state = TT__CUBIN_COMPILING;
        c->n_idle--;
    }
    *out = next;
    return TT_OK;
}

void tt__cubins_again(tt__cubins *c, tt__cubin *cubin) {
    cubin->state = TT__CUBIN_IDLE;
    cubin->wanted = cubin->wanted ? cubin->wanted : ++c->n_wanted;
    c->n_idle++;
}

tt_status tt__cubins_ready(tt__cubins *c, tt__cubin *cubin, const void *image, size_t size) {
    tt__str_addn(&cubin->image, image, size);
    TT_TRY(tt__str_check(&cubin->image));
    cubin->state = TT__CUBIN_READY;
    cubin->fresh = true;
    c->n_fresh++;
    return TT_OK;
}

void tt__cubin_failed(tt__cubin *cubin, tt__trial_status status, const char *reason) {
    cubin->state = TT__CUBIN_FAILED;
    cubin->status = status;
    tt__copy(cubin->reason, sizeof cubin->reason, reason);
}

static const char blanks[] = " \t\r\n";

/* Behind the elements `[i][k]` of an array. */
static const char *after_elements(const char *at) {
    while (*(at += strspn(at, blanks)) == '[')
        for (int depth = 0; *at; at++) {
            depth += *at == '[' ? 1 : *at == ']' ? -1 : 0;
            if (depth == 0) {
                at++;
                break;
            }
        }
    return at;
}

/* Is it a whole argument, which a reference may take? What stands behind `if (` and its like is none. */
static bool is_passed(const char *text, const char *before, const char *next) {
    static const char *const words[] = {"if", "while", "switch", "return"};
    if (!strchr("),}", *next) || before == text || !strchr("(,{", before[-1]))
        return false;
    const char *end = before - 1, *start;
    while (end > text && strchr(blanks, end[-1]))
        end--;
    for (start = end; start > text && tt__is_word_char(start[-1]);)
        start--;
    for (size_t i = 0; i < TT__COUNT(words); i++)
        if (tt__word_is(start, (size_t)(end - start), words[i]))
            return false;
    return before[-1] != '(' || start < end || (end > text && end[-1] == '>');
}

/* Does the code change what this occurrence of a variable names, or may it pass its address on? */
static bool may_write(const char *text, const char *name, size_t n, bool is_array) {
    const char *before = name, *next = after_elements(name + n);
    while (before > text && strchr(" \t\r\n(", before[-1]))
        before--;
    if (before > text && (before[-1] == '&' || (before - text > 1 && (!strncmp(before - 2, "++", 2) ||
                                                                      !strncmp(before - 2, "--", 2)))))
        return !(before - text > 1 && before[-2] == '&'); /* && is no address */
    const char *bare = name;
    while (bare > text && strchr(blanks, bare[-1]))
        bare--;
    if (!is_array && is_passed(text, bare, next))
        return true;
    if (is_array && next == name + n + strspn(name + n, blanks))
        return true; /* the whole array */
    return (*next == '=' && next[1] != '=') || strncmp(next, "++", 2) == 0 || strncmp(next, "--", 2) == 0 ||
           (*next && strchr("+-*/%&|^", *next) && next[1] == '=') || strncmp(next, "<<=", 3) == 0 ||
           strncmp(next, ">>=", 3) == 0 || *next == '.' || strncmp(next, "->", 2) == 0;
}

/* The word that declares it, if it is a variable of the file, and a table: read, and never written by the
 * code. Else NULL. */
static const char *table_word(const char *text, const char *name, size_t n, bool is_array) {
    static const char *const words[] = {"__managed__", "__device__"};
    const char *found = NULL; /* else it is a header's, as cuda::std::end is */
    bool read = false;
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += n) {
        if ((at > text && tt__is_word_char(at[-1])) || tt__is_word_char(at[n]))
            continue;
        const char *statement = at;
        while (statement > text && !strchr(";{}", statement[-1]))
            statement--;
        const char *declared = NULL;
        for (size_t i = 0; i < TT__COUNT(words) && !declared; i++) {
            const char *word = strstr(statement, words[i]);
            declared = word && word < at ? words[i] : NULL;
        }
        if (declared) {
            const char *end = after_elements(at + n);
            found = declared;
            if (*end == ';' || *end == ',')
                continue;
            return NULL; /* it has a value, or is something else */
        }
        if (may_write(text, at, n, is_array))
            return NULL;
        read = true;
    }
    return read ? found : NULL;
}

/* Nothing but the code can fill a __device__ or __managed__ variable. */
static void find_tables(tt__str *out, const tt__template *t, const void *image, size_t size) {
    tt__cubin_variable v;
    for (size_t at = 0; t->own && tt__cubin_next_variable(&v, TT__CUBIN_GLOBALS, image, size, &at);) {
        char name[TT__NAME_MAX];
        size_t n;
        const char *plain = tt__cubin_plain_name(v.name, &n);
        if (!v.zero || n >= sizeof name || strncmp(v.name, "_ZZ", 3) == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, plain);
        const char *word = table_word(t->source, name, n, v.bytes > sizeof(double));
        if (word)
            tt__str_addf(out, "%sthe code reads a %s array %s, which nothing fills: it stays zero",
                         out->len ? "\n" : "", word, name);
    }
}

void tt__cubins_unfilled(tt__str *out, const tt__template *t, const void *image, size_t size) {
    tt__cubin_variable c;
    size_t n;
    for (size_t at = 0; t->own && tt__cubin_next_variable(&c, TT__CUBIN_CONSTANTS, image, size, &at);) {
        const char *name = tt__cubin_plain_name(c.name, &n);
        bool filled = !c.zero || strncmp(name, "__", 2) == 0; /* CUDA's own */
        for (size_t i = 0; i < t->own->n_operands; i++)
            filled |= t->own->operands[i].direction == TT__CONSTANT &&
                      tt__word_is(name, n, t->own->operands[i].name);
        if (!filled)
            tt__str_addf(out,
                         "%sthe code has a __constant__ array %.*s, which no `constant` line fills: it stays "
                         "zero",
                         out->len ? "\n" : "", (int)n, name);
    }
    find_tables(out, t, image, size);
}

/* ---- Storing ------------------------------------------------------------------------------------------- */

tt_status tt__cubins_name(tt__cubins *c, const tt__configuration *configuration, const tt__problem *p,
                          const tt__cubin *cubin) {
    TT_TRY(TT__GROW(c->names, c->n_names));
    tt__cubin_name *name = &c->names[c->n_names++];
    *name = (tt__cubin_name){.t = configuration->t, .elem_size = tt__problem_elem_size(p), .cubin = cubin};
    tt__config_build(name->build, configuration, p);
    return TT_OK;
}

static tt_status write_all(tt__cubins *c) {
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i]->fresh)
            TT_TRY(tt__store_cubin_put(c->store, c->items[i]->key, c->items[i]->image.text,
                                       c->items[i]->image.len));
    for (size_t i = 0; i < c->n_names; i++) {
        const tt__cubin_name *name = &c->names[i];
        TT_TRY(tt__store_cubin_link(c->store, name->t->hash, name->build, name->elem_size, c->cc,
                                    name->cubin->key));
    }
    return TT_OK;
}

tt_status tt__cubins_save(tt__cubins *c, bool now) {
    char why[1024];
    if (c->n_fresh + c->n_names == 0 || (!now && tt__now_s() < c->saved_s + save_every_s))
        return TT_OK;
    TT_TRY(tt__store_begin(c->store));
    tt_status status = write_all(c);
    tt__copy(why, sizeof why, tt_last_error());
    tt_status committed = tt__store_commit(c->store);
    if (status != TT_OK)
        return tt__fail(status, "%s", why);
    for (size_t i = 0; i < c->n; i++)
        c->items[i]->fresh = false;
    c->n_fresh = c->n_names = 0;
    c->saved_s = tt__now_s();
    return committed;
}

/* ---- What compilers do when nothing is requested ---------------------------------------------- */

static void clear(tt__expected_list *list) {
    list->n = list->at = 0;
}

/* The number of a problem. Neighbours in a list have the same one. */
static tt_status add_problem(tt__expected *e, const tt__problem *p, uint32_t *at) {
    if (e->soon.at == e->soon.n && e->later.at == e->later.n)
        e->n_problems = e->n_asides = 0; /* all were taken: the lists of a long run stay short */
    if (e->n_problems == 0 || !tt__problem_same(&e->problems[e->n_problems - 1], p)) {
        TT_TRY(TT__GROW(e->problems, e->n_problems));
        e->problems[e->n_problems++] = *p;
    }
    *at = (uint32_t)e->n_problems - 1;
    return TT_OK;
}

static tt_status append(tt__expected *e, tt__expected_list *list, const tt__configuration *c,
                        const tt__problem *p) {
    tt__expected_item item = {.t = c->t};
    TT_TRY(add_problem(e, p, &item.problem));
    if (list->at == list->n)
        clear(list);
    memcpy(item.choice, c->choice, sizeof item.choice);
    TT_TRY(TT__GROW(list->items, list->n));
    list->items[list->n++] = item;
    return TT_OK;
}

/* Kernels beside those that are tuned. */
static tt_status append_aside(tt__expected *e, const tt__configuration *c, const tt__problem *p) {
    TT_TRY(append(e, &e->later, &(tt__configuration){.t = NULL}, p));
    TT_TRY(TT__GROW(e->asides, e->n_asides));
    e->later.items[e->later.n - 1].aside = (uint32_t)e->n_asides;
    e->asides[e->n_asides++] = *c;
    return TT_OK;
}

tt_status tt__expected_soon(tt__expected *e, const tt__configuration *const *c, size_t n,
                            const tt__problem *p) {
    if (!e)
        return TT_OK;
    clear(&e->soon);
    for (size_t i = 0; i < n; i++)
        TT_TRY(append(e, &e->soon, c[i], p));
    return TT_OK;
}

/* Errors are ignored here. They show again at the problem's turn. */
static tt_status expect_checks(tt__expected *e, const tt__template *t, const tt__problem *p) {
    tt__workload *work = malloc(sizeof *work); /* large for a stack */
    tt__candidate c;
    tt_status status = TT_OK;
    if (!work || tt__workload_of(work, t, e->gpu, p) != TT_OK)
        goto out;
    for (int i = 0; i < tt__verify_parts(p, work); i++) {
        tt__verify_configuration(&c.configuration, i);
        TT_GOTO(append_aside(e, &c.configuration, p));
    }
    tt__role role = tt__workload_role(work);
    if (role != TT__ROLE_COUNT &&
        tt__space_aside(&c, t->operation, role, e->gpu, p, t->operation->t->default_config) == TT_OK)
        TT_GOTO(append_aside(e, &c.configuration, p));
out:
    free(work);
    return status;
}

tt_status tt__expected_later(tt__expected *e, const tt__configuration *c, const tt__problem *p) {
    if (c->t->operation != e->operation)
        TT_TRY(expect_checks(e, c->t, p));
    e->operation = c->t->operation;
    return append(e, &e->later, c, p);
}

void tt__expected_forget(tt__expected *e) {
    if (!e)
        return;
    clear(&e->soon);
    clear(&e->later);
    e->operation = NULL;
}

void tt__expected_close(tt__expected *e) {
    free(e->soon.items);
    free(e->later.items);
    free(e->problems);
    free(e->asides);
}

static const tt__expected_item *take(tt__expected_list *list) {
    return list->at < list->n ? &list->items[list->at++] : NULL;
}

bool tt__expected_next(tt__expected *e, tt__configuration *c, const tt__problem **p) {
    tt__candidate whole;
    const tt__expected_item *item;
    while (e && ((item = take(&e->soon)) || (item = take(&e->later)))) {
        *p = &e->problems[item->problem];
        if (item->t && tt__space_at(&whole, item->t, e->gpu, *p, item->choice) != TT_OK)
            continue; /* it was legal when it was added */
        *c = item->t ? whole.configuration : e->asides[item->aside];
        return true;
    }
    return false;
}

size_t tt__expected_left(const tt__expected *e) {
    return e ? e->soon.n - e->soon.at + e->later.n - e->later.at : 0;
}

size_t tt__expected_compilers(size_t n) {
    return n - (n + 7) / 8; /* one in eight stays free for requests */
}
