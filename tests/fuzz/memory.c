/* See memory.h. Reading only: a write is an error. A log beside the file is empty, its
 * index lies in memory. */
#include "memory.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { PARTS_MAX = 64, REGIONS_MAX = 4 };

typedef struct file {
    sqlite3_file base;
    bool log; /* the one beside it */
    void *regions[REGIONS_MAX];
} file;

static const uint8_t *bytes;
static size_t n_bytes;
static uint8_t serial[4]; /* of the bytes: in the change counter, so that SQLite reads them anew */
static char path[64];

static fuzz_layout *noting;

/* ---- What is noted ------------------------------------------------------------------------------------- */

static void note(size_t at, size_t n) {
    if (!noting)
        return;
    if (noting->n < PARTS_MAX) {
        uint8_t *copy = malloc(n);
        fuzz_want(copy != NULL, "memory");
        memcpy(copy, bytes + at, n);
        noting->parts[noting->n].at = at;
        noting->parts[noting->n].n = n;
        noting->parts[noting->n].bytes = copy;
    }
    noting->n++;
}

void fuzz_memory_note(fuzz_layout *layout) {
    noting = layout;
    if (layout)
        *layout = (fuzz_layout){0};
}

void fuzz_layout_free(fuzz_layout *layout) {
    for (size_t i = 0; i < layout->n && i < PARTS_MAX; i++)
        free(layout->parts[i].bytes);
    *layout = (fuzz_layout){0};
}

/* Equal except for the change counters and the numbers of pages and free pages. */
static bool same_part(const uint8_t *a, const uint8_t *b, size_t at, size_t n) {
    if (at >= 96)
        return memcmp(a, b, n) == 0;
    for (size_t i = 0; i < n && at + i < 100; i++)
        if (a[i] != b[i] && !(at + i >= 24 && at + i < 40) && !(at + i >= 92 && at + i < 96))
            return false;
    return at + n <= 100 || memcmp(a + 100 - at, b + 100 - at, at + n - 100) == 0;
}

bool fuzz_layout_same(const fuzz_layout *layout, const uint8_t *data, size_t size) {
    if (layout->n == 0 || layout->n > PARTS_MAX || size < 100 || data[18] != 1 || data[19] != 1)
        return false;
    for (size_t i = 0; i < layout->n; i++) {
        size_t at = layout->parts[i].at, n = layout->parts[i].n;
        if (at + n > size || !same_part(layout->parts[i].bytes, data + at, at, n))
            return false;
    }
    return true;
}

/* ---- The file ------------------------------------------------------------------------------------------ */

static int on_close(sqlite3_file *f) {
    for (int i = 0; i < REGIONS_MAX; i++)
        free(((file *)f)->regions[i]);
    return SQLITE_OK;
}

static int on_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at) {
    size_t size = ((file *)f)->log ? 0 : n_bytes, from = (size_t)at;
    size_t there = from < size ? size - from : 0;
    memset(out, 0, (size_t)n);
    if (there > (size_t)n)
        there = (size_t)n;
    if (!there)
        return SQLITE_IOERR_SHORT_READ;
    memcpy(out, bytes + from, there);
    note(from, there);
    for (size_t i = 0; i < 4; i++) {
        static const size_t counters[] = {24, 92};
        for (int k = 0; k < 2; k++)
            if (counters[k] + i >= from && counters[k] + i < from + there)
                ((uint8_t *)out)[counters[k] + i - from] ^= serial[i];
    }
    return there == (size_t)n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
    (void)f, (void)data, (void)n, (void)at;
    return SQLITE_IOERR_WRITE;
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size) {
    (void)f, (void)size;
    return SQLITE_IOERR_TRUNCATE;
}

static int on_sync(sqlite3_file *f, int flags) {
    (void)f, (void)flags;
    return SQLITE_OK;
}

