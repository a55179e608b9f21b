/* The public header by itself, as strict C++17; with CUDA's after it and before it. */
#if defined(CUDA_FIRST)
#include <cuda.h>
#endif
#include "tiletune.h"
#if defined(CUDA_LAST)
#include <cuda.h>
#endif

tt_problem header_problem();

tt_problem header_problem() {
    tt_problem p = TT_INIT(tt_problem);
    static_assert(TT_OK == 0, "a status is false if all is well");
    p.rows = p.cols = 4;
    return p;
}
