/*
 * The store's file: its default place, its creation with the right permissions, and files that cannot be a
 * store.
 */
#include "db/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_file.h"
#include "base/sizes.h"

static const char *env_or_null(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* The default place without $TILETUNE_DB. It is the only folder that we may create. */
static tt_status standard_path(tt__str *out) {
    const char *data = env_or_null("XDG_DATA_HOME");
    const char *home = env_or_null("HOME");
    if (data && *data == '/') /* the XDG specification says to ignore a relative path */
        tt__str_addf(out, "%s/tiletune/tiletune.db", data);
    else if (home)
        tt__str_addf(out, "%s/.local/share/tiletune/tiletune.db", home);
    else
        return tt__fail(TT_E_INVALID,
                        "cannot tell where the store is: HOME is not set; set it or TILETUNE_DB, "
                        "or name a file (--db, tt_open_opts.db_path)");
    return tt__str_check(out);
}

tt_status tt__store_default_path(tt__str *out) {
    const char *path = env_or_null("TILETUNE_DB");
    if (!path)
        return standard_path(out);
    tt__str_add(out, path);
    return tt__str_check(out);
}

static bool is_standard(const char *path) {
    tt__str standard = {0};
    bool same = standard_path(&standard) == TT_OK && strcmp(standard.text, path) == 0;
    tt__str_free(&standard);
    return same;
}

static void folder_of(char folder[static PATH_MAX], const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash > path ? (size_t)(slash - path) : 1;
    memmove(folder, slash ? path : ".", n);
    folder[n] = '\0';
}

/* mkdir -p for the folder of `path`. New folders get mode 0700. */
static tt_status make_folder(const char *path) {
    char folder[PATH_MAX]; /* stat has taken the path, so it is shorter */
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return tt__fail(TT_E_DB,
                            "%s: cannot create the folder %s for the store: %s (name another file: --db, "
                            "tt_open_opts.db_path)",
                            path, folder, strerror(errno));
    }
    return TT_OK;
}

/* mknod creates the file without opening it. With open and close, this process would lose locks that another
 * of its connections may hold: any close of a file drops its POSIX locks. */
static bool make_file(const char *path) {
    if (mknod(path, S_IFREG | 0600, 0) == 0)
        return true;
    if (errno != EPERM && errno != ENOSYS)
        return errno == EEXIST;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* for a file system without mknod */
    return fd >= 0 ? close(fd) == 0 : errno == EEXIST;
}

static tt_status fail_create(const char *path) {
    return tt__fail(TT_E_DB,
                    "%s: cannot create the store: %s (name another file: --db, tt_open_opts.db_path)", path,
                    strerror(errno));
}

static tt_status create_file(const char *path) {
    if (is_standard(path))
        TT_TRY(make_folder(path));
    TT_TRY(tt__path_check_new(path)); /* else a file that is refused would stay */
    return make_file(path) ? TT_OK : fail_create(path);
}

/* Files that SQLite reads beside a store. */
static const char *const sides[] = {"-wal", "-shm", "-journal"};
enum { SIDES = TT__COUNT(sides), SIDE_MAX = PATH_MAX + 16 };

/* They are beside the target of a link. */
static void name_side(char out[static SIDE_MAX], const char *path, const char *side) {
    char buffer[PATH_MAX];
    const char *real = realpath(path, buffer);
    snprintf(out, SIDE_MAX, "%s%s", real ? real : path, side);
}

/* SQLite opens them by name. With a FIFO it would wait forever, and a link can lead anywhere. */
static tt_status check_side_kinds(const char *path) {
    for (int i = 0; i < SIDES; i++) {
        char side[SIDE_MAX];
        struct stat st;
        name_side(side, path, sides[i]);
        if (lstat(side, &st) == 0 && !S_ISREG(st.st_mode))
            return tt__fail(TT_E_DB,
                            "%s: %s beside it is not a regular file, and SQLite would read it: remove "
                            "it, or name another store (--db, tt_open_opts.db_path)",
                            path, side);
    }
    return TT_OK;
}

