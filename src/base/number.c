/*
 * Switches the calling thread, and no other, to the locale "C" while it reads or writes a number.
 */
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>

/* newlocale returns a static object for "C", which is never freed. */
locale_t tt__plain_enter(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(plain); /* if newlocale failed, this is 0 and changes nothing */
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
