/*
 * Loads NVRTC once, and compiles kernels with it.
 */
#include "code/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/install_dirs.h"
#include "code/cubin.h"
#include "code/headers.h"
#include "code/refused.h"
#include "code/source.h"

#ifndef TT__NVRTC_DIR
#define TT__NVRTC_DIR ""
#endif

#define NVRTC_SYMBOLS(X)                                                                                     \
    X(nvrtcVersion)                                                                                          \
    X(nvrtcGetErrorString)                                                                                   \
    X(nvrtcGetNumSupportedArchs)                                                                             \
    X(nvrtcGetSupportedArchs)                                                                                \
    X(nvrtcCreateProgram)                                                                                    \
    X(nvrtcDestroyProgram)                                                                                   \
    X(nvrtcAddNameExpression)                                                                                \
    X(nvrtcGetLoweredName)                                                                                   \
    X(nvrtcCompileProgram)                                                                                   \
    X(nvrtcGetCUBINSize)                                                                                     \
    X(nvrtcGetCUBIN)                                                                                         \
    X(nvrtcGetPTXSize)                                                                                       \
    X(nvrtcGetPTX)                                                                                           \
    X(nvrtcGetProgramLogSize)                                                                                \
    X(nvrtcGetProgramLog)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    NVRTC_SYMBOLS(MEMBER)
