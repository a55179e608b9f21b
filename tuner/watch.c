/* A fall counts when it is a tenth: less than that the boost does all the time, and the finals are paired. */
#include "tuner/watch.h"

#include <unistd.h>

#include "base/clock.h"

static const double fallen = 0.9, read_every_s = 0.005, patience_s = 0.2;
static const double costs_at_most = 0.02; /* of the time, where reading takes a millisecond */

static void read_clocks(tt__watch *w) {
    double begin_s = tt__now_s();
    w->now_mhz = tt__nvml_sm_mhz(w->ordinal);
    w->read_s = tt__now_s();
    w->cost_s = w->read_s - begin_s;
}

static bool is_up(const tt__watch *w) {
    return w->now_mhz == 0 || w->now_mhz >= fallen * w->usual_mhz;
}

bool tt__watch_steady(tt__watch *w) {
    double pause_s = w->cost_s / costs_at_most;
    if (tt__now_s() < w->read_s + (pause_s > read_every_s ? pause_s : read_every_s))
        return is_up(w);
    read_clocks(w);
    if (w->now_mhz > w->usual_mhz)
        w->usual_mhz = w->now_mhz;
    if (is_up(w))
        return true;
    if (w->n_falls++ == 0 || w->now_mhz < w->lowest_mhz) {
        w->lowest_mhz = w->now_mhz;
        tt__nvml_why_slow(w->why, sizeof w->why, w->ordinal);
    }
    return false;
}

void tt__watch_recover(tt__watch *w) {
    for (double begin_s = tt__now_s(); !is_up(w) && tt__now_s() < begin_s + patience_s; read_clocks(w))
        usleep((useconds_t)(read_every_s * 1e6));
    if (!is_up(w))
        w->usual_mhz = w->now_mhz;
}

bool tt__watch_settled(tt__watch *w) {
    unsigned before = w->now_mhz;
    read_clocks(w);
    w->usual_mhz = w->now_mhz;
    return w->now_mhz == 0 || (before > 0 && w->now_mhz <= before);
}
