/* The little that has to change in a kernel's text before the host compiler can read it. */
#ifndef HOSTCUDA_REWRITE_H
#define HOSTCUDA_REWRITE_H

#include <stdio.h>

/* Writes `source` to `out`, line for line. `extern __shared__ T name[];` becomes a pointer to the block's
 * dynamic shared memory. HOSTCUDA_KERNEL(name, (bounds)) follows the body of every extern "C" kernel. `facts`
 * gets "kernel=NAME" and a NUL for each. */
void hostcuda_rewrite(FILE *out, FILE *facts, const char *source);

#endif
