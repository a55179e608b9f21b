/*
 * Blocks of eighths: U+2588 to U+258F fill a column from the left, U+2581 to U+2588 from below.
 */
#include "tuner/cli/shell/spark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

bool tt__spark_can(int fd) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *term = secure_getenv("TERM"), *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
        locale = secure_getenv(names[i]);
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0) && locale &&
           (tt__has_letters(locale, "utf-8") || tt__has_letters(locale, "utf8"));
}

size_t tt__spark_columns(const char *text, size_t n) {
    size_t columns = 0;
    for (size_t i = 0; i < n && text[i]; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Appends the character U+2580 + code. */
static char *add_block(char *out, int code) {
    memcpy(out, "\xe2\x96", 2);
    out[2] = (char)(0x80 + code);
    return out + 3;
}

char *tt__spark_bar(char out[TT__SPARK_BYTES], double fraction, int cells) {
    int eighths = (int)lround(fmin(fmax(fraction, 0), 1) * cells * 8);
    char *end = out;
    for (int at = 0; at < eighths / 8; at++)
        end = add_block(end, 8);
    if (eighths % 8)
        end = add_block(end, 16 - eighths % 8);
    *end = '\0';
    return out;
}

char *tt__spark_line(char out[TT__SPARK_BYTES], const double *values, size_t n) {
    double low = INFINITY, high = -INFINITY;
    char *end = out;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    for (size_t i = 0; i < n; i++)
        end = add_block(end, 1 + (int)lround(high > low ? 7 * (values[i] - low) / (high - low) : 0));
    *end = '\0';
    return out;
}
