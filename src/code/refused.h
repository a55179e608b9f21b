/* What to do about code that NVRTC refuses, where its log alone does not help. */
#ifndef TT_CODE_REFUSED_H
#define TT_CODE_REFUSED_H

#include <stdbool.h>

#include "base/str.h"

/* Appends a sentence about the first error of NVRTC's log: OpenCL, host code, texture references, launches by
 * kernels, C++20, what is left out of the original, parameters whose names mean something else in the code or
 * in a header, names without their header, errors in headers, and what the assembler lacks. `name` is that of
 * the program. False if the log must do. */
bool tt__refused_code(tt__str *out, const char *name, const char *original, const char *source,
                      const char *error, const char *const *options, int n_options);

/* The same of an error in what a line names as a kernel: a template, an overloaded function, or nothing.
 * `kernels` are the names in the order in which NVRTC was told them. */
bool tt__refused_kernel(tt__str *out, const char *error, const char *const *kernels, size_t n_kernels);

#endif
