/*
 * The strategies: what several of them share, each of them, and their table.
 */
#include "tuner/strategy/strategy.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/str.h"

/* Does a cost model predict times? */
static bool is_modelled(const tt__view *view) {
    return view->space->n > 0 && view->space->items[0].t->operation->moves;
}

size_t tt__strategy_window(const tt__strategy *s, const tt__view *view, size_t n_tried, size_t n_compilers) {
    if (s->window == SIZE_MAX)
        return SIZE_MAX;
    if (is_modelled(view))
        return s->window + n_tried / 4;
    return s->window > n_compilers ? s->window : n_compilers;
}

/* Was it tried, with a time? */
static bool has_passed(const tt__view *view, size_t index) {
    return view->known[index] == TT__TRIED && view->trials[index].status == TT__TRIAL_OK &&
           view->trials[index].time_us > 0;
}

size_t tt__strategy_leaders(size_t *out, size_t most, const tt__view *view) {
    size_t n = 0;
    for (size_t i = 0; i < view->space->n; i++) {
        if (!has_passed(view, i))
            continue;
        size_t k = n;
        for (; k > 0 && view->trials[i].time_us < view->trials[out[k - 1]].time_us; k--)
            out[k] = out[k - 1];
        out[k] = i;
        n += n < most;
    }
    return n;
}

/* The fastest so far, or TT__NOTHING. */
static int64_t fastest_of(const tt__view *view) {
    size_t leaders[2];
    return tt__strategy_leaders(leaders, 1, view) ? (int64_t)leaders[0] : TT__NOTHING;
}

/* Lowers the odds in [first, end), one template's configurations, by the share that passed among those with
 * the same value of parameter k. After the last parameter, all form one group. */
static void lower_odds(double *odds, const tt__view *view, size_t first, size_t end, size_t k) {
    double tried[TT__VALUES_MAX] = {0}, passed[TT__VALUES_MAX] = {0};
    bool all = k == view->space->items[first].t->n_params;
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->space->items[i].choice[k];
        tried[group] += view->known[i] == TT__TRIED;
        passed[group] += has_passed(view, i);
    }
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->space->items[i].choice[k];
        odds[i] = fmin(odds[i], (passed[group] + 1) / (tried[group] + 1));
    }
}

typedef struct ranked {
    double log_time;
    size_t index;
} ranked;

static int by_time(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->log_time < y->log_time ? -1 : x->log_time > y->log_time ? 1 : x->index < y->index ? -1 : 1;
}

tt_status tt__strategy_rank(size_t **out, size_t *n, const tt__space *space, const tt__known *known,
                            const tt__cost_model *model) {
    ranked *order = calloc(space->n, sizeof *order);
    *n = 0;
    *out = calloc(space->n, sizeof **out);
    if (!order || !*out) {
        free(order);
        return tt__fail_memory(space->n * sizeof *order);
    }
    for (size_t i = 0; i < space->n; i++)
        if (known[i] == TT__UNTRIED)
            order[(*n)++] = (ranked){model->log_time[i], i};
    qsort(order, *n, sizeof *order, by_time);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = order[i].index;
    free(order);
    return TT_OK;
}

/* The chance of each configuration to pass: the smallest share that passed among those with its template or
 * one of its values. A failure is used for nothing else. */
static void find_odds(double *odds, const tt__view *view) {
    const tt__space *space = view->space;
    bool failed = false;
    for (size_t i = 0; i < space->n; i++) {
        odds[i] = 1;
        failed |= view->known[i] == TT__TRIED && !has_passed(view, i);
    }
    if (!failed)
        return;
    for (size_t first = 0, end; first < space->n; first = end) {
        end = tt__space_end_of_template(space, first);
        for (size_t k = 0; k <= space->items[first].t->n_params; k++)
            lower_odds(odds, view, first, end, k);
    }
}

