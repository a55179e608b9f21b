/* Where the model's weights come from, and how well weights do on spaces that they were not fitted to. */
#include <math.h>

#include "bench/strategies.h"

/* A trial this much (as a logarithm) slower than the best counts 1/e, so that the fast ones decide. */
static const double interest = 0.15, ridge = 1e-3;

typedef struct system {
    double a[TT__COSTS][TT__COSTS], b[TT__COSTS];
} system_;

/* Each space counts the same and has a constant of its own. */
static void add(system_ *s, const bench_space *space) {
    double sum = 0, mean[TT__COSTS] = {0}, mean_y = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < space->space.n; i++) {
            const double *x = space->model.costs[i];
            if (space->trials[i].status != TT__TRIAL_OK)
                continue;
            double y = log(space->trials[i].time_us / space->best_us), w = exp(-y / interest);
            sum += pass == 0 ? w : 0;
            mean_y += pass == 0 ? w * y : 0;
            for (int k = 0; k < TT__COSTS; k++)
                if (pass == 0)
                    mean[k] += w * x[k];
                else
                    for (int l = 0; l < TT__COSTS; l++)
                        s->a[k][l] += w / sum * (x[k] - mean[k] / sum) * (x[l] - mean[l] / sum);
            for (int k = 0; k < TT__COSTS && pass == 1; k++)
                s->b[k] += w / sum * (x[k] - mean[k] / sum) * (y - mean_y / sum);
        }
}

/* By Gauss and Jordan; the ridge makes it regular. */
static void solve(double x[TT__COSTS], system_ *s) {
    for (int k = 0; k < TT__COSTS; k++)
        s->a[k][k] += ridge * (s->a[k][k] + 1e-3);
    for (int k = 0; k < TT__COSTS; k++)
        for (int i = 0; i < TT__COSTS; i++) {
            double f = i == k ? 0 : s->a[i][k] / s->a[k][k];
            for (int l = 0; l < TT__COSTS; l++)
                s->a[i][l] -= f * s->a[k][l];
            s->b[i] -= f * s->b[k];
        }
    for (int k = 0; k < TT__COSTS; k++)
        x[k] = s->b[k] / s->a[k][k];
}

void bench_fit(double weights[TT__COSTS], const bench_spaces *s, const bench_space *without, bool by_size) {
    system_ all = {0};
    double n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const tt_problem *p = &s->items[i].matrix, *q = without ? &without->matrix : NULL;
        bool left_out =
            q && (by_size ? p->rows == q->rows && p->cols == q->cols : p->elem_size == q->elem_size);
        if (left_out)
            continue;
        add(&all, &s->items[i]);
        n++;
    }
    for (int k = 0; k < TT__COSTS && n > 0; k++) {
        all.b[k] /= n;
        for (int l = 0; l < TT__COSTS; l++)
            all.a[k][l] /= n;
    }
    solve(weights, &all);
}
