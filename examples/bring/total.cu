// A sum in one launch, whose blocks wait for each other. It knows nothing of tiletune.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void total(const float *in, float *out, double *partial, int n) {
    cg::grid_group grid = cg::this_grid();
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    double sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        sum += in[i];
    sum = cg::reduce(warp, sum, cg::plus<double>());
    if (warp.thread_rank() == 0)
        partial[grid.thread_rank() / 32] = sum;
    grid.sync();
    if (grid.thread_rank() == 0) {
        for (int i = 1; i < grid.size() / 32; i++)
            sum += partial[i];
        *out = sum;
    }
}
