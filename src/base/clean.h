/* Text of others before it is shown: a terminal obeys escape sequences, and JSON is UTF-8. */
#ifndef TT_BASE_CLEAN_H
#define TT_BASE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the UTF-8 character at `text`, 0 if there is none. */
size_t tt__utf8_length(const char *text);
/* Is it one that does something to a terminal in place of being shown: a control character, or one that turns
 * the direction of writing? */
bool tt__is_control(const char *text);

/* Puts a question mark in the place of each byte of such characters, but for those in `keep`, and of each
 * byte that is no UTF-8. */
void tt__clean(char *text, const char *keep);
#define TT__CLEAN_NAME "" /* of one line */
#define TT__CLEAN_TEXT "\n\t"

#endif
