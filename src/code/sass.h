/* Counts the instructions of compiled code by kind, without a disassembler. */
#ifndef TT_CODE_SASS_H
#define TT_CODE_SASS_H

#include "base/status.h"

/* Instructions of a thread. Each loop around one counts for TT__SASS_LOOP rounds, because the code does not
 * say how many there are. All 0: the code is of an unknown architecture. */
enum { TT__SASS_LOOP = 16 };
typedef struct tt__sass {
    double all;
    double loads, load_bytes;   /* of global memory */
    double stores, store_bytes; /* likewise */
    double local, shared, atomics, barriers;
    double fp32, fp64, fp16, tensor, special; /* special: roots, exponentials, reciprocals */
    double branches;
    double local_indexed;              /* of `local`: at an address that is not in the stack's frame */
    double shared_atomics, shared_cas; /* shared_cas: of these, compare and swap */
    double constants;                  /* of constant memory, at an address in a register */
    double conversions, divisions;     /* divisions: of whole numbers, by one that is not constant */
    double fences, sleeps;
    double code_bytes; /* not weighed */
} tt__sass;

/* `kernel` may be a name that NVRTC lowers. cc 90 is 9.0. TT_E_UNSUPPORTED: no cubin, or no such kernel. */
tt_status tt__sass_read(tt__sass *out, const void *cubin, size_t n, const char *kernel, int cc);

#endif
