/* The mutator of recordings. */
#ifndef TT_TESTS_MUTATE_JSON_H
#define TT_TESTS_MUTATE_JSON_H

#include <stddef.h>
#include <stdint.h>

size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
