/* See the header. */
#include "code/refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/str.h"
#include "code/cubin.h"
#include "code/cxx.h"

#define OPENCL "is OpenCL, and only CUDA C++ can be compiled"
#define HOST                                                                                                 \
    "is host code: take it out of the file, or put"                                                          \
    " it between #ifndef __CUDACC_RTC__ and #endif"
#define BOTH "%.*s is both a type of the code and a parameter: give one another name"
#define OF_KERNEL                                                                                            \
    "in a kernel launches another, which is not supported: let a `kernel` line launch it, or make it a "     \
    "__device__ function"

static const struct {
    const char *word, *why;
} refused[] = {
    {"__kernel", OPENCL},
    {"get_global_id", OPENCL},
    {"texture<", "is a texture reference, which CUDA 12 has removed: read the buffer itself"},
    {"surface<", "is a surface reference, which CUDA 12 has removed: write the buffer itself"},
    {"<<<", HOST},
    {"cudaMalloc", HOST},
    {"cudaMemcpy", HOST},
    {"int main", HOST},
    {"std::vector", HOST},
    {"std::string", HOST},
    {"std::cout", HOST},
    {"std::cerr", HOST},
};

#define FLOATS   "cfloat"
#define INTEGERS "climits"

/* Names that a header declares, which the file does not include. */
static const struct {
    const char *name, *header;
} headers[] = {
    {"__half", "cuda_fp16.h"},
    {"half", "cuda_fp16.h"},
    {"__half2", "cuda_fp16.h"},
    {"half2", "cuda_fp16.h"},
    {"__nv_bfloat16", "cuda_bf16.h"},
    {"__nv_bfloat162", "cuda_bf16.h"},
    {"__nv_fp8_e4m3", "cuda_fp8.h"},
    {"__nv_fp8_e5m2", "cuda_fp8.h"},
    {"nvcuda", "mma.h"},
    {"cooperative_groups", "cooperative_groups.h"},
    {"cub", "cub/cub.cuh"},
    {"CUtensorMap", "cuda.h"},
    {"curandState", "curand_kernel.h"},
    {"FLT_MAX", FLOATS},
    {"FLT_MIN", FLOATS},
    {"FLT_EPSILON", FLOATS},
    {"DBL_MAX", FLOATS},
    {"INT_MAX", INTEGERS},
    {"INT_MIN", INTEGERS},
    {"UINT_MAX", INTEGERS},
    {"M_PI", "cmath"},
};

/* Libraries of the host, by their namespaces. */
static const char *const libraries[] = {"thrust", "at", "torch", "c10", "Eigen"};

static const char *line_after(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : "";
}

static const char *base_name(const char *path, size_t n) {
    const char *slash = memrchr(path, '/', n);
    return slash ? slash + 1 : path;
}

/* Is it an error in a header of the file? */
static bool of_header(const char *name, const char *error) {
    const char *own = base_name(name, strlen(name)), *file = base_name(error, strcspn(error, "(\n"));
    return strncmp(file, own, strlen(own)) != 0 || file[strlen(own)] != '(';
}

/* Only words of the code count, and of the line of an error in a header. `all`: functions of the host are
 * taken for functions of the device. */
static bool has_refused(tt__str *out, const char *name, const char *source, const char *code,
                        const char *error, bool all) {
    const bool guarded = strstr(source, "__CUDACC_RTC__") != NULL; /* its host code is out of NVRTC's sight */
    const char *line = line_after(error), *end = line + strcspn(line, "\n");
    const bool header = of_header(name, error);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        for (const char *at = code; (at = strstr(at, refused[i].word)); at++) {
            const char *in_line = strstr(line, refused[i].word);
            if ((guarded && strcmp(refused[i].why, HOST) == 0) || (header && !(in_line && in_line < end)) ||
                (at > code && tt__is_letter(at[-1]) && tt__is_letter(*at)) ||
                (strcmp(refused[i].word, "int main") == 0 && tt__is_word_char(at[strlen("int main")])))
                continue;
            const bool of_kernel =
                strcmp(refused[i].word, "<<<") == 0 && strstr(error, "kernel launch") && !all;
            tt__str_addf(out, "`%s` %s", refused[i].word, of_kernel ? OF_KERNEL : refused[i].why);
            return true;
        }
    return false;
}

