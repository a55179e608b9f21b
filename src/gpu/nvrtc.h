/*
 * NVRTC, loaded at run time. Searched: $TILETUNE_NVRTC (a file; nothing else is tried if it is set), then
 * libnvrtc.so.13 and .12 where the dynamic linker looks, then $CUDA_HOME, $CUDA_PATH and /usr/local/cuda,
 * then the folder the build found NVRTC in (-Dnvrtc_dir).
 */
#ifndef TT_GPU_NVRTC_H
#define TT_GPU_NVRTC_H

#include "base/model.h"
#include "base/str.h"

/* Loads NVRTC once per process. TT_E_NO_NVRTC says where it was looked for and what to do. Thread-safe. */
tt_status tt__nvrtc_open(void);
/* After tt__nvrtc_open: "13.0", and the path of the library. Static storage; "" before. */
const char *tt__nvrtc_version(void);
const char *tt__nvrtc_path(void);
/* Appends "80 86 90 100": the compute capabilities it compiles for. */
tt_status tt__nvrtc_archs(tt__str *out);

/* An option of ours: a typedef in front of the source. A macro would reach NVRTC's own headers, whose
 * templates have a T of their own. */
#define TT__TYPEDEF "typedef:"

/* Compiles to a cubin for compute capability `cc` (90 is sm_90). `options` are n strings behind each other
 * (tt__config_options): NVRTC's own, and TT__TYPEDEF with "NAME=TYPE" behind it. Appends the cubin to `out`.
 * TT_E_COMPILE carries NVRTC's log, shortened. If `cc` is one that this NVRTC does not know, TT_E_UNSUPPORTED
 * lists those it does. */
tt_status tt__nvrtc_compile(tt__str *out, const char *name, const char *source, const char *options,
                            int n_options, int cc);

/* Compiles something small: the first compile of a process takes several times as long as any other. */
tt_status tt__nvrtc_warm_up(void);

/* The store's key for what tt__nvrtc_compile would make: hash of source, options, cc and NVRTC version. */
void tt__cubin_key(char out[65], const char *source, const char *options, int n_options, int cc,
                   const char *nvrtc_version);

#endif