/* A random untried index, with equal chances; TT__NOTHING if there is none. */
static int64_t any_untried(const tt__view *view, uint64_t *random) {
    size_t n = 0, i = 0;
    for (size_t k = 0; k < view->space->n; k++)
        n += view->known[k] == TT__UNTRIED;
    if (n == 0)
        return TT__NOTHING;
    for (size_t skip = tt__random_below(random, n); view->known[i] != TT__UNTRIED || skip-- > 0;)
        i++;
    return (int64_t)i;
}

/* The next untried start from *at on; TT__NOTHING if there is none. *at moves after it. */
static int64_t next_start(const tt__view *view, size_t *at) {
    while (*at < view->n_starts) {
        size_t i = view->starts[(*at)++];
        if (view->known[i] == TT__UNTRIED)
            return (int64_t)i;
    }
    return TT__NOTHING;
}

/* ---- Everything, in the order of the space or in random order ------------------------------------------ */

static tt_status open_state(void **self, const tt__view *view, uint64_t seed) {
    (void)view;
    uint64_t *state = *self = malloc(sizeof *state);
    if (!state)
        return tt__fail_memory(sizeof *state);
    *state = seed;
    return TT_OK;
}

static tt_status next_in_order(int64_t *index, void *self, const tt__view *view) {
    (void)self;
    size_t i = 0;
    while (i < view->space->n && view->known[i] != TT__UNTRIED)
        i++;
    *index = i < view->space->n ? (int64_t)i : TT__NOTHING;
    return TT_OK;
}

static tt_status next_at_random(int64_t *index, void *self, const tt__view *view) {
    *index = any_untried(view, self);
    return TT_OK;
}

const tt__strategy tt__strategy_exhaustive = {
    .name = "exhaustive",
    .summary = "everything, in the order of the space",
    .window = SIZE_MAX,
    .open = open_state,
    .next = next_in_order,
    .close = free,
};

const tt__strategy tt__strategy_random = {
    .name = "random",
    .summary = "everything, in random order",
    .window = SIZE_MAX,
    .open = open_state,
    .next = next_at_random,
    .close = free,
};

/* ---- The model ----------------------------------------------------------------------------------------- */

/*
 * Follows the cost model, corrected by trials. The error of each template and parameter value moves the
 * prediction of all configurations that share it, and less if it is from few trials. Configurations far from
 * the best are left out.
 */

static const double hopeless = 1.25;   /* times the best */
static const double trust_after = 2;   /* with so many trials, half of a correction counts */
static const double tie_break = 0.002; /* random by seed, to break ties */
enum { PASSES = 2, LOOK_AROUND = 8 };  /* every 8th trial is random, because the model may be wrong */

typedef struct guided {
    uint64_t random;
    size_t named;
    double *prior, *predicted, *odds; /* one allocation */
} guided;

static void close_guided(void *self) {
    guided *g = self;
    if (!g)
        return;
    free(g->prior);
    free(g);
}

static tt_status open_guided(void **self, const tt__view *view, uint64_t seed) {
    size_t n = view->space->n;
    guided *g = *self = calloc(1, sizeof *g);
    if (!g)
        return tt__fail_memory(sizeof *g);
    g->random = seed;
    g->prior = calloc(3 * n, sizeof *g->prior);
    if (!g->prior)
        return tt__fail_memory(3 * n * sizeof *g->prior);
    g->predicted = g->prior + n;
    g->odds = g->prior + 2 * n;
    for (size_t i = 0; i < n; i++)
        g->prior[i] = view->model->log_time[i] + tie_break * tt__random_unit(&g->random);
    return TT_OK;
}

/* Corrects the predictions in [first, end) by the mean error of tried members, for each value of parameter k.
 * After the last parameter, for all together. */
static void correct(guided *g, const tt__view *view, size_t first, size_t end, size_t k) {
    double sum[TT__VALUES_MAX] = {0}, n[TT__VALUES_MAX] = {0};
    bool all = k == view->space->items[first].t->n_params;
    for (size_t i = first; i < end; i++)
        if (has_passed(view, i)) {
            size_t group = all ? 0 : view->space->items[i].choice[k];
            sum[group] += log(view->trials[i].time_us) - g->predicted[i];
            n[group]++;
        }
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->space->items[i].choice[k];
        g->predicted[i] += sum[group] / (n[group] + trust_after);
    }
}

