/*
 * Numbers as text. A host that has called setlocale may write them with a comma; nothing here knows its
 * locale. All of src, db and tuner goes through these (tests/check_host.py).
 */
#ifndef TT_BASE_NUMBER_H
#define TT_BASE_NUMBER_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* strtod, vsnprintf and snprintf, as in the locale "C". */
double tt__strtod(const char *text, char **end);
int tt__vformat(char *out, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
int tt__format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* For what others read and write, as SQLite's functions of JSON do: between the two, this thread is in "C".
 */
locale_t tt__plain_enter(void);
void tt__plain_leave(locale_t before);

#endif
