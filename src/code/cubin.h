/*
 * Reads a kernel's resource needs, parameters and launch bounds from a cubin, without a driver. A cubin is an
 * ELF file, and the compiler writes the needs of each kernel into the section .nv.info.
 */
#ifndef TT_CODE_CUBIN_H
#define TT_CODE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
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

/* The machine code of a kernel, inside `bytes`. TT_E_UNSUPPORTED: it has none. */
tt_status tt__cubin_code(const unsigned char **out, size_t *size, const void *bytes, size_t n,
                         const char *kernel);

#endif
