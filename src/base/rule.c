/*
 * Rules: their text, and what they choose.
 *
 * A rule's text is a few lines of words, so that a diff of it can be read:
 *
 *     rule 1 transpose
 *     for elem_size=4
 *     axis rows 0.75
 *     config transpose_vector 9f86d081... READ_RUN=256 SEGMENT=32
 *     else READ_RUN=256 SEGMENT=0
 *     at 3041280 352: 80 0 -
 *
 * The first line may go on with "warm", "in_graph", "unverified" and "text HASH". A point has its moved bytes
 * and a value for each axis, then in thousandths the losses of the default and of each configuration.
 */
#include "base/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/str.h"

/* Chosen by leaving shapes out of the recordings of an H200 (`tune rules`). */
static const float per_doubling = 0.4f, per_factor_2 = 0.3f; /* of a number, beside its weight */
static const int factors_2 = 7;                              /* 128 bytes are a line */
/* What is expected without evidence, which counts as much as a point at distance 4, and no more than all
 * points together. It prefers the default. */
static const double unknown_loss = 0.3, unknown_default_loss = 0.1, unknown_weight = 0.02;
static const double least_gain = 0.01; /* over the default */

static const double thousandths = 1000;
enum { LOSS_MAX = 20000, ROW = 12 };
typedef float quad __attribute__((vector_size(16)));
typedef int quad_bits __attribute__((vector_size(16)));
_Static_assert((int)ROW > (int)TT__RULE_CHOICES_MAX, "a row has all losses, and a place for none");

/* ---- Choosing ------------------------------------------------------------------------------------------ */

bool tt__rule_is_for(const tt__tuning_rule *r, const tt__problem *p) {
    const tt__problem *g = &r->group;
    if (!tt__problem_same_regime(g, p) || g->unverified != p->unverified ||
        !tt__problem_is_of(p, g->op, g->text))
        return false;
    for (int i = 0; i < g->n; i++) {
        const tt__setting *s = tt__problem_setting(p, g->settings[i].name);
        if (!s || s->type != g->settings[i].type || s->number != g->settings[i].number)
            return false;
    }
    return true;
}

void tt__rule_point_of(tt__rule_point *out, const tt__tuning_rule *r, const tt__problem *p) {
    out->moved_bytes = p->moved_bytes;
    for (int i = 0; i < r->n_axes; i++)
        out->values[i] = tt__problem_number(p, r->axes[i].name, 1);
}

/* To base 2; -1: unknown. */
static float log_of_bytes(double bytes) {
    return bytes > 1 ? (float)log2(bytes) : bytes > 0 ? 0 : -1;
}

/* How often 2 divides the bytes of a number of elements. */
static float factors_of(int64_t value, int elem_size) {
    return (float)__builtin_ctzll((unsigned long long)value * (unsigned)elem_size | 1ull << factors_2);
}

/* Columns of all points: the logarithm of the bytes, then for each axis that of its number and the factors of
 * 2 in its bytes. Rows follow them: a point's losses, -1 for one that is unknown. Vectors fill a row. */
tt_status tt__rule_finish(tt__tuning_rule *r) {
    const size_t n = r->n_points, n_columns = 1 + 2 * (size_t)r->n_axes;
    const int elem_size = tt__problem_elem_size(&r->group);
    free(r->table);
    r->table = calloc(n * (n_columns + ROW), sizeof *r->table);
    if (!r->table)
        return tt__fail_memory(n * (n_columns + ROW) * sizeof *r->table);
    for (size_t i = 0; i < n; i++) {
        const tt__rule_point *p = &r->points[i];
        float *at = r->table + i;
        *at = log_of_bytes(p->moved_bytes);
        for (int k = 0; k < r->n_axes; k++) {
            *(at += n) = (float)tt__number_log(p->values[k]);
            *(at += n) = factors_of(p->values[k], elem_size);
        }
        float *row = r->table + n * n_columns + i * ROW;
        for (int c = 0; c < TT__RULE_CHOICES_MAX; c++)
            row[c] = isnan(p->losses[c]) ? -1 : p->losses[c];
    }
    return TT_OK;
}

