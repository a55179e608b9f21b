/*
 * Headers that NVRTC lacks or cannot compile, and that code for nvcc includes all the same. NVRTC gets these
 * texts instead: it knows most of what they declare.
 */
#ifndef TT_CODE_HOST_HEADERS_H
#define TT_CODE_HOST_HEADERS_H

#include <stddef.h>

extern const char *const tt__host_header_names[];
extern const char *const tt__host_header_texts[];
extern const size_t tt__n_host_headers;

/* What code for nvcc has of them without an include. The last name is NULL. */
typedef struct tt__host_macro {
    const char *name, *value;
} tt__host_macro;
extern const tt__host_macro tt__host_macros[];
extern const tt__host_macro tt__host_types[]; /* names of types */

#endif
