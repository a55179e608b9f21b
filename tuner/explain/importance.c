/*
 * Each tree is grown until it repeats all trials, so complete trials have an exact result. Trees differ in
 * the parameters that a split may choose from, and so in how they fill gaps. A leaf is a box of levels. The
 * mean over all boxes, with some levels fixed, needs no sampling.
 */
#include "tuner/explain/importance.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { TREES_MAX = 32, TREES_MIN = 4, ROWS_WORTH = 16384, LEVELS_MAX = 256 };

typedef struct box {
    unsigned char low[TT__PARAMS_MAX], high[TT__PARAMS_MAX];
} box;

typedef struct leaf {
    box box;
    double value, volume; /* volume: its share of all combinations */
    double weight;        /* the volume times what it is above the mean */
} leaf;

typedef struct forest {
    const tt__importance_of *of;
    size_t n_varied, varied[TT__PARAMS_MAX]; /* parameters with several levels */
    uint64_t seed;
    struct level {
        double sum; /* of the values of its rows */
        size_t n;
    } levels[LEVELS_MAX]; /* of one parameter in one box; all 0 in between */
    size_t *rows;         /* reordered while a tree grows */
    leaf *leaves;         /* of the current tree; room for as many as rows */
    size_t n_leaves;
    double *grid;                   /* of a pair of parameters, with a border */
    double inverse[LEVELS_MAX + 1]; /* of numbers of levels */
    double total;                   /* variance of all trees */
} forest;

static size_t level_of(const forest *f, size_t row, size_t param) {
    return f->of->level[row * f->of->n_params + param];
}

/* ---- Growing a tree ---------------------------------------------------------------------------------- */

typedef struct split {
    size_t param, last; /* levels up to `last` go to the left */
    double score;       /* sum of squares of both sides' sums over their sizes; more is better */
} split;

/* Rows of a box, and the sum of their values. */
typedef struct node {
    box box;
    size_t *rows, n;
    double sum, volume;
} node;

/* The best cut of a parameter. It lies in the middle between two levels that occur. Most nodes have few rows,
 * so only levels between theirs are visited. */
static void try_param(forest *f, const node *node, size_t param, split *best) {
    const size_t n = node->n;
    size_t low = node->box.high[param], high = node->box.low[param], n_left = 0, before = LEVELS_MAX;
    double left = 0;
    if (low == high)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t level = level_of(f, node->rows[i], param);
        f->levels[level].n++;
        f->levels[level].sum += f->of->value[node->rows[i]];
        low = level < low ? level : low;
        high = level > high ? level : high;
    }
    for (size_t level = low; level <= high; level++) {
        const struct level at = f->levels[level];
        if (at.n == 0)
            continue;
        f->levels[level] = (struct level){0};
        if (before < LEVELS_MAX) {
            double right = node->sum - left;
            double score = left * left / (double)n_left + right * right / (double)(n - n_left);
            if (score > best->score)
                *best = (split){param, (before + level - 1) / 2, score};
        }
        before = level;
        n_left += at.n;
        left += at.sum;
    }
}

/* Two thirds of the parameters may be chosen, or all if these do not divide the rows. */
static bool choose_split(forest *f, const node *node, split *best) {
    const size_t n = f->n_varied, some = (2 * n + 2) / 3;
    size_t order[TT__PARAMS_MAX];
    *best = (split){.score = -1};
    memcpy(order, f->varied, sizeof order);
    for (size_t i = 0; i < n && (i < some || best->score < 0); i++) {
        size_t other = i + tt__random_below(&f->seed, n - i), param = order[other];
        order[other] = order[i];
        try_param(f, node, param, best);
    }
    return best->score >= 0;
}

static void grow(forest *f, node whole) {
    size_t *rows = whole.rows;
    bool same = true;
    split s;
    for (size_t i = 0; i < whole.n; i++) {
        whole.sum += f->of->value[rows[i]];
        same = same && f->of->value[rows[i]] == f->of->value[rows[0]];
    }
    if (same || !choose_split(f, &whole, &s)) {
        const double mean = same ? f->of->value[rows[0]] : whole.sum / (double)whole.n;
        f->leaves[f->n_leaves++] = (leaf){whole.box, mean, whole.volume, 0};
        return;
    }
    size_t n_left = 0;
    for (size_t i = 0; i < whole.n; i++)
        if (level_of(f, rows[i], s.param) <= s.last) {
            size_t row = rows[i];
            rows[i] = rows[n_left];
            rows[n_left++] = row;
        }
    const int low = whole.box.low[s.param], high = whole.box.high[s.param], cut = (int)s.last + 1;
    const double part = whole.volume * f->inverse[high - low + 1];
    node left = {.box = whole.box, .rows = rows, .n = n_left, .volume = part * (cut - low)};
    node right = {
        .box = whole.box, .rows = rows + n_left, .n = whole.n - n_left, .volume = part * (high + 1 - cut)};
    left.box.high[s.param] = (unsigned char)s.last;
    right.box.low[s.param] = (unsigned char)(s.last + 1);
    grow(f, left);
    grow(f, right);
}

/* ---- Variance of a tree ------------------------------------------------------------------------------ */

static double tree_mean(const forest *f) {
    double mean = 0;
    for (size_t i = 0; i < f->n_leaves; i++)
        mean += f->leaves[i].volume * f->leaves[i].value;
    return mean;
}

