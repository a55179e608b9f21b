/* See the header. */
#include "code/refused.h"

#include <string.h>

#define OPENCL "is OpenCL, and only CUDA C++ can be compiled"
#define HOST                                                                                                 \
    "is host code: take it out of the file, or put"                                                          \
    " it between #ifndef __CUDACC_RTC__ and #endif"

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
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_comment(const char *source, const char *at) {
    const char *start = at;
    while (start > source && start[-1] != '\n')
        start--;
    for (; start + 1 < at; start++)
        if (start[0] == '/' && start[1] == '/')
            return true;
    return false;
}

bool tt__refused_code(tt__str *out, const char *source) {
    const bool guarded = strstr(source, "__CUDACC_RTC__") != NULL; /* its host code is out of NVRTC's sight */
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        for (const char *at = source; (at = strstr(at, refused[i].word)); at++) {
            if ((guarded && strcmp(refused[i].why, HOST) == 0) ||
                (at > source && is_letter(at[-1]) && is_letter(*at)) || in_comment(source, at))
                continue;
            tt__str_addf(out, "`%s` %s", refused[i].word, refused[i].why);
            return true;
        }
    return false;
}
