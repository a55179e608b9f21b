//@ kernel   whole_tiles
//@ op       transpose
//@ param    TILE 4 8
//@ runtime  R 1 2
//@ derived  EDGES rows % TILE > 0 OR cols % TILE > 0
//@ derived  SKEW lds - cols
//@ where    elem_size = 4
//@ block    TILE, TILE
//@ grid     ceil_div(cols, TILE), ceil_div(rows, TILE)
//@ args     dst, src, i64 rows, i64 cols, i64 ldd
//@ default  TILE=4 R=1
extern "C" __global__ void whole_tiles(int *dst, const int *src, long long rows, long long cols,
                                       long long ldd) {
    const long long r = (long long)blockIdx.y * TILE + threadIdx.y, c = (long long)blockIdx.x * TILE + threadIdx.x;
    if (!EDGES || (r < rows && c < cols))
        dst[c * ldd + r] = src[r * (cols + SKEW) + c];
}