/* Predicts logarithms of times. The offset common to all templates is computed from all trials. */
static void predict(guided *g, const tt__view *view) {
    const tt__space *space = view->space;
    double sum = 0, n = 0;
    for (size_t i = 0; i < space->n; i++)
        if (has_passed(view, i)) {
            sum += log(view->trials[i].time_us) - g->prior[i];
            n++;
        }
    for (size_t i = 0; i < space->n; i++)
        g->predicted[i] = g->prior[i] + (n > 0 ? sum / n : 0);
    for (size_t first = 0, end; first < space->n; first = end) {
        end = tt__space_end_of_template(space, first);
        for (int pass = 0; pass < PASSES; pass++)
            for (size_t k = 0; k <= space->items[first].t->n_params; k++)
                correct(g, view, first, end, k);
    }
}

static tt_status next_guided(int64_t *index, void *self, const tt__view *view) {
    guided *g = self;
    size_t at_start = 0;
    *index = next_start(view, &at_start);
    if (*index != TT__NOTHING)
        return TT_OK;
    int64_t fastest = fastest_of(view);
    find_odds(g->odds, view);
    predict(g, view);
    double limit = fastest != TT__NOTHING ? log(view->trials[fastest].time_us * hopeless) : INFINITY;
    bool look_around = ++g->named % LOOK_AROUND == 0;
    double least = INFINITY;
    for (size_t i = 0; i < view->space->n; i++) {
        double rank = look_around ? tt__random_unit(&g->random) : g->predicted[i] - log(g->odds[i]);
        if (view->known[i] == TT__UNTRIED && g->predicted[i] < limit && rank < least) {
            least = rank;
            *index = (int64_t)i;
        }
    }
    return TT_OK;
}

const tt__strategy tt__strategy_model = {
    .name = "model",
    .summary = "best first by a model of the launch that trials correct",
    .window = 8,
    .open = open_guided,
    .next = next_guided,
    .close = close_guided,
};

/* ---- How long configurations compile ---------------------------------------------------------------------
 * The logarithm of a compile time is a sum: one part for the template, and one for each value of a parameter.
 */

/* Expected before there are times. */
static const double usual_s = 0.1;
/* A number that is twice as large is expected to take so much longer (unrolled loops, tiles), with the weight
 * of one trial. */
static const double slope = 0.1;
enum { PARTS_SWEEPS = 4 };

typedef struct parts {
    double base, of[TT__PARAMS_MAX][TT__VALUES_MAX];
} parts;

static double expected_part(const tt__param *p, size_t value) {
    double least = tt__strtod(p->values[0], NULL), number = tt__strtod(p->values[value], NULL);
    return !p->runtime && least > 0 && number > 0 ? slope * log2(number / least) : 0;
}

static double sum_of(const parts *x, const tt__template *t, const unsigned char *at) {
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
        rest[at[k]] += log(view->trials[tried[i]].compile_ms / 1e3) - sum_of(x, t, at) + x->of[k][at[k]];
        count[at[k]]++;
    }
    for (size_t v = 0; v < t->params[k].n_values; v++)
        x->of[k][v] = (rest[v] + expected_part(&t->params[k], v)) / (count[v] + 1);
}

/* `tried` are n configurations of one template. */
static void fit_parts(parts *x, const tt__view *view, const size_t *tried, size_t n) {
    const tt__template *t = n ? view->space->items[tried[0]].t : NULL;
    for (int sweep = 0; sweep < PARTS_SWEEPS && n; sweep++) {
        double rest = 0;
        for (size_t i = 0; i < n; i++)
            rest += log(view->trials[tried[i]].compile_ms / 1e3) -
                    sum_of(x, t, view->space->items[tried[i]].choice);
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
        end = tt__space_end_of_template(space, first);
        for (size_t i = first; i < end; i++)
            if (view->known[i] == TT__TRIED && view->trials[i].compile_ms > 0)
                tried[n++] = i;
        x->base = log(usual_s);
        for (size_t k = 0; k < t->n_params; k++)
            for (size_t v = 0; v < t->params[k].n_values; v++)
                x->of[k][v] = expected_part(&t->params[k], v);
        fit_parts(x, view, tried, n);
        for (size_t i = first; i < end; i++)
            seconds[i] = exp(sum_of(x, t, view->space->items[i].choice));
    }
    free(tried);
    free(x);
    return status;
}

