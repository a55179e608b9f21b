/* The thread, and no other, is in the locale "C" meanwhile. */
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>

/* The object of "C" is static: it is never freed. */
locale_t tt__plain_enter(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(plain); /* 0, should there be none: changes nothing */
}

void tt__plain_leave(locale_t before) {
    uselocale(before);
}

double tt__strtod(const char *text, char **end) {
    locale_t before = tt__plain_enter();
    double value = strtod(text, end);
    tt__plain_leave(before);
    return value;
}

int tt__vformat(char *out, size_t size, const char *fmt, va_list args) {
    locale_t before = tt__plain_enter();
    int n = vsnprintf(out, size, fmt, args);
    tt__plain_leave(before);
    return n;
}

int tt__format(char *out, size_t size, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = tt__vformat(out, size, fmt, args);
    va_end(args);
    return n;
}
