/* An NVRTC that writes down how it is asked, and refuses what the name of a program says. */
#include <nvrtc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern char fake_nvrtc_asked[1024];
EXPORT extern int fake_nvrtc_open;
char fake_nvrtc_asked[1024]; /* the last option of each compile */
int fake_nvrtc_open;         /* programs */

struct _nvrtcProgram {
    char name[32];
    const char *log;
};

static const char image[] = "image";

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult r) {
    return r == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "another error";
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *n) {
    *n = 1;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs) {
    *archs = 90;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int n_headers,
                                      const char *const *headers, const char *const *names) {
    (void)source, (void)n_headers, (void)headers, (void)names;
    nvrtcProgram p = calloc(1, sizeof *p);
    if (!p)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    strncpy(p->name, name, sizeof p->name - 1);
    p->log = "";
    fake_nvrtc_open++;
    *out = p;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    free(*program);
    *program = NULL;
    fake_nvrtc_open--;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram p, const char *expression) {
    (void)p, (void)expression;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram p, const char *expression, const char **name) {
    (void)p;
    *name = expression;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *options) {
    int minimal = strcmp(options[n - 1], "--minimal") == 0;
    strncat(fake_nvrtc_asked, options[n - 1], 64);
    strcat(fake_nvrtc_asked, " ");
    p->log = minimal ? "of the first attempt" : "of the second attempt";
    if (strcmp(p->name, "host.cu") == 0) {
        bool all = false;
        for (int i = 0; i < n; i++)
            all |= strcmp(options[i], "--device-as-default-execution-space") == 0;
        p->log = all ? "" : "... host functions are not allowed in JIT mode ...";
        return all ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
    }
    const bool lacks = strcmp(p->name, "lacks.cu") == 0, asserts = strcmp(p->name, "asserts.cu") == 0;
    if (lacks || asserts) {
        p->log =
            lacks
                ? "lacks.cu(2): error: identifier \"a\" is undefined\n"
                : "asserts.cu(2): error: static assertion failed\nasserts.cu(3): error: \"a\" is undefined\n";
        return NVRTC_ERROR_COMPILATION;
    }
    if (strcmp(p->name, "old.cu") == 0 && minimal)
        return NVRTC_ERROR_INVALID_OPTION;
    if ((strcmp(p->name, "textures.cu") == 0 && minimal) || strcmp(p->name, "wrong.cu") == 0)
        return NVRTC_ERROR_COMPILATION;
    return strcmp(p->name, "memory.cu") == 0 ? NVRTC_ERROR_OUT_OF_MEMORY : NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *size) {
    (void)p;
    *size = sizeof image;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *out) {
    (void)p;
    memcpy(out, image, sizeof image);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *size) {
    return nvrtcGetCUBINSize(p, size);
}

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *out) {
    return nvrtcGetCUBIN(p, out);
}

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *size) {
    *size = strlen(p->log) + 1;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *out) {
    strcpy(out, p->log);
    return NVRTC_SUCCESS;
}
