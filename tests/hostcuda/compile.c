/*
 * Source, log and result are memory files, so that nothing is left in a file system, whenever a test kills
 * the process that compiles. With $HOSTCUDA_CACHE (cache.c) an image is compiled only once.
 */
#include "compile.h"
#include "cache.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__clang__)
#define DEFAULT_CXX "clang++"
#else
#define DEFAULT_CXX "c++"
#endif

enum { ARGS_MAX = 256, RESULT_FD = 3 };

/* Default libraries are left out, as linking them takes long, and the process has them: libm through
 * module.c. meson.build has the other flags, because the precompiled shim needs the same ones. */
static const char flags[] = HOSTCUDA_FLAGS " -w -shared -nostdlib -pipe";

#define IS_UBSAN "__ubsan_handle_type_mismatch_v1_abort"

/* A kernel gets the sanitizers of the process, because it calls their functions. It does without the checks
 * of "undefined" that need the C++ runtime. */
static const struct sanitizer {
    const char *symbol;
    const char *flag;
} sanitizers[] = {
    {"__asan_init", "-fsanitize=address"},
    {IS_UBSAN, "-fsanitize=alignment,bounds,bool,integer-divide-by-zero,null,pointer-overflow,shift,"
               "signed-integer-overflow"},
};

/* A GPU refuses a misaligned access, where a CPU takes it: without UBSan the shim says so. */
static const char alignment[] = HOSTCUDA_ALIGNMENT_FLAGS;

static void add_words(const char **argv, size_t *n, char *words) {
    char *state = NULL;
    for (char *w = strtok_r(words, " ", &state); w && *n < ARGS_MAX - 1; w = strtok_r(NULL, " ", &state))
        argv[(*n)++] = w;
}

static char *env_words(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return strdup(value && *value ? value : otherwise);
}

static bool run(const char **argv, int source_fd, int log_fd, int result_fd) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, source_fd, 0);
    posix_spawn_file_actions_adddup2(&actions, log_fd, 1);
    posix_spawn_file_actions_adddup2(&actions, log_fd, 2);
    posix_spawn_file_actions_adddup2(&actions, result_fd, RESULT_FD);
    const int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char **)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        dprintf(log_fd, "hostcuda: cannot run %s: %s\n", argv[0], strerror(error));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0;
}

static char *read_all(int fd, size_t *n_bytes) {
    struct stat st;
    *n_bytes = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    char *bytes = calloc(1, *n_bytes + 1);
    if (bytes && *n_bytes && pread(fd, bytes, *n_bytes, 0) != (ssize_t)*n_bytes)
        *n_bytes = 0;
    return bytes;
}

bool hostcuda_compile(char **library, size_t *library_bytes, char **log, const char *text, size_t text_bytes,
                      const char *const *defines, size_t n_defines) {
    const char *argv[ARGS_MAX];
    size_t n = 0, log_bytes = 0;
    char result_path[32];
    char *cxx = env_words("HOSTCUDA_CXX", DEFAULT_CXX), *fixed = strdup(flags), *checks = strdup(alignment);
    char *more = env_words("HOSTCUDA_CXXFLAGS", "");
    const int fds[] = {memfd_create("source", MFD_CLOEXEC), memfd_create("log", MFD_CLOEXEC),
                       memfd_create("library", MFD_CLOEXEC)};

    snprintf(result_path, sizeof result_path, "/proc/self/fd/%d", RESULT_FD);
    add_words(argv, &n, cxx);
    add_words(argv, &n, fixed);
    bool plain = getenv("HOSTCUDA_PLAIN") != NULL;
    if (plain || !dlsym(RTLD_DEFAULT, IS_UBSAN))
        add_words(argv, &n, checks);
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers && !plain; i++)
        if (dlsym(RTLD_DEFAULT, sanitizers[i].symbol))
            argv[n++] = sanitizers[i].flag;
    add_words(argv, &n, more);
    for (size_t i = 0; i < n_defines && n < ARGS_MAX - 16; i++)
        argv[n++] = defines[i];
    const char *const tail[] = {"-iquote",  HOSTCUDA_SHIM_DIR, "-iquote", HOSTCUDA_SHIM_DIR,
                                "-include", "hostcuda_shim.h", "-x",      "c++",
                                "-",        "-lgcc",           "-o",      result_path,       NULL};
    memcpy(&argv[n], tail, sizeof tail);

    hostcuda_cached cached = hostcuda_cache_open(text, text_bytes, argv);
    bool ok = hostcuda_cache_get(&cached, library, library_bytes);
    *log = NULL;
    if (ok)
        goto out;
    /* GCC passes it by where it does not fit. The image is the same, and so its name in the cache. */
    argv[n + 1] = HOSTCUDA_PRECOMPILED_DIR;
    ok = write(fds[0], text, text_bytes) == (ssize_t)text_bytes && lseek(fds[0], 0, SEEK_SET) == 0 &&
         run(argv, fds[0], fds[1], fds[2]);
    *library = read_all(fds[2], library_bytes);
    *log = read_all(fds[1], &log_bytes);
    ok = ok && *library_bytes > 0;
    if (ok)
        hostcuda_cache_put(&cached, *library, *library_bytes);
out:
    hostcuda_cache_close(&cached);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    free(cxx);
    free(fixed);
    free(checks);
    free(more);
    return ok;
}
