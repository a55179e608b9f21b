/*
 * A fall counts from one tenth on. Smaller changes are normal boost behaviour, and the finals are paired.
 */
#include "tuner/measure/gpu_clocks.h"

#include <unistd.h>

#include "base/clock.h"

static const double fallen = 0.9, read_every_s = 0.005, patience_s = 0.2;
static const double costs_at_most = 0.02; /* of the time, because one reading takes a millisecond */

static void read_clocks(tt__gpu_clocks *c) {
    double begin_s = tt__now_s();
    c->now_mhz = tt__nvml_sm_mhz(c->ordinal);
    c->read_s = tt__now_s();
    c->cost_s = c->read_s - begin_s;
}

static bool is_up(const tt__gpu_clocks *c) {
    return c->now_mhz == 0 || c->now_mhz >= fallen * c->usual_mhz;
}

bool tt__gpu_clocks_steady(tt__gpu_clocks *c) {
    double pause_s = c->cost_s / costs_at_most;
    if (tt__now_s() < c->read_s + (pause_s > read_every_s ? pause_s : read_every_s))
        return is_up(c);
    read_clocks(c);
    if (c->now_mhz > c->usual_mhz)
        c->usual_mhz = c->now_mhz;
    if (is_up(c))
        return true;
    if (c->n_falls++ == 0 || c->now_mhz < c->lowest_mhz) {
        c->lowest_mhz = c->now_mhz;
        tt__nvml_why_slow(c->why, sizeof c->why, c->ordinal);
    }
    return false;
}

void tt__gpu_clocks_recover(tt__gpu_clocks *c) {
    for (double begin_s = tt__now_s(); !is_up(c) && tt__now_s() < begin_s + patience_s; read_clocks(c))
        usleep((useconds_t)(read_every_s * 1e6));
    if (!is_up(c))
        c->usual_mhz = c->now_mhz;
}

bool tt__gpu_clocks_settled(tt__gpu_clocks *c) {
    unsigned before = c->now_mhz;
    read_clocks(c);
    c->usual_mhz = c->now_mhz;
    return c->now_mhz == 0 || (before > 0 && c->now_mhz <= before);
}