#undef MEMBER
} table;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(name) {#name, offsetof(__typeof__(table), name)},
    NVRTC_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static char path[512], version[16];
static tt_status load_status;
static char load_error[2048];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *try_open(const char *dir, const char *file, tt__str *tried) {
    char name[1024];
    snprintf(name, sizeof name, "%s%s%s", dir, *dir ? "/" : "", file);
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        tt__str_addf(tried, "%s%s", tried->len ? ", " : "", name);
    return lib;
}

static void *try_folder(const char *dir, tt__str *tried) {
    static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    void *lib = NULL;
    for (size_t f = 0; f < sizeof files / sizeof *files && !lib; f++)
        lib = try_open(dir, files[f], tried);
    return lib;
}

/* Of an installed library its own copy comes before that of the folder it was built in, which may go. */
static void *find(tt__str *tried) {
    const char *vars[2] = {secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH")};
    void *lib = try_folder("", tried);
    for (int i = 0; i < 2 && !lib; i++)
        if (vars[i] && *vars[i]) {
            char home[600];
            snprintf(home, sizeof home, "%s/lib64", vars[i]);
            lib = try_folder(home, tried);
        }
    if (!lib)
        lib = try_folder("/usr/local/cuda/lib64", tried);
    for (int i = 0; i < TT__PLACES && !lib; i++) {
        tt__str own = {0};
        if (i == TT__PLACES - 1 && *TT__NVRTC_DIR)
            lib = try_folder(TT__NVRTC_DIR, tried);
        tt__install_folder(&own, i);
        if (!lib && own.len)
            lib = try_folder(own.text, tried);
        tt__str_free(&own);
    }
    return lib;
}

/* NVRTC opens its builtins library by bare name. That fails if the folder is not in the linker's search path,
 * so it is opened here first. */
static void preload_builtins(void) {
    char name[600];
    const char *slash = strrchr(path, '/');
    if (slash) {
        snprintf(name, sizeof name, "%.*s/libnvrtc-builtins.so.%s", (int)(slash - path), path, version);
        dlopen(name, RTLD_NOW);
    }
}

static tt_status load(tt__str *tried) {
    const char *forced = secure_getenv("TILETUNE_NVRTC");
    void *lib = forced && *forced ? try_open("", forced, tried) : find(tried);
    if (!lib && forced && *forced)
        return tt__fail(TT_E_NO_NVRTC, "TILETUNE_NVRTC names %s, which cannot be loaded: %s", forced,
                        dlerror());
    if (!lib)
        return tt__fail(TT_E_NO_NVRTC,
                        "NVRTC is not installed; install the CUDA Toolkit 12 or 13 (or the pip package "
                        "nvidia-cuda-nvrtc) and name its libnvrtc.so in TILETUNE_NVRTC. Tried: %s",
                        tt__str_text(tried));
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(lib, symbols[i].name);
        if (!address)
            return tt__fail(TT_E_NO_NVRTC, "the NVRTC library has no %s: CUDA 12 or newer is needed",
                            symbols[i].name);
        memcpy((char *)&table + symbols[i].offset, &address, sizeof address);
    }
    Dl_info info;
    if (dladdr((void *)(uintptr_t)table.nvrtcVersion, &info) && info.dli_fname)
        tt__copy(path, sizeof path, info.dli_fname);
    int major = 0, minor = 0;
    table.nvrtcVersion(&major, &minor);
    snprintf(version, sizeof version, "%d.%d", major, minor);
    preload_builtins();
    return TT_OK;
}

static void load_once(void) {
    tt__str tried = {0};
    load_status = load(&tried);
    tt__str_free(&tried);
    if (load_status != TT_OK)
        tt__copy(load_error, sizeof load_error, tt_last_error());
}

tt_status tt__nvrtc_open(void) {
    pthread_once(&once, load_once);
    return load_status == TT_OK ? TT_OK : tt__fail(load_status, "%s", load_error);
}

const char *tt__nvrtc_version(void) {
    return version;
}

const char *tt__nvrtc_path(void) {
    return path;
}

static tt_status check(nvrtcResult r, const char *what) {
    return r == NVRTC_SUCCESS ? TT_OK
                              : tt__fail(r == NVRTC_ERROR_OUT_OF_MEMORY ? TT_E_NO_MEMORY : TT_E_NO_NVRTC,
                                         "%s: %s", what, table.nvrtcGetErrorString(r));
}

tt_status tt__nvrtc_archs(tt__str *out) {
    int n = 0, archs[64];
    TT_TRY(tt__nvrtc_open());
    TT_TRY(check(table.nvrtcGetNumSupportedArchs(&n), "nvrtcGetNumSupportedArchs"));
    if (n > (int)(sizeof archs / sizeof *archs))
        return tt__fail(TT_E_INTERNAL, "NVRTC lists %d architectures", n);
    TT_TRY(check(table.nvrtcGetSupportedArchs(archs), "nvrtcGetSupportedArchs"));
    for (int i = 0; i < n; i++)
        tt__str_addf(out, "%s%d", i ? " " : "", archs[i]);
    return tt__str_check(out);
}

static tt_status check_arch(int cc) {
    tt__str archs = {0};
    tt_status status = tt__nvrtc_archs(&archs);
    if (status == TT_OK) {
        char wanted[16], padded[1024];
        snprintf(wanted, sizeof wanted, " %d ", cc);
        snprintf(padded, sizeof padded, " %s ", tt__str_text(&archs));
        if (!strstr(padded, wanted))
            status = tt__fail(
                TT_E_UNSUPPORTED, "NVRTC %s cannot compile for compute capability %d.%d, only for: %s; %s",
                version, cc / 10, cc % 10, tt__str_text(&archs),
                cc < atoi(tt__str_text(&archs))
                    ? "NVRTC 12 knows older GPUs (it is in the pip package nvidia-cuda-nvrtc-cu12): name its "
                      "libnvrtc.so.12 in TILETUNE_NVRTC"
                    : "install a newer one, or name it in TILETUNE_NVRTC");
    }
    tt__str_free(&archs);
    return status;
}

/* The line of the first error. Warnings may precede it. */
static const char *first_error(const char *log) {
    static const char *const marks[] = {": error", ": catastrophic error"};
    const char *first = NULL;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(log, marks[i]);
        first = at && (!first || at < first) ? at : first;
    }
    while (first && first > log && first[-1] != '\n')
        first--;
    return first ? first : log;
}

enum { KERNELS_MAX = 2 * TT__PASSES_MAX + 2 }; /* with those of `data`, `reference` and `verify` */

/* A program to compile. Kernels that are not extern "C" are asked for by name. */
typedef struct program {
    const char *name, *original, *source;
    const char *kernels[KERNELS_MAX], *expressions[KERNELS_MAX];
    size_t n_name[KERNELS_MAX], n_kernels;
    int n_headers; /* 0: it includes none */
    bool ptx;      /* in place of a cubin */
} program;