tt_status tt__path_prepare(const char *path, tt__store_mode mode) {
    struct stat st;
    if (stat(path, &st) != 0) {
        int error = errno;
        if (error == ENOENT && mode == TT__STORE_READ_WRITE)
            return create_file(path);
        if (error == ENOENT)
            return tt__fail(TT_E_DB,
                            "%s: there is no store here, and a read-only one is not created: tune "
                            "first, or name another file (--db, tt_open_opts.db_path)",
                            path);
        return tt__fail(TT_E_DB,
                        "%s: cannot open the store: %s (name another file: --db, tt_open_opts.db_path)", path,
                        strerror(error));
    }
    if (S_ISDIR(st.st_mode))
        return tt__fail(TT_E_DB, "%s: this is a folder: name a file in it, such as %s/tiletune.db", path,
                        path);
    if (!S_ISREG(st.st_mode))
        return tt__fail(
            TT_E_DB, "%s: this is not a regular file: name another one (--db, tt_open_opts.db_path)", path);
    if (mode != TT__STORE_READ_ONLY && mode != TT__STORE_COPY && access(path, R_OK | W_OK) != 0)
        return tt__fail(TT_E_DB,
                        "%s: cannot read and write the store: %s: change the permissions, open it "
                        "read-only, or name another file (--db, tt_open_opts.db_path)",
                        path, strerror(errno));
    return check_side_kinds(path);
}

/* Does the caller trust all stores, or this one? */
static bool is_trusted(const char *path) {
    const char *trust = env_or_null("TILETUNE_TRUST_STORE");
    return trust && (strcmp(trust, "1") == 0 || strcmp(trust, path) == 0 || tt__same_file(trust, path));
}

/* Trusted are this user, root, and the owner of the store, which the caller named. */
static bool is_stranger(const struct stat *st, const struct stat *store) {
    return st->st_uid != geteuid() && st->st_uid != 0 && st->st_uid != store->st_uid;
}

static bool others_write(const struct stat *st) {
    return st->st_mode & (S_IWGRP | S_IWOTH);
}

/* In a sticky folder a folder of one's own is safe. */
static tt_status fail_folder(const char *path, const char *folder, const struct stat *st) {
    const char *slash = strrchr(path, '/');
    tt__str own = {0}, make = {0};
    if (st->st_mode & S_ISVTX) {
        tt__str_addf(&own, "%s/tiletune-%u", folder[1] ? folder : "", (unsigned)geteuid());
        tt__str_add(&make, ": mkdir -m 700 ");
        tt__str_add_word(&make, tt__str_text(&own));
        tt__str_addf(&make, ", and name %s/%s", tt__str_text(&own), slash ? slash + 1 : path);
    }
    tt__fail(TT_E_DB,
             "%s: others can make files in the folder %s (mode %04o, user %u) and so replace what is in the "
             "store: use a folder of your own%s",
             path, folder, (unsigned)(st->st_mode & 07777), (unsigned)st->st_uid, tt__str_text(&make));
    tt__str_free(&own);
    tt__str_free(&make);
    return TT_E_DB;
}

/* If others can create files in the folder, they can replace the store. Even with the sticky bit they can put
 * a log beside it, and SQLite would read the log as part of the store. NULL: the store's owner is not known.
 */
static tt_status check_folder(const char *path, const char *folder, const struct stat *store) {
    struct stat st;
    if (stat(folder, &st) == 0 && ((st.st_mode & S_IWOTH) || (store && is_stranger(&st, store))))
        return fail_folder(path, folder, &st);
    return TT_OK;
}

