/* Finding what the library and the program run, from the build folder as well as installed. */
#include "base/install_dirs.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
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

/* From the folder of the library, which is lib or, on Debian, lib/x86_64-linux-gnu. */
static const char *const beside[] = {"", "/../libexec/tiletune", "/../../libexec/tiletune"};
_Static_assert(TT__PLACES == sizeof beside / sizeof *beside + 1, "the last is TT__LIBEXEC_DIR");

void tt__install_folder(tt__str *out, int i) {
    char own[PATH_MAX];
    own_folder(own, sizeof own);
    if (i == TT__PLACES - 1)
        tt__str_add(out, TT__LIBEXEC_DIR);
    else
        tt__str_addf(out, "%s%s", own, beside[i]);
}

/* `mode` is access()'s; `otherwise` ends the sentence of a failure. */
static tt_status find(tt__str *out, const char *name, int mode, const char *otherwise) {
    tt__str tried = {0}, path = {0};
    bool found = false;
    for (int i = 0; i < TT__PLACES && !found; i++) {
        path.len = 0;
        tt__install_folder(&path, i);
        tt__str_addf(&path, "/%s", name);
        tt__str_addf(&tried, "%s%s", i == 0 ? "" : i < TT__PLACES - 1 ? ", " : " or ", tt__str_text(&path));
        found = access(tt__str_text(&path), mode) == 0;
    }
    if (found)
        tt__str_add(out, tt__str_text(&path));
    else
        tt__fail(TT_E_IO, "%s is not at %s; reinstall tiletune%s", name, tt__str_text(&tried), otherwise);
    tt__str_free(&tried);
    tt__str_free(&path);
    return found ? tt__str_check(out) : TT_E_IO;
}

tt_status tt__worker_path(tt__str *out) {
    const char *forced = secure_getenv("TILETUNE_WORKER");
    if (forced && access(forced, X_OK) == 0) {
        tt__str_add(out, forced);
        return tt__str_check(out);
    }
    if (forced)
        return tt__fail(TT_E_IO, "TILETUNE_WORKER names %s, which cannot be run", forced);
    return find(out, "tiletune-worker", X_OK, ", or name it in TILETUNE_WORKER");
}

tt_status tt__script_path(tt__str *out, const char *name) {
    return find(out, name, R_OK, "");
}
