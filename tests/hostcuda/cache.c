/*
 * The cache of compiled images: one file each, named by a hash of its inputs. A file appears whole, by
 * rename. So any number of processes may share the folder, and any of them may be killed.
 */
#include "cache.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a is enough: there are no attackers, and some thousand files do not collide in 64 bits. */
static void add(uint64_t *hash, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
}

static bool read_file(const char *path, char **bytes, size_t *n_bytes) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;
    *bytes = NULL;
    if (ok) {
        *n_bytes = (size_t)st.st_size;
        *bytes = malloc(*n_bytes);
        ok = *bytes && read(fd, *bytes, *n_bytes) == (ssize_t)*n_bytes;
    }
    if (fd >= 0)
        close(fd);
    if (!ok) {
        free(*bytes);
        *bytes = NULL;
    }
    return ok;
}

static void add_file(uint64_t *hash, const char *path) {
    char *bytes;
    size_t n;
    if (!read_file(path, &bytes, &n))
        return;
    add(hash, bytes, n);
    free(bytes);
}

static uint64_t hash_of(const char *text, size_t text_bytes, const char *const *argv) {
    static const char *const shim[] = {HOSTCUDA_SHIM_DIR "/hostcuda_shim.h",
                                       HOSTCUDA_SHIM_DIR "/hostcuda_env.h",
                                       HOSTCUDA_SHIM_DIR "/hostcuda_vectors.h"};
    uint64_t hash = 0xcbf29ce484222325u;
    add(&hash, text, text_bytes);
    for (size_t i = 0; argv[i]; i++)
        add(&hash, argv[i], strlen(argv[i]) + 1);
    for (size_t i = 0; i < sizeof shim / sizeof *shim; i++)
        add_file(&hash, shim[i]);
    return hash;
}

static void path_of(char *path, size_t size, const hostcuda_cached *c) {
    snprintf(path, size, "%s/%016llx", c->folder, (unsigned long long)c->hash);
}

/* One byte of one file for each image; the lock ends with the process that holds it, however it ends. */
static int lock(const hostcuda_cached *c) {
    char path[4096];
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(c->hash >> 2), .l_len = 1};
    mkdir(c->folder, 0777);
    snprintf(path, sizeof path, "%s/lock", c->folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0)
        fcntl(fd, F_OFD_SETLKW, &byte);
    return fd;
}

hostcuda_cached hostcuda_cache_open(const char *text, size_t text_bytes, const char *const *argv) {
    hostcuda_cached c = {.folder = getenv("HOSTCUDA_CACHE"), .lock = -1};
    if (c.folder && !*c.folder)
        c.folder = NULL;
    if (c.folder)
        c.hash = hash_of(text, text_bytes, argv);
    return c;
}

bool hostcuda_cache_get(hostcuda_cached *c, char **library, size_t *library_bytes) {
    char path[4096];
    if (!c->folder)
        return false;
    path_of(path, sizeof path, c);
    if (read_file(path, library, library_bytes))
        return true;
    c->lock = lock(c);
    return read_file(path, library, library_bytes);
}

void hostcuda_cache_put(const hostcuda_cached *c, const char *library, size_t library_bytes) {
    char path[4096], fresh[4096];
    if (!c->folder)
        return;
    path_of(path, sizeof path, c);
    snprintf(fresh, sizeof fresh, "%s/fresh-XXXXXX", c->folder);
    const int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return;
    const bool written = write(fd, library, library_bytes) == (ssize_t)library_bytes;
    close(fd);
    if (!written || rename(fresh, path) != 0)
        unlink(fresh);
}

void hostcuda_cache_close(hostcuda_cached *c) {
    if (c->lock >= 0)
        close(c->lock);
    c->lock = -1;
}
