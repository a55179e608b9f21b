/* Writes JSON into a tt__str. Commas and nesting are kept; escaping too. Reading JSON is SQLite's job. */
#ifndef TT_BASE_JSON_H
#define TT_BASE_JSON_H

#include <stdint.h>

#include "base/str.h"

typedef struct tt__json {
    tt__str *out;
    int depth;
    bool filled[32]; /* does the container at this depth have a member already? */
} tt__json;

/* `key` is NULL for array members and the outermost value. */
void tt__json_open(tt__json *j, const char *key, char bracket); /* '{' or '[' */
void tt__json_close(tt__json *j, char bracket);                 /* '}' or ']' */
void tt__json_string(tt__json *j, const char *key, const char *value);
void tt__json_true(tt__json *j, const char *key);
void tt__json_int(tt__json *j, const char *key, int64_t value);
/* `digits` significant digits; a value that is not finite becomes null. */
void tt__json_number(tt__json *j, const char *key, double value, int digits);
/* "TILE_DIM=32 MODE=fast" as {"TILE_DIM":32,"MODE":"fast"}. */
void tt__json_config(tt__json *j, const char *key, const char *config);

#endif
