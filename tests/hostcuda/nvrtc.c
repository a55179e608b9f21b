/*
 * A stand-in for libnvrtc.so, for tests only: compiles the text of a kernel template for this machine's CPU.
 * See README.md.
 */
#include <nvrtc.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile.h"
#include "fault.h"
#include "image.h"
#include "rewrite.h"

#define EXPORT __attribute__((visibility("default")))

enum { DEFINES_MAX = 64, INSTANCES_MAX = 8 };

static const int archs[] = {75, 80, 86, 89, 90, 100};
static const int n_archs = sizeof archs / sizeof *archs;

struct _nvrtcProgram {
    char *source, *name;
    char *log;
    char *cubin; /* or PTX, which looks the same here */
    size_t cubin_bytes;
    int is_ptx;
    char *instances[INSTANCES_MAX]; /* name expressions; the i-th is called instance_i in the code */
    size_t n_instances;
};

typedef struct options {
    const char *defines[DEFINES_MAX]; /* "-DNAME=VALUE", owned */
    size_t n_defines;
    int cc;
    int is_virtual; /* compute_90: PTX, no cubin */
} options;

static const char *const error_names[] = {
    "NVRTC_SUCCESS",
    "NVRTC_ERROR_OUT_OF_MEMORY",
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "NVRTC_ERROR_INVALID_INPUT",
    "NVRTC_ERROR_INVALID_PROGRAM",
    "NVRTC_ERROR_INVALID_OPTION",
    "NVRTC_ERROR_COMPILATION",
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    "NVRTC_ERROR_INTERNAL_ERROR",
};