void tt__rule_weights(float weights[TT__RULE_POINTS_MAX], const tt__tuning_rule *r,
                      const tt__rule_point *asked) {
    const size_t n = r->n_points;
    const int elem_size = tt__problem_elem_size(&r->group);
    const float bytes_log = log_of_bytes(asked->moved_bytes), *column = r->table;
    float per[TT__RULE_POINTS_MAX]; /* doubling */
    for (size_t i = 0; i < n; i++) {
        const bool bytes = bytes_log >= 0 && column[i] >= 0;
        weights[i] = bytes ? fabsf(bytes_log - column[i]) : 0;
        per[i] = bytes ? per_doubling : 1;
    }
    for (int k = 0; k < r->n_axes; k++) {
        const float log = (float)tt__number_log(asked->values[k]),
                    factors = factors_of(asked->values[k], elem_size), weight = (float)r->axes[k].weight;
        const float *const logs = column += n, *const all_factors = column += n;
        for (size_t i = 0; i < n; i++)
            weights[i] +=
                weight * (per[i] * fabsf(log - logs[i]) + per_factor_2 * fabsf(factors - all_factors[i]));
    }
    for (size_t i = 0; i < n; i++)
        weights[i] = expf(-weights[i]);
}

double tt__rule_expected(int choice, double sum, double weights, double all) {
    const double unknown = choice == TT__RULE_DEFAULT ? unknown_default_loss : unknown_loss,
                 weight = all > 0 ? fmin(unknown_weight, all) : unknown_weight;
    return (sum + weight * unknown) / (weights + weight);
}

/* Of the default and each configuration. */
static void expect(double losses[TT__RULE_CHOICES_MAX], const tt__tuning_rule *r, const tt__problem *p) {
    float weights[TT__RULE_POINTS_MAX];
    quad sums[ROW / 4] = {{0}}, known[ROW / 4] = {{0}};
    const float *row = r->table + r->n_points * (1 + 2 * (size_t)r->n_axes);
    tt__rule_point asked;
    tt__rule_point_of(&asked, r, p);
    tt__rule_weights(weights, r, &asked);
    for (size_t i = 0; i < r->n_points; i++, row += ROW)
        for (int v = 0; v < ROW / 4; v++) {
            quad loss;
            memcpy(&loss, row + 4 * v, sizeof loss);
            const quad weight = (quad)((loss >= 0) & (quad_bits)((quad){0} + weights[i]));
            sums[v] += weight * loss;
            known[v] += weight;
        }
    const double all =
        (double)known[ROW / 4 - 1][3]; /* no choice has this place, and all points have 0 there */
    for (int c = 0; c <= r->n_configs; c++)
        losses[c] = tt__rule_expected(c, (double)sums[c / 4][c % 4], (double)known[c / 4][c % 4], all);
}

double tt__rule_loss(const tt__tuning_rule *r, const tt__problem *p, int choice) {
    double losses[TT__RULE_CHOICES_MAX];
    expect(losses, r, p);
    return losses[choice];
}

int tt__rule_order(int order[TT__RULE_CHOICES_MAX], const tt__tuning_rule *r, const tt__problem *p) {
    double losses[TT__RULE_CHOICES_MAX];
    expect(losses, r, p);
    losses[TT__RULE_DEFAULT] -= least_gain;
    for (int c = 0; c <= r->n_configs; c++) {
        int at = c;
        for (; at > 0 && losses[order[at - 1]] > losses[c]; at--)
            order[at] = order[at - 1];
        order[at] = c;
    }
    return r->n_configs + 1;
}

/* ---- Text ---------------------------------------------------------------------------------------------- */