bool tt__refused_kernel(tt__str *out, const char *error, const char *const *kernels, size_t n_kernels) {
    static const char map[] = "__nv_name_map(",
                      mark[] = ": error: ", before[] = "cannot determine which instance of ",
                      template[] = "function template \"";
    enum { FIRST_LINE = 2 };
    const char *text = strstr(error, mark);
    if (strncmp(error, map, sizeof map - 1) != 0 || !text)
        return false;
    const size_t k = (size_t)strtoul(error + sizeof map - 1, NULL, 10) - FIRST_LINE;
    const char *kernel = k < n_kernels ? kernels[k] : "that `kernel` or `reference` names";
    text += sizeof mark - 1;
    const char *what = text + sizeof before - 1, *name = strchr(text, '"') ? strchr(text, '"') + 1 : text;
    const bool ambiguous = strncmp(text, before, sizeof before - 1) == 0;
    const int n = (int)strcspn(name, "\"\n");
    if (ambiguous && strncmp(what, template, sizeof template - 1) != 0)
        tt__str_addf(
            out,
            "%.*s is the name of several functions, and `kernel` cannot say which one: rename the one "
            "that is tuned",
            n, name);
    else if (ambiguous && !strchr(kernel, '<'))
        tt__str_addf(out, "%.*s is a template: name an instance of it, as in `kernel %.*s<4>`", n, name, n,
                     name);
    else if (ambiguous)
        tt__str_addf(out, "`%s` is no kernel of the code: the template %.*s takes other arguments", kernel, n,
                     name);
    else
        tt__str_addf(out, "`%s` is no kernel of the code: %.*s", kernel, (int)strcspn(text, "\n"), text);
    return true;
}

/* What the file declares and the compiler did not get, because it is of the host. */
static bool is_left_out(tt__str *out, const char *original, const char *source, const char *error) {
    static const char before[] = "identifier \"";
    char name[64];
    const char *at = strstr(error, before);
    if (!at || at > error + strcspn(error, "\n"))
        return false;
    at += sizeof before - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\"\n"), at);
    if (tt__text_count_word(original, name) <= tt__text_count_word(source, name))
        return false;
    tt__str_addf(out,
                 "`%s` is left out, because it calls CUDA or is else of the host, and a kernel needs it: "
                 "make it a __device__ function, or put another of its name between #ifdef "
                 "__CUDACC_RTC__ and #endif",
                 name);
    return true;
}

/* Words of C++20, and no option for it. */
static bool is_newer(tt__str *out, const char *code, const char *const *options, int n) {
    static const char *const words[] = {"concept", "requires", "consteval", "constinit", "co_await"};
    for (int i = 0; i < n; i++)
        if (strstr(options[i], "-std=c++2"))
            return false;
    for (size_t i = 0; i < TT__COUNT(words); i++)
        if (tt__text_has_word(code, words[i])) {
            tt__str_addf(out, "`%s` is C++20: add the line //@ options -std=c++20", words[i]);
            return true;
        }
    return false;
}

/* Where the name stands as a word in the first line of `at`; NULL: nowhere. */
static const char *find_word(const char *at, const char *name, size_t n) {
    const char *line = at, *end = at + strcspn(at, "\n");
    for (; at + n <= end; at++)
        if (strncmp(at, name, n) == 0 && !tt__is_word_char(at[n]) &&
            (at == line || !tt__is_word_char(at[-1])))
            return at;
    return NULL;
}

/* An error has three lines: `FILE(LINE): error: ...`, the line of code, and a ^ below its place. */
static bool has_macro(tt__str *out, const char *name, const char *error, const char *const *options, int n) {
    const char *code = line_after(error), *mark = line_after(code);
    const bool header = of_header(name, error);
    const char *expected = strstr(error, "expected a"), *tag = strstr(error, "expected either a definition");
    for (int i = 0; i < n && *mark; i++) {
        const char *macro = options[i] + 2, *at;
        const size_t length = strcspn(macro, "=");
        if (strncmp(options[i], "-D", 2) != 0 || !(at = find_word(code, macro, length)) ||
            strspn(mark, " ") != (size_t)(at - code))
            continue;
        if (header)
            tt__str_addf(out,
                         "%.*s is a macro, as each parameter is, also in headers: give it another "
                         "name, or say `as template`",
                         (int)length, macro);
        else if (tag && tag < code)
            tt__str_addf(out, BOTH, (int)length, macro);
        else if (expected && expected < code)
            tt__str_addf(out,
                         "%.*s is a macro, as each parameter is: take its declaration out of the code, or, "
                         "of a template argument, say `as template`",
                         (int)length, macro);
        else
            continue;
        return true;
    }
    return false;
}

/* `using NAME =8`, where a parameter's value has taken the place of a type. */
static bool is_alias(tt__str *out, const char *original, const char *error) {
    static const char using[] = "using ";
    const char *code = line_after(error), *expected = strstr(error, "expected a type specifier");
    const char *value = code + strnlen(code, strspn(line_after(code), " ")), *end = value, *name;
    char text[160];
    while (end > code && strchr(" =", end[-1]))
        end--;
    for (name = end; name > code && tt__is_word_char(name[-1]);)
        name--;
    if (!expected || expected > code || end == value || name == end || name < code + strlen(using) ||
        strncmp(name - strlen(using), using, strlen(using)) != 0)
        return false;
    const char *start = name - strlen(using);
    snprintf(text, sizeof text, "%.*s", (int)(value + strcspn(value, ";\n") - start), start);
    if (strstr(original, text)) /* the file says so itself */
        return false;
    tt__str_addf(out, BOTH, (int)(end - name), name);
    return true;
}

