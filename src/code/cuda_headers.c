/* See the header. */
#include "code/cuda_headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TT__TOOLKIT_INCLUDE
#define TT__TOOLKIT_INCLUDE ""
#endif

/* The version that a cuda.h states, such as 13000 for 13.0; 0: there is none. */
static int version_of(const char *path) {
    char line[256];
    int version = 0;
    FILE *f = fopen(path, "re");
    while (f && !version && fgets(line, sizeof line, f))
        if (sscanf(line, "#define CUDA_VERSION %d", &version) != 1)
            version = 0;
    if (f)
        fclose(f);
    return version;
}

/* Adds the folder if it has the file. */
static void add_folder(tt__str *out, int *n, const char *folder, const char *sub, const char *file) {
    tt__str path = {0};
    tt__str_addf(&path, "%s%s/%s", folder, sub, file);
    if (access(tt__str_text(&path), R_OK) == 0) {
        tt__str_addf(out, "--include-path=%s%s", folder, sub);
        tt__str_addn(out, "", 1);
        ++*n;
    }
    tt__str_free(&path);
}

/* Takes this folder, and the C++ libraries with it, if it is of that version. */
static void try_folder(tt__str *out, int *n, int wanted, const char *folder) {
    tt__str header = {0};
    tt__str_addf(&header, "%s/cuda.h", folder);
    if (*n == 0 && version_of(tt__str_text(&header)) == wanted) {
        add_folder(out, n, folder, "", "cuda.h");
        add_folder(out, n, folder, "/cccl", "cuda/std/version");                    /* since CUDA 13 */
        add_folder(out, n, folder, "/../../cuda_cccl/include", "cuda/std/version"); /* Python's, of CUDA 12 */
        add_folder(out, n, folder, "/../../cuda_nvcc/include", "crt/mma.h");        /* the same */
    }
    tt__str_free(&header);
}

static void try_below(tt__str *out, int *n, int wanted, const char *parent, const char *sub) {
    tt__str folder = {0};
    tt__str_addf(&folder, "%s/%s", parent ? parent : "", sub);
    if (parent && *parent)
        try_folder(out, n, wanted, tt__str_text(&folder));
    tt__str_free(&folder);
}

tt_status tt__cuda_headers(tt__str *out, int *n, const char *nvrtc_path, const char *version) {
    int major = 0, minor = 0;
    *n = 0;
    if (sscanf(version, "%d.%d", &major, &minor) != 2)
        return TT_OK;
    int wanted = major * 1000 + minor * 10;
    char *real = realpath(nvrtc_path, NULL), *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        *slash = '\0';
    try_below(out, n, wanted, secure_getenv("CUDA_HOME"), "include");
    try_below(out, n, wanted, secure_getenv("CUDA_PATH"), "include");
    try_below(out, n, wanted, real, "../include");
    try_below(out, n, wanted, real, "../../include");
    try_below(out, n, wanted, real, "../../cuda_runtime/include");
    try_below(out, n, wanted, "/usr/local/cuda", "include");
    if (*TT__TOOLKIT_INCLUDE)
        try_folder(out, n, wanted, TT__TOOLKIT_INCLUDE);
    free(real);
    return tt__str_check(out);
}
