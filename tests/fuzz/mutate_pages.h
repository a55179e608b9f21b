/* The mutator of SQLite databases. */
#ifndef TT_TESTS_MUTATE_PAGES_H
#define TT_TESTS_MUTATE_PAGES_H

#include <stddef.h>
#include <stdint.h>

size_t fuzz_mutate_pages(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