/* The name that the compiler does not know: in the first line of the error, or where the ^ is. */
static size_t unknown_name(const char **at, const char *error) {
    static const char identifier[] = "identifier \"";
    const char *code = line_after(error), *mark = line_after(code);
    const char *found = strstr(error, identifier);
    size_t n = 0;
    if (found && found < code)
        *at = found + strlen(identifier);
    else if ((found = strstr(error, "class or namespace name")) && found < code)
        *at = code + strnlen(code, strspn(mark, " "));
    else
        return 0;
    while (tt__is_word_char((*at)[n]))
        n++;
    return n;
}

static bool has_no_header(tt__str *out, const char *error) {
    const char *name = "";
    const size_t n = unknown_name(&name, error);
    for (size_t i = 0; i < TT__COUNT(headers) && n; i++)
        if (tt__word_is(name, n, headers[i].name)) {
            tt__str_addf(out, "`%s` needs a header: add #include <%s>", headers[i].name, headers[i].header);
            return true;
        }
    for (size_t i = 0; i < TT__COUNT(libraries) && n; i++)
        if (tt__word_is(name, n, libraries[i])) {
            tt__str_addf(
                out,
                "`%s::` is a library of the host, and a kernel cannot use it: cuda::std and the parts of "
                "CUB for blocks and warps can be compiled",
                libraries[i]);
            return true;
        }
    if (strstr(error, "does not support exception handling")) {
        tt__str_add(out, "a kernel can neither throw nor catch: call __trap() where it cannot go on");
        return true;
    }
    return false;
}

/* What the assembler refuses. It names no line of the file. */
static bool is_of_assembler(tt__str *out, const char *error) {
    static const char unresolved[] = "Unresolved extern function '", target[] = "not supported on .target '";
    const char *end = error + strcspn(error, "\n"), *at = strstr(error, unresolved),
               *on = strstr(error, target);
    if (at && at < end) {
        char symbol[160];
        size_t n;
        at += strlen(unresolved);
        snprintf(symbol, sizeof symbol, "%.*s", (int)strcspn(at, "'\n"), at);
        const char *plain = tt__cubin_plain_name(symbol, &n);
        tt__str_addf(
            out,
            "%.*s is declared, and its body is nowhere: #include the file that has it, because other "
            "files are not linked",
            (int)n, plain);
        return true;
    }
    at = strchr(error, '\'');
    if (!on || on > end || !at || at > on)
        return false;
    on += strlen(target);
    tt__str_addf(
        out,
        "%.*s has no `%.*s`: add a line such as //@ where cc >= 100 for the GPUs that have it, or keep it "
        "apart by __CUDA_ARCH__",
        (int)strcspn(on, "'"), on, (int)strcspn(at + 1, "'"), at + 1);
    return true;
}

/* An error in a header, as FILE(LINE): error: TEXT. */
static bool is_in_header(tt__str *out, const char *name, const char *error) {
    static const char mark[] = "): error: ";
    const char *file = base_name(error, strcspn(error, "(\n"));
    const char *line = strchr(file, '('), *text = strstr(error, mark), *end = error + strcspn(error, "\n");
    if (!line || !text || text > end || line > text || !of_header(name, error))
        return false;
    text += strlen(mark);
    tt__str_addf(
        out,
        "the header %.*s cannot be compiled for the device, line %.*s: %.*s. If only functions of the "
        "host need it, put its #include between #ifndef __CUDACC_RTC__ and #endif",
        (int)(line - file), file, (int)strcspn(line + 1, ")"), line + 1, (int)(end - text), text);
    return true;
}

bool tt__refused_code(tt__str *out, const char *name, const char *original, const char *source,
                      const char *error, const char *const *options, int n_options) {
    char *code = strdup(source);
    if (code)
        tt__cxx_blank_all(code);
    bool all = false;
    for (int i = 0; i < n_options; i++)
        all |= strcmp(options[i], "--device-as-default-execution-space") == 0;
    bool found = is_of_assembler(out, error) || has_no_header(out, error) ||
                 is_left_out(out, original, source, error) ||
                 (code && has_refused(out, name, source, code, error, all)) ||
                 has_macro(out, name, error, options, n_options) || is_alias(out, original, error) ||
                 (code && is_newer(out, code, options, n_options)) || is_in_header(out, name, error);
    free(code);
    return found;
}
