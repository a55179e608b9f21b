/* See the header. */
#include "base/clean.h"

#include <string.h>

size_t tt__utf8_length(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    size_t n = *p < 0x80                 ? 1
               : *p >= 0xc2 && *p < 0xe0 ? 2
               : *p >= 0xe0 && *p < 0xf0 ? 3
               : *p >= 0xf0 && *p < 0xf5 ? 4
                                         : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0, beyond = p[0] == 0xf4 && p[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

bool tt__is_control(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    if (*p < 0x80)
        return (*p && *p < 0x20) || *p == 0x7f;
    if (*p == 0xc2)
        return p[1] < 0xa0;                                                 /* U+0080 to U+009F */
    return *p == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) || /* U+2028 to U+202E */
                          (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));  /* U+2066 to U+2069 */
}

void tt__clean(char *text, const char *keep) {
    for (size_t n; *text; text += n) {
        n = tt__utf8_length(text);
        if (n && (!tt__is_control(text) || strchr(keep, *text)))
            continue;
        n = n ? n : 1;
        memset(text, '?', n);
    }
}
