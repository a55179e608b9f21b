/*
 * Reads and writes files of collected problems. SQLite reads their JSON.
 *
 * A file is replaced as a whole, so that a reader never sees a part. Who adds to it locks the file itself
 * first. Another process may have replaced it meanwhile, so the lock counts only if the file still has the
 * path.
 */
#include "db/collected.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/read_file.h"

enum { FILE_BYTES_MAX = 64 << 20, WAIT_US = 5000 };

void tt__collected_free(tt__collected *c) {
    free(c->kernel);
    free(c->values);
    *c = (tt__collected){0};
}

int tt__collected_compare(const tt__collected *a, const tt__collected *b) {
    const char *const of_a[] = {a->op, a->values, a->gpu, a->text, a->kernel ? a->kernel : ""};
    const char *const of_b[] = {b->op, b->values, b->gpu, b->text, b->kernel ? b->kernel : ""};
    int order = 0;
    for (size_t i = 0; i < TT__COUNT(of_a) && !order; i++)
        order = strcmp(of_a[i], of_b[i]);
    return order;
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

typedef struct reader {
    sqlite3 *db;
    sqlite3_stmt *line;
    const char *path;
    tt__collection *out;
    tt__collected_bad_fn bad;
    void *user;
} reader;

enum { IS_HEADER, VERSION, OPERATION, PROBLEM, GPU, KERNEL, TEXT, LAUNCHES, TIME_US };
static const char *const names[] = {
    [OPERATION] = "operation", [PROBLEM] = "problem",   [GPU] = "gpu",        [KERNEL] = "kernel",
    [TEXT] = "text",           [LAUNCHES] = "launches", [TIME_US] = "time_us"};

static tt_status open_reader(reader *r) {
    int rc = sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(
            r->db,
            "SELECT json_type(?1, '$.tiletune_collected'), json_extract(?1, '$.tiletune_collected'),"
            " json_extract(?1, '$.operation'), json_extract(?1, '$.problem'), json_extract(?1, '$.gpu'),"
            " json_extract(?1, '$.kernel'), json_extract(?1, '$.text'), json_extract(?1, '$.launches'),"
            " json_extract(?1, '$.time_us')",
            -1, &r->line, NULL);
    return rc == SQLITE_OK ? TT_OK : tt__fail(TT_E_NO_MEMORY, "%s: %s", r->path, sqlite3_errstr(rc));
}

static void close_reader(reader *r) {
    sqlite3_finalize(r->line);
    sqlite3_close(r->db);
}

/* A text of at least one and less than `size` bytes, without a NUL inside. */
static const char *text_at(sqlite3_stmt *s, int at, size_t size) {
    const char *text =
        sqlite3_column_type(s, at) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, at) : NULL;
    const size_t n = text ? (size_t)sqlite3_column_bytes(s, at) : 0;
    return text && n > 0 && n < size && !memchr(text, '\0', n) ? text : NULL;
}

static bool is_hash(const char *text) {
    return strlen(text) == TT__HASH_SIZE - 1 && strspn(text, "0123456789abcdef") == TT__HASH_SIZE - 1;
}

/* Takes the members of a line. Returns the number of the one that is wrong, or 0. */
static int take_members(tt__collected *c, sqlite3_stmt *s) {
    const size_t most = 64 << 10;
    const bool users = sqlite3_column_type(s, KERNEL) != SQLITE_NULL;
    const char *const op = text_at(s, OPERATION, sizeof c->op), *const gpu = text_at(s, GPU, sizeof c->gpu),
                      *const text = text_at(s, TEXT, sizeof c->text),
                      *const kernel = text_at(s, KERNEL, most), *const values = text_at(s, PROBLEM, most);
    if (!op)
        return OPERATION;
    if (!values)
        return PROBLEM;
    if (!gpu)
        return GPU;
    if (users && !kernel)
        return KERNEL;
    if (users && (!text || !is_hash(text)))
        return TEXT;
    if (sqlite3_column_type(s, LAUNCHES) != SQLITE_INTEGER || sqlite3_column_int64(s, LAUNCHES) < 1)
        return LAUNCHES;
    const double time_us = sqlite3_column_double(s, TIME_US);
    const int type = sqlite3_column_type(s, TIME_US);
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(time_us >= 0 && time_us <= 1e12))
        return TIME_US;
    tt__copy(c->op, sizeof c->op, op);
    tt__copy(c->gpu, sizeof c->gpu, gpu);
    tt__copy(c->text, sizeof c->text, users ? text : "");
    c->kernel = users ? strdup(kernel) : NULL;
    c->values = strdup(values);
    c->launches = (uint64_t)sqlite3_column_int64(s, LAUNCHES);
    c->time_us = time_us;
    return 0;
}

static void keep_bad(reader *r, size_t number, const char *line, size_t n, const char *what,
                     const char *value) {
    char why[512];
    tt__str_addn(&r->out->bad, line, n);
    tt__str_add(&r->out->bad, "\n");
    r->out->n_bad++;
    snprintf(why, sizeof why, "%.300s:%zu: %s%s%.100s", r->path, number, what, value ? " is " : "",
             value ? value : "");
    if (r->bad)
        r->bad(r->user, why);
}