/* ---- The surrogate, which is the default ----------------------------------------------------------------
 */

/*
 * Bayesian optimisation. A Gaussian process corrects the model's prediction, and the configuration with the
 * largest expected improvement is next. Starting points come first, because winners elsewhere tell more than
 * the model.
 */

/* A small random number by seed, which breaks the many ties. */
static const double opinion = 0.005;
/* Added to the predicted logarithm of the time if trials of the same kind failed: so much each time the share
 * of successes falls by a factor of e. */
static const double caution = 0.05;
/* The cost of a trial with a compile, relative to one without (16 compilers). It counts from FRUGAL trials
 * on. Before that, the number of trials matters, and then time does. */
static const double dear = 4;
enum { FRUGAL = 48 };
/* With a time limit, a compile of so many seconds costs as much as the rest of a trial. */
static const double beside_s = 0.25;
/* If no improvement is expected any more, the prediction decides. */
static const double faint = 1e-9;
/* From ACQUAINTED trials on, each template without a trial gets one. The model knows nothing about templates.
 * With few rows, its error can be larger than the process explores. */
enum { GREEDY = 7, ACQUAINTED = 24 };
/* With a cost model, configurations differ little after so many trials. Then those that differ in one
 * parameter from one of the LEADERS come first, so that long searches end at the same one. */
enum { POLISHED = 96, LEADERS = 3 };
/* Without a cost model or priors, starts are all that is known at first. */
enum { STARTS_ALONE = 8 };

/* The process is fitted to FIT_FIRST results, and again whenever there are a quarter more, up to FIT_LAST. */
enum { FIT_FIRST = 12, FIT_LAST = 320 };

/* Every second choice takes the process for less sure than it says. A fitted one fits few rows too well. The
 * other one expects the errors that the cost model makes for transposes, so its own errors say how far it is
 * off, once there are SURPRISE_FIRST. One error counts for SURPRISE_MOST deviations at most. */
enum { DOUBT_EVERY = 2, SURPRISE_FIRST = 8, SURPRISE_MOST = 20 };
static const double doubt = 3;

typedef struct surrogate {
    tt__gp *gp;
    size_t fit_at;
    tt__squash squash;
    size_t at_start, n_started;
    double *prior, *odds, *gain; /* one allocation, with the next three; gain: from the last comparison of all
                                    configurations */
    double *cost;                /* of a trial with a compile, over one without; 1 without a time limit */
    double *expected, *variance; /* when it was named; no variance: without a prediction, or before all
                                    results, when the model's unknown constant is the error */
    size_t n_named;
    size_t n_known;     /* trials when `cost` was computed */
    bool compared;      /* was there such a comparison? */
    size_t *cubin_of;   /* tt__space_cubins */
    bool *row_of;       /* it is a row of the process; one allocation with the next two */
    bool *asked_for;    /* its cubin was named */
    bool *is_favourite; /* its cubin is compiled ahead */
} surrogate;

static void close_surrogate(void *self) {
    surrogate *s = self;
    if (!s)
        return;
    tt__gp_close(s->gp);
    free(s->prior);
    free(s->cubin_of);
    free(s->row_of);
    free(s);
}

static tt_status note_favourites(surrogate *s, const tt__view *view) {
    size_t n, *order;
    tt_status status = tt__strategy_rank(&order, &n, view->space, view->known, view->model);
    for (size_t i = 0; status == TT_OK && i < n && i < view->n_favourites; i++)
        s->is_favourite[s->cubin_of[order[i]]] = true;
    free(order);
    return status;
}

