/*
 * The headers that sources include: CUDA's own, and texts in place of the host's.
 */
#ifndef TT_CODE_HEADERS_H
#define TT_CODE_HEADERS_H

#include "base/str.h"

/* The folders of CUDA's own headers, for sources that include <cuda_fp16.h>, <cub/cub.cuh> and the like.
 *
 * Appends an NVRTC option "--include-path=FOLDER" for each folder, every one with its NUL, and counts them in
 * *n. Only headers of the NVRTC's own version ("13.0") are taken, so the version stands for their text. They
 * are looked for in $CUDA_HOME/include, $CUDA_PATH/include, beside the NVRTC at `nvrtc_path` (as a CUDA
 * Toolkit and NVIDIA's Python packages lay them out), /usr/local/cuda/include, and the folder that the build
 * used. With none found *n is 0. */
tt_status tt__cuda_headers(tt__str *out, int *n, const char *nvrtc_path, const char *version);

/* Headers that NVRTC lacks or cannot compile, and that code for nvcc includes all the same. NVRTC gets these
 * texts instead: it knows most of what they declare. */
extern const char *const tt__host_header_names[];
extern const char *const tt__host_header_texts[];
extern const size_t tt__n_host_headers;

/* Our own option: adds a typedef before the source. A macro T would also change the parameter T of
 * templates in NVRTC's own headers. */
#define TT__TYPEDEF "typedef:" /* and NAME=TYPE */

/* Appends what code for nvcc has without an include, as far as this text names it: macros, names of types,
 * `std::max` and the like, types of the n options (TT__TYPEDEF), and, if `torch`, those of PyTorch that
 * kernels take. The last line is `#line 1`. */
void tt__add_head(tt__str *out, const char *source, bool torch, const char *options, int n);

#endif
