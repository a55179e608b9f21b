/*
 * A string that grows. After a failed allocation, appending does nothing: check once at the end. Start with
 * `tt__str s = {0};`. tt__str_free frees it and makes it empty again. With `{.to = file}` the file gets the
 * text in pieces, and only the last piece is in memory.
 */
#ifndef TT_BASE_STR_H
#define TT_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

typedef struct tt__str {
    char *text; /* NUL-terminated after the first append; NULL before */
    size_t len, cap;
    bool failed;
    int error; /* errno of a write that failed */
    FILE *to;
    size_t written; /* bytes */
} tt__str;

void tt__str_add(tt__str *s, const char *text);
void tt__str_addn(tt__str *s, const void *bytes, size_t n);
void tt__str_addf(tt__str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends a word of a command that can be pasted: quoted if a shell would read it otherwise. */
void tt__str_add_word(tt__str *s, const char *word);
void tt__str_free(tt__str *s);

/* The text, "" when empty; borrowed. */
const char *tt__str_text(const tt__str *s);
/* TT_OK, or TT_E_NO_MEMORY if an append failed (TT_E_IO: a write to the file). */
tt_status tt__str_check(const tt__str *s);
/* Writes the last piece. */
tt_status tt__str_flush(tt__str *s);

/* Copies at most size-1 bytes and always terminates. */
void tt__copy(char *out, size_t size, const char *text);
/* The same, but a text that does not fit ends in "...". */
void tt__copy_short(char *out, size_t size, const char *text);

/* Compares ASCII letters and ignores case, in any locale of the host. */
bool tt__same_letters(const char *a, const char *b);
bool tt__same_lettersn(const char *a, const char *b, size_t n);
/* Does `text` contain `part`? */
bool tt__has_letters(const char *text, const char *part);
bool tt__is_alnum(char c);
char tt__small_letter(char c);

#endif
