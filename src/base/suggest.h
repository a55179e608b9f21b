/*
 * "did you mean": finds the known name that is nearest to a misspelt one.
 */
#ifndef TT_BASE_SUGGEST_H
#define TT_BASE_SUGGEST_H

#include <stddef.h>

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
