/* The .cu files of this folder, embedded by the build. */
#ifndef TT_BENCH_TEXTS_H
#define TT_BENCH_TEXTS_H

#include <string.h>

#include "kernel/model/template.h"

extern const tt__builtin bench_texts[];
extern const size_t bench_n_texts;

static inline const char *bench_text(const char *name) {
    for (size_t i = 0; i < bench_n_texts; i++)
        if (strcmp(bench_texts[i].name, name) == 0)
            return bench_texts[i].source;
    return "";
}

#endif