/* NVRTC's log can be pages long. The cause is in the lines of the first error. */
static tt_status fail_with_log(nvrtcProgram handle, nvrtcResult r, const program *p, const char *const *argv,
                               int argc) {
    size_t size = 0;
    char *log = NULL;
    if (table.nvrtcGetProgramLogSize(handle, &size) == NVRTC_SUCCESS && size > 1 && (log = malloc(size)))
        table.nvrtcGetProgramLog(handle, log);
    const char *error = log ? first_error(log) : "";
    bool header = strstr(error, " open source file") != NULL;
    tt__str refused = {0};
    if (tt__refused_kernel(&refused, error, p->expressions, p->n_kernels) ||
        tt__refused_code(&refused, p->name, p->original, p->source, error, argv, argc)) {
        tt__fail(TT_E_COMPILE, "%s: %s (%.*s)", p->name, tt__str_text(&refused), (int)strcspn(error, "\n"),
                 error);
        tt__str_free(&refused);
        free(log);
        return TT_E_COMPILE;
    }
    tt__fail(
        TT_E_COMPILE, "%s: %s%s%.*s%s", p->name, table.nvrtcGetErrorString(r), log ? ": " : "",
        header ? (int)strcspn(error, "\n") : 1200, error,
        header
            ? ": NVRTC has its own headers and those of a CUDA Toolkit of its version (CUDA_HOME names it). "
              "#include \"FILE\" takes in a file beside the kernel or in a folder of `//@ include`. If only "
              "functions of the host need this header, put an empty file of its name into such a folder"
            : "");
    free(log);
    return TT_E_COMPILE;
}

/* Is this name defined by an option? A file may have an ELEM_SIZE of its own. */
static bool is_defined(const char *name, size_t n, const char *const *argv, int argc) {
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "-D", 2) == 0 && strcspn(argv[i] + 2, "=") == n &&
            strncmp(argv[i] + 2, name, n) == 0)
            return strncmp(name, "ELEM_SIZE", n) != 0;
    return false;
}

/* A #define in the code takes the place of a parameter, and the compiler only warns. */
static tt_status check_log(nvrtcProgram handle, const char *name, const char *const *argv, int argc) {
    static const char redefined[] = "incompatible redefinition of macro \"";
    size_t size = 0;
    char *log = NULL;
    tt_status status = TT_OK;
    if (table.nvrtcGetProgramLogSize(handle, &size) == NVRTC_SUCCESS && size > 1 && (log = calloc(size, 1)))
        table.nvrtcGetProgramLog(handle, log);
    for (const char *at = log; at && status == TT_OK && (at = strstr(at, redefined));) {
        const char *line = at, *macro = at += strlen(redefined);
        const size_t n = strcspn(macro, "\"");
        while (line > log && line[-1] != '\n')
            line--;
        if (is_defined(macro, n, argv, argc))
            status =
                tt__fail(TT_E_COMPILE,
                         "%s: %.*s changes nothing, because %.*s defines it again: take that #define away, "
                         "or put it between #ifndef %.*s and #endif",
                         name, (int)n, macro, (int)strcspn(line, ":"), line, (int)n, macro);
    }
    free(log);
    return status;
}

/* From 12.9 on, NVRTC caches compiled code in a folder of the user. */
static bool keeps_a_cache(void) {
    int major = 0, minor = 0;
    sscanf(version, "%d.%d", &major, &minor);
    return major > 12 || (major == 12 && minor >= 9);
}

tt_status tt__nvrtc_warm_up(void) {
    int n = 0, archs[64];
    tt__str cubin = {0};
    TT_TRY(tt__nvrtc_open());
    TT_TRY(check(table.nvrtcGetNumSupportedArchs(&n), "nvrtcGetNumSupportedArchs"));
    if (n < 1 || n > (int)(sizeof archs / sizeof *archs))
        return tt__fail(TT_E_INTERNAL, "NVRTC lists %d architectures", n);
    TT_TRY(check(table.nvrtcGetSupportedArchs(archs), "nvrtcGetSupportedArchs"));
    tt_status status = tt__nvrtc_compile(
        &cubin, "warm_up.cu", "extern \"C\" __global__ void warm_up(int *p) { *p = 1; }", "", 0, archs[0]);
    tt__str_free(&cubin);
    return status;
}

