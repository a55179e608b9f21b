//@ kernel   tiled
//@ op       transpose
//@ param    TILE   16 32
//@ param    MODE   fast slow
//@ runtime  ORDER  0 1
//@ where    TILE * 8 <= max_threads_per_block AND (MODE = 'fast' OR rows > 10)
//@ where    align >= elem_size
//@ block    TILE, 8
//@ grid     ceil_div(cols, TILE), min(ceil_div(rows, TILE), 65535), batch
//@ shared   TILE * (TILE + 1) * elem_size
//@ args     dst, src, i64 rows, i32 cols, f32 1.5, i32 ORDER
//@ default  TILE=32 MODE=fast ORDER=0
extern "C" __global__ void tiled() {}
