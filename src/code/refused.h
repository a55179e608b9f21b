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

#endif
