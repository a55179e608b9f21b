/* A fall counts when it is a tenth: less than that the boost does all the time, and the finals are paired. */
#include "tuner/watch.h"

#include <unistd.h>

#include "base/clock.h"

static const double fallen = 0.9, read_every_s = 0.005, patience_s = 0.2;

static void read_clocks(tt__watch *w) {
    w->now = tt__clocks_now(w->ordinal);
    w->read_s = tt__now_s();
}

static bool is_up(const tt__watch *w) {
    return !w->now.known || w->now.sm_mhz >= fallen * w->usual_mhz;
}

bool tt__watch_steady(tt__watch *w) {
    if (tt__now_s() < w->read_s + read_every_s)
        return is_up(w);
    read_clocks(w);
    if (w->now.known && w->now.sm_mhz > w->usual_mhz)
        w->usual_mhz = w->now.sm_mhz;
    if (is_up(w))
        return true;
    if (w->n_falls++ == 0 || w->now.sm_mhz < w->lowest.sm_mhz)
        w->lowest = w->now;
    return false;
}

void tt__watch_recover(tt__watch *w) {
    for (double begin_s = tt__now_s(); !is_up(w) && tt__now_s() < begin_s + patience_s; read_clocks(w))
        usleep((useconds_t)(read_every_s * 1e6));
    if (!is_up(w))
        w->usual_mhz = w->now.sm_mhz;
}

bool tt__watch_settled(tt__watch *w) {
    unsigned before = w->now.sm_mhz;
    read_clocks(w);
    if (!w->now.known)
        return true;
    w->usual_mhz = w->now.sm_mhz;
    return before > 0 && w->now.sm_mhz <= before;
}