static int on_size(sqlite3_file *f, sqlite3_int64 *size) {
    *size = ((file *)f)->log ? 0 : (sqlite3_int64)n_bytes;
    return SQLITE_OK;
}

static int on_reserved(sqlite3_file *f, int *held) {
    (void)f;
    *held = 0;
    return SQLITE_OK;
}

static int on_control(sqlite3_file *f, int op, void *arg) {
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int on_sector(sqlite3_file *f) {
    (void)f;
    return 512;
}

static int on_traits(sqlite3_file *f) {
    (void)f;
    return 0;
}

static int on_map(sqlite3_file *f, int region, int size, int extend, void volatile **out) {
    file *own = (file *)f;
    *out = NULL;
    if (region >= REGIONS_MAX)
        return SQLITE_IOERR_SHMMAP;
    if (!own->regions[region] && extend)
        own->regions[region] = calloc(1, (size_t)size);
    *out = own->regions[region];
    return SQLITE_OK;
}

static int on_shm_lock(sqlite3_file *f, int offset, int n, int flags) {
    (void)f, (void)offset, (void)n, (void)flags;
    return SQLITE_OK;
}

static void on_barrier(sqlite3_file *f) {
    (void)f;
}

static int on_unmap(sqlite3_file *f, int take_away) {
    (void)f, (void)take_away;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {.iVersion = 2,
                                           .xClose = on_close,
                                           .xRead = on_read,
                                           .xWrite = on_write,
                                           .xTruncate = on_truncate,
                                           .xSync = on_sync,
                                           .xFileSize = on_size,
                                           .xLock = on_sync,
                                           .xUnlock = on_sync,
                                           .xCheckReservedLock = on_reserved,
                                           .xFileControl = on_control,
                                           .xSectorSize = on_sector,
                                           .xDeviceCharacteristics = on_traits,
                                           .xShmMap = on_map,
                                           .xShmLock = on_shm_lock,
                                           .xShmBarrier = on_barrier,
                                           .xShmUnmap = on_unmap};

/* ---- The VFS ------------------------------------------------------------------------------------------- */

static sqlite3_vfs *system_vfs, vfs;

static bool is_ours(const char *name) {
    return name && strncmp(name, path, strlen(path)) == 0;
}

static int on_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags) {
    (void)v;
    if (!is_ours(name))
        return system_vfs->xOpen(system_vfs, name, f, flags, out_flags);
    *(file *)f = (file){.base = {&methods}, .log = name[strlen(path)] != '\0'};
    if (out_flags)
        *out_flags = flags;
    return SQLITE_OK;
}

static int on_access(sqlite3_vfs *v, const char *name, int flags, int *yes) {
    (void)v;
    if (!is_ours(name))
        return system_vfs->xAccess(system_vfs, name, flags, yes);
    *yes = name[strlen(path)] == '\0'; /* no journal, no log */
    return SQLITE_OK;
}

static void remove_file(void) {
    unlink(path);
}

static void set_up(void) {
    snprintf(path, sizeof path, "/tmp/tt-fuzz-%d", (int)getpid());
    /* Our own code checks the file before SQLite opens it. */
    fuzz_want(mknod(path, S_IFREG | 0600, 0) == 0 && atexit(remove_file) == 0, "a file");
    fuzz_want(sqlite3_initialize() == SQLITE_OK, "SQLite");
    system_vfs = sqlite3_vfs_find(NULL);
    vfs = *system_vfs; /* clock, randomness, paths */
    vfs.zName = "tt-fuzz";
    vfs.xOpen = on_open;
    vfs.xAccess = on_access;
    if (vfs.szOsFile < (int)sizeof(file))
        vfs.szOsFile = (int)sizeof(file);
    fuzz_want(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK, "a VFS");
}

const char *fuzz_memory(const uint8_t *data, size_t size) {
    if (!*path)
        set_up();
    bytes = data;
    n_bytes = size;
    for (int i = 3; i >= 0 && ++serial[i] == 0; i--)
        ;
    return path;
}
