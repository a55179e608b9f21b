/*
 * Loads images of the NVRTC stand-in: a shared library after a header, put into a memory file.
 */
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"

static const char *find_fact(CUmodule m, const char *prefix) {
    for (const char *f = m->facts; f < m->facts + m->facts_bytes; f += strlen(f) + 1)
        if (strncmp(f, prefix, strlen(prefix)) == 0)
            return f + strlen(prefix);
    return NULL;
}

/* The faults of the program, without the names of its other kernels. */
static hostcuda_faults function_faults(CUmodule m, const char *name) {
    enum { DEVICE = 16 };
    char *facts = calloc(1, m->facts_bytes + DEVICE + 1);
    size_t n = 0;
    if (!facts)
        abort();
    const CUcontext context = hostcuda_context();
    n += (size_t)snprintf(facts, DEVICE, "device=%d", context ? context->device : 0) + 1;
    for (const char *f = m->facts; f < m->facts + m->facts_bytes; f += strlen(f) + 1)
        if (strncmp(f, "kernel=", 7) != 0 || strcmp(f + 7, name) == 0) {
            strcpy(facts + n, f);
            n += strlen(f) + 1;
        }
    const hostcuda_faults faults = hostcuda_faults_for(facts, n);
    free(facts);
    return faults;
}

/* Those that are open, by place. */
static CUmodule first_open;

static void take_place(CUmodule m) {
    CUmodule *at = &first_open;
    while (*at && (*at)->place == m->place) {
        at = &(*at)->next;
        m->place++;
    }
    m->next = *at;
    *at = m;
}

static void leave_place(CUmodule m) {
    for (CUmodule *at = &first_open; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            return;
        }
}

void hostcuda_module_close(CUmodule m) {
    leave_place(m);
    while (m->functions) {
        CUfunction next = m->functions->next;
        free(m->functions);
        m->functions = next;
    }
    if (m->library)
        dlclose(m->library);
    if (m->fd >= 0)
        close(m->fd);
    free(m->facts);
    free(m);
}

static bool open_library(CUmodule m, const char *bytes, size_t n) {
    union {
        void *object;
        hostcuda_env *(*function)(void);
    } get_env;
    char path[64];
    static void *math; /* for all kernels, which are linked without it */
    if (!math)
        math = dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    m->fd = memfd_create("hostcuda-kernel", MFD_CLOEXEC);
    if (m->fd < 0 || write(m->fd, bytes, n) != (ssize_t)n)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", m->fd);
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->library) {
        fprintf(stderr, "hostcuda: %s\n", dlerror());
        return false;
    }
    get_env.object = dlsym(m->library, "hostcuda_get_env");
    m->env = get_env.object ? get_env.function() : NULL;
    return m->env != NULL;
}

static CUresult check_image(const hostcuda_image *image) {
    const unsigned cc = (unsigned)hostcuda_state.set.cc;
    const int driver_major = (int)hostcuda_number("HOSTCUDA_DRIVER_VERSION", 13000) / 1000;
    REQUIRE(memcmp(image->magic, HOSTCUDA_MAGIC, sizeof image->magic) == 0, CUDA_ERROR_INVALID_IMAGE);
    REQUIRE((int)image->nvrtc_major <= driver_major, CUDA_ERROR_INVALID_IMAGE);
    REQUIRE((image->ptx || image->cc / 10 == cc / 10) && image->cc <= cc, CUDA_ERROR_NO_BINARY_FOR_GPU);
    return CUDA_SUCCESS;
}

