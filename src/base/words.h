/*
 * The characters, words and numbers of a template's text, and messages about a place in it.
 */
#ifndef TT_BASE_WORDS_H
#define TT_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* ASCII only, in any locale. */
bool tt__is_letter(char c);                   /* [A-Za-z_] */
bool tt__is_digit(char c);                    /* [0-9] */
bool tt__is_word_char(char c);                /* [A-Za-z0-9_] */
bool tt__is_word(const char *text, size_t n); /* [A-Za-z_][A-Za-z0-9_]* */
/* Is the word this name? */
bool tt__word_is(const char *word, size_t n, const char *name);
/* The same, where case does not count. */
bool tt__same_word(const char *word, size_t n, const char *name);
/* 1 for true, 0 for false, in small letters or capitals; -1: another word. */
int tt__truth(const char *word, size_t n);
/* A number with a fraction or an exponent, as C++ writes it: 0.5, 1e-3, 0.5f. */
bool tt__is_real(const char *text, size_t n);
bool tt__is_integer(const char *text, size_t n); /* -?digits, no leading zeros, within 64 bits */

/* How often a text has a word, also in comments; whether it has it. */
size_t tt__text_count_word(const char *text, const char *word);
bool tt__text_has_word(const char *text, const char *word);

/* Fails with TT_E_TEMPLATE: "path:line:column: sentence". A column of 0 is left out. Control characters from
 * the template become '?'. */
tt_status tt__template_fail(const char *path, int line, int column, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
