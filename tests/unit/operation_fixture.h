/* The text of an operation that has one of everything, for the tests that change a line of it. */
#ifndef TT_TESTS_OPERATION_FIXTURE_H
#define TT_TESTS_OPERATION_FIXTURE_H

#include "base/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const lines[] = {
    "// y = a * x, and something that is counted.",
    "//@ kernel    scale",
    "//@ problem   n 1000",
    "//@ problem   half ceil_div(n, 2)",
    "//@ type      T f32 f64 i16",
    "//@ buffer    x T n in uniform -1 1",
    "//@ buffer    y T n + half - half out",
    "//@ buffer    counts u32 4 * sm_count inout zeros",
    "//@ scalar    a f32 2.5",
    "//@ param     THREADS 32 64",
    "//@ block     THREADS",
    "//@ grid      ceil_div(n, THREADS)",
    "//@ args      y, x, counts, a, i64 n",
    "//@ default   THREADS=64",
    "//@ reference scale_reference",
    "//@ block     128",
    "//@ grid      ceil_div(n, 128), 2",
    "//@ args      y, x, counts, a, i64 n, i32 half",
    "//@ tolerance abs 1e-6 rel 1e-5",
    "//@ metric    gbps 2 * n * elem_size / time_ns",
    "//@ objective maximize gbps",
    "//@ maxrregcount THREADS",
    "//@ options   --use_fast_math",
    "extern \"C\" __global__ void scale(T *y) {}",
    "extern \"C\" __global__ void scale_reference(T *y) {}",
};

/* The text above with one line (from 1) replaced. */
static inline tt__str text_with(size_t line, const char *instead) {
    tt__str s = {0};
    for (size_t i = 0; i < COUNT(lines); i++)
        tt__str_addf(&s, "%s\n", i + 1 == line ? instead : lines[i]);
    return s;
}

#endif