static tt_status take_line(reader *r, size_t number, const char *line, size_t n) {
    tt__collection *out = r->out;
    sqlite3_stmt *s = r->line;
    if (n == 0)
        return TT_OK;
    sqlite3_reset(s);
    sqlite3_bind_text(s, 1, line, (int)n, SQLITE_STATIC);
    const int rc = sqlite3_step(s);
    if (rc == SQLITE_NOMEM)
        return tt__fail_memory(n);
    if (rc != SQLITE_ROW || memchr(line, '\0', n)) {
        keep_bad(r, number, line, n, "the line is not JSON", NULL);
        return TT_OK;
    }
    if (sqlite3_column_type(s, IS_HEADER) != SQLITE_NULL) {
        const sqlite3_int64 v =
            sqlite3_column_type(s, VERSION) == SQLITE_INTEGER ? sqlite3_column_int64(s, VERSION) : 0;
        out->version = v < 0 ? 0 : v > INT_MAX ? INT_MAX : (int)v;
        return TT_OK;
    }
    tt__collected c = {0};
    const int wrong = take_members(&c, s);
    if (wrong) {
        const char *value = (const char *)sqlite3_column_text(s, wrong);
        keep_bad(r, number, line, n, names[wrong], value ? value : "missing");
        return TT_OK;
    }
    tt_status status = c.values && (c.kernel || !*c.text) ? TT__GROW(out->items, out->n) : tt__fail_memory(n);
    if (status == TT_OK)
        out->items[out->n++] = c;
    else
        tt__collected_free(&c);
    return status;
}

static tt_status take_lines(reader *r, const tt__str *text) {
    size_t number = 0;
    for (size_t at = 0, n; at < text->len; at += n + 1) {
        const char *end = memchr(text->text + at, '\n', text->len - at);
        n = end ? (size_t)(end - text->text) - at : text->len - at;
        TT_TRY(take_line(r, ++number, text->text + at, n));
    }
    TT_TRY(tt__str_check(&r->out->bad));
    return r->out->n_bad && !r->out->n && !r->out->version
               ? tt__fail(TT_E_INVALID, "%s is not a file of collected problems: name another one", r->path)
               : TT_OK;
}

/* ---- Adding up ----------------------------------------------------------------------------------------- */

static int by_problem(const void *a, const void *b) {
    return tt__collected_compare(a, b);
}

static int by_cost(const void *a, const void *b) {
    const double us = tt__collected_us(b) - tt__collected_us(a);
    return us > 0 ? 1 : us < 0 ? -1 : tt__collected_compare(a, b);
}

/* Adds up entries of one problem, so that each stands once, the one that cost most first. Returns how many
 * problems there are. Behind them is what was added to others. */
static size_t fold(tt__collected *all, size_t n) {
    size_t n_sums = 0;
    if (n == 0)
        return 0;
    qsort(all, n, sizeof *all, by_problem);
    for (size_t i = 0; i < n; i++) {
        const tt__collected is = all[i];
        tt__collected *sum = n_sums ? &all[n_sums - 1] : NULL;
        if (!sum || tt__collected_compare(sum, &is) != 0) {
            all[i] = all[n_sums];
            all[n_sums++] = is;
            continue;
        }
        const double us = tt__collected_us(sum) + tt__collected_us(&is);
        const uint64_t launches = sum->launches + is.launches;
        sum->launches = launches < INT64_MAX ? launches : INT64_MAX;
        sum->time_us = us / (double)sum->launches;
    }
    qsort(all, n_sums, sizeof *all, by_cost);
    return n_sums;
}

tt_status tt__collection_read(tt__collection *out, const char *path, tt__collected_bad_fn bad, void *user) {
    reader r = {.path = path, .out = out, .bad = bad, .user = user};
    tt__str text = {0};
    *out = (tt__collection){0};
    tt_status status = tt__read_file_max(&text, path, FILE_BYTES_MAX);
    if (status == TT_OK)
        status = open_reader(&r);
    if (status == TT_OK)
        status = take_lines(&r, &text);
    const size_t n = fold(out->items, out->n);
    while (out->n > n)
        tt__collected_free(&out->items[--out->n]);
    close_reader(&r);
    tt__str_free(&text);
    return status;
}