/* Is the option one of ours? */
static bool is_ours(const char *option, const char *kind) {
    return strncmp(option, kind, strlen(kind)) == 0;
}

/* Does the text include files of CUDA? If only the compiler's own, the folders are named in vain. */
static bool includes_files(const char *text) {
    for (const char *at = text; (at = strstr(at, "include"));) {
        at += strlen("include");
        if (strchr("<\"", at[strspn(at, " \t")]) && at[strspn(at, " \t")])
            return true;
    }
    return false;
}

static tt_status add_lowered(tt__str *out, nvrtcProgram handle, const program *p) {
    const char *pairs[KERNELS_MAX][2];
    char names[KERNELS_MAX][TT__SYMBOL_MAX];
    for (size_t i = 0; i < p->n_kernels; i++) {
        snprintf(names[i], sizeof names[i], "%.*s", (int)p->n_name[i], p->kernels[i]);
        pairs[i][0] = names[i];
        TT_TRY(
            check(table.nvrtcGetLoweredName(handle, p->expressions[i], &pairs[i][1]), "nvrtcGetLoweredName"));
    }
    return p->n_kernels ? tt__lowered_add(out, pairs, p->n_kernels) : TT_OK;
}

/* What the compiler said no to. */
typedef enum refusal { NOTHING, HOST_FUNCTION, LACKING, OTHER } refusal;

/* Is the first error one of a text that lacks a name, or a part of a definition? */
static bool lacks_something(const char *log) {
    static const char *const words[] = {"undefined",        "no instance",          "no member",
                                        "no operator",      "expected a",           "incomplete",
                                        "no storage class", "no suitable",          "is not a",
                                        "must be a class",  "directive is missing", "is inaccessible",
                                        "storage class may"};
    const char *error = first_error(log), *end = error + strcspn(error, "\n");
    bool yes = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(error, words[i]);
        yes |= at && at < end;
    }
    return yes;
}

static refusal why_refused(nvrtcProgram handle, nvrtcResult r) {
    static const char host[] = "are not allowed in JIT mode"; /* functions, variables */
    size_t size = 0;
    char *log = NULL;
    refusal why = r == NVRTC_ERROR_COMPILATION || r == NVRTC_ERROR_INVALID_OPTION ? OTHER : NOTHING;
    if (why && table.nvrtcGetProgramLogSize(handle, &size) == NVRTC_SUCCESS && size > 1 &&
        (log = calloc(size, 1)) && table.nvrtcGetProgramLog(handle, log) == NVRTC_SUCCESS)
        why = strstr(log, host) ? HOST_FUNCTION : lacks_something(log) ? LACKING : OTHER;
    free(log);
    return why;
}

static tt_status take_code(tt__str *out, nvrtcProgram handle, bool ptx) {
    size_t size = 0;
    tt_status status;
    char *code = NULL;
    TT_GOTO(ptx ? check(table.nvrtcGetPTXSize(handle, &size), "nvrtcGetPTXSize")
                : check(table.nvrtcGetCUBINSize(handle, &size), "nvrtcGetCUBINSize"));
    code = malloc(size);
    if (!code)
        TT_GOTO(tt__fail_memory(size));
    TT_GOTO(ptx ? check(table.nvrtcGetPTX(handle, code), "nvrtcGetPTX")
                : check(table.nvrtcGetCUBIN(handle, code), "nvrtcGetCUBIN"));
    tt__str_addn(out, code, size);
    TT_GOTO(tt__str_check(out));
out:
    free(code);
    return status;
}

enum { COMPILER_STACK_BYTES = 8 << 20 };

typedef struct compilation {
    nvrtcProgram handle;
    const char *const *argv;
    int argc;
    nvrtcResult result;
} compilation;

static void *run_compiler(void *user) {
    compilation *c = user;
    c->result = table.nvrtcCompileProgram(c->handle, c->argc, c->argv);
    return NULL;
}

