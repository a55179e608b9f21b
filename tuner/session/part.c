/*
 * A configuration's part follows from the compiler options, so all shards agree on it.
 */
#include "tuner/session/part.h"

#include <stdlib.h>

#include "base/hash.h"
#include "kernel/space/config.h"

static tt_status is_in(bool *is, const tt__space_part *part, const tt__problem *p, const tt__candidate *c) {
    char hash[TT__HASH_SIZE];
    tt__str options = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, c, p);
    if (status == TT_OK) {
        tt__hash(hash, options.text, options.len);
        hash[8] = '\0'; /* more than there are parts */
        *is = (int64_t)(strtoul(hash, NULL, 16) % (unsigned long)part->of) == part->index;
    }
    tt__str_free(&options);
    return status;
}

tt_status tt__part_keep(const tt__space_part *part, const tt__problem *p, tt__space *space) {
    size_t kept = 0;
    if (part->of == 0)
        return TT_OK;
    for (size_t i = 0; i < space->n; i++) {
        bool is;
        TT_TRY(is_in(&is, part, p, &space->items[i]));
        if (is)
            space->items[kept++] = space->items[i];
    }
    space->n = kept;
    return TT_OK;
}