void tt__collection_free(tt__collection *c) {
    for (size_t i = 0; i < c->n; i++)
        tt__collected_free(&c->items[i]);
    free(c->items);
    tt__str_free(&c->bad);
    *c = (tt__collection){0};
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

static void add_line(tt__str *out, const tt__collected *c) {
    tt__json j = {.out = out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "operation", c->op);
    tt__json_string(&j, "problem", c->values);
    if (c->kernel) {
        tt__json_string(&j, "kernel", c->kernel);
        tt__json_string(&j, "text", c->text);
    }
    tt__json_string(&j, "gpu", c->gpu);
    tt__json_int(&j, "launches", (int64_t)c->launches);
    tt__json_number(&j, "time_us", c->time_us, 5);
    tt__json_close(&j, '}');
    tt__str_add(out, "\n");
}

/* The new content of the file. */
static tt_status merge(tt__str *out, const tt__collection *old, const tt__collected *items, size_t n) {
    const size_t n_all = old->n + n;
    tt__collected *all = calloc(n_all + 1, sizeof *all); /* their texts are borrowed */
    if (all) {
        for (size_t i = 0; i < n_all; i++)
            all[i] = i < old->n ? old->items[i] : items[i - old->n];
        const size_t n_sums = fold(all, n_all);
        tt__str_addf(out, "{\"tiletune_collected\":%d}\n", TT__COLLECTED_VERSION);
        for (size_t i = 0; i < n_sums && i < TT__COLLECTED_MAX; i++)
            add_line(out, &all[i]);
        tt__str_addn(out, tt__str_text(&old->bad), old->bad.len);
    } else {
        out->failed = true;
    }
    free(all);
    return tt__str_check(out);
}

static tt_status fail_with(const char *path, const char *doing) {
    return tt__fail(TT_E_IO, "%s: cannot %s: %s: name another file for collected problems", path, doing,
                    strerror(errno));
}

/* Without a text it only checks that this is possible. The new file has the rights of the old one, and its
 * owner, where the process may give it away: a container's root does not know all owners, and some file
 * systems know none. */
static tt_status replace(const char *path, const tt__str *text, const struct stat *is) {
    tt__str name = {0};
    tt_status status = TT_OK;
    tt__str_addf(&name, "%s.XXXXXX", path);
    TT_TRY(tt__str_check(&name));
    const int fd = mkstemp(name.text);
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!to) {
        status = fail_with(path, "make a file beside it");
        if (fd >= 0)
            close(fd);
    } else {
        (void)!fchown(fd, is->st_uid, is->st_gid);
        bool good = fchmod(fd, is->st_mode & 0777) == 0;
        good = good && fwrite(tt__str_text(text), 1, text->len, to) == text->len;
        good = fclose(to) == 0 && good;
        if (!good || (text->len && rename(name.text, path) != 0))
            status = fail_with(path, "be written");
    }
    if (fd >= 0 && (status != TT_OK || !text->len))
        unlink(name.text);
    tt__str_free(&name);
    return status;
}

/* Opens the file, and locks it. Is it still the one with the path? */
static tt_status try_lock(const char *path, int *fd, struct stat *is, bool *locked) {
    struct stat now;
    *locked = false;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (*fd < 0 && errno == ELOOP)
        return tt__fail(TT_E_INVALID, "%s is a symbolic link: name the file itself", path);
    if (*fd < 0)
        return fail_with(path, "be opened");
    if (fstat(*fd, is) != 0 || !S_ISREG(is->st_mode))
        return tt__fail(TT_E_INVALID, "%s is not a regular file: name another one for collected problems",
                        path);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK || errno == EINTR ? TT_OK : fail_with(path, "be locked");
    *locked = stat(path, &now) == 0 && now.st_dev == is->st_dev && now.st_ino == is->st_ino;
    return TT_OK;
}

/* Children that the program forks meanwhile keep the descriptor, and the lock with it. */
static void leave(int fd) {
    flock(fd, LOCK_UN);
    close(fd);
}

static tt_status lock(const char *path, double wait_s, int *fd, struct stat *is) {
    const double until_s = tt__now_s() + wait_s;
    for (;;) {
        bool locked;
        TT_TRY(try_lock(path, fd, is, &locked));
        if (locked)
            return TT_OK;
        leave(*fd);
        *fd = -1;
        if (tt__now_s() > until_s)
            return tt__fail(TT_E_IO, "%s: other processes have written to it all the while", path);
        usleep(WAIT_US);
    }
}

static tt_status add_locked(const char *path, const tt__collected *items, size_t n, const struct stat *is) {
    tt__collection old;
    tt__str text = {0};
    tt_status status = tt__collection_read(&old, path, NULL, NULL);
    if (status == TT_OK && old.version > TT__COLLECTED_VERSION)
        status =
            tt__fail(TT_E_INVALID,
                     "%s has problems collected by a newer tiletune (version %d, this one writes %d): name "
                     "another file",
                     path, old.version, TT__COLLECTED_VERSION);
    if (status == TT_OK && (n || is->st_size == 0))
        status = merge(&text, &old, items, n);
    if (status == TT_OK)
        status = replace(path, &text, is);
    tt__str_free(&text);
    tt__collection_free(&old);
    return status;
}

tt_status tt__collection_add(const char *path, const tt__collected *items, size_t n, double wait_s) {
    struct stat is;
    int fd = -1;
    tt_status status = lock(path, wait_s, &fd, &is);
    if (status == TT_OK)
        status = add_locked(path, items, n, &is);
    if (fd >= 0)
        leave(fd);
    return status;
}
