/* The random strategy: any untried configuration is as likely as the other. */
#include <stdlib.h>

#include "tuner/random.h"
#include "tuner/strategy.h"

static tt_status open_random(void **self, const tt__view *view, uint64_t seed) {
    (void)view;
    uint64_t *random = *self = malloc(sizeof *random);
    if (!random)
        return tt__fail_memory(sizeof *random);
    *random = seed;
    return TT_OK;
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    *index = tt__strategy_any(view, self);
    return TT_OK;
}

const tt__strategy tt__strategy_random = {
    .name = "random",
    .summary = "everything, in random order",
    .window = SIZE_MAX,
    .open = open_random,
    .next = next,
    .close = free,
};
