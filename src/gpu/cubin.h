/*
 * Reads a kernel's resource needs from a cubin, without a driver. A cubin is an ELF file, and the compiler
 * writes the needs of each kernel into the section .nv.info.
 */
#ifndef TT_GPU_CUBIN_H
#define TT_GPU_CUBIN_H

#include <stddef.h>

#include "base/status.h"

typedef struct tt__cubin_needs {
    int regs;                /* per thread, as the driver counts them */
    int static_shared_bytes; /* per block */
    int stack_bytes;         /* local memory per thread: spills, and arrays that are indexed at run time */
} tt__cubin_needs;

/* `bytes` may be anything. TT_E_UNSUPPORTED if they are no cubin, or have nothing about this kernel. */
tt_status tt__cubin_read(tt__cubin_needs *out, const void *bytes, size_t n, const char *kernel);

#endif