/* Adds the variance that the parameter explains alone, and its effects. */
static double add_alone(const forest *f, size_t p, double effect[LEVELS_MAX]) {
    double at[LEVELS_MAX] = {0}, variance = 0;
    size_t n = f->of->n_levels[p];
    for (size_t i = 0; i < f->n_leaves; i++) {
        const leaf *l = &f->leaves[i];
        double part = l->weight * (double)n * f->inverse[l->box.high[p] - l->box.low[p] + 1];
        for (size_t level = l->box.low[p]; level <= l->box.high[p]; level++)
            at[level] += part;
    }
    for (size_t level = 0; level < n; level++) {
        variance += at[level] * at[level] / (double)n;
        effect[level] += at[level];
    }
    return variance;
}

/* The variance that both explain together. Each leaf is added at the corners of its box; sums along rows and
 * columns then fill the boxes. */
static double variance_of_pair(const forest *f, size_t p, size_t q) {
    size_t n = f->of->n_levels[p], m = f->of->n_levels[q], width = m + 1;
    double variance = 0;
    memset(f->grid, 0, (n + 1) * width * sizeof *f->grid);
    for (size_t i = 0; i < f->n_leaves; i++) {
        const box *b = &f->leaves[i].box;
        double part = f->leaves[i].weight * (double)(n * m) * f->inverse[b->high[p] - b->low[p] + 1] *
                      f->inverse[b->high[q] - b->low[q] + 1];
        f->grid[b->low[p] * width + b->low[q]] += part;
        f->grid[b->low[p] * width + b->high[q] + 1] -= part;
        f->grid[(b->high[p] + 1u) * width + b->low[q]] -= part;
        f->grid[(b->high[p] + 1u) * width + b->high[q] + 1] += part;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double *at = &f->grid[i * width + j];
            *at +=
                (i ? at[-(ptrdiff_t)width] : 0) + (j ? at[-1] : 0) - (i && j ? at[-(ptrdiff_t)width - 1] : 0);
            variance += *at * *at / (double)(n * m);
        }
    return variance;
}

static void add_tree(forest *f, tt__importance *out) {
    const size_t *n_levels = f->of->n_levels;
    double alone[TT__PARAMS_MAX], mean = tree_mean(f);
    out->mean += mean;
    for (size_t i = 0; i < f->n_leaves; i++) {
        leaf *l = &f->leaves[i];
        l->weight = l->volume * (l->value - mean);
        f->total += l->weight * (l->value - mean);
    }
    for (size_t p = 0; p < f->of->n_params; p++)
        out->alone[p] += alone[p] = add_alone(f, p, out->effect[p]);
    for (size_t p = 0; p < f->of->n_params; p++)
        for (size_t q = 0; q < p; q++)
            if (n_levels[p] > 1 && n_levels[q] > 1)
                out->pair[p][q] += variance_of_pair(f, p, q) - alone[p] - alone[q];
}

/* Sums over trees become means and shares. */
static void finish(const forest *f, tt__importance *out, size_t n_trees) {
    double total = f->total > 0 ? f->total : 1;
    out->rest = f->total > 0;
    out->mean /= (double)n_trees;
    for (size_t p = 0; p < f->of->n_params; p++) {
        out->rest -= out->alone[p] /= total;
        for (size_t level = 0; level < f->of->n_levels[p]; level++)
            out->effect[p][level] /= (double)n_trees;
        for (size_t q = 0; q < p; q++) {
            out->pair[p][q] = out->pair[p][q] > 0 ? out->pair[p][q] / total : 0; /* rounding */
            out->rest -= out->pair[q][p] = out->pair[p][q];
        }
    }
    out->rest = out->rest > 0 ? out->rest : 0;
}

tt_status tt__importance_find(tt__importance *out, const tt__importance_of *of) {
    forest f = {.of = of, .seed = 1};
    size_t most = 1, n_trees = ROWS_WORTH / of->n;
    box whole = {{0}, {0}};
    *out = (tt__importance){0};
    for (size_t p = 0; p < of->n_params; p++) {
        whole.high[p] = (unsigned char)(of->n_levels[p] - 1);
        if (of->n_levels[p] > 1)
            f.varied[f.n_varied++] = p;
        most = of->n_levels[p] > most ? of->n_levels[p] : most;
    }
    for (int i = 1; i <= LEVELS_MAX; i++)
        f.inverse[i] = 1.0 / i;
    n_trees = n_trees > TREES_MAX ? TREES_MAX : n_trees < TREES_MIN ? TREES_MIN : n_trees;
    f.rows = calloc(of->n, sizeof *f.rows);
    f.leaves = calloc(of->n, sizeof *f.leaves);
    f.grid = calloc((most + 1) * (most + 1), sizeof *f.grid);
    tt_status status = f.rows && f.leaves && f.grid ? TT_OK : tt__fail_memory(of->n * sizeof *f.leaves);
    for (size_t t = 0; status == TT_OK && t < n_trees; t++) {
        for (size_t i = 0; i < of->n; i++)
            f.rows[i] = i;
        f.n_leaves = 0;
        grow(&f, (node){.box = whole, .rows = f.rows, .n = of->n, .volume = 1});
        add_tree(&f, out);
    }
    if (status == TT_OK)
        finish(&f, out, n_trees);
    for (size_t p = 0; p < of->n_params; p++) {
        out->total[p] = out->alone[p];
        for (size_t q = 0; q < of->n_params; q++)
            out->total[p] += out->pair[p][q];
    }
    free(f.rows);
    free(f.leaves);
    free(f.grid);
    return status;
}
