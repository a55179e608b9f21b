/* Compiled images in the folder $HOSTCUDA_CACHE; without it nothing is kept. */
#ifndef HOSTCUDA_CACHE_H
#define HOSTCUDA_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place of one image. */
typedef struct hostcuda_cached {
    const char *folder; /* NULL: there is no cache */
    uint64_t hash;      /* of all that makes the image */
    int lock;           /* descriptor; < 0: none */
} hostcuda_cached;

/* Finds the place by the text, the compiler's whole command line (options, sanitizers) and the shim. */
hostcuda_cached hostcuda_cache_open(const char *text, size_t text_bytes, const char *const *argv);
/* False if the image must be compiled. Others that want the same image then wait until hostcuda_cache_close.
 * The caller frees *library. */
bool hostcuda_cache_get(hostcuda_cached *c, char **library, size_t *library_bytes);
/* A failure here only costs time later, so it is ignored. */
void hostcuda_cache_put(const hostcuda_cached *c, const char *library, size_t library_bytes);
void hostcuda_cache_close(hostcuda_cached *c);

#endif
