/* Shared by the tests of spaces: GPUs, problems of many shapes, and templates of files or of a few lines. */
#ifndef TT_TESTS_TEMPLATE_FIXTURE_H
#define TT_TESTS_TEMPLATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/model/template.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

extern const tt__gpu template_gpu, template_gpu_small;

enum { TEMPLATE_SHAPES = 12 };
/* A copy or transpose of one of the shapes. Shape 0 is 8192 x 8192 of 4 bytes. */
tt__problem template_problem(const char *op, size_t shape);

/* A file of kernel_templates. */
tt__template *template_load(const char *name);
/* A template around the lines given. */
tt__template *template_make(const char *lines);

#endif