/* On a stack of its own: NVRTC needs more than the 64 KB that a program's thread may have. */
static nvrtcResult run_on_own_stack(nvrtcProgram handle, const char *const *argv, int argc) {
    compilation c = {handle, argv, argc, NVRTC_SUCCESS};
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    bool runs = pthread_attr_setstacksize(&attr, COMPILER_STACK_BYTES) == 0 &&
                pthread_create(&thread, &attr, run_compiler, &c) == 0;
    pthread_attr_destroy(&attr);
    if (!runs)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    pthread_join(thread, NULL);
    return c.result;
}

/* Compiles once. *refused: the compiler said no, perhaps because of an option. */
static tt_status compile(tt__str *out, const program *p, const char *const *argv, int argc,
                         refusal *refused) {
    nvrtcProgram handle;
    tt_status status;
    TT_TRY(check(table.nvrtcCreateProgram(&handle, p->source, p->name, p->n_headers, tt__host_header_texts,
                                          tt__host_header_names),
                 "nvrtcCreateProgram"));
    for (size_t i = 0; i < p->n_kernels; i++)
        TT_GOTO(check(table.nvrtcAddNameExpression(handle, p->expressions[i]), "nvrtcAddNameExpression"));
    nvrtcResult r = run_on_own_stack(handle, argv, argc);
    *refused = why_refused(handle, r);
    if (r != NVRTC_SUCCESS)
        TT_GOTO(fail_with_log(handle, r, p, argv, argc));
    TT_GOTO(check_log(handle, p->name, argv, argc));
    TT_GOTO(take_code(out, handle, p->ptx));
    if (!p->ptx)
        TT_GOTO(add_lowered(out, handle, p));
out:
    table.nvrtcDestroyProgram(&handle);
    return status;
}

enum { OPTIONS_MAX = 128, RESERVED = 9 };

/* The name, and the expression behind it if they differ. */
static void take_kernel(program *p, const char *name) {
    const char *expression = strchr(name, '\n');
    p->kernels[p->n_kernels] = name;
    p->n_name[p->n_kernels] = strcspn(name, "\n");
    p->expressions[p->n_kernels++] = expression ? expression + 1 : name;
}

/* Takes our own options out; the others are the compiler's. */
static tt_status split_options(program *p, const char **argv, int *argc, const bool *dropped,
                               const char *options, int n) {
    for (int i = 0; i < n; i++, options += strlen(options) + 1) {
        if (is_ours(options, TT__KERNEL) && p->n_kernels == sizeof p->kernels / sizeof *p->kernels)
            return tt__fail(TT_E_INTERNAL, "%s: too many kernels", p->name);
        if (is_ours(options, TT__KERNEL))
            take_kernel(p, options + strlen(TT__KERNEL));
        else if (!is_ours(options, TT__TYPEDEF) && !is_ours(options, TT__CODE) &&
                 !is_ours(options, TT__USERS) && !dropped[i])
            argv[(*argc)++] = options;
    }
    return TT_OK;
}

/* Is there an option that begins like this, with one dash or two? */
static bool has_option(const char *begin, const char *options, int n) {
    for (int i = 0; i < n; i++, options += strlen(options) + 1)
        if (is_ours(options + (options[0] == '-' && options[1] == '-'), begin))
            return true;
    return false;
}

/* Of the architectures from Hopper on, each has instructions of its own, which later ones lack. */
static void write_arch(char out[32], int cc, bool specific, bool ptx) {
    enum { SPECIFIC_FROM_CC = 90 };
    snprintf(out, 32, "-arch=%s_%d%s", ptx ? "compute" : "sm", cc,
             specific && !ptx && cc >= SPECIFIC_FROM_CC ? "a" : "");
}

static tt_status add_folders(tt__str *folders, const char **argv, int *argc) {
    int n;
    TT_TRY(tt__cuda_headers(folders, &n, path, version));
    const char *at = tt__str_text(folders);
    for (int i = 0; i < n; i++, at += strlen(at) + 1)
        argv[(*argc)++] = at;
    return TT_OK;
}

