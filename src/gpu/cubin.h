/* What a cubin says of a kernel without a driver: it is an ELF file, and the compiler notes the needs of each
 * kernel in its section .nv.info. */
#ifndef TT_GPU_CUBIN_H
#define TT_GPU_CUBIN_H

#include <stddef.h>

#include "base/status.h"

typedef struct tt__cubin_needs {
    int regs;                /* per thread, as the driver counts them */
    int static_shared_bytes; /* per block */
    int stack_bytes; /* of local memory per thread: what was spilled, and arrays indexed at run time */
} tt__cubin_needs;

/* TT_E_UNSUPPORTED if the bytes are no cubin that tells of this kernel. Any bytes will do. */
tt_status tt__cubin_read(tt__cubin_needs *out, const void *bytes, size_t n, const char *kernel);

#endif
