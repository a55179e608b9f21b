/* See the header. */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

tt_status tt__grow(void *items, size_t n, size_t size) {
    void *held;
    if ((n & (n - 1)) != 0)
        return TT_OK;
    size_t bytes = (n ? 2 * n : 1) * size;
    memcpy(&held, items, sizeof held); /* a pointer of any type */
    held = realloc(held, bytes);
    if (!held)
        return tt__fail_memory(bytes);
    memcpy(items, &held, sizeof held);
    return TT_OK;
}
