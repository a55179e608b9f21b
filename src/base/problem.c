/* Settings of a problem, by name. */
#include "base/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int compare_settings(const tt__setting *a, const tt__setting *b) {
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->type != b->type ? (int)a->type - (int)b->type : strcmp(a->name, b->name);
}

int tt__problem_compare(const void *x, const void *y) {
    const tt__problem *a = x, *b = y;
    int order = a->n - b->n;
    order = order ? order : a->warm - b->warm;
    order = order ? order : a->in_graph - b->in_graph;
    order = order ? order : a->unverified - b->unverified;
    order = order ? order : strcmp(a->op, b->op);
    order = order ? order : strcmp(a->text, b->text);
    for (int i = 0; i < a->n && !order; i++)
        order = compare_settings(&a->settings[i], &b->settings[i]);
    return order;
}

const char *tt__problem_regime(const tt__problem *p) {
    static const char *const regimes[2][2] = {{"", ", in a graph"}, {", warm", ", warm, in a graph"}};
    return regimes[p->warm][p->in_graph];
}

bool tt__problem_is_of(const tt__problem *p, const char *op, const char *text) {
    return *p->op == *op && strcmp(p->op, op) == 0 && strcmp(p->text, text) == 0; /* most differ at once */
}

/* Names are skipped: the operation implies them. Products do not wait for each other. */
uint64_t tt__problem_hash(const tt__problem *p) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = (uint64_t)p->in_graph << 2 | (uint64_t)p->warm << 1 | (uint64_t)p->unverified;
    for (const char *at = p->op; *at; at++)
        h = (h ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    for (int i = 0; i < 16 && p->text[i]; i++)
        h = (h ^ (unsigned char)p->text[i]) * UINT64_C(0x100000001b3);
    for (int i = 0; i < p->n; i++) {
        const uint64_t x = ((uint64_t)p->settings[i].number ^ (uint64_t)p->settings[i].type << 56) * odd;
        h += (x ^ x >> 29) * (odd + 2 * (uint64_t)i);
    }
    return h ^ h >> 32;
}

const tt__setting *tt__problem_setting_at(const tt__problem *p, size_t i,
                                          const char name[static TT__NAME_MAX]) {
    bool there = i < (size_t)p->n && tt__same_name(p->settings[i].name, name);
    return there ? &p->settings[i] : tt__problem_setting(p, name);
}

const tt__setting *tt__problem_setting(const tt__problem *p, const char *name) {
    for (int i = 0; i < p->n; i++)
        if (p->settings[i].name[0] == name[0] && strcmp(p->settings[i].name, name) == 0)
            return &p->settings[i];
    return NULL;
}

int64_t tt__problem_number(const tt__problem *p, const char *name, int64_t otherwise) {
    const tt__setting *s = tt__problem_setting(p, name);
    return s && s->type == TT__TYPE_NONE ? s->number : otherwise;
}

static tt__setting *find_or_add(tt__problem *p, const char *name) {
    const tt__setting *known = tt__problem_setting(p, name);
    if (known)
        return &p->settings[known - p->settings];
    tt__setting *s = &p->settings[p->n++];
    tt__copy(s->name, sizeof s->name, name);
    return s;
}

void tt__problem_set(tt__problem *p, const char *name, int64_t number) {
    tt__setting *s = find_or_add(p, name);
    s->type = TT__TYPE_NONE;
    s->number = number;
}

void tt__problem_set_type(tt__problem *p, const char *name, tt__type type) {
    tt__setting *s = find_or_add(p, name);
    s->type = type;
    s->number = 0;
}

int64_t tt__problem_least(const tt__problem *p, const char *name) {
    const bool is_size = strcmp(name, "elem_size") == 0 || strcmp(name, "align") == 0;
    return tt__problem_is_users(p) && !is_size ? TT__NUMBER_LEAST : 1;
}

double tt__number_log(int64_t number) {
    return number > 0 ? log2((double)number) : (double)(number - 1);
}

double tt__problem_gbps(const tt__problem *p, double time_us) {
    return time_us > 0 ? p->moved_bytes / time_us * 1e-3 : 0;
}

int tt__problem_elem_size(const tt__problem *p) {
    int size = 4;
    for (int i = 0; i < p->n; i++)
        if (p->settings[i].type != TT__TYPE_NONE)
            size = tt__types[p->settings[i].type].size;
    return (int)tt__problem_number(p, "elem_size", size);
}

int tt__problem_align(const tt__problem *p) {
    return (int)tt__problem_number(p, "align", 16);
}

const char *tt__setting_text(char out[TT__SETTING_TEXT_MAX], const tt__setting *s) {
    if (s->type != TT__TYPE_NONE)
        tt__copy(out, TT__SETTING_TEXT_MAX, tt__types[s->type].name);
    else
        tt__integer_text(out, s->number);
    return out;
}

void tt__problem_add_settings(tt__str *out, const tt__problem *p, const char *between) {
    char value[TT__SETTING_TEXT_MAX];
    for (int i = 0; i < p->n; i++) {
        tt__str_add(out, i ? between : "");
        tt__str_add(out, p->settings[i].name);
        tt__str_add(out, "=");
        tt__str_add(out, tt__setting_text(value, &p->settings[i]));
    }
}

/* "NAME=VALUE" of n characters. */
static bool take_setting(tt__problem *p, const char *at, size_t n) {
    const char *sign = memchr(at, '=', n);
    const size_t name = sign ? (size_t)(sign - at) : 0, value = sign ? n - name - 1 : 0;
    if (p->n == TT__VARIABLES_MAX || name >= TT__NAME_MAX || !tt__is_word(at, name))
        return false;
    tt__setting *s = &p->settings[p->n++];
    *s = (tt__setting){.type = TT__TYPE_NONE};
    memcpy(s->name, at, name);
    if (tt__is_integer(sign + 1, value)) {
        s->number = strtoll(sign + 1, NULL, 10);
        return s->number >= tt__problem_least(p, s->name);
    }
    s->type = tt__type_named(sign + 1, value);
    return s->type != TT__TYPE_NONE;
}

bool tt__problem_take_settings(tt__problem *p, const char *text) {
    p->n = 0;
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (!take_setting(p, text, n))
            return false;
    }
    return true;
}
