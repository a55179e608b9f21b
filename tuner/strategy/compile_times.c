/*
 * The logarithm of a compile time is a sum: one part for the template, and one for each value of a parameter.
 */
#include "tuner/strategy/compile_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "kernel/space/space.h"

/* Expected before there are times. */
static const double usual_s = 0.1;
/* A number that is twice as large is expected to take so much longer (unrolled loops, tiles), with the weight
 * of one trial. */
static const double slope = 0.1;
enum { SWEEPS = 4 };

typedef struct parts {
    double base, of[TT__PARAMS_MAX][TT__VALUES_MAX];
} parts;

static double expected(const tt__param *p, size_t value) {
    double least = tt__strtod(p->values[0], NULL), number = tt__strtod(p->values[value], NULL);
    return !p->runtime && least > 0 && number > 0 ? slope * log2(number / least) : 0;
}

static double sum(const parts *x, const tt__template *t, const unsigned char *at) {
    double sum = x->base;
    for (size_t k = 0; k < t->n_params; k++)
        sum += x->of[k][at[k]];
    return sum;
}

/* The part of each value is the mean of what the other parts leave over. */
static void fit_param(parts *x, const tt__view *view, const size_t *tried, size_t n, size_t k) {
    const tt__template *t = view->space->items[tried[0]].t;
    double rest[TT__VALUES_MAX] = {0}, count[TT__VALUES_MAX] = {0};
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = view->space->items[tried[i]].choice;
        rest[at[k]] += log(view->trials[tried[i]].compile_ms / 1e3) - sum(x, t, at) + x->of[k][at[k]];
        count[at[k]]++;
    }
    for (size_t v = 0; v < t->params[k].n_values; v++)
        x->of[k][v] = (rest[v] + expected(&t->params[k], v)) / (count[v] + 1);
}

/* `tried` are n configurations of one template. */
static void fit(parts *x, const tt__view *view, const size_t *tried, size_t n) {
    const tt__template *t = n ? view->space->items[tried[0]].t : NULL;
    for (int sweep = 0; sweep < SWEEPS && n; sweep++) {
        double rest = 0;
        for (size_t i = 0; i < n; i++)
            rest +=
                log(view->trials[tried[i]].compile_ms / 1e3) - sum(x, t, view->space->items[tried[i]].choice);
        x->base += rest / (double)n;
        for (size_t k = 0; k < t->n_params; k++)
            if (!t->params[k].runtime)
                fit_param(x, view, tried, n, k);
    }
}

tt_status tt__compile_times(double *seconds, const tt__view *view) {
    const tt__space *space = view->space;
    parts *x = malloc(sizeof *x);
    size_t *tried = calloc(space->n + 1, sizeof *tried);
    tt_status status = x && tried ? TT_OK : tt__fail_memory(space->n * sizeof *tried);
    for (size_t first = 0, end; first < space->n && status == TT_OK; first = end) {
        const tt__template *t = space->items[first].t;
        size_t n = 0;
        end = tt__strategy_end_of_template(space, first);
        for (size_t i = first; i < end; i++)
            if (view->known[i] == TT__TRIED && view->trials[i].compile_ms > 0)
                tried[n++] = i;
        x->base = log(usual_s);
        for (size_t k = 0; k < t->n_params; k++)
            for (size_t v = 0; v < t->params[k].n_values; v++)
                x->of[k][v] = expected(&t->params[k], v);
        fit(x, view, tried, n);
        for (size_t i = first; i < end; i++)
            seconds[i] = exp(sum(x, t, view->space->items[i].choice));
    }
    free(tried);
    free(x);
    return status;
}