static tt_status open_surrogate(void **self, const tt__view *view, uint64_t seed) {
    size_t n = view->space->n;
    surrogate *s = *self = calloc(1, sizeof *s);
    if (!s)
        return tt__fail_memory(sizeof *s);
    s->prior = calloc(6 * n, sizeof *s->prior);
    s->cubin_of = calloc(n, sizeof *s->cubin_of);
    s->row_of = calloc(3 * n, sizeof *s->row_of);
    if (!s->prior || !s->cubin_of || !s->row_of)
        return tt__fail_memory(6 * n * sizeof *s->prior);
    s->fit_at = FIT_FIRST;
    s->odds = s->prior + n;
    s->gain = s->prior + 2 * n;
    s->cost = s->prior + 3 * n;
    s->expected = s->prior + 4 * n;
    s->variance = s->prior + 5 * n;
    for (size_t i = 0; i < n; i++)
        s->cost[i] = 1;
    s->n_known = SIZE_MAX;
    s->asked_for = s->row_of + n;
    s->is_favourite = s->row_of + 2 * n;
    TT_TRY(tt__space_cubins(view->space, s->cubin_of));
    for (size_t i = 0; i < n; i++)
        s->prior[i] = view->model->log_time[i] + opinion * tt__random_unit(&seed);
    if (view->n_favourites > 0)
        TT_TRY(note_favourites(s, view));
    return tt__gp_open(&s->gp, is_modelled(view) ? &tt__gp_sum : &tt__gp_product, view->model, view->priors);
}

static void note_cubins(surrogate *s, const tt__view *view) {
    for (size_t i = 0; i < view->space->n; i++)
        if (view->known[i] != TT__UNTRIED)
            s->asked_for[s->cubin_of[i]] = true;
}

static void set_values(surrogate *s, const tt__view *view) {
    for (size_t r = 0; r < s->gp->n_rows; r++) {
        size_t i = s->gp->rows[r];
        if (has_passed(view, i))
            tt__gp_set(s->gp, r, tt__squashed(&s->squash, log(view->trials[i].time_us)) - s->prior[i]);
    }
}

/* When there are enough new results, half of them become "slow", and the process is fitted. */
static tt_status fit(surrogate *s, const tt__view *view) {
    double times[TT__GP_ROWS_MAX];
    size_t n = 0;
    for (size_t r = 0; r < s->gp->n_rows; r++) {
        size_t i = s->gp->rows[r];
        if (has_passed(view, i))
            times[n++] = log(view->trials[i].time_us);
    }
    if (!s->gp->kind->fit || n < s->fit_at || n > FIT_LAST)
        return TT_OK;
    s->fit_at = n + n / 4;
    s->squash = tt__squash_of(times, n);
    set_values(s, view);
    return tt__gp_fit(s->gp);
}

/* Adds rows for newly named or tried configurations, and values for results. */
static tt_status learn(surrogate *s, const tt__view *view) {
    note_cubins(s, view);
    for (size_t i = 0; i < view->space->n; i++)
        if (view->known[i] != TT__UNTRIED && !s->row_of[i] && tt__gp_has_room(s->gp)) {
            TT_TRY(tt__gp_add(s->gp, i));
            s->row_of[i] = true;
        }
    set_values(s, view);
    return fit(s, view);
}

static tt_status find_costs(surrogate *s, const tt__view *view) {
    size_t n = 0;
    for (size_t i = 0; i < view->space->n; i++)
        n += view->known[i] == TT__TRIED;
    if (!view->hurried || n == s->n_known)
        return TT_OK;
    s->n_known = n;
    TT_TRY(tt__compile_times(s->cost, view));
    for (size_t i = 0; i < view->space->n; i++)
        s->cost[i] = 1 + s->cost[i] / beside_s;
    return TT_OK;
}

/* The expected improvement on `best` of a normally distributed value. */
static double improvement(double best, double mean, double deviation) {
    double z = (best - mean) / deviation;
    double below = erfc(-z / sqrt(2)) / 2, density = exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846);
    return (best - mean) * below + deviation * density;
}

