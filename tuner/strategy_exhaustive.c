/* The exhaustive strategy: front to back, skipping what is known from earlier runs. */
#include <stdlib.h>

#include "tuner/strategy.h"

static tt_status open_exhaustive(void **self, const tt__view *view, uint64_t seed) {
    (void)view;
    (void)seed;
    *self = calloc(1, sizeof(size_t));
    return *self ? TT_OK : tt__fail_memory(sizeof(size_t));
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    size_t *at = self;
    while (*at < view->space->n && view->known[*at] != TT__UNTRIED)
        (*at)++;
    *index = *at < view->space->n ? (int64_t)(*at)++ : TT__NOTHING;
    return TT_OK;
}

const tt__strategy tt__strategy_exhaustive = {
    .name = "exhaustive",
    .summary = "everything, in the order of the space",
    .window = SIZE_MAX,
    .open = open_exhaustive,
    .next = next,
    .close = free,
};
