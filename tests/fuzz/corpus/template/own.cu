//@ kernel    parts
//@ problem   n 1000
//@ problem   half ceil_div(n, 2)
//@ type      T f32 f64 i16
//@ buffer    x T n in uniform -1 1
//@ buffer    p T ceil_div(n, 256) scratch
//@ buffer    y T n inout x
//@ buffer    z u32 4 * sm_count inout zeros
//@ buffer    w f32 n out
//@ scalar    a f32 2.5
//@ scalar    b i64 -3
//@ param     S 1 2
//@ runtime   E 1 4
//@ where     S * E < 8 AND T IN ('f32', 'f64')
//@ block     32 * S
//@ grid      ceil_div(n, 256), E
//@ shared    S * elem_size
//@ args      p, x, i64 n, i32 E
//@ kernel    whole
//@ block     64
//@ grid      ceil_div(half, 64)
//@ args      y, z, w, p, a, b, f32 0.5
//@ default   S=1 E=1
//@ reference plain
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      y, z, w, x, a, b, u32 n
//@ expect    w right.bin
//@ tolerance abs 1e-6 rel 1e-5
//@ metric    gbps 3 * n * elem_size / time_ns
//@ metric    share n * S / time_ns
//@ objective maximize gbps
//@ options   --use_fast_math -DX=1
//@ maxrregcount 32 * S
extern "C" void parts();
extern "C" void whole();
extern "C" void plain();
