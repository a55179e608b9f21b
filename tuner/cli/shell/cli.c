/*
 * Shared by commands: exit codes, the default store, writing and printing, times and fractions as text.
 */
#include "tuner/cli/shell/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "base/str.h"
#include "db/path.h"
#include "dispatch/snapshot.h"
#include "dispatch/store_layers.h"
#include "gpu/device.h"
#include "kernel/load/parse.h"

static int exit_code(tt_status s) {
    static const int code[] = {
        [TT_OK] = TT__EXIT_OK,
        [TT_E_INVALID] = TT__EXIT_USAGE,
        [TT_E_UNSUPPORTED] = TT__EXIT_NO_WINNER,
        [TT_E_NO_WINNER] = TT__EXIT_NO_WINNER,
        [TT_E_NO_DRIVER] = TT__EXIT_NO_DEVICE,
        [TT_E_NO_DEVICE] = TT__EXIT_NO_DEVICE,
        [TT_E_NO_NVRTC] = TT__EXIT_NO_DEVICE,
        [TT_E_CUDA] = TT__EXIT_NO_DEVICE,
        [TT_E_COMPILE] = TT__EXIT_NO_WINNER,
        [TT_E_TEMPLATE] = TT__EXIT_USAGE,
        [TT_E_DB] = TT__EXIT_DB,
        [TT_E_NO_MEMORY] = TT__EXIT_NO_WINNER,
        [TT_E_IO] = TT__EXIT_NO_WINNER,
        [TT_E_INTERRUPTED] = TT__EXIT_INTERRUPTED,
        [TT_E_INTERNAL] = TT__EXIT_NO_WINNER,
        [TT_E_CAPTURE] = TT__EXIT_NO_WINNER,
    };
    return (size_t)s < sizeof code / sizeof *code ? code[s] : TT__EXIT_NO_WINNER;
}

int tt__cli_fail(tt_status s) {
    if (s != TT_OK) {
        const char *why = tt_last_error();
        fprintf(stderr, "tune: %s\n", *why ? why : tt_strerror(s));
    }
    return exit_code(s);
}

void tt__cli_say(FILE *to, const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) >= 0) {
        tt__clean(text, TT__CLEAN_TEXT);
        fputs(text, to);
        free(text);
    }
    va_end(args);
}

static int early_error; /* errno of the first failure of tt__cli_flush_early */

void tt__cli_flush_early(void) {
    errno = 0;
    if (fflush(stdout) != 0 && !early_error)
        early_error = errno;
}

tt_status tt__cli_flush(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TT_OK;
    const int error = early_error ? early_error : errno;
    const char *why = error ? strerror(error) : "what came out of it is not whole; is the disk full?";
    clearerr(stdout); /* this is said once */
    return tt__fail(TT_E_IO, "cannot write to standard output: %s", why);
}

tt_status tt__cli_store_path(tt__str *out, const tt__cli_args *args) {
    if (!args->db)
        return tt__store_default_path(out);
    tt__str_add(out, args->db);
    return tt__str_check(out);
}

static bool store_absent(const tt__cli_args *args) {
    tt__str path = {0};
    bool absent = !args->db && tt__store_default_path(&path) == TT_OK &&
                  access(tt__str_text(&path), F_OK) != 0 && errno == ENOENT;
    tt__str_free(&path);
    return absent;
}

bool tt__cli_storeless(const tt__cli_args *args) {
    tt__str path = {0};
    bool placeless = !args->db && tt__store_default_path(&path) == TT_E_INVALID;
    tt__str_free(&path);
    return placeless || store_absent(args);
}

tt_status tt__cli_store_open(tt__store **out, const tt__cli_args *args, tt__store_mode mode) {
    *out = NULL;
    tt__str path = {0};
    tt_status status = tt__cli_store_path(&path, args);
    const char *file = tt__str_text(&path);
    if (status == TT_OK && store_absent(args))
        status = tt__fail(TT_E_DB,
                          "nothing was tuned yet: there is no %s (tune first, or name one with --db)", file);
    else if (status == TT_OK)
        status = tt__store_open(out, file, mode);
    tt__str_free(&path);
    return status;
}

tt_status tt__cli_store_check(const tt__cli_args *args) {
    tt__store *store;
    tt_status status = tt__cli_store_open(&store, args, TT__STORE_READ_ONLY);
    tt__store_close(&store);
    return status;
}

typedef struct gpu_names {
    tt__str *out;
    size_t n_winners;
    char last[TT__GPU_TEXT_MAX];
} gpu_names;

