/* The folders of CUDA's own headers, for sources that include <cuda_fp16.h>, <cub/cub.cuh> and the like. */
#ifndef TT_CODE_CUDA_HEADERS_H
#define TT_CODE_CUDA_HEADERS_H

#include "base/str.h"

/* Appends an NVRTC option "--include-path=FOLDER" for each folder, every one with its NUL, and counts them in
 * *n. Only headers of the NVRTC's own version ("13.0") are taken, so the version stands for their text. They
 * are looked for in $CUDA_HOME/include, $CUDA_PATH/include, beside the NVRTC at `nvrtc_path` (as a CUDA
 * Toolkit and NVIDIA's Python packages lay them out), /usr/local/cuda/include, and the folder that the build
 * used. With none found *n is 0. */
tt_status tt__cuda_headers(tt__str *out, int *n, const char *nvrtc_path, const char *version);

#endif
