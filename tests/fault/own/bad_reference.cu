// A reference that never ends, that writes far away, that does not compile, or that cannot be launched.
//
//@ kernel    fine
//@ problem   mode 1
//@ buffer    x f32 256 in
//@ buffer    y f32 256 out
//@ block     64
//@ grid      4
//@ args      x, y
//@ reference bad
//@ block     64
//@ grid      iif(mode = 4, 3000000000, 4)
//@ args      x, y, i32 mode

#ifdef __HOSTCUDA__ // waits without work for the CPU
extern "C" int usleep(unsigned us);
#else
#define usleep(us) __nanosleep(1000 * (us))
#endif

extern "C" __global__ void fine(const float *x, float *y) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    y[i] = x[i];
}

extern "C" __global__ void bad(const float *x, volatile float *y, int mode) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    while (mode == 2 && y[0] == y[0])
        usleep(1000);
    y[mode == 3 ? i - (1ll << 40) : i] = x[i];
}
