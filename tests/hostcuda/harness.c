/* See harness.h. */
#include "harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

tt__driver cu;

static char library_dir[4096];
static void *driver_library;

static struct nvrtc {
    nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *,
                          const char *const *);
    nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
    nvrtcResult (*cubin_size)(nvrtcProgram, size_t *);
    nvrtcResult (*cubin)(nvrtcProgram, char *);
    nvrtcResult (*log_size)(nvrtcProgram, size_t *);
    nvrtcResult (*log)(nvrtcProgram, char *);
    nvrtcResult (*destroy)(nvrtcProgram *);
} nvrtc;

void harness_init(const char *directory) {
    snprintf(library_dir, sizeof library_dir, "%s", directory);
}

void harness_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    _exit(HARNESS_FAILED);
}

void harness_check_cu(CUresult r, CUresult expected, const char *file, int line, const char *what) {
    char text[512];
    if (r == expected)
        return;
    snprintf(text, sizeof text, "%s is %d, not %d", what, (int)r, (int)expected);
    harness_fail(file, line, text);
}

int harness_child(const char *environment, int (*fn)(void), int seconds) {
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        char *copy = strdup(environment), *state = NULL;
        for (char *pair = strtok_r(copy, "|", &state); pair; pair = strtok_r(NULL, "|", &state))
            putenv(pair);
        alarm((unsigned)seconds);
        _exit(fn());
    }
    if (waitpid(pid, &status, 0) != pid)
        return HARNESS_FAILED;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void *open_library(const char *name) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", library_dir, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        harness_fail(path, 0, dlerror());
    return library;
}

static void bind_symbol(void *member, void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        harness_fail(name, 0, "not exported");
    memcpy(member, &symbol, sizeof symbol);
}

void *harness_driver_symbol(const char *name) {
    void *symbol;
    bind_symbol(&symbol, driver_library, name);
    return symbol;
}

void harness_open_driver(void) {
    driver_library = open_library("libcuda.so.1");
#define BIND(member, name, params) bind_symbol(&cu.member, driver_library, name);
    TT__DRIVER_SYMBOLS(BIND)
#undef BIND
}

void harness_open_context(void) {
    CUdevice device;
    CUcontext ctx;
    harness_open_driver();
    OK(cu.cuInit(0));
    OK(cu.cuDeviceGet(&device, 0));
    OK(cu.cuDevicePrimaryCtxRetain(&ctx, device));
    OK(cu.cuCtxSetCurrent(ctx));
}

static void open_nvrtc(void) {
    if (nvrtc.create)
        return;
    void *library = open_library("libnvrtc.so");
    bind_symbol(&nvrtc.compile, library, "nvrtcCompileProgram");
    bind_symbol(&nvrtc.cubin_size, library, "nvrtcGetCUBINSize");
    bind_symbol(&nvrtc.cubin, library, "nvrtcGetCUBIN");
    bind_symbol(&nvrtc.log_size, library, "nvrtcGetProgramLogSize");
    bind_symbol(&nvrtc.log, library, "nvrtcGetProgramLog");
    bind_symbol(&nvrtc.destroy, library, "nvrtcDestroyProgram");
    bind_symbol(&nvrtc.create, library, "nvrtcCreateProgram");
}

char *harness_compile(const char *source, const char *options, size_t *n_bytes, char **log) {
    const char *argv[32];
    char *words = strdup(options), *state = NULL, *cubin = NULL;
    int n = 0;
    nvrtcProgram program;
    size_t n_log;
    open_nvrtc();
    for (char *w = strtok_r(words, " ", &state); w && n < 32; w = strtok_r(NULL, " ", &state))
        argv[n++] = w;
    CHECK(nvrtc.create(&program, source, "test.cu", 0, NULL, NULL) == NVRTC_SUCCESS);
    const nvrtcResult r = nvrtc.compile(program, n, argv);
    if (log) {
        CHECK(nvrtc.log_size(program, &n_log) == NVRTC_SUCCESS);
        *log = malloc(n_log);
        CHECK(*log && nvrtc.log(program, *log) == NVRTC_SUCCESS);
    }
    if (r == NVRTC_SUCCESS) {
        CHECK(nvrtc.cubin_size(program, n_bytes) == NVRTC_SUCCESS);
        cubin = malloc(*n_bytes);
        CHECK(cubin && nvrtc.cubin(program, cubin) == NVRTC_SUCCESS);
    }
    CHECK(nvrtc.destroy(&program) == NVRTC_SUCCESS && !program);
    free(words);
    return cubin;
}

CUfunction harness_kernel(const char *source, const char *options, const char *kernel) {
    size_t n_bytes;
    char *log, *cubin = harness_compile(source, options, &n_bytes, &log);
    CUmodule module;
    CUfunction fn;
    if (!cubin)
        harness_fail(kernel, 0, log);
    OK(cu.cuModuleLoadData(&module, cubin));
    OK(cu.cuModuleGetFunction(&fn, module, kernel));
    free(cubin);
    free(log);
    return fn;
}

char *harness_template(const char *file) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", KERNEL_TEMPLATES_DIR, file);
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!f || !text || fread(text, 1, (1 << 16) - 1, f) == 0)
        harness_fail(path, 0, "cannot be read");
    fclose(f);
    char *at, name[64], *whole;
    while ((at = strstr(text, "\n#include \"")) && sscanf(at, "\n#include \"%63[^\"]\"", name) == 1) {
        char *header = harness_template(name); /* including the headers that it includes */
        *at = '\0';
        if (asprintf(&whole, "%s\n%s%s", text, header, strchr(at + 1, '\n')) < 0)
            harness_fail(path, 0, "no memory");
        free(header);
        free(text);
        text = whole;
    }
    return text;
}

CUdeviceptr harness_alloc(size_t bytes) {
    CUdeviceptr at;
    OK(cu.cuMemAlloc(&at, bytes));
    return at;
}

CUresult harness_launch(CUfunction fn, unsigned grid, unsigned bx, unsigned by, unsigned shared,
                        void **args) {
    return cu.cuLaunchKernel(fn, grid, 1, 1, bx, by, 1, shared, NULL, args, NULL);
}