CUresult hostcuda_module_open(CUmodule *out, const void *bytes) {
    hostcuda_image image;
    REQUIRE(out && bytes, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(memcmp(bytes, HOSTCUDA_MAGIC, strlen(HOSTCUDA_MAGIC)) == 0, CUDA_ERROR_INVALID_IMAGE);
    memcpy(&image, bytes, sizeof image);
    const CUresult r = check_image(&image);
    REQUIRE(r == CUDA_SUCCESS, r);

    CUmodule m = calloc(1, sizeof *m);
    REQUIRE(m, CUDA_ERROR_OUT_OF_MEMORY);
    m->fd = -1;
    m->ctx = hostcuda_context();
    m->cc = image.cc;
    m->facts_bytes = image.facts_bytes;
    m->facts = malloc(image.facts_bytes + 1);
    const char *facts = (const char *)bytes + sizeof image;
    if (m->facts) {
        memcpy(m->facts, facts, image.facts_bytes);
        m->facts[image.facts_bytes] = 0;
    }
    if (!m->facts || hostcuda_faults_for(m->facts, m->facts_bytes).on[HOSTCUDA_LOAD_ERROR] ||
        !open_library(m, facts + image.facts_bytes, image.library_bytes)) {
        hostcuda_module_close(m);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    take_place(m);
    *out = m;
    return CUDA_SUCCESS;
}

static CUresult load(CUmodule *out, const void *image) {
    const CUresult r = hostcuda_may_be_unsafe();
    REQUIRE(r == CUDA_SUCCESS, r);
    const CUresult opened = hostcuda_module_open(out, image);
    hostcuda_state.n_live += opened == CUDA_SUCCESS;
    return opened;
}

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image) {
    ENTER(NEEDS_CONTEXT);
    return load(out, image);
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *options,
                                   void **values) {
    (void)n;
    (void)options;
    (void)values;
    ENTER(NEEDS_CONTEXT);
    return load(out, image);
}

EXPORT CUresult cuModuleUnload(CUmodule m) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(m, CUDA_ERROR_INVALID_HANDLE);
    hostcuda_module_close(m);
    hostcuda_state.n_live--;
    return CUDA_SUCCESS;
}

static CUfunction open_function(CUmodule m, const char *name) {
    char symbol[160];
    snprintf(symbol, sizeof symbol, "hostcuda_kernel_%s", name);
    const hostcuda_kernel *kernel = dlsym(m->library, symbol);
    CUfunction fn = kernel ? calloc(1, sizeof *fn) : NULL;
    if (!fn)
        return NULL;
    const char *elem_size = find_fact(m, "ELEM_SIZE=");
    fn->module = m;
    fn->kernel = kernel;
    fn->faults = function_faults(m, name);
    fn->elem_size = elem_size ? atoi(elem_size) : 1;
    fn->shared_limit = 49152;
    snprintf(fn->name, sizeof fn->name, "%s", name);
    fn->next = m->functions;
    m->functions = fn;
    return fn;
}

CUfunction hostcuda_module_function(CUmodule m, const char *name) {
    CUfunction fn = m->functions;
    while (fn && strcmp(fn->name, name) != 0)
        fn = fn->next;
    return fn ? fn : open_function(m, name);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && name && *name, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(m, CUDA_ERROR_INVALID_HANDLE);
    CUfunction fn = hostcuda_module_function(m, name);
    REQUIRE(fn, CUDA_ERROR_NOT_FOUND);
    *out = fn;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attr, CUfunction fn) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(value, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(fn, CUDA_ERROR_INVALID_HANDLE);
    const struct {
        CUfunction_attribute id;
        int value;
    } table[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
         fn->kernel->max_threads ? (int)fn->kernel->max_threads : HOSTCUDA_THREADS_MAX},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, 32},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, (int)fn->module->cc},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, (int)fn->module->cc},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fn->shared_limit},
    };
    REQUIRE((int)attr >= 0 && attr < CU_FUNC_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *value = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].id == attr)
            *value = table[i].value;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction fn, size_t index, size_t *offset, size_t *size) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(fn, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(offset && index < fn->kernel->n_params, CUDA_ERROR_INVALID_VALUE);
    *offset = 0;
    for (size_t i = 0; i <= index; i++) { /* each at a multiple of its size, as scalars and addresses are */
        const size_t bytes = fn->kernel->params[i].size, off = *offset % bytes;
        *offset += (off ? bytes - off : 0) + (i < index ? bytes : 0);
    }
    if (size)
        *size = fn->kernel->params[index].size;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attr, int value) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(fn, CUDA_ERROR_INVALID_HANDLE);
    if (attr == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        fn->takes_large_clusters = value == 1;
        return CUDA_SUCCESS;
    }
    REQUIRE(attr == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(value >= 0 && value <= hostcuda_shared_limit(), CUDA_ERROR_INVALID_VALUE);
    fn->shared_limit = value;
    return CUDA_SUCCESS;
}
