/*
 * The energy of a launch, from trains of launches that run in turns.
 *
 * A train repeats one thing for some seconds, while NVML counts joules. The first thing is the flush alone,
 * which every other train has before each launch. Trains run in palindromes (ABBA), so that a drift adds the
 * same to all. Idle power is subtracted.
 */
#ifndef TT_TUNER_MEASURE_ENERGY_H
#define TT_TUNER_MEASURE_ENERGY_H

#include <stddef.h>

#include "base/model.h"

enum { TT__ENERGY_TURNS = 4, TT__ENERGY_THINGS_MAX = 8 }; /* trains of each thing; two palindromes */

/* One train: what was counted from one tick of the counter to another. */
typedef struct tt__train {
    int thing;
    double launches, seconds, joules;
    double middle_s; /* when: how long the GPU had run trains by then */
} tt__train;

typedef struct tt__idle {
    double watts, noise; /* noise: how far it may be off */
} tt__idle;

/* TT_E_UNSUPPORTED: the device does not count energy. */
tt_status tt__energy_uncounted(void);

/* How many seconds the trains of n things and of the flush take at most. lap_us: all things once. */
double tt__energy_most_s(size_t n, double train_s, double lap_us);

/* Finals measure this many leaders and the default, in trains of so many seconds: with 1.5 s, ten
 * measurements of a launch are 1 % apart. */
enum { TT__ENERGY_LEADERS_MAX = 5 };
extern const double tt__energy_train_s;
/* How long an election by energies takes at most, if launches are short. */
double tt__energy_wanted_s(void);

/* Which thing runs in each of the n * TT__ENERGY_TURNS trains: 0 1 1 0 0 1 1 0. */
int tt__energy_thing(int train, int n);

/* Fills in joules and noise of things 0 to n - 1 from all their trains, with a linear drift taken out. With
 * `flush`, thing 0 is the flush, and is subtracted from the others. */
void tt__energy_fit(tt__energy *out, const tt__train *trains, int n, bool flush, const tt__idle *idle);

typedef enum tt__energy_verdict {
    TT__ENERGY_UNKNOWN, /* the noise wins */
    TT__ENERGY_LESS,
    TT__ENERGY_MORE
} tt__energy_verdict;

/* Compares the energy of a with that of b. *ratio is a over b, or 0 if one of them is unknown. `edp` compares
 * energy times time. */
tt__energy_verdict tt__energy_compare(const tt__energy *a, const tt__energy *b, bool edp, double *ratio);
/* Is it known at all, within 10 %? */
bool tt__energy_known(const tt__energy *e);

#endif
