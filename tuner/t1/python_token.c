/* The words, numbers, texts and signs of Python. */
#include "tuner/t1/python_token.h"

#include <string.h>

#include "template/scan.h"

static const char *const signs[] = {"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
                                    "+",  "-",  "*",  "/",  "%",  "<",  ">",  "(",  ")",  "[",
                                    "]",  ",",  "|",  "&",  "^",  "~",  "!",  "."};

static size_t number_length(const char *at) {
    size_t n = strspn(at, "0123456789");
    if (n == 1 && *at == '0' && (at[1] | 32) == 'x')
        return 2 + strspn(at + 2, "0123456789abcdefABCDEF");
    if (at[n] == '.')
        n += 1 + strspn(at + n + 1, "0123456789");
    if ((at[n] | 32) == 'e') {
        size_t sign = at[n + 1] == '-' || at[n + 1] == '+';
        size_t power = strspn(at + n + 1 + sign, "0123456789");
        n += power ? 1 + sign + power : 0;
    }
    return n;
}

tt_status tt__py_lex(tt__py_token *p, const char *at) {
    at += strspn(at, " \t\r\n");
    p->at = at;
    p->n = 1;
    if (!*at) {
        p->kind = TT__PY_END;
        p->n = 0;
        return TT_OK;
    }
    if ((*at >= '0' && *at <= '9') || (*at == '.' && at[1] >= '0' && at[1] <= '9')) {
        p->kind = TT__PY_NUMBER;
        p->n = number_length(at);
        return tt__is_word_char(at[p->n]) ? tt__fail(TT_E_INVALID, "'%.*s' is no number", (int)p->n + 1, at)
                                          : TT_OK;
    }
    if (tt__is_word_char(*at)) {
        p->kind = TT__PY_NAME;
        while (tt__is_word_char(at[p->n]))
            p->n++;
        return TT_OK;
    }
    if (*at == '"' || *at == '\'') {
        p->kind = TT__PY_TEXT;
        p->n = strcspn(at + 1, *at == '"' ? "\"\\" : "'\\") + 2;
        return at[p->n - 1] == *at
                   ? TT_OK
                   : tt__fail(TT_E_INVALID, "a text that is never closed, or has a backslash");
    }
    p->kind = TT__PY_MARK;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(at, signs[i], strlen(signs[i])) == 0) {
            p->n = strlen(signs[i]);
            return TT_OK;
        }
    return tt__fail(TT_E_INVALID,
                    *at > ' ' && *at < 127 ? "'%c' is nothing known here" : "a character 0x%02x",
                    (unsigned char)*at);
}
