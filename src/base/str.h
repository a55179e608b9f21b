/*
 * Text: a string that grows, copies, letters and words, numbers, what is safe to show, and the nearest name.
 */
#ifndef TT_BASE_STR_H
#define TT_BASE_STR_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

/* A string that grows. After a failed allocation, appending does nothing: check once at the end. Start with
 * `tt__str s = {0};`. tt__str_free frees it and makes it empty again. With `{.to = file}` the file gets the
 * text in pieces, and only the last piece is in memory. */
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

/* ---- Numbers. After setlocale in the host program, printf may write a decimal comma. These functions do not
 * depend on the locale. All of src, db and tuner must use them (tests/check_host.py). */

/* The same as strtod, vsnprintf and snprintf in the locale "C". */
double tt__strtod(const char *text, char **end);
int tt__vformat(char *out, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
int tt__format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put foreign code that reads or writes numbers, such as SQLite's JSON functions, between these two calls.
 * This thread is in the locale "C" meanwhile. */
locale_t tt__plain_enter(void);
void tt__plain_leave(locale_t before);

/* ---- Letters and words: of ASCII, in any locale of the host */

/* Compares letters, ignoring case. */
bool tt__same_letters(const char *a, const char *b);
bool tt__same_lettersn(const char *a, const char *b, size_t n);
/* Does `text` contain `part`? */
bool tt__has_letters(const char *text, const char *part);

bool tt__is_alnum(char c);                    /* [A-Za-z0-9] */
bool tt__is_letter(char c);                   /* [A-Za-z_] */
bool tt__is_digit(char c);                    /* [0-9] */
bool tt__is_word_char(char c);                /* [A-Za-z0-9_] */
bool tt__is_word(const char *text, size_t n); /* [A-Za-z_][A-Za-z0-9_]* */
/* Is the word this name? */
static inline bool tt__word_is(const char *word, size_t n, const char *name) {
    return (n == 0 || *word == *name) && strncmp(word, name, n) == 0 && !name[n]; /* most differ at once */
}
/* The same, where case does not count. */
bool tt__same_word(const char *word, size_t n, const char *name);
/* 1 for true, 0 for false, in small letters or capitals; -1: another word. */
int tt__truth(const char *word, size_t n);
/* A number with a fraction or an exponent, as C++ writes it: 0.5, 1e-3, 0.5f. */
bool tt__is_real(const char *text, size_t n);
bool tt__is_integer(const char *text, size_t n); /* -?digits, no leading zeros, within 64 bits */

/* Writes a number in decimal, at most TT__INTEGER_TEXT_MAX bytes with the NUL; returns its length. For texts
 * of a look-up, where printf would take most of the time. */
enum { TT__INTEGER_TEXT_MAX = 21 };
size_t tt__integer_text(char out[TT__INTEGER_TEXT_MAX], int64_t number);

/* How often a text has a word, also in comments; whether it has it. */
size_t tt__text_count_word(const char *text, const char *word);
bool tt__text_has_word(const char *text, const char *word);

/* ---- Text of others, before it is shown. A terminal would obey its escape sequences, and JSON must be
 * UTF-8. */

/* The length of the UTF-8 character at `text`, 0 if there is none. */
size_t tt__utf8_length(const char *text);
/* Is it a character that changes a terminal: a control character, or one that turns the direction of
 * writing? */
bool tt__is_control(const char *text);

/* Replaces each byte of such characters with a question mark, except characters in `keep`. The same happens
 * to each byte that is not UTF-8. */
void tt__clean(char *text, const char *keep);
#define TT__CLEAN_NAME "" /* for one line */
#define TT__CLEAN_TEXT "\n\t"

/* ---- "did you mean": the known name that is nearest to a misspelt one */

typedef struct tt__suggest {
    const char *word; /* not NUL-terminated */
    size_t n;
    const char *best; /* borrowed from tt__suggest_try; NULL: no name is near enough */
    size_t distance;
    char text[96];
} tt__suggest;

/* Start with the misspelt word, try every known name, then take the text for the end of the message. */
tt__suggest tt__suggest_for(const char *word, size_t n);
void tt__suggest_try(tt__suggest *s, const char *name);
/* "; did you mean NAME?", or "" if no name is near; borrowed from `s`. */
const char *tt__suggest_text(tt__suggest *s);

#endif