void tt__rule_write(tt__str *out, const tt__tuning_rule *r) {
    const tt__problem *g = &r->group;
    tt__str_addf(out, "rule 1 %s%s%s%s%s%s\nfor ", g->op, g->warm ? " warm" : "",
                 g->in_graph ? " in_graph" : "", g->unverified ? " unverified" : "", *g->text ? " text " : "",
                 g->text);
    tt__problem_add_settings(out, g, ",");
    tt__str_add(out, "\n");
    for (int i = 0; i < r->n_axes; i++)
        tt__str_addf(out, "axis %s %g\n", r->axes[i].name, r->axes[i].weight);
    for (int i = 0; i < r->n_configs; i++) {
        const tt__rule_config *c = &r->configs[i];
        tt__str_addf(out, "config %s %s %s\n", c->kernel, c->hash, c->config);
        for (int v = 0; v < c->n_variants; v++)
            tt__str_addf(out, "else %s\n", c->variants[v]);
    }
    for (size_t i = 0; i < r->n_points; i++) {
        const tt__rule_point *p = &r->points[i];
        tt__str_addf(out, "at %.0f", p->moved_bytes);
        for (int a = 0; a < r->n_axes; a++)
            tt__str_addf(out, " %lld", (long long)p->values[a]);
        for (int c = 0; c <= r->n_configs; c++) {
            tt__str_add(out, c ? " " : ": ");
            if (isnan(p->losses[c]))
                tt__str_add(out, "-");
            else
                tt__str_addf(out, "%.0f", fmin(round((double)p->losses[c] * thousandths), LOSS_MAX));
        }
        tt__str_add(out, "\n");
    }
}

/* The next word of a line, which is at most n-1 bytes long. False: there is none, or it is longer. */
static bool take_word(const char **at, char *out, size_t n) {
    *at += strspn(*at, " ");
    const size_t len = strcspn(*at, " \n:");
    if (len == 0 || len >= n)
        return false;
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len;
    return true;
}

static bool take_rest(const char **at, char *out, size_t n) {
    *at += strspn(*at, " ");
    const size_t len = strcspn(*at, "\n");
    if (len >= n)
        return false;
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len;
    return true;
}

static bool take_number(const char **at, double most, double *out) {
    char word[32], *end;
    if (!take_word(at, word, sizeof word) || strspn(word, "0123456789.e-") != strlen(word))
        return false;
    *out = tt__strtod(word, &end);
    return end != word && !*end && *out >= 0 && *out <= most;
}

static bool is_hash(const char *text) {
    const size_t n = strspn(text, "0123456789abcdef");
    return !text[n] && (n == 0 || n == TT__HASH_SIZE - 1);
}

static bool take_head(tt__tuning_rule *r, const char **at) {
    char word[TT__HASH_SIZE];
    tt__problem *g = &r->group;
    if (!take_word(at, word, sizeof word) || strcmp(word, "1") != 0 || !take_word(at, g->op, sizeof g->op))
        return false;
    while (**at == ' ') {
        if (!take_word(at, word, sizeof word))
            return false;
        if (strcmp(word, "warm") == 0)
            g->warm = true;
        else if (strcmp(word, "in_graph") == 0)
            g->in_graph = true;
        else if (strcmp(word, "unverified") == 0)
            g->unverified = true;
        else if (strcmp(word, "text") != 0 || !take_word(at, g->text, sizeof g->text) || !is_hash(g->text))
            return false;
    }
    return tt__is_word(g->op, strlen(g->op));
}

static bool take_group(tt__tuning_rule *r, const char **at) {
    char text[TT__VARIABLES_MAX * (TT__NAME_MAX + TT__SETTING_TEXT_MAX)];
    return r->group.n == 0 && r->n_points == 0 && take_rest(at, text, sizeof text) &&
           tt__problem_take_settings(&r->group, text);
}

static bool take_axis(tt__tuning_rule *r, const char **at) {
    tt__rule_axis *axis = &r->axes[r->n_axes];
    return r->n_axes < TT__VARIABLES_MAX && r->n_points == 0 &&
           take_word(at, axis->name, sizeof axis->name) && tt__is_word(axis->name, strlen(axis->name)) &&
           take_number(at, 1e6, &axis->weight) && ++r->n_axes;
}

static bool take_config(tt__tuning_rule *r, const char **at) {
    tt__rule_config *c = &r->configs[r->n_configs];
    return r->n_configs < TT__RULE_CONFIGS_MAX && r->n_points == 0 &&
           take_word(at, c->kernel, sizeof c->kernel) && tt__is_word(c->kernel, strlen(c->kernel)) &&
           take_word(at, c->hash, sizeof c->hash) && *c->hash && is_hash(c->hash) &&
           take_rest(at, c->config, sizeof c->config) && ++r->n_configs;
}