EXPORT const char *nvrtcGetErrorString(nvrtcResult result) {
    const size_t n = sizeof error_names / sizeof *error_names;
    return (size_t)result < n ? error_names[result] : "NVRTC_ERROR unknown";
}

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor) {
    const char *text = getenv("HOSTCUDA_NVRTC_VERSION");
    if (!major || !minor)
        return NVRTC_ERROR_INVALID_INPUT;
    *major = 13;
    *minor = 0;
    if (text)
        sscanf(text, "%d.%d", major, minor);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *n) {
    if (!n)
        return NVRTC_ERROR_INVALID_INPUT;
    *n = n_archs;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *out) {
    if (!out)
        return NVRTC_ERROR_INVALID_INPUT;
    memcpy(out, archs, sizeof archs);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int n_headers,
                                      const char *const *headers, const char *const *include_names) {
    (void)headers;
    (void)include_names;
    if (!out || !source || n_headers < 0) /* the host compiler has its own */
        return NVRTC_ERROR_INVALID_INPUT;
    nvrtcProgram p = calloc(1, sizeof *p);
    if (!p)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    p->source = strdup(source);
    p->name = strdup(name && *name ? name : "default_program");
    *out = p;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    if (!program || !*program)
        return NVRTC_ERROR_INVALID_PROGRAM;
    free((*program)->source);
    free((*program)->name);
    free((*program)->log);
    free((*program)->cubin);
    for (size_t i = 0; i < (*program)->n_instances; i++)
        free((*program)->instances[i]);
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram p, const char *expression) {
    if (!p || !expression || p->n_instances == INSTANCES_MAX)
        return NVRTC_ERROR_INVALID_INPUT;
    p->instances[p->n_instances++] = strdup(expression);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram p, const char *expression, const char **name) {
    static const char *const names[INSTANCES_MAX] = {"instance_0", "instance_1", "instance_2", "instance_3",
                                                     "instance_4", "instance_5", "instance_6", "instance_7"};
    for (size_t i = 0; p && i < p->n_instances; i++)
        if (strcmp(p->instances[i], expression) == 0) {
            *name = names[i];
            return p->cubin ? NVRTC_SUCCESS : NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
        }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

__attribute__((format(printf, 2, 3))) static void add_define(options *o, const char *format, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (o->n_defines < DEFINES_MAX && vasprintf(&text, format, args) >= 0)
        o->defines[o->n_defines++] = text;
    va_end(args);
}

/* The value of an option in one string ("-DX=1", "--define-macro=X=1") or two; NULL if it is another one. */
static const char *option_value(const char *const *opts, int n, int *i, const char *name) {
    const size_t length = strlen(name);
    if (strncmp(opts[*i], name, length) != 0)
        return NULL;
    const char *rest = opts[*i] + length;
    if (*rest == 0)
        return *i + 1 < n ? opts[++*i] : NULL;
    return *rest == '=' ? rest + 1 : length == 2 ? rest : NULL;
}

static int read_arch(options *o, const char *value) {
    o->is_virtual = strncmp(value, "compute_", 8) == 0;
    if (!o->is_virtual && strncmp(value, "sm_", 3) != 0)
        return 0;
    o->cc = atoi(strchr(value, '_') + 1);
    for (int i = 0; i < n_archs; i++)
        if (archs[i] == o->cc)
            return 1;
    return 0;
}

static nvrtcResult read_options(options *o, nvrtcProgram p, int n, const char *const *opts) {
    o->cc = 75;
    for (int i = 0; i < n; i++) {
        const char *value;
        if ((value = option_value(opts, n, &i, "-D")) ||
            (value = option_value(opts, n, &i, "--define-macro"))) {
            add_define(o, strchr(value, '=') ? "-D%s" : "-D%s=1", value);
        } else if ((value = option_value(opts, n, &i, "-arch")) ||
                   (value = option_value(opts, n, &i, "--gpu-architecture"))) {
            if (!read_arch(o, value)) {
                p->log = strdup("nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
                return NVRTC_ERROR_INVALID_OPTION;
            }
        } else if (opts[i][0] != '-') {
            p->log = strdup("nvrtc: error: unrecognized option found\n");
            return NVRTC_ERROR_INVALID_OPTION;
        }
    }
    return NVRTC_SUCCESS;
}

/* Facts of the options, as fault rules name them; those of the kernels are there already. */
static void add_facts(FILE *facts, const options *o) {
    for (size_t i = 0; i < o->n_defines; i++)
        fwrite(o->defines[i] + 2, 1, strlen(o->defines[i] + 2) + 1, facts);
}

static void make_cubin(nvrtcProgram p, const options *o, const char *facts, size_t facts_bytes,
                       const char *library, size_t library_bytes) {
    int major = 0, minor = 0;
    nvrtcVersion(&major, &minor);
    const hostcuda_image image = {.magic = HOSTCUDA_MAGIC,
                                  .cc = (uint32_t)o->cc,
                                  .ptx = (uint32_t)o->is_virtual,
                                  .nvrtc_major = (uint32_t)major,
                                  .facts_bytes = (uint32_t)facts_bytes,
                                  .library_bytes = (uint32_t)library_bytes};
    p->cubin_bytes = sizeof image + facts_bytes + library_bytes;
    p->cubin = malloc(p->cubin_bytes);
    if (!p->cubin)
        abort();
    memcpy(p->cubin, &image, sizeof image);
    memcpy(p->cubin + sizeof image, facts, facts_bytes);
    memcpy(p->cubin + sizeof image + facts_bytes, library, library_bytes);
}

/* True if the program has to fail; a hang does not come back. */
static int suffer(nvrtcProgram p, const hostcuda_faults *f) {
    if (f->on[HOSTCUDA_COMPILE_SLOW])
        usleep((useconds_t)(f->value[HOSTCUDA_COMPILE_SLOW] * 1000));
    while (f->on[HOSTCUDA_COMPILE_HANG])
        pause();
    if (f->on[HOSTCUDA_COMPILE_CRASH])
        abort();
    if (f->on[HOSTCUDA_COMPILE_ERROR] &&
        asprintf(&p->log, "%s(1): error: scripted by HOSTCUDA_FAULTS\n", p->name) < 0)
        abort();
    return f->on[HOSTCUDA_COMPILE_ERROR];
}

static nvrtcResult compile(nvrtcProgram p, options *o) {
    char *text = NULL, *facts = NULL, *library = NULL;
    size_t text_bytes = 0, facts_bytes = 0, library_bytes = 0;
    nvrtcResult result = NVRTC_ERROR_COMPILATION;
    FILE *text_file = open_memstream(&text, &text_bytes), *facts_file = open_memstream(&facts, &facts_bytes);

    fprintf(text_file, "# 1 \"");
    for (const char *c = p->name; *c; c++)
        fprintf(text_file, strchr("\"\\", *c) ? "\\%c" : "%c", *c);
    fprintf(text_file, "\"\n");
    hostcuda_rewrite(text_file, facts_file, p->source);
    for (size_t i = 0; i < p->n_instances; i++) {
        fprintf(text_file, "\nHOSTCUDA_INSTANCE(instance_%zu, (%s))", i, p->instances[i]);
        fprintf(facts_file, "kernel=instance_%zu%c", i, 0);
    }
    add_facts(facts_file, o);
    fclose(text_file);
    fclose(facts_file);
    add_define(o, "-D__CUDA_ARCH__=%d", o->cc * 10);

    const hostcuda_faults faults = hostcuda_faults_for(facts, facts_bytes);
    if (!suffer(p, &faults) &&
        hostcuda_compile(&library, &library_bytes, &p->log, text, text_bytes, o->defines, o->n_defines)) {
        make_cubin(p, o, facts, facts_bytes, library, library_bytes);
        p->is_ptx = o->is_virtual;
        result = NVRTC_SUCCESS;
    }
    free(text);
    free(facts);
    free(library);
    return result;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *opts) {
    options o = {0};
    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    free(p->log);
    free(p->cubin);
    p->log = p->cubin = NULL;
    p->cubin_bytes = 0;
    nvrtcResult result = read_options(&o, p, n, opts);
    if (result == NVRTC_SUCCESS)
        result = compile(p, &o);
    for (size_t i = 0; i < o.n_defines; i++)
        free((char *)o.defines[i]);
    return result;
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *n) {
    if (!p || !n)
        return p ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_PROGRAM;
    *n = p->is_ptx ? 0 : p->cubin_bytes;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *n) {
    if (!p || !n)
        return p ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_PROGRAM;
    *n = p->is_ptx ? p->cubin_bytes : 0;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *out) {
    if (!p || !out || !p->is_ptx)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(out, p->cubin, p->cubin_bytes);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *out) {
    if (!p || !out || !p->cubin || p->is_ptx)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(out, p->cubin, p->cubin_bytes);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *n) {
    if (!p || !n)
        return p ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_PROGRAM;
    *n = (p->log ? strlen(p->log) : 0) + 1;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *out) {
    if (!p || !out)
        return p ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_PROGRAM;
    strcpy(out, p->log ? p->log : "");
    return NVRTC_SUCCESS;
}
