/* SHA-256 as 64 hex digits. Parts are fed with their lengths, so that no two lists of parts collide. */
#ifndef TT_BASE_HASH_H
#define TT_BASE_HASH_H

#include <stddef.h>

#include "base/status.h"

enum { TT__HASH_SIZE = 65 }; /* 64 hex digits and the NUL */

typedef struct tt__hash_part {
    const void *data;
    size_t size;
} tt__hash_part;

void tt__hash_parts(char out[TT__HASH_SIZE], const tt__hash_part *parts, size_t n);
/* The plain SHA-256 of one piece of data. */
void tt__hash(char out[TT__HASH_SIZE], const void *data, size_t size);
/* The same of data in pieces: `next` gives one after the other, at last one of no bytes. */
tt_status tt__hash_pieces(char out[TT__HASH_SIZE], tt_status (*next)(void *user, tt__hash_part *piece),
                          void *user);

#endif
