/* Finding what the library and the program run, from the build folder as well as installed. */
#include "tuner/farm/worker_path.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TT__LIBEXEC_DIR
#define TT__LIBEXEC_DIR "/usr/local/libexec/tiletune"
#endif

/* The folder of the file this code was loaded from: libtiletune.so, or a program that has it inside. */
static void own_folder(char *out, size_t size) {
    char real[PATH_MAX];
    Dl_info info;
    out[0] = '\0';
    if (!dladdr((void *)(uintptr_t)own_folder, &info) || !info.dli_fname)
        return;
    const char *file = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
    if (!realpath(file, real))
        return;
    *strrchr(real, '/') = '\0';
    tt__copy(out, size, real);
}

/* Behind the folder of the library, which is lib, lib64 or, on Debian, lib/x86_64-linux-gnu. */
static const char *const beside[] = {"", "/../libexec/tiletune", "/../../libexec/tiletune"};
enum { PLACES = sizeof beside / sizeof *beside };

static bool take(tt__str *out, const char *path, int mode) {
    if (access(path, mode) != 0)
        return false;
    tt__str_add(out, path);
    return true;
}

/* `mode` is access()'s; `otherwise` ends the sentence of a failure. */
static tt_status find(tt__str *out, const char *name, int mode, const char *otherwise) {
    char own[PATH_MAX], path[PATH_MAX + 64];
    tt__str tried = {0};
    bool found = false;
    own_folder(own, sizeof own);
    for (int i = 0; i <= PLACES && !found; i++) {
        if (i < PLACES)
            snprintf(path, sizeof path, "%s%s/%s", own, beside[i], name);
        else
            snprintf(path, sizeof path, "%s/%s", TT__LIBEXEC_DIR, name);
        tt__str_addf(&tried, "%s%s", i == 0 ? "" : i < PLACES ? ", " : " or ", path);
        found = take(out, path, mode);
    }
    if (!found)
        tt__fail(TT_E_IO, "%s is not at %s; reinstall tiletune%s", name, tt__str_text(&tried), otherwise);
    tt__str_free(&tried);
    return found ? tt__str_check(out) : TT_E_IO;
}

tt_status tt__worker_path(tt__str *out) {
    const char *forced = secure_getenv("TILETUNE_WORKER");
    if (forced && take(out, forced, X_OK))
        return tt__str_check(out);
    if (forced)
        return tt__fail(TT_E_IO, "TILETUNE_WORKER names %s, which cannot be run", forced);
    return find(out, "tiletune-worker", X_OK, ", or name it in TILETUNE_WORKER");
}

tt_status tt__script_path(tt__str *out, const char *name) {
    return find(out, name, R_OK, "");
}
