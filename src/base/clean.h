/*
 * Cleans text of others before it is shown. A terminal would obey its escape sequences, and JSON must be
 * UTF-8.
 */
#ifndef TT_BASE_CLEAN_H
#define TT_BASE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
