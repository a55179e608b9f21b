/*
 * Shared by the fuzz targets. scripts/fuzz links each with libFuzzer, and tests link it with replay.c, which
 * runs the corpus. For speed, a target keeps what it can between executions (a store in memory, a
 * connection). One execution in 64, chosen by its bytes, starts from nothing as a user would.
 */
#ifndef TT_TESTS_FUZZ_H
#define TT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Each target has a mutator. It changes the bytes in place, so that most results still have the target's
 * format. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* Changes bytes blindly: libFuzzer's, or that of replay.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Is this an execution that starts from nothing? */
bool fuzz_fresh(const uint8_t *data, size_t size);
/* Aborts with the last error unless it holds. */
void fuzz_want(bool holds, const char *what);
/* Makes the bytes a file. There is one at a time. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* Takes a store over into another; what was taken must pass the check of a store. */
void fuzz_merge(tt__store *from, bool fresh);
/* Of this connection, which stays open, statements are prepared once. Of one only. */
struct sqlite3;
void fuzz_keep_statements(struct sqlite3 *db);
/* Makes a store of ours empty, whatever state it was left in. */
void fuzz_empty(tt__store *s);

/* Numbers for the mutators: the next of a sequence, below `n`. */
unsigned fuzz_random(unsigned *state, size_t n);
/* Cuts a text with # between its words into these. Returns how many there are. */
size_t fuzz_split(const char **words, size_t max, char *text);
/* Replaces data[at, at + old) by n bytes; the new size, or the old one where they do not fit. */
size_t fuzz_splice(uint8_t *data, size_t size, size_t max_size, size_t at, size_t old, const void *with,
                   size_t n);
/* Changes, takes away, doubles and moves words and lines; `words` are good ones. */
size_t fuzz_mutate_words(uint8_t *data, size_t size, size_t max_size, unsigned seed, const char *const *words,
                         size_t n_words);

#endif