static tt_status add_gpu(void *user, const tt__winner *w) { /* winners are ordered by GPU name */
    gpu_names *g = user;
    char text[TT__GPU_TEXT_MAX];
    tt__gpu_text(text, &w->gpu);
    if (g->n_winners++ && strcmp(g->last, text) == 0)
        return TT_OK;
    tt__str_addf(g->out, "%s%s", g->out->len ? ", " : "", text);
    memcpy(g->last, text, sizeof text);
    return TT_OK;
}

tt_status tt__cli_store_gpus(tt__str *out, size_t *n_winners, tt__store *store) {
    gpu_names g = {.out = out};
    TT_TRY(tt__store_winners(store, 0, 0, NULL, add_gpu, &g));
    if (n_winners)
        *n_winners = g.n_winners;
    return tt__str_check(out);
}

tt_status tt__cli_find_gpu(tt__gpu *out, const tt_open_opts *open) {
    tt_ctx *ctx = NULL;
    tt_status status = tt_open(&ctx, open);
    if (status == TT_OK)
        status = tt__knowledge_gpu(ctx, out);
    tt_close(&ctx);
    return status;
}

tt_status tt__cli_choose_gpu(tt__gpu *out, const tt__cli_args *args) {
    *out = (tt__gpu){0};
    if (args->gpu)
        tt__copy(out->name, sizeof out->name, args->gpu);
    if (args->gpu || tt__device_gpu(out, 0) == TT_OK)
        return TT_OK;
    tt__store *store = NULL;
    tt__str names = {0}, shipped = {0};
    tt_status status = TT_OK;
    if (!tt__cli_storeless(args)) {
        status = tt__cli_store_open(&store, args, TT__STORE_READ_ONLY);
        if (status == TT_OK)
            status = tt__cli_store_gpus(&names, NULL, store);
    }
    tt__shipped_names(&shipped);
    if (status == TT_OK)
        status = tt__fail(
            TT_E_INVALID,
            "which GPU? There is none here: give --gpu NAME (the store knows %s; with tiletune come: %s)",
            names.len ? tt__str_text(&names) : "none yet", tt__str_text(&shipped));
    tt__str_free(&shipped);
    tt__str_free(&names);
    tt__store_close(&store);
    return status;
}

tt__short tt__cli_time(double us) {
    tt__short out = {"-"};
    if (us >= 1000)
        snprintf(out.text, sizeof out.text, "%.3f ms", us * 1e-3);
    else if (us > 0)
        snprintf(out.text, sizeof out.text, "%.*f us", us < 100 ? 2 : 1, us);
    return out;
}

tt__short tt__cli_percent(double fraction) {
    tt__short out = {"-"};
    if (fraction > 0)
        snprintf(out.text, sizeof out.text, "%.1f%%", fraction * 100);
    return out;
}

