/*
 * Reads regular files, and checks that their size is what the system reports.
 */
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tt_status fail(const char *path, int error) {
    return tt__fail(TT_E_IO, "cannot read %s: %s", path, strerror(error));
}

/* The type is checked before opening, because opening a device can have an effect, and again afterwards,
 * because the file may have been replaced. O_NONBLOCK: a FIFO must not block. */
static tt_status open_regular(const char *path, int *fd, off_t *size) {
    struct stat st;
    *fd = -1;
    if (stat(path, &st) != 0)
        return fail(path, errno);
    if (S_ISREG(st.st_mode)) {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (*fd < 0 || fstat(*fd, &st) != 0)
            return fail(path, errno);
    }
    *size = st.st_size;
    if (S_ISREG(st.st_mode))
        return TT_OK;
    return tt__fail(TT_E_IO, "cannot read %s: it is %s, and only regular files are read", path,
                    S_ISDIR(st.st_mode)    ? "a folder"
                    : S_ISFIFO(st.st_mode) ? "a pipe"
                                           : "a device");
}

tt_status tt__read_open(const char *path, size_t most, int *fd, size_t *size) {
    off_t bytes = 0;
    *size = 0;
    TT_TRY(open_regular(path, fd, &bytes));
    *size = (size_t)bytes;
    return (uintmax_t)bytes <= most ? TT_OK
                                    : tt__fail(TT_E_IO, "cannot read %s: it has %lld bytes, the limit is %zu",
                                               path, (long long)bytes, most);
}

tt_status tt__read_on(int fd, const char *path, void *out, size_t size, size_t *n) {
    ssize_t got = 1;
    for (*n = 0; *n < size && got > 0; *n += got > 0 ? (size_t)got : 0)
        do
            got = read(fd, (char *)out + *n, size - *n);
        while (got < 0 && errno == EINTR);
    return got < 0 ? fail(path, errno) : TT_OK;
}

tt_status tt__read_end(int fd, const char *path, size_t size) {
    char more[64]; /* /proc has files that are read in words */
    size_t n;
    TT_TRY(tt__read_on(fd, path, more, sizeof more, &n));
    return n == 0 ? TT_OK
                  : tt__fail(
                        TT_E_IO,
                        "cannot read %s: it goes on behind the %zu bytes that it is said to have: copy it to "
                        "a file of its own first",
                        path, size);
}

static tt_status read_whole(tt__str *out, int fd, const char *path, size_t size) {
    char buffer[8192];
    size_t n = 1;
    tt__str_add(out, "");
    for (size_t left = size; left && n && !out->failed; left -= n) {
        TT_TRY(tt__read_on(fd, path, buffer, left < sizeof buffer ? left : sizeof buffer, &n));
        tt__str_addn(out, buffer, n);
    }
    TT_TRY(tt__str_check(out));
    return tt__read_end(fd, path, size);
}

tt_status tt__read_file_max(tt__str *out, const char *path, size_t most) {
    int fd;
    size_t size = 0;
    *out = (tt__str){0};
    tt_status status = tt__read_open(path, most, &fd, &size);
    if (status == TT_OK)
        status = read_whole(out, fd, path, size);
    if (fd >= 0)
        close(fd);
    if (status != TT_OK)
        tt__str_free(out);
    return status;
}

tt_status tt__read_text_max(tt__str *out, const char *path, size_t most) {
    TT_TRY(tt__read_file_max(out, path, most));
    if (strlen(tt__str_text(out)) == out->len)
        return TT_OK;
    tt__str_free(out);
    return tt__fail(TT_E_TEMPLATE, "%s: not a text file (it has a NUL byte)", path);
}

tt_status tt__read_file(tt__str *out, const char *path) {
    return tt__read_file_max(out, path, TT__FILE_BYTES_MAX);
}

tt_status tt__read_start(const char *path, void *out, size_t size, size_t *n) {
    int fd;
    off_t whole;
    *n = 0;
    tt_status status = open_regular(path, &fd, &whole);
    if (status == TT_OK)
        status = tt__read_on(fd, path, out, size, n);
    if (fd >= 0)
        close(fd);
    return status;
}

bool tt__same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

tt_status tt__is_database(const char *path, bool *yes) {
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    size_t n;
    TT_TRY(tt__read_start(path, head, sizeof head, &n));
    *yes = n == sizeof head && memcmp(head, magic, sizeof head) == 0;
    return TT_OK;
}
