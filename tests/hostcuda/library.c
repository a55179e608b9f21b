/* Libraries: images that belong to no context, and become a module in each one that asks for a function. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "module.h"

struct CUkern_st {
    CUlibrary library;
    char name[128];
    CUkernel next;
};

typedef struct loaded {
    unsigned long long context; /* its number: the module of a context that is gone is never met again */
    CUmodule module;
    struct loaded *next;
} loaded;

struct CUlib_st {
    void *image;
    loaded *modules;
    CUkernel kernels;
    CUlibrary next;
};

/* Those that are loaded: what is never unloaded is the driver's, and no leak of the program's. */
static CUlibrary libraries;

static void close_library(CUlibrary l) {
    while (l->modules) {
        loaded *next = l->modules->next;
        hostcuda_module_close(l->modules->module);
        free(l->modules);
        l->modules = next;
    }
    while (l->kernels) {
        CUkernel next = l->kernels->next;
        free(l->kernels);
        l->kernels = next;
    }
    free(l->image);
    free(l);
}

static CUresult module_here(CUmodule *out, CUlibrary l) {
    const unsigned long long context = hostcuda_context()->id;
    for (loaded *at = l->modules; at; at = at->next)
        if (at->context == context) {
            *out = at->module;
            return CUDA_SUCCESS;
        }
    loaded *added = calloc(1, sizeof *added);
    REQUIRE(added, CUDA_ERROR_OUT_OF_MEMORY);
    const CUresult r = hostcuda_module_open(&added->module, l->image);
    if (r != CUDA_SUCCESS) {
        free(added);
        return r;
    }
    added->context = context;
    added->next = l->modules;
    l->modules = added;
    *out = added->module;
    return CUDA_SUCCESS;
}

/* Loads into the current context at once, so that a bad image is refused here. */
EXPORT CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *jit_options,
                                  void **jit_values, unsigned n_jit, CUlibraryOption *options, void **values,
                                  unsigned n) {
    (void)jit_options;
    (void)jit_values;
    (void)options;
    (void)values;
    ENTER(NEEDS_CONTEXT);
    CUresult r = hostcuda_may_be_unsafe();
    REQUIRE(r == CUDA_SUCCESS, r);
    REQUIRE(out && image && n_jit == 0 && n == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(memcmp(image, HOSTCUDA_MAGIC, strlen(HOSTCUDA_MAGIC)) == 0, CUDA_ERROR_INVALID_IMAGE);
    hostcuda_image head;
    memcpy(&head, image, sizeof head);
    const size_t bytes = sizeof head + head.facts_bytes + head.library_bytes;
    CUlibrary l = calloc(1, sizeof *l);
    CUmodule module;
    REQUIRE(l, CUDA_ERROR_OUT_OF_MEMORY);
    l->image = malloc(bytes);
    if (l->image)
        memcpy(l->image, image, bytes);
    r = l->image ? module_here(&module, l) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        close_library(l);
        return r;
    }
    hostcuda_state.n_live++;
    l->next = libraries;
    libraries = *out = l;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryUnload(CUlibrary l) {
    ENTER(NEEDS_INIT);
    REQUIRE(l, CUDA_ERROR_INVALID_HANDLE);
    CUlibrary *at = &libraries;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    close_library(l);
    hostcuda_state.n_live--;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary l, const char *name) {
    CUmodule module;
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(l && name, CUDA_ERROR_INVALID_VALUE);
    const CUresult r = module_here(&module, l);
    REQUIRE(r == CUDA_SUCCESS, r);
    void *address = dlsym(module->library, name);
    REQUIRE(address && dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol,
            CUDA_ERROR_NOT_FOUND);
    if (at)
        *at = (CUdeviceptr)(uintptr_t)address;
    if (bytes)
        *bytes = symbol->st_size;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name) {
    CUmodule module;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && l && name && *name, CUDA_ERROR_INVALID_VALUE);
    const CUresult r = module_here(&module, l);
    REQUIRE(r == CUDA_SUCCESS, r);
    REQUIRE(hostcuda_module_function(module, name), CUDA_ERROR_NOT_FOUND);
    CUkernel kernel = calloc(1, sizeof *kernel);
    REQUIRE(kernel, CUDA_ERROR_OUT_OF_MEMORY);
    kernel->library = l;
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->next = l->kernels;
    l->kernels = kernel;
    *out = kernel;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel) {
    CUmodule module;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && kernel, CUDA_ERROR_INVALID_VALUE);
    const CUresult r = module_here(&module, kernel->library);
    REQUIRE(r == CUDA_SUCCESS, r);
    *out = hostcuda_module_function(module, kernel->name);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
