/*
 * Shared by the mutators, and the mutator for text of words and lines.
 */
#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

unsigned fuzz_random(unsigned *state, size_t n) {
    *state = *state * 1664525u + 1013904223u;
    return n ? (unsigned)(((uint64_t)(*state >> 4) * n) >> 28) : 0;
}

size_t fuzz_splice(uint8_t *data, size_t size, size_t max_size, size_t at, size_t old, const void *with,
                   size_t n) {
    if (at + old > size || size - old + n > max_size)
        return size;
    uint8_t *copy = malloc(n + 1); /* which may be a part of data */
    fuzz_want(copy != NULL, "memory");
    if (n)
        memcpy(copy, with, n);
    memmove(data + at + n, data + at + old, size - at - old);
    memcpy(data + at, copy, n);
    free(copy);
    return size - old + n;
}

static bool wordly(uint8_t c) {
    return isalnum(c) || c == '_';
}

/* A run of word characters, or one other character, at or after `at`. */
static size_t word_at(const uint8_t *data, size_t size, size_t *at) {
    size_t end = *at;
    while (*at && wordly(data[*at]) && wordly(data[*at - 1]))
        --*at;
    end = *at + (*at < size);
    while (end < size && wordly(data[*at]) && wordly(data[end]))
        end++;
    return end - *at;
}

static size_t line_at(const uint8_t *data, size_t size, size_t *at) {
    size_t end = *at;
    while (*at && data[*at - 1] != '\n')
        --*at;
    while (end < size && data[end++] != '\n')
        ;
    return end - *at;
}

size_t fuzz_split(const char **words, size_t max, char *text) {
    size_t n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, "#", &rest); word && n < max; word = strtok_r(NULL, "#", &rest))
        words[n++] = word;
    return n;
}

size_t fuzz_mutate_words(uint8_t *data, size_t size, size_t max_size, unsigned seed, const char *const *words,
                         size_t n_words) {
    static char text[] = "0#1#-1#2#1024#65536#1e9#2147483647#2147483648#1e308#1e400#17592186044416#0.01#"
                         "17592186044417#9223372036854775807#9223372036854775808#-0";
    static const char *numbers[32];
    static size_t n_numbers;
    n_numbers = n_numbers ? n_numbers : fuzz_split(numbers, 32, text);
    unsigned r = seed;
    size_t at = fuzz_random(&r, size), from = fuzz_random(&r, size), n, n_from;
    const char *word = words[fuzz_random(&r, n_words)];
    unsigned what = fuzz_random(&r, 11);
    if (size == 0 || what == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (what <= 7) { /* words */
        n = word_at(data, size, &at);
        n_from = word_at(data, size, &from);
    } else {
        n = line_at(data, size, &at);
        n_from = line_at(data, size, &from);
    }
    switch (what) {
    case 1:
    case 2:
        return fuzz_splice(data, size, max_size, at, n, word, strlen(word));
    case 3:
        return fuzz_splice(data, size, max_size, at, 0, word, strlen(word));
    case 4:
        word = numbers[fuzz_random(&r, n_numbers)];
        return fuzz_splice(data, size, max_size, at, n, word, strlen(word));
    case 5:
    case 8:
        return fuzz_splice(data, size, max_size, at, n, "", 0);
    case 6:
    case 9:
        return fuzz_splice(data, size, max_size, at, n, data + from, n_from);
    default:
        return fuzz_splice(data, size, max_size, at, 0, data + from, n_from);
    }
}
