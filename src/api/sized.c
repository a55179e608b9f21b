/* See the header. */
#include "api/sized.h"

#include <string.h>

static size_t size_of(const void *object) {
    size_t size;
    memcpy(&size, object, sizeof size);
    return size;
}

tt_status tt__sized_check(const void *out, const char *type) {
    if (!out)
        return tt__fail(TT_E_INVALID, "%s is NULL", type);
    /* Members are whole words, so another size would end in the middle of a pointer. */
    return size_of(out) > sizeof(size_t) && size_of(out) % sizeof(size_t) == 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: size is %zu (start from TT_INIT(%s))", type, size_of(out), type);
}

tt_status tt__sized_in(void *full, size_t size, const void *in, int optional, const char *type) {
    memset(full, 0, size);
    if (in || !optional) {
        TT_TRY(tt__sized_check(in, type));
        const size_t given = size_of(in);
        memcpy(full, in, given < size ? given : size);
        for (size_t i = size; i < given; i++)
            if (((const char *)in)[i])
                return tt__fail(
                    TT_E_INVALID,
                    "%s: size is %zu, and byte %zu is not zero: this tiletune (%s) knows %zu bytes; "
                    "leave newer fields at zero, or install the library of your header",
                    type, given, i, TT_VERSION, size);
    }
    memcpy(full, &size, sizeof size);
    return TT_OK;
}

void tt__sized_out(void *out, const void *full, size_t size) {
    const size_t given = size_of(out);
    memcpy(out, full, given < size ? given : size);
    if (given > size)
        memset((char *)out + size, 0, given - size);
    memcpy(out, &given, sizeof given);
}
