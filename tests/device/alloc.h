/* The library's own allocations, counted and made to fail. For programs that link it with alloc_link_args of
 * tests/meson.build; what SQLite, libc or the driver allocate for themselves is not seen. */
#ifndef TT_TESTS_ALLOC_H
#define TT_TESTS_ALLOC_H

/* Allocations so far, and those of them that were not freed. */
long alloc_count(void);
long alloc_live(void);
/* From now on the n-th allocation fails, once; 0: none. */
void alloc_fail(long n);

#endif
