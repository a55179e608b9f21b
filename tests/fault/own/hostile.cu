// Right where F is 0; else it never ends, writes far away, or does not compile.
//
//@ kernel    hostile
//@ problem   n 256
//@ buffer    x f32 n in
//@ buffer    y f32 n out
//@ param     F right endless far_away no_code
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      x, y
//@ default   F=right
//@ reference plain
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      x, y

enum { right, endless, far_away };
#define NAME_OF(f) F_##f
#define IS(f)      NAME_OF(f)
#define F_no_code  no_such_name
#define F_right    right
#define F_endless  endless
#define F_far_away far_away

#ifdef __HOSTCUDA__ // waits without work for the CPU
extern "C" int usleep(unsigned us);
#else
#define usleep(us) __nanosleep(1000 * (us))
#endif

extern "C" __global__ void hostile(const float *x, volatile float *y) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    while (IS(F) == endless && y[0] == y[0])
        usleep(1000);
    y[IS(F) == far_away ? i - (1ll << 40) : i] = x[i];
}

extern "C" __global__ void plain(const float *x, float *y) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    y[i] = x[i];
}