tt__short tt__cli_duration(double seconds) {
    tt__short out;
    long s = seconds < 0 ? 0 : seconds > 1e8 ? 100000000 : lround(seconds);
    if (s < 60)
        snprintf(out.text, sizeof out.text, "%ld s", s);
    else if (s < 3600)
        snprintf(out.text, sizeof out.text, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(out.text, sizeof out.text, "%ld h %02ld min", s / 3600, s % 3600 / 60);
    return out;
}

tt__short tt__cli_count(int64_t n, const char *noun) {
    tt__short out;
    snprintf(out.text, sizeof out.text, "%lld %s%s", (long long)n, noun, n == 1 ? "" : "s");
    return out;
}

tt__short tt__cli_when(const char *format, int64_t unix_ms) {
    tt__short out = {""};
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        strftime(out.text, sizeof out.text, format, &utc);
    return out;
}

void tt__cli_json_bits(tt__json *j, const char *bits, int batch_invariant) {
    if (*bits)
        tt__json_string(j, "bits", bits);
    if (batch_invariant)
        tt__json_int(j, "batch_invariant", batch_invariant == 1);
}

const char *tt__cli_batch(int batch_invariant) {
    static const char *const words[] = {"", ", batch invariant", ", not batch invariant"};
    return words[batch_invariant];
}

double tt__cli_known(double value) {
    return value > 0 ? value : (double)NAN;
}

void tt__cli_json_strings(tt__json *j, const char *const members[][2]) {
    for (; (*members)[0]; members++)
        tt__json_string(j, (*members)[0], (*members)[1]);
}

void tt__cli_json_known(tt__json *j, const tt__cli_number *numbers) {
    for (; numbers->key; numbers++)
        tt__json_number(j, numbers->key, tt__cli_known(numbers->value), numbers->digits);
}

void tt__cli_csv(tt__str *out, const char *text) {
    char *end;
    tt__strtod(text, &end);
    const bool number = end > text && !*end, formula = *text && strchr("=+-@\t\r", *text) && !number;
    tt__str_add(out, formula ? "\"'" : "\"");
    for (size_t n; n = strcspn(text, "\"\n"), text[n]; text += n + 1) {
        tt__str_addn(out, text, n);
        tt__str_add(out, text[n] == '"' ? "\"\"" : " ");
    }
    tt__str_add(out, text);
    tt__str_add(out, "\"");
}

/* Is it the log of a database, which has what the database itself lacks? */
static bool is_log(const char *path) {
    unsigned char head[4] = {0};
    size_t n;
    return tt__read_start(path, head, sizeof head, &n) == TT_OK && head[0] == 0x37 && head[1] == 0x7f &&
           head[2] == 0x06 && (head[3] & 0xfe) == 0x82;
}

static tt_status check_inputs(const char *path, const char *const *inputs, size_t n,
                              bool (*reads)(const char *input, const char *path)) {
    for (size_t i = 0; i < n; i++)
        if (inputs[i] && reads(inputs[i], path))
            return tt__fail(TT_E_INVALID, "%s is read here, and would be lost: name another file", path);
    return TT_OK;
}

tt_status tt__cli_check_output(const tt__cli_args *args, const char *path) {
    const char *const files[] = {args->replay, args->collected, args->lock};
    const char *const kernels[] = {args->kernel_file, args->kernel, args->against};
    bool database = false;
    if (!path || access(path, F_OK) != 0)
        return TT_OK;
    if (tt__is_database(path, &database) == TT_OK && (database || is_log(path)))
        return tt__fail(TT_E_INVALID, "%s is a database%s, and would be lost: name another file", path,
                        database ? "" : "'s log");
    TT_TRY(check_inputs(path, files, TT__COUNT(files), tt__same_file));
    TT_TRY(check_inputs(path, args->files, args->n_files, tt__same_file));
    TT_TRY(check_inputs(path, kernels, TT__COUNT(kernels), tt__template_reads));
    return check_inputs(path, args->templates, args->n_templates, tt__template_reads);
}

/* Can another file take the place of this one, whose real path is `real`? *old: the file; st_nlink is 0 if it
 * is new. A device, a pipe, a file that is open here (/dev/stdout), has a second name or another owner stays.
 */
static bool can_replace(const char *path, char real[static PATH_MAX], struct stat *old) {
    enum { OPEN_MAX_FD = 1023 }; /* a shell numbers from 10 on what it opens itself */
    struct stat open;
    *old = (struct stat){0};
    if (lstat(path, old) != 0)
        return errno == ENOENT && snprintf(real, PATH_MAX, "%s", path) < PATH_MAX;
    if (!realpath(path, real) || stat(real, old) != 0 || !S_ISREG(old->st_mode) || old->st_nlink > 1 ||
        old->st_uid != geteuid() || access(real, W_OK) != 0)
        return false;
    for (int fd = 0; fd <= OPEN_MAX_FD; fd++)
        if (fstat(fd, &open) == 0 && open.st_dev == old->st_dev && open.st_ino == old->st_ino)
            return false;
    return true;
}

/* Gives a file the group of another one, then its permissions. A group that cannot be given, because it has
 * no number in this container, say, may be another one where it has the rights of all others. */
static bool give_rights(int fd, const struct stat *old) {
    struct stat st;
    return fstat(fd, &st) == 0 &&
           (st.st_gid == old->st_gid || fchown(fd, (uid_t)-1, old->st_gid) == 0 ||
            (old->st_mode >> 3 & 7) == (old->st_mode & 7)) &&
           fchmod(fd, old->st_mode & 07777) == 0;
}

typedef struct filling {
    tt__cli_fill_fn fill;
    void *user;
    tt_status status; /* not TT_OK: it failed, not the file */
} filling;

enum { IN_PLACE = -1, NOT_FILLED = -2 };

static int flush_file(FILE *f, bool sync) {
    errno = 0;
    return fflush(f) == 0 && (!sync || fsync(fileno(f)) == 0) ? 0 : errno ? errno : EIO;
}

/* Fills a file. Returns 0, errno, or NOT_FILLED. */
static int fill_file(FILE *f, filling *what, bool sync) {
    tt__str out = {.to = f};
    what->status = what->fill(&out, what->user);
    if (what->status == TT_OK)
        what->status = tt__str_flush(&out);
    int error = out.error ? out.error : what->status != TT_OK ? NOT_FILLED : flush_file(f, sync);
    tt__str_free(&out);
    return error;
}

/* Puts a new file in the place of an old one. Returns 0, errno, NOT_FILLED, or IN_PLACE: the old one can only
 * be written to. */
static int replace(const char *path, filling *what) {
    char real[PATH_MAX], part[PATH_MAX + 64];
    struct stat old;
    if (!can_replace(path, real, &old))
        return IN_PLACE;
    /* With the time, because in a container each process may have the number of one that was killed. */
    snprintf(part, sizeof part, "%s.%d.%lld.tmp", real, (int)getpid(), (long long)tt__unix_ms());
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old.st_nlink ? 0600 : 0666);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!f)
        return errno == ENOSPC || errno == EDQUOT ? errno : IN_PLACE; /* the folder is read-only, say */
    int error = old.st_nlink && !give_rights(fd, &old) ? IN_PLACE : fill_file(f, what, true);
    if (fclose(f) != 0 && !error)
        error = errno;
    if (!error && rename(part, real) == 0)
        return 0;
    if (!error) /* a file that is mounted cannot be replaced */
        error = errno == EBUSY || errno == EXDEV || errno == EPERM || errno == EACCES ? IN_PLACE : errno;
    remove(part);
    return error;
}

