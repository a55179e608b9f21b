/* The list: pairs of texts, each with its NUL; then its length in 4 bytes; then the mark. */
#include "code/lowered.h"

#include <stdint.h>
#include <string.h>

static const char mark[8] = {'t', 't', 'n', 'a', 'm', 'e', 's', '\n'};
enum { PADDING_MAX = 15 };

tt_status tt__lowered_add(tt__str *cubin, const char *(*pairs)[2], size_t n) {
    size_t start = cubin->len;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            tt__str_addn(cubin, pairs[i][k], strlen(pairs[i][k]) + 1);
    uint32_t length = (uint32_t)(cubin->len - start);
    tt__str_addn(cubin, (const char *)&length, sizeof length);
    tt__str_addn(cubin, mark, sizeof mark);
    return tt__str_check(cubin);
}

/* The list's begin and length; NULL if there is none. */
static const char *find_list(const char *bytes, size_t n, size_t *length) {
    uint32_t said;
    for (size_t k = 0; k < PADDING_MAX && n && !bytes[n - 1]; k++)
        n--;
    if (n < sizeof mark + sizeof said || memcmp(bytes + n - sizeof mark, mark, sizeof mark) != 0)
        return NULL;
    n -= sizeof mark + sizeof said;
    memcpy(&said, bytes + n, sizeof said);
    if (said > n || said == 0 || bytes[n - 1])
        return NULL;
    *length = said;
    return bytes + n - said;
}

const char *tt__lowered_name(const void *cubin, size_t n, const char *name) {
    size_t length = 0;
    const char *at = find_list(cubin, n, &length), *end = at ? at + length : NULL;
    while (at && at < end) {
        const char *lowered = at + strlen(at) + 1;
        if (lowered >= end)
            break;
        if (strcmp(at, name) == 0)
            return lowered;
        at = lowered + strlen(lowered) + 1;
    }
    return name;
}

bool tt__lowered_is_plain(const char *name) {
    return !strpbrk(name, "<:");
}
