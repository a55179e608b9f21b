/*
 * The distance is the number of letters to insert, drop, replace or swap with a neighbour. Case is ignored. A
 * name is near if its distance is at most a third of the word's length.
 */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { WORD_MAX = 64 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    unsigned char d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n_a; i++)
        d[i][0] = (unsigned char)i;
    for (size_t j = 0; j <= n_b; j++)
        d[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            size_t replaced = d[i - 1][j - 1] + (tt__small_letter(a[i - 1]) != tt__small_letter(b[j - 1]));
            d[i][j] = (unsigned char)least(replaced, 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && tt__small_letter(a[i - 1]) == tt__small_letter(b[j - 2]) &&
                tt__small_letter(a[i - 2]) == tt__small_letter(b[j - 1]))
                d[i][j] = (unsigned char)least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n_a][n_b];
}

tt__suggest tt__suggest_for(const char *word, size_t n) {
    tt__suggest s = {.word = word, .n = n, .distance = least(1 + n / 3, n)};
    return s;
}

void tt__suggest_try(tt__suggest *s, const char *name) {
    size_t n = strlen(name);
    size_t apart = n > s->n ? n - s->n : s->n - n; /* at least so many letters are inserted or dropped */
    if (s->n > WORD_MAX || n > WORD_MAX || apart >= s->distance)
        return;
    size_t d = distance(s->word, s->n, name, n);
    if (d < s->distance) {
        s->distance = d;
        s->best = name;
    }
}

const char *tt__suggest_text(tt__suggest *s) {
    s->text[0] = '\0';
    if (s->best)
        snprintf(s->text, sizeof s->text, "; did you mean %s?", s->best);
    return s->text;
}
