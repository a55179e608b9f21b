/* Code that NVRTC does not compile, whatever its log says: OpenCL, host code, texture references. */
#ifndef TT_CODE_REFUSED_H
#define TT_CODE_REFUSED_H

#include <stdbool.h>

#include "base/str.h"

/* Appends a sentence that names the first such word of the text. False if there is none. */
bool tt__refused_code(tt__str *out, const char *source);

#endif
