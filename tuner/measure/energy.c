/* See the header. */
#include "tuner/measure/energy.h"

#include <math.h>

static const double known_within = 0.1;

tt_status tt__energy_uncounted(void) {
    return tt__fail(
        TT_E_UNSUPPORTED,
        "NVML does not count this GPU's energy: it needs a whole GPU of Volta or newer (no MIG), and "
        "the driver's libnvidia-ml.so.1");
}

double tt__energy_most_s(size_t n, double train_s, double lap_us) {
    const double beside_s = 30; /* idle power is measured, and trains wait for ticks of the counter */
    enum { LEAST = 32 };        /* launches of each thing that a train takes at least */
    return beside_s + TT__ENERGY_TURNS * (double)(n + 1) * train_s +
           LEAST * (TT__ENERGY_TURNS + 1) * lap_us * 1e-6;
}

const double tt__energy_train_s = 5;

double tt__energy_wanted_s(void) {
    return tt__energy_most_s(TT__ENERGY_LEADERS_MAX + 1, tt__energy_train_s, 0);
}

int tt__energy_thing(int train, int n) {
    int at = train % (2 * n);
    return at < n ? at : 2 * n - 1 - at;
}

/* The 97.5 % quantile of Student's t. */
static double quantile(int freedom) {
    static const double t[] = {12.7, 12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26,
                               2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09};
    return freedom < (int)(sizeof t / sizeof *t) ? t[freedom < 0 ? 0 : freedom] : 2.04;
}

/* Joules of one launch of this train. */
static double of_launch(const tt__train *t, const tt__idle *idle) {
    return (t->joules - idle->watts * t->seconds) / t->launches;
}

typedef struct mean {
    double joules, middle_s, launch_s, error;
} mean;

static void find_means(mean *out, const tt__train *trains, int n, const tt__idle *idle) {
    for (int i = 0; i < n; i++)
        out[i] = (mean){0};
    for (int k = 0; k < n * TT__ENERGY_TURNS; k++) {
        mean *m = &out[trains[k].thing];
        m->joules += of_launch(&trains[k], idle) / TT__ENERGY_TURNS;
        m->middle_s += trains[k].middle_s / TT__ENERGY_TURNS;
        m->launch_s += trains[k].seconds / trains[k].launches / TT__ENERGY_TURNS;
    }
}

/* Relative to its mean, a thing's energy changes by `slope` a second, and by chance. */
static void take_out_drift(mean *m, const tt__train *trains, int n, const tt__idle *idle) {
    double xx = 0, xy = 0, left = 0, center = 0;
    int trains_n = n * TT__ENERGY_TURNS;
    for (int k = 0; k < trains_n; k++) {
        const mean *of = &m[trains[k].thing];
        double x = trains[k].middle_s - of->middle_s, y = of_launch(&trains[k], idle) / of->joules - 1;
        xx += x * x;
        xy += x * y;
        center += trains[k].middle_s / trains_n;
    }
    double slope = xx > 0 ? xy / xx : 0;
    for (int k = 0; k < trains_n; k++) {
        const mean *of = &m[trains[k].thing];
        double y = of_launch(&trains[k], idle) / of->joules - 1;
        double chance = y - slope * (trains[k].middle_s - of->middle_s);
        left += chance * chance;
    }
    int freedom = trains_n - n - 1;
    double error = quantile(freedom) * sqrt(left / freedom / TT__ENERGY_TURNS);
    for (int i = 0; i < n; i++) {
        m[i].joules *= 1 - slope * (m[i].middle_s - center);
        m[i].error = error * fabs(m[i].joules);
    }
}

void tt__energy_fit(tt__energy *out, const tt__train *trains, int n, bool flush, const tt__idle *idle) {
    mean m[TT__ENERGY_THINGS_MAX], none = {0};
    find_means(m, trains, n, idle);
    take_out_drift(m, trains, n, idle);
    for (int i = 0; i < n; i++) {
        const mean *less = flush && i > 0 ? &m[0] : &none;
        out[i].joules = m[i].joules - less->joules;
        double from_idle = idle->noise * (m[i].launch_s - less->launch_s);
        out[i].noise = sqrt(m[i].error * m[i].error + less->error * less->error + from_idle * from_idle);
        out[i].idle_watts = idle->watts;
    }
}

bool tt__energy_known(const tt__energy *e) {
    return e->joules > 0 && e->noise <= known_within * e->joules;
}

tt__energy_verdict tt__energy_compare(const tt__energy *a, const tt__energy *b, bool edp, double *ratio) {
    *ratio = 0;
    if (!tt__energy_known(a) || !tt__energy_known(b))
        return TT__ENERGY_UNKNOWN;
    *ratio = a->joules / b->joules * (edp ? a->time_us / b->time_us : 1);
    double noise = *ratio * hypot(a->noise / a->joules, b->noise / b->joules);
    return *ratio + noise < 1 ? TT__ENERGY_LESS : *ratio - noise > 1 ? TT__ENERGY_MORE : TT__ENERGY_UNKNOWN;
}
