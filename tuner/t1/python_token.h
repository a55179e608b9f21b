/* Cutting Python's expressions up. */
#ifndef TT_TUNER_T1_PYTHON_TOKEN_H
#define TT_TUNER_T1_PYTHON_TOKEN_H

#include "base/status.h"

typedef struct tt__py_token {
    enum { TT__PY_END, TT__PY_NUMBER, TT__PY_NAME, TT__PY_TEXT, TT__PY_MARK } kind;
    const char *at; /* borrowed from the text */
    size_t n;
} tt__py_token;

/* The token at `at`, or behind the blanks there. TT_E_INVALID if there is none of Python's. */
tt_status tt__py_lex(tt__py_token *out, const char *at);

#endif
