/*
 * Numbers as text. After setlocale in the host program, printf may write a decimal comma. These functions do
 * not depend on the locale. All of src, db and tuner must use them (tests/check_host.py).
 */
#ifndef TT_BASE_NUMBER_H
#define TT_BASE_NUMBER_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* The same as strtod, vsnprintf and snprintf in the locale "C". */
double tt__strtod(const char *text, char **end);
int tt__vformat(char *out, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
int tt__format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put foreign code that reads or writes numbers, such as SQLite's JSON functions, between these two calls.
 * This thread is in the locale "C" meanwhile. */
locale_t tt__plain_enter(void);
void tt__plain_leave(locale_t before);

#endif
