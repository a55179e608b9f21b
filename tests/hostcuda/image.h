/*
 * A "cubin" of the NVRTC stand-in: this header, the facts of the program, then a shared library.
 */
#ifndef HOSTCUDA_IMAGE_H
#define HOSTCUDA_IMAGE_H

#include <stdint.h>

#define HOSTCUDA_MAGIC "HOSTCUD1"

typedef struct hostcuda_image {
    char magic[8];
    uint32_t cc;          /* 90 is sm_90 */
    uint32_t ptx;         /* 1: later architectures take it, too */
    uint32_t nvrtc_major; /* a driver of an older major version cannot load it */
    uint32_t facts_bytes; /* "kernel=NAME", "TILE_DIM=32", each with its NUL */
    uint32_t library_bytes;
} hostcuda_image;

#endif