/* The time to beat: that of the fastest trial or, if there is none yet, the best prediction in flight. */
static double to_beat(const surrogate *s, const tt__view *view) {
    double best = INFINITY;
    int64_t fastest = fastest_of(view);
    if (fastest != TT__NOTHING)
        return tt__squashed(&s->squash, log(view->trials[fastest].time_us));
    for (size_t i = 0; i < view->space->n; i++)
        if (view->known[i] != TT__UNTRIED && s->prior[i] < best)
            best = s->prior[i];
    return best;
}

/* How much larger errors were than expected: the root of their mean square, in deviations. */
static double surprise(const surrogate *s, const tt__view *view) {
    double sum = 0, n = 0;
    for (size_t i = 0; i < view->space->n; i++)
        if (s->variance[i] > 0 && has_passed(view, i)) {
            double error = tt__squashed(&s->squash, log(view->trials[i].time_us)) - s->expected[i];
            sum += fmin(error * error / s->variance[i], SURPRISE_MOST * SURPRISE_MOST);
            n++;
        }
    return n < SURPRISE_FIRST ? 1 : fmax(1, sqrt(sum / n));
}

/* A configuration with the best one's cubin is tried at once. It needs no compile, and another block order
 * may suit the tile. */
static int64_t sibling_of_best(const surrogate *s, const tt__view *view) {
    int64_t best = fastest_of(view);
    for (size_t i = 0; best != TT__NOTHING && i < view->space->n; i++)
        if (view->known[i] == TT__UNTRIED && s->cubin_of[i] == s->cubin_of[best])
            return (int64_t)i;
    return TT__NOTHING;
}

/* The default of a template that was never named. Without a default, its best by the model. */
static int64_t stranger(const surrogate *s, const tt__view *view) {
    for (size_t first = 0, end; first < view->space->n; first = end) {
        bool known = false;
        size_t best = first;
        end = tt__space_end_of_template(view->space, first);
        for (size_t i = first; i < end; i++) {
            known = known || view->known[i] != TT__UNTRIED;
            if (s->prior[i] < s->prior[best])
                best = i;
        }
        if (known)
            continue;
        int64_t its_default = tt__space_default(view->space, first);
        return its_default != TT__NOTHING ? its_default : (int64_t)best;
    }
    return TT__NOTHING;
}

/* Do they differ in one parameter? */
static bool are_near(const tt__view *view, size_t a, size_t b) {
    const tt__template *t = view->space->items[a].t;
    size_t n = t == view->space->items[b].t ? 0 : 2;
    for (size_t k = 0; n < 2 && k < t->n_params; k++)
        n += view->space->items[a].choice[k] != view->space->items[b].choice[k];
    return n == 1;
}

