/*
 * Does compiled code fit its annotations? TT_E_TEMPLATE says what does not.
 */
#ifndef TT_GPU_FIT_H
#define TT_GPU_FIT_H

#include "base/model.h"

/* Parameter i of this pass's kernel has so many bytes. The kernel may have more parameters than `args`. */
tt_status tt__fit_parameter(const char *kernel, const tt__launch *launch, int pass, size_t i, size_t bytes);
/* It has n parameters. */
tt_status tt__fit_count(const char *kernel, const tt__launch *launch, int pass, size_t n);

/* The launch suits the clusters that its code asks for; `has` 0: it asks for none. */
tt_status tt__fit_cluster(const char *kernel, const tt__launch *launch, int pass, const unsigned has[3]);

/* A constant has so many bytes in the code, and `bytes` by its line. */
tt_status tt__fit_constant(const char *name, size_t has, size_t bytes);

/* The kernel of this pass in a cubin: its name, parameters and launch bounds. TT_OK if the bytes are no
 * cubin. */
tt_status tt__fit_cubin(const void *cubin, size_t size, const char *kernel, const tt__launch *launch,
                        int pass);

#endif
