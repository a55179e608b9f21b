/* See the header. The functions are those of nvToolsExt.h. CUDA 13 has them in another library than CUDA 12.
 */
#include "gpu/nvtx.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool tried;
    int (*push)(const char *text);
    int (*pop)(void);
} nvtx;

static void load(void) {
    static const char *const names[] = {"libnvtx3interop.so.1", "libnvToolsExt.so.1"};
    void *lib = NULL;
    nvtx.tried = true;
    if (!secure_getenv("NVTX_INJECTION64_PATH")) /* tools set it */
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    void *push = lib ? dlsym(lib, "nvtxRangePushA") : NULL, *pop = lib ? dlsym(lib, "nvtxRangePop") : NULL;
    if (!push || !pop)
        return;
    memcpy(&nvtx.push, &push, sizeof push);
    memcpy(&nvtx.pop, &pop, sizeof pop);
}

void tt__nvtx_push(const char *what, const char *name) {
    char text[256];
    if (!nvtx.tried)
        load();
    if (!nvtx.push)
        return;
    snprintf(text, sizeof text, "%s %s", what, name);
    nvtx.push(text);
}

void tt__nvtx_pop(void) {
    if (nvtx.pop)
        nvtx.pop();
}
