/* Sizes on the command lines of programs that measure square matrices. */
#ifndef TT_BENCH_SIZES_H
#define TT_BENCH_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BENCH_SIZES_MAX = 32 };

typedef struct bench_sizes {
    size_t n;
    int64_t items[BENCH_SIZES_MAX];
} bench_sizes;

/* "4096,8192". False, with a line on standard error that names the word, if it cannot be read. */
static inline bool bench_sizes_read(bench_sizes *out, const char *list) {
    char *end;
    out->n = 0;
    for (const char *word = list;; word = end + 1) {
        long long size = strtoll(word, &end, 10);
        if (end == word || (*end && *end != ',') || size < 1 || size > INT32_MAX ||
            out->n == BENCH_SIZES_MAX) {
            fprintf(stderr, "--sizes: '%s': expected up to %d whole numbers from 1 on, with commas between\n",
                    word, BENCH_SIZES_MAX);
            return false;
        }
        out->items[out->n++] = size;
        if (!*end)
            return true;
    }
}

#endif
