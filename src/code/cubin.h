/*
 * Reads a kernel's resource needs, parameters, launch bounds and instructions from a cubin, without a driver
 * or a disassembler. A cubin is an ELF file, and the compiler writes the needs of each kernel into the
 * section .nv.info.
 */
#ifndef TT_CODE_CUBIN_H
#define TT_CODE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sizes.h"
#include "base/status.h"
#include "base/str.h"

typedef struct tt__cubin_needs {
    int regs;                /* per thread, as the driver counts them */
    int static_shared_bytes; /* per block */
    int stack_bytes;         /* local memory per thread: spills, and arrays that are indexed at run time */
} tt__cubin_needs;

/* `bytes` may be anything. TT_E_UNSUPPORTED if they are no cubin, or have nothing about this kernel. */
tt_status tt__cubin_read(tt__cubin_needs *out, const void *bytes, size_t n, const char *kernel);

/* How a kernel may be launched. */
typedef struct tt__cubin_entry {
    int n_parameters;                       /* -1: unknown */
    uint32_t parameter_bytes[TT__ARGS_MAX]; /* of the first ones */
    uint64_t max_threads;                   /* of a block, from __launch_bounds__; 0: not given */
    uint32_t block[3];                      /* the only one it takes; 0: not given */
    uint32_t cluster[3];                    /* blocks, from __cluster_dims__; 0: not given */
} tt__cubin_entry;

/* `bytes` may be anything. TT_E_UNSUPPORTED if they are no cubin. TT_E_TEMPLATE if they are one without this
 * kernel: says which there are, and whether C++ has changed its name. */
tt_status tt__cubin_entry_read(tt__cubin_entry *out, const void *bytes, size_t n, const char *kernel);

/* A __constant__ or __device__ variable of the code. */
typedef struct tt__cubin_variable {
    const char *name; /* in the cubin: perhaps what C++ makes of it */
    size_t bytes;
    bool zero; /* the code gives it no value */
} tt__cubin_variable;

/* The kinds of variables: also where a function's own `static` ones are. */
typedef enum tt__cubin_kind { TT__CUBIN_CONSTANTS, TT__CUBIN_GLOBALS } tt__cubin_kind;

/* The next variable of this kind; a constant of a function is left out. *at is 0 for the first, and then left
 * alone. False: there is none. `bytes` may be anything. */
bool tt__cubin_next_variable(tt__cubin_variable *out, tt__cubin_kind kind, const void *bytes, size_t n,
                             size_t *at);
/* The last name in what C++ makes of names, and its length: "c" in _ZN1a1cE. Of others it is the whole. */
const char *tt__cubin_plain_name(const char *symbol, size_t *n);

/* Appends what C++ calls the constants of the code outside of functions, each name with its NUL, without
 * names that it does not change. `bytes` may be anything. */
void tt__cubin_arrays(tt__str *out, const void *bytes, size_t n);
/* The next one of those, after `last`, that C++ makes of this name, as _ZN1a1cE of c. `last` NULL: the first.
 * NULL: there is none. */
const char *tt__cubin_array(const tt__str *arrays, const char *name, const char *last);

/* The names that a compiler gave to kernels which are not extern "C", such as instances of templates. NVRTC
 * tells them only while the program is there, so they are appended to the cubin. The driver knows the cubin's
 * length and does not read them. */

/* Appends a list of n pairs: the name in the source ("reduce<float, 256>"), and that in the code. */
tt_status tt__lowered_add(tt__str *cubin, const char *(*pairs)[2], size_t n);

/* The kernel's name in the code: that of the appended list, or the same. Zeros after the list do not matter.
 * The bytes may be anything. Borrowed from them or from `name`. */
const char *tt__lowered_name(const void *cubin, size_t n, const char *name);

/* Is it a plain name, which an extern "C" kernel has? */
bool tt__lowered_is_plain(const char *name);

/* The instructions of a thread, by kind. Each loop around one counts for TT__SASS_LOOP rounds, because the
 * code does not say how many there are. All 0: the code is of an unknown architecture. */
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
