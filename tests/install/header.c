/* The public header by itself, as strict C11; with CUDA's after it and before it. */
#if defined(CUDA_FIRST)
#include <cuda.h>
#endif
#include "tiletune.h"
#if defined(CUDA_LAST)
#include <cuda.h>
#endif

tt_problem header_problem(void);

tt_problem header_problem(void) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = p.cols = 4;
    return p;
}
