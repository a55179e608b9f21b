/*
 * A thin layer over libmd's SHA-256.
 */
#include "base/hash.h"

#include <stdint.h>
#include <sys/types.h>

#include <sha2.h>

void tt__hash_parts(char out[TT__HASH_SIZE], const tt__hash_part *parts, size_t n) {
    SHA2_CTX sha;
    SHA256Init(&sha);
    for (size_t i = 0; i < n; i++) {
        uint64_t size = parts[i].size;
        SHA256Update(&sha, (const uint8_t *)&size, sizeof size);
        SHA256Update(&sha, parts[i].data, parts[i].size);
    }
    SHA256End(&sha, out);
}

void tt__hash(char out[TT__HASH_SIZE], const void *data, size_t size) {
    SHA256Data(data, size, out);
}

tt_status tt__hash_pieces(char out[TT__HASH_SIZE], tt_status (*next)(void *user, tt__hash_part *piece),
                          void *user) {
    tt__hash_part piece = {0};
    SHA2_CTX sha;
    SHA256Init(&sha);
    do {
        TT_TRY(next(user, &piece));
        SHA256Update(&sha, piece.data, piece.size);
    } while (piece.size);
    SHA256End(&sha, out);
    return TT_OK;
}