/* The most promising neighbour of the fastest one that has any. */
static int64_t neighbour(const surrogate *s, const tt__view *view, const double *mean) {
    size_t leaders[LEADERS + 1];
    const size_t n = tt__strategy_leaders(leaders, LEADERS, view);
    int64_t best = TT__NOTHING;
    for (size_t k = 0; k < n && best == TT__NOTHING; k++)
        for (size_t i = 0; i < view->space->n; i++)
            if (view->known[i] == TT__UNTRIED && are_near(view, i, leaders[k]) &&
                (best == TT__NOTHING || s->prior[i] + mean[i] < s->prior[best] + mean[best]))
                best = (int64_t)i;
    return best;
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    surrogate *s = self;
    double most = -INFINITY;
    const double *mean, *deviation;
    *index = TT__NOTHING;
    const bool alone = s->gp->kind->fit && !(view->priors && view->priors->n > 0);
    const size_t starts = alone ? STARTS_ALONE : TT__STARTS_MODELLED;
    if (s->n_started < starts && (*index = next_start(view, &s->at_start)) != TT__NOTHING) {
        s->n_started++;
        return TT_OK;
    }
    if (s->gp->n_rows >= GREEDY && (*index = sibling_of_best(s, view)) != TT__NOTHING)
        return TT_OK;
    if (s->gp->n_rows >= ACQUAINTED && (*index = stranger(s, view)) != TT__NOTHING)
        return TT_OK;
    TT_TRY(learn(s, view));
    TT_TRY(find_costs(s, view));
    find_odds(s->odds, view);
    tt__gp_predict(s->gp, &mean, &deviation);
    if (!s->gp->kind->fit && s->gp->n_rows >= POLISHED && (*index = neighbour(s, view, mean)) != TT__NOTHING)
        return TT_OK;
    double best = to_beat(s, view);
    double wide = s->n_named++ % DOUBT_EVERY ? 1 : s->gp->kind->fit ? doubt : surprise(s, view);
    bool greedy = s->gp->n_rows < GREEDY, frugal = s->gp->n_rows >= FRUGAL;
    for (size_t i = 0; i < view->space->n; i++) {
        if (view->known[i] != TT__UNTRIED)
            continue;
        double at = s->prior[i] + mean[i] - caution * log(s->odds[i]);
        double gain = greedy ? 0 : improvement(best, at, wide * deviation[i]);
        const size_t cubin = s->cubin_of[i];
        double cost = s->asked_for[cubin] ? 1 : s->cost[i] * (frugal && !s->is_favourite[cubin] ? dear : 1);
        s->gain[i] = gain / cost - faint * (at + log(s->cost[i]));
        if (s->gain[i] > most) {
            most = s->gain[i];
            *index = (int64_t)i;
        }
    }
    s->compared = true;
    if (*index != TT__NOTHING && fastest_of(view) != TT__NOTHING) {
        s->expected[*index] = s->prior[*index] + mean[*index];
        s->variance[*index] = deviation[*index] * deviation[*index];
    }
    return TT_OK;
}

/* Was this cubin named, is it compiled ahead, or does one of the n have it? */
static bool is_covered(const surrogate *s, size_t cubin, const size_t *out, size_t n) {
    bool is = s->asked_for[cubin] || s->is_favourite[cubin];
    for (size_t k = 0; k < n && !is; k++)
        is = s->cubin_of[out[k]] == cubin;
    return is;
}

/* The most promising by the last comparison. */
static size_t likely(size_t *out, size_t most, void *self, const tt__view *view) {
    surrogate *s = self;
    size_t n = 0;
    note_cubins(s, view);
    while (s->compared && n < most) {
        int64_t best = TT__NOTHING;
        for (size_t i = 0; i < view->space->n; i++)
            if (view->known[i] == TT__UNTRIED && !is_covered(s, s->cubin_of[i], out, n) &&
                (best == TT__NOTHING || s->gain[i] > s->gain[best]))
                best = (int64_t)i;
        if (best == TT__NOTHING)
            break;
        out[n++] = (size_t)best;
    }
    return n;
}

const tt__strategy tt__strategy_surrogate = {
    .name = "surrogate",
    .summary = "largest expected improvement by a Gaussian process over the model",
    .window = 8,
    .open = open_surrogate,
    .next = next,
    .close = close_surrogate,
    .likely = likely,
};

/* ---- All of them --------------------------------------------------------------------------------------- */

static const tt__strategy *const strategies[] = {
    &tt__strategy_surrogate,
    &tt__strategy_model,
    &tt__strategy_random,
    &tt__strategy_exhaustive,
};

const tt__strategy *tt__strategy_at(size_t n) {
    return n < TT__COUNT(strategies) ? strategies[n] : NULL;
}

tt_status tt__strategy_find(const tt__strategy **out, const char *name) {
    tt__str names = {0};
    for (size_t i = 0; i < TT__COUNT(strategies); i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            *out = strategies[i];
            tt__str_free(&names);
            return TT_OK;
        }
        tt__str_addf(&names, "%s%s", i ? ", " : "", strategies[i]->name);
    }
    tt_status status =
        tt__fail(TT_E_INVALID, "unknown strategy \"%s\": there are %s", name, tt__str_text(&names));
    tt__str_free(&names);
    return status;
}
