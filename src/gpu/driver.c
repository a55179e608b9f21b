/*
 * Loads libcuda.so.1 once, and turns CUDA's error codes into messages.
 */
#include "gpu/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static tt__driver table;
static char path[512];
static tt_status load_status;
static char load_error[1024];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    size_t offset;
    bool optional;
} symbols[] = {
#define SYMBOL(member, name, params) {name, offsetof(tt__driver, member), false},
    TT__DRIVER_SYMBOLS(SYMBOL)
#undef SYMBOL
#define SYMBOL(member, name, params) {name, offsetof(tt__driver, member), true},
        TT__DRIVER_OPTIONAL(SYMBOL)
#undef SYMBOL
};

static tt_status load(void) {
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return tt__fail(
            TT_E_NO_DRIVER,
            "the CUDA driver is not installed (%s); install NVIDIA's driver, or search a recording "
            "with --device replay:FILE",
            dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(lib, symbols[i].name);
        if (!address && !symbols[i].optional)
            return tt__fail(TT_E_NO_DRIVER,
                            "libcuda.so.1 has no %s: the driver is too old, CUDA 12 or newer "
                            "is needed",
                            symbols[i].name);
        memcpy((char *)&table + symbols[i].offset, &address, sizeof address);
    }
    enum { EARLY_IN_GRAPHS = 12030 };
    int version = 0;
    table.launches_early = table.cuDriverGetVersion(&version) == CUDA_SUCCESS && version >= EARLY_IN_GRAPHS;
    Dl_info info;
    if (dladdr((void *)(uintptr_t)table.cuInit, &info) && info.dli_fname)
        tt__copy(path, sizeof path, info.dli_fname);
    CUresult r = table.cuInit(0);
    if (r == CUDA_ERROR_NO_DEVICE)
        return tt__fail(TT_E_NO_DEVICE,
                        "the CUDA driver finds no GPU on this machine; search a recording with "
                        "--device replay:FILE");
    if (r != CUDA_SUCCESS) {
        tt__cu_check(r, "cuInit");
        return tt__fail(TT_E_NO_DRIVER, "the CUDA driver does not start: %s", tt_last_error());
    }
    return TT_OK;
}

static void load_once(void) {
    load_status = load();
    if (load_status != TT_OK)
        tt__copy(load_error, sizeof load_error, tt_last_error());
}

tt_status tt__driver_open(const tt__driver **out) {
    static const tt__driver *_Atomic loaded; /* each launch comes here */
    *out = atomic_load_explicit(&loaded, memory_order_acquire);
    if (*out)
        return TT_OK;
    pthread_once(&once, load_once);
    if (load_status != TT_OK)
        return tt__fail(load_status, "%s", load_error);
    atomic_store_explicit(&loaded, &table, memory_order_release);
    *out = &table;
    return TT_OK;
}

const char *tt__driver_path(void) {
    return path;
}

tt_status tt__cu_check(CUresult r, const char *what, ...) {
    if (r == CUDA_SUCCESS)
        return TT_OK;
    char text[256];
    va_list args;
    va_start(args, what);
    tt__vformat(text, sizeof text, what, args);
    va_end(args);
    const char *name = NULL, *words = NULL;
    if (table.cuGetErrorName) /* NULL in tests that replace the table without loading a driver */
        table.cuGetErrorName(r, &name);
    if (table.cuGetErrorString)
        table.cuGetErrorString(r, &words);
    return tt__fail(r == CUDA_ERROR_OUT_OF_MEMORY ? TT_E_NO_MEMORY : TT_E_CUDA, "%s: %s (%d): %s", text,
                    name ? name : "CUDA error", (int)r, words ? words : "no description");
}

tt_status tt__driver_cuda_version(int *version) {
    const tt__driver *cu;
    *version = 0;
    TT_TRY(tt__driver_open(&cu));
    return tt__cu_check(cu->cuDriverGetVersion(version), "cuDriverGetVersion");
}

static void read_version(char *out, size_t size) {
    int version = 0;
    if (tt__driver_cuda_version(&version) != TT_OK)
        return;
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    if (f) {
        if (fgets(out, (int)size, f))
            out[strcspn(out, "\n")] = '\0';
        fclose(f);
    }
    if (!out[0])
        snprintf(out, size, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

/* Each look-up needs it, so it is read once. */
void tt__driver_version(char *out, size_t size) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char version[32];
    pthread_mutex_lock(&lock);
    if (!version[0])
        read_version(version, sizeof version);
    tt__copy(out, size, version);
    pthread_mutex_unlock(&lock);
}
