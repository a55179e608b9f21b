/* See the header. */
#include "template_fixture.h"

#include <stdio.h>

#include "kernel/load/parse.h"
#include "problem_fixture.h"

static const struct {
    int64_t rows, cols;
    int elem_size, align;
} shapes[TEMPLATE_SHAPES] = {
    {8192, 8192, 4, 16},  {1, 1, 1, 1},           {17, 1000, 2, 2},      {4194304, 64, 4, 16},
    {64, 4194304, 8, 16}, {65536, 65536, 16, 16}, {100, 100, 8, 4},      {3000000, 3000000, 1, 8},
    {4096, 4096, 16, 16}, {2147483648, 2, 4, 8},  {2, 2147483648, 4, 8}, {16777216, 4194304, 4, 4},
};

const tt__gpu template_gpu = {.cc = 90,
                              .sm_count = 132,
                              .l2_bytes = 52428800,
                              .max_threads_per_block = 1024,
                              .shared_per_block = 232448};

const tt__gpu template_gpu_small = {
    .cc = 75, .sm_count = 1, .max_threads_per_block = 256, .shared_per_block = 8192};

tt__problem template_problem(const char *op, size_t shape) {
    const int64_t rows = shapes[shape].rows, cols = shapes[shape].cols;
    const int elem_size = shapes[shape].elem_size;
    if (strcmp(op, "copy") == 0) {
        tt__problem copy = problem_of("copy", "bytes=1");
        tt__problem_set(&copy, "bytes", rows * cols * elem_size);
        return copy;
    }
    tt__problem p = square_of(1, elem_size); /* some of these may not be asked for */
    const int64_t values[] = {rows, cols, cols, rows, rows * cols, rows * cols, shapes[shape].align};
    static const char *const names[] = {"rows", "cols", "lds", "ldd", "src_stride", "dst_stride", "align"};
    for (size_t i = 0; i < COUNT(values); i++)
        tt__problem_set(&p, names[i], values[i]);
    return p;
}

tt__template *template_load(const char *name) {
    tt__template *t;
    char path[4096];
    snprintf(path, sizeof path, TT_SOURCE_DIR "/kernel_templates/%s", name);
    if (tt__template_load(&t, path) != TT_OK)
        fail_msg("%s", tt_last_error());
    return t;
}

tt__template *template_make(const char *lines) {
    tt__str s = {0};
    tt__template *t;
    tt__str_addf(&s, "//@ kernel k\n//@ op transpose\n%sextern \"C\" void k();\n", lines);
    if (tt__template_parse(&t, "t.cu", s.text) != TT_OK)
        fail_msg("%s", tt_last_error());
    tt__str_free(&s);
    return t;
}
