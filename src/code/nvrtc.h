/*
 * NVRTC, loaded at run time. It is looked for in this order:
 *
 * - $TILETUNE_NVRTC, a file. If it is set, nothing else is tried.
 * - libnvrtc.so.13 and .12 in the dynamic linker's path.
 * - $CUDA_HOME, $CUDA_PATH and /usr/local/cuda.
 * - The folder where the build found NVRTC (-Dnvrtc_dir).
 */
#ifndef TT_CODE_NVRTC_H
#define TT_CODE_NVRTC_H

#include "base/model.h"
#include "base/str.h"

/* Loads NVRTC once per process. Thread-safe. TT_E_NO_NVRTC says where it was looked for and what to do. */
tt_status tt__nvrtc_open(void);
/* After tt__nvrtc_open, the version ("13.0") and the library's path; "" before. Static storage. */
const char *tt__nvrtc_version(void);
const char *tt__nvrtc_path(void);
/* Appends the compute capabilities that it compiles for: "80 86 90 100". */
tt_status tt__nvrtc_archs(tt__str *out);

/* Our own option: a kernel that is not extern "C", such as an instance of a template. Its name in the code is
 * appended to the cubin (code/cubin.h). After a '\n' follows the expression that the compiler gets, if it
 * is another. */
#define TT__KERNEL "kernel:"

/* Compiles to a cubin for compute capability `cc` (90 is sm_90) and appends it to `out`. `options` are n
 * strings, each ending with a NUL (tt__config_options): NVRTC's options, TT__KERNEL followed by a name, and
 * those of code/source.h and code/headers.h. A source that includes <FILE> gets the folders of CUDA's own
 * headers. Functions without an execution space are for the device, if there are any. TT_E_COMPILE: the
 * message has NVRTC's log, shortened. TT_E_UNSUPPORTED: this NVRTC does not know `cc`; the message lists
 * those it knows. */
tt_status tt__nvrtc_compile(tt__str *out, const char *name, const char *source, const char *options,
                            int n_options, int cc);

/* The same to PTX for this compute capability and later ones, with the NUL that ends it. It has no names
 * appended. */
tt_status tt__nvrtc_ptx(tt__str *out, const char *name, const char *source, const char *options,
                        int n_options, int cc);

/* Compiles something small, because the first compile of a process takes several times as long as later
 * ones. */
tt_status tt__nvrtc_warm_up(void);

/* The store's key for the result of tt__nvrtc_compile: a hash of source, options, cc and NVRTC version. */
void tt__cubin_key(char out[65], const char *source, const char *options, int n_options, int cc,
                   const char *nvrtc_version);

#endif