/* All of the text is there before the file is touched. */
static int write_in_place(const char *path, const char *mode, filling *what) {
    const bool is_new = mode[1] == 'x';
    tt__str text = {0};
    int error = NOT_FILLED;
    what->status = what->fill(&text, what->user);
    if (what->status == TT_OK)
        what->status = tt__str_check(&text);
    FILE *f = what->status == TT_OK ? fopen(path, mode) : NULL;
    if (f) {
        errno = 0;
        bool whole = fwrite(tt__str_text(&text), 1, text.len, f) == text.len;
        error = whole ? flush_file(f, false) : errno ? errno : EIO;
        if (fclose(f) != 0 && !error)
            error = errno;
        if (error && is_new)
            remove(path);
    } else if (what->status == TT_OK) {
        error = errno;
    }
    tt__str_free(&text);
    return error;
}

tt_status tt__cli_write(const char *path, const char *mode, tt__cli_fill_fn fill, void *user) {
    const bool is_new = path && mode[1] == 'x';
    filling what = {.fill = fill, .user = user};
    int error = !path ? fill_file(stdout, &what, false) : is_new ? IN_PLACE : replace(path, &what);
    if (error == IN_PLACE)
        error = write_in_place(path, mode, &what);
    if (error == NOT_FILLED)
        return what.status;
    if (error && !path)
        clearerr(stdout); /* this is said once */
    if (error == EEXIST && is_new)
        return tt__fail(TT_E_INVALID, "%s is there already and is left as it is: name a new file", path);
    return error
               ? tt__fail(TT_E_IO, "cannot write %s: %s", path ? path : "to standard output", strerror(error))
               : TT_OK;
}

typedef struct counting {
    tt__cli_fill_fn fill;
    void *user;
    size_t bytes;
} counting;

static tt_status fill_and_count(tt__str *out, void *user) {
    counting *c = user;
    tt_status status = c->fill(out, c->user);
    c->bytes = out->written + out->len;
    return status;
}

tt_status tt__cli_write_output(const tt__cli_args *args, tt__cli_fill_fn fill, void *user) {
    counting c = {.fill = fill, .user = user};
    TT_TRY(tt__cli_write(args->output, "wb", fill_and_count, &c));
    if (args->output)
        tt__cli_say(stderr, "tune: wrote %s, %.0f KB\n", args->output, (double)c.bytes / 1e3);
    return TT_OK;
}

tt_status tt__cli_print_json(tt__json *j) {
    tt__json_close(j, '}');
    tt_status status = tt__str_check(j->out);
    if (status == TT_OK)
        puts(tt__str_text(j->out));
    tt__str_free(j->out);
    return status;
}

int tt__cli_columns(int fd) {
    if (!isatty(fd))
        return 0;
    const char *columns = secure_getenv("COLUMNS");
    int n = columns ? atoi(columns) : 0;
    if (n > 0)
        return n;
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void tt__cli_json_begin(tt__json *j) {
    tt__json_open(j, NULL, '{');
    tt__json_int(j, "version", TT__JSON_VERSION);
}

void tt__cli_json_problem(tt__json *j, const tt__problem *p) {
    tt__json_string(j, "op", p->op);
    for (int i = 0; i < p->n; i++) {
        const tt__setting *s = &p->settings[i];
        if (s->type == TT__TYPE_NONE)
            tt__json_int(j, s->name, s->number);
        else
            tt__json_string(j, s->name, tt__types[s->type].name);
    }
    if (p->warm)
        tt__json_int(j, "warm", 1);
    if (p->in_graph)
        tt__json_int(j, "in_graph", 1);
    if (p->unverified)
        tt__json_int(j, "unverified", 1);
}

void tt__cli_add_group(tt__str *out, const tt__problem *p) {
    tt__str_add(out, p->op);
    if (p->n)
        tt__str_add(out, ", ");
    tt__problem_add_settings(out, p, ", ");
    tt__str_add(out, tt__problem_regime(p));
    if (p->unverified)
        tt__str_add(out, ", not verified");
}
