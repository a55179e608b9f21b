/*
 * The linker replaces malloc and its relatives by these (--wrap).
 */
#include "alloc.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static atomic_long count, live, fails_at;

long alloc_count(void) {
    return count;
}

long alloc_live(void) {
    return live;
}

void alloc_fail(long n) {
    fails_at = n > 0 ? count + n : 0;
}

static int fails(void) {
    return ++count == fails_at;
}

static void *counted(void *p) {
    live += p != NULL;
    return p;
}

void *__wrap_malloc(size_t n) {
    return fails() ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n) {
    if (!p)
        return __wrap_malloc(n);
    return fails() ? NULL : __real_realloc(p, n);
}

void __wrap_free(void *p) {
    live -= p != NULL;
    __real_free(p);
}

char *__wrap_strndup(const char *s, size_t n) {
    n = strnlen(s, n);
    char *copy = __wrap_malloc(n + 1);
    if (copy) {
        memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *s) {
    return __wrap_strndup(s, strlen(s));
}
