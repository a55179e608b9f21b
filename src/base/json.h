/*
 * Writes JSON into a tt__str, with commas, nesting and escaping. db/exchange reads it.
 */
#ifndef TT_BASE_JSON_H
#define TT_BASE_JSON_H

#include <stdint.h>

#include "base/str.h"

typedef struct tt__json {
    tt__str *out;
    int depth;
    bool filled[32]; /* has the container at this depth a member yet? */
} tt__json;

/* `key` is NULL for array members and the outermost value. */
void tt__json_open(tt__json *j, const char *key, char bracket); /* '{' or '[' */
void tt__json_close(tt__json *j, char bracket);                 /* '}' or ']' */
void tt__json_string(tt__json *j, const char *key, const char *value);
void tt__json_true(tt__json *j, const char *key);
void tt__json_int(tt__json *j, const char *key, int64_t value);
/* Writes `digits` significant digits. A value that is not finite becomes null. */
void tt__json_number(tt__json *j, const char *key, double value, int digits);
/* Writes units / 10^places, which is 0 or more, without an exponent. */
void tt__json_fixed(tt__json *j, const char *key, int64_t units, int places);
/* A value of a configuration, n characters: 32 is a number, fast a string. */
void tt__json_value(tt__json *j, const char *key, size_t n_key, const char *value, size_t n);
/* Writes "TILE_DIM=32 MODE=fast" as members of the object that is open. */
void tt__json_settings(tt__json *j, const char *config);
/* Writes it as {"TILE_DIM":32,"MODE":"fast"}. */
void tt__json_config(tt__json *j, const char *key, const char *config);

#endif
