/* See the header. The driver is loaded when a call first needs it, as in the library. */
#include "python/native.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef struct CUctx_st *CUcontext;
enum { DEVICES_MAX = 256 };

static struct {
    int (*cuInit)(unsigned flags);
    int (*cuCtxGetDevice)(int *device);
    int (*cuCtxGetCurrent)(CUcontext *ctx);
    int (*cuCtxSetCurrent)(CUcontext ctx);
    int (*cuDevicePrimaryCtxRetain)(CUcontext *ctx, int device);
    int (*cuStreamSynchronize)(CUstream stream);
    int (*cuPointerGetAttribute)(void *data, int attribute, unsigned long long address);
} cu;

static int loaded;
static CUcontext primary[DEVICES_MAX]; /* retained once, for as long as the process lives */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void) {
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {{"cuInit", &cu.cuInit},
                   {"cuCtxGetDevice", &cu.cuCtxGetDevice},
                   {"cuCtxGetCurrent", &cu.cuCtxGetCurrent},
                   {"cuCtxSetCurrent", &cu.cuCtxSetCurrent},
                   {"cuDevicePrimaryCtxRetain", &cu.cuDevicePrimaryCtxRetain},
                   {"cuStreamSynchronize", &cu.cuStreamSynchronize},
                   {"cuPointerGetAttribute", &cu.cuPointerGetAttribute}};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; driver && i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(driver, symbols[i].name);
        if (!found)
            return;
        memcpy(symbols[i].to, &found, sizeof found);
    }
    loaded = driver && cu.cuInit(0) == 0;
}

/* Makes the device's primary context current if another one is, or none. Returns 1 if leave() has something
 * to undo. Without a driver it does nothing, and without such a device no context is current, so that the
 * library says what is missing. */
static int enter(CUcontext *before, int device) {
    int current = -1;
    CUcontext to = NULL;
    if (device < 0)
        return 0;
    pthread_once(&once, load);
    if (!loaded || (cu.cuCtxGetDevice(&current) == 0 && current == device))
        return 0;
    pthread_mutex_lock(&lock);
    if (device < DEVICES_MAX &&
        (primary[device] || cu.cuDevicePrimaryCtxRetain(&primary[device], device) == 0))
        to = primary[device];
    pthread_mutex_unlock(&lock);
    return cu.cuCtxGetCurrent(before) == 0 && cu.cuCtxSetCurrent(to) == 0;
}

static void leave(CUcontext before, int changed) {
    if (changed)
        cu.cuCtxSetCurrent(before);
}

#define IN_CONTEXT(type, call)                                                                               \
    CUcontext before = NULL;                                                                                 \
    const int changed = enter(&before, device);                                                              \
    const type result = (call);                                                                              \
    leave(before, changed);                                                                                  \
    return result

/* Are elements apart? A stride is no less than what the smaller ones reach over. */
static int is_apart(const int64_t *shape, const int64_t *strides, int rank) {
    int order[TT_RANK_MAX], n = 0;
    int64_t reach = 1, step;
    for (int i = 0; i < rank; i++) {
        int at = n;
        if (shape[i] == 1)
            continue;
        for (; at > 0 && strides[order[at - 1]] > strides[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    for (int i = 0; i < n; i++) {
        const int64_t stride = strides[order[i]];
        if (stride < reach || __builtin_mul_overflow(shape[order[i]] - 1, stride, &step) ||
            __builtin_add_overflow(reach, step, &reach))
            return 0;
    }
    return 1;
}

int tt_py_permutation(int64_t *block, const int64_t *shape, const int64_t *strides, const int *axes, int rank,
                      int itemsize) {
    int64_t *dims = block + TT_PY_HEAD, *steps = dims + rank, *to = steps + rank, *to_steps = to + rank,
            step = 1;
    int *perm = (int *)(to_steps + rank), is_view = 1;
    _Static_assert(sizeof(tt_permutation) <= TT_PY_HEAD * sizeof(int64_t), "the head is too small");
    if (rank < 1 || rank > TT_RANK_MAX || itemsize < 1 || itemsize > 16 || (itemsize & (itemsize - 1)))
        return 0;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 1)
            return 0;
    if (!is_apart(shape, strides, rank))
        return 0;
    for (int i = rank; i-- > 0;) {
        dims[i] = shape[i];
        steps[i] = strides[i];
        perm[i] = axes[i];
        to[i] = shape[axes[i]];
        to_steps[i] = step;
        is_view &= to[i] == 1 || strides[axes[i]] == step;
        step *= to[i];
    }
    const tt_permutation p = {
        .size = sizeof p, .rank = rank, .elem_size = itemsize, .dims = dims, .perm = perm, .strides = steps};
    memcpy(block, &p, sizeof p);
    return is_view ? 2 : 1;
}

tt_status tt_py_permute(tt_ctx *ctx, const tt_permutation *permutation, uintptr_t dst, uintptr_t src,
                        uintptr_t stream, int device) {
    IN_CONTEXT(tt_status, tt_permute(ctx, permutation, dst, src, (CUstream)stream));
}

tt_status tt_py_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem, int device) {
    IN_CONTEXT(tt_status, tt_best(out, ctx, problem));
}

tt_status tt_py_plan(tt_plan **out, tt_ctx *ctx, const tt_problem *problem, int device) {
    IN_CONTEXT(tt_status, tt_plan_create(out, ctx, problem));
}

tt_status tt_py_set_constant(tt_plan *plan, const char *name, const void *data, size_t bytes, int device) {
    IN_CONTEXT(tt_status, tt_plan_set_constant(plan, name, data, bytes));
}

tt_status tt_py_launch(const tt_plan *plan, void *const *args, size_t n, uintptr_t stream, int device) {
    IN_CONTEXT(tt_status, tt_plan_launch_args(plan, args, n, (CUstream)stream));
}

int tt_py_device_of(uintptr_t address) {
    enum { DEVICE_ORDINAL = 9 };
    int device = -1;
    pthread_once(&once, load);
    return loaded && cu.cuPointerGetAttribute(&device, DEVICE_ORDINAL, address) == 0 ? device : -1;
}

int tt_py_synchronize(uintptr_t stream, int device) {
    pthread_once(&once, load);
    if (!loaded)
        return 0;
    IN_CONTEXT(int, cu.cuStreamSynchronize((CUstream)stream));
}