static tt_status check_sides(const char *path, const char *real, const struct stat *store) {
    for (int i = 0; i < SIDES; i++) {
        char side[SIDE_MAX];
        struct stat st;
        snprintf(side, sizeof side, "%s%s", real, sides[i]);
        if (lstat(side, &st) == 0 && (others_write(&st) || is_stranger(&st, store)))
            return tt__fail(
                TT_E_DB,
                "%s: others could have written %s (mode %04o, user %u), which SQLite takes for part of the "
                "store: remove it, or set TILETUNE_TRUST_STORE to the path of the store if you trust it",
                path, side, (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid);
    }
    return TT_OK;
}

tt_status tt__path_check_private(const char *path) {
    struct stat st;
    if (is_trusted(path) || stat(path, &st) != 0)
        return TT_OK;
    if (others_write(&st)) {
        tt__str word = {0};
        tt__str_add_word(&word, path);
        tt__fail(TT_E_DB,
                 "%s: others can write this store (mode %04o), from which code gets loaded: chmod go-w %s if "
                 "you trust what is in it, or name another file (--db, tt_open_opts.db_path)",
                 path, (unsigned)(st.st_mode & 07777), tt__str_text(&word));
        tt__str_free(&word);
        return TT_E_DB;
    }
    char real[PATH_MAX], folder[PATH_MAX];
    if (!realpath(path, real))
        return tt__fail(TT_E_DB, "%s: cannot tell where it is: %s", path, strerror(errno));
    folder_of(folder, real);
    TT_TRY(check_folder(path, folder, &st));
    return check_sides(path, real, &st);
}

/* Can others replace what is in this folder? The sticky bit keeps them from what is not theirs, but they
 * could add files beside a store. A user's own group has the number of the user. */
static bool others_replace(const struct stat *st, bool beside_store) {
    const bool group = (st->st_mode & S_IWGRP) && st->st_gid != st->st_uid;
    return (group || (st->st_mode & S_IWOTH)) && (beside_store || !(st->st_mode & S_ISVTX));
}

tt_status tt__path_check_code(const char *path) {
    char at[PATH_MAX];
    struct stat st;
    if (is_trusted(path))
        return TT_OK;
    if (!realpath(path, at))
        return tt__fail(TT_E_DB, "%s: cannot tell where it is: %s", path, strerror(errno));
    for (int level = 0;; level++) { /* the file, its folder, and so on */
        if (stat(at, &st) != 0)
            return tt__fail(TT_E_DB, "%s: cannot tell who may write %s: %s", path, at, strerror(errno));
        if ((st.st_uid != geteuid() && st.st_uid != 0) ||
            (level ? others_replace(&st, level == 1) : others_write(&st)))
            return tt__fail(
                TT_E_DB,
                "%s: others could have put code into it (%s: mode %04o, user %u), so its cubins are not "
                "used: set TILETUNE_TRUST_STORE to the path of the store if you trust them",
                path, at, (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid);
        if (!at[1])
            return tt__path_check_private(path);
        folder_of(at, at);
    }
}

/* Some file systems choose the owner of a new file, so one is made for a moment. */
static bool new_owner(struct stat *out, const char *folder) {
    char name[PATH_MAX + 16];
    snprintf(name, sizeof name, "%s/tune.XXXXXX", folder);
    int fd = mkostemp(name, O_CLOEXEC);
    bool known = fd >= 0 && fstat(fd, out) == 0;
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    return known;
}

tt_status tt__path_check_new(const char *path) {
    char folder[PATH_MAX], real[PATH_MAX];
    struct stat st, made;
    if (strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return fail_create(path);
    }
    if (lstat(path, &st) == 0 &&
        S_ISLNK(st.st_mode)) /* SQLite would follow the link and create a file with another mode */
        return tt__fail(TT_E_DB,
                        "%s: this symbolic link leads to a file that is not there: name that file itself "
                        "(--db, tt_open_opts.db_path), or make it first",
                        path);
    folder_of(folder, path);
    const bool there = stat(folder, &st) == 0;
    while (is_standard(path) && stat(folder, &st) != 0 && strchr(folder + 1, '/'))
        folder_of(folder, folder);
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return tt__fail(TT_E_DB,
                        "%s: the folder of the store does not exist: create it, or name another file (--db, "
                        "tt_open_opts.db_path)",
                        path);
    if (access(folder, W_OK | X_OK) != 0)
        return fail_create(path);
    if (!there || is_trusted(path) || !realpath(folder, real))
        return TT_OK;
    const bool ours = st.st_uid == geteuid() || st.st_uid == 0;
    return check_folder(path, real, !ours && new_owner(&made, real) ? &made : NULL);
}

bool tt__path_has(const char *path, const char *side) {
    char name[SIDE_MAX];
    struct stat st;
    name_side(name, path, side);
    return stat(name, &st) == 0 && st.st_size > 0;
}