/* *text has what was compiled before, and gets what is compiled now. The same is not compiled again. */
static tt_status compile_cut(tt__str *out, tt__str *text, refusal *refused, tt__cut cut, const char *name,
                             const char *source, const char *options, int n_options, int cc, bool ptx) {
    const char *argv[OPTIONS_MAX];
    char arch[32];
    int argc = 0;
    TT_TRY(tt__nvrtc_open());
    TT_TRY(check_arch(cc));
    if (n_options > OPTIONS_MAX - RESERVED)
        return tt__fail(TT_E_INVALID, "%s: %d compile options, at most %d are possible", name, n_options,
                        OPTIONS_MAX - RESERVED);
    write_arch(arch, cc, has_option(TT__USERS, options, n_options), ptx);
    argv[argc++] = arch;
    if (!has_option("-std=", options, n_options))
        argv[argc++] = "-std=c++17";
    if (keeps_a_cache())
        argv[argc++] =
            "--no-cache"; /* the store is our cache; filling NVRTC's too more than doubles the time */
    tt__str before = *text, folders = {0};
    bool dropped[OPTIONS_MAX] = {false};
    program p = {.name = name, .original = source, .ptx = ptx};
    tt_status status;
    *text = (tt__str){0};
    TT_GOTO(tt__source_make(text, dropped, cut, source, options, n_options));
    p.source = tt__str_text(text);
    status = TT_E_COMPILE;
    if (before.len && strcmp(p.source, tt__str_text(&before)) == 0)
        goto out;
    TT_GOTO(split_options(&p, argv, &argc, dropped, options, n_options));
    if (includes_files(p.source)) {
        p.n_headers = (int)tt__n_host_headers;
        TT_GOTO(add_folders(&folders, argv, &argc));
    }
    /* --minimal leaves out textures, surfaces and other things that few kernels use. Compiling takes a tenth
     * less time and makes the same code. A source that needs them, or an older NVRTC, fails at once and is
     * compiled again without it. Code for nvcc has functions that are not said to be for the device, and
     * would be for both. */
    for (bool minimal = true, for_device = false;;) {
        argv[argc] = "--minimal";
        status = compile(out, &p, argv, argc + minimal, refused);
        if (*refused == HOST_FUNCTION && !for_device) {
            argv[argc++] = "--device-as-default-execution-space";
            for_device = true;
        } else if (*refused && minimal) {
            minimal = false;
        } else {
            break;
        }
    }
out:
    tt__str_free(&before);
    tt__str_free(&folders);
    return status;
}

/* A text that lacks something is perhaps cut too much. If the whole file does not compile either, its errors
 * are those of the host's code, so that the first ones are reported. */
static tt_status compile_file(tt__str *out, const char *name, const char *source, const char *options,
                              int n_options, int cc, bool ptx) {
    char first[2048] = "";
    tt__str text = {0};
    tt_status status = TT_E_COMPILE;
    refusal refused = LACKING;
    for (int cut = TT__CUT_UNUSED; cut <= TT__CUT_NOTHING && status == TT_E_COMPILE && refused == LACKING;
         cut++) {
        status = compile_cut(out, &text, &refused, (tt__cut)cut, name, source, options, n_options, cc, ptx);
        if (cut == TT__CUT_UNUSED)
            tt__copy(first, sizeof first, tt_last_error());
    }
    tt__str_free(&text);
    return status == TT_E_COMPILE ? tt__fail(status, "%s", first) : status;
}

tt_status tt__nvrtc_compile(tt__str *out, const char *name, const char *source, const char *options,
                            int n_options, int cc) {
    return compile_file(out, name, source, options, n_options, cc, false);
}

tt_status tt__nvrtc_ptx(tt__str *out, const char *name, const char *source, const char *options,
                        int n_options, int cc) {
    return compile_file(out, name, source, options, n_options, cc, true);
}

void tt__cubin_key(char out[65], const char *source, const char *options, int n_options, int cc,
                   const char *nvrtc_version) {
    size_t options_len = 0;
    for (int i = 0; i < n_options; i++)
        options_len += strlen(options + options_len) + 1;
    tt__hash_part parts[] = {
        {source, strlen(source)},
        {options, options_len},
        {&cc, sizeof cc},
        {nvrtc_version, strlen(nvrtc_version)},
    };
    tt__hash_parts(out, parts, sizeof parts / sizeof *parts);
}