static tt_status take_variant(tt__tuning_rule *r, const char **at, bool *ok) {
    if (!r->n_configs || r->n_points)
        return TT_OK;
    tt__rule_config *c = &r->configs[r->n_configs - 1];
    if (c->n_variants == TT__RULE_VARIANTS_MAX)
        return TT_OK;
    TT_TRY(TT__GROW(c->variants, c->n_variants));
    *ok = take_rest(at, c->variants[c->n_variants], sizeof *c->variants);
    c->n_variants += *ok;
    return TT_OK;
}

static bool take_losses(tt__tuning_rule *r, tt__rule_point *p, const char **at) {
    double number;
    if (**at != ':')
        return false;
    ++*at;
    for (int c = 0; c <= r->n_configs; c++) {
        *at += strspn(*at, " ");
        p->losses[c] = NAN;
        if (**at == '-')
            ++*at;
        else if (take_number(at, LOSS_MAX, &number))
            p->losses[c] = (float)(number / thousandths);
        else
            return false;
    }
    return true;
}

static bool take_point(tt__tuning_rule *r, tt__rule_point *p, const char **at) {
    *p = (tt__rule_point){0};
    if (!take_number(at, 0x1p60, &p->moved_bytes))
        return false;
    for (int i = 0; i < r->n_axes; i++) {
        char word[32];
        if (!take_word(at, word, sizeof word) || !tt__is_integer(word, strlen(word)))
            return false;
        p->values[i] = strtoll(word, NULL, 10);
        if (p->values[i] < tt__problem_least(&r->group, r->axes[i].name) || p->values[i] > INT64_C(1) << 44)
            return false;
    }
    return take_losses(r, p, at);
}

/* One line. *ok is false if it is none of a rule. */
static tt_status take_line(tt__tuning_rule *r, const char **at, int line, bool *ok) {
    static const struct {
        const char *word;
        bool (*take)(tt__tuning_rule *r, const char **at);
    } lines[] = {{"rule", take_head}, {"for", take_group}, {"axis", take_axis}, {"config", take_config}};
    char word[8];
    *ok = false;
    if (!take_word(at, word, sizeof word) || (line == 1) != (strcmp(word, "rule") == 0))
        return TT_OK;
    for (size_t i = 0; i < TT__COUNT(lines); i++)
        if (strcmp(word, lines[i].word) == 0)
            *ok = lines[i].take(r, at);
    if (strcmp(word, "else") == 0)
        TT_TRY(take_variant(r, at, ok));
    if (strcmp(word, "at") == 0 && r->n_points < TT__RULE_POINTS_MAX) {
        TT_TRY(TT__GROW(r->points, r->n_points));
        *ok = take_point(r, &r->points[r->n_points++], at);
    }
    *ok &= **at == '\n';
    return TT_OK;
}

tt_status tt__rule_read(tt__tuning_rule **out, const char *text) {
    enum { SHOWN_MAX = 60 };
    const char *this = text;
    tt_status status = TT_OK;
    int line = 1;
    bool ok = true;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tt__fail_memory(sizeof **out);
    for (const char *at = text; *at && ok && status == TT_OK; line += ok) {
        this = at;
        status = take_line(*out, &at, line, &ok);
        at += ok;
    }
    if (status == TT_OK && (!ok || !(*out)->n_configs || !(*out)->n_points)) {
        const size_t n = ok ? 0 : strcspn(this, "\n");
        status =
            tt__fail(TT_E_INVALID,
                     "a rule's line %d is \"%.*s\", which this version does not read: make the rule again "
                     "with \"tune rules\"",
                     line, n < SHOWN_MAX ? (int)n : SHOWN_MAX, this);
    }
    if (status == TT_OK)
        status = tt__rule_finish(*out);
    if (status != TT_OK)
        tt__rule_free(out);
    return status;
}

void tt__rule_free(tt__tuning_rule **r) {
    if (*r) {
        free((*r)->points);
        free((*r)->table);
        for (size_t i = 0; i < TT__COUNT((*r)->kept); i++)
            free((*r)->kept[i]);
        for (int i = 0; i < (*r)->n_configs; i++)
            free((*r)->configs[i].variants);
    }
    free(*r);
    *r = NULL;
}
