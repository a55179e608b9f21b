/* What an expression comes to: as a condition, and for messages. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/str.h"
#include "kernel/expression/expr.h"

char *tt__value_text(char out[TT__NAME_MAX], tt__value v) {
    tt__copy(out, TT__NAME_MAX, v.kind == TT__VALUE_NULL ? "NULL (a division by zero?)" : "a word");
    if (v.kind == TT__VALUE_INT)
        snprintf(out, TT__NAME_MAX, "%lld", (long long)v.i);
    if (v.kind == TT__VALUE_REAL)
        tt__format(out, TT__NAME_MAX,
                   v.f >= 0x1p63 || v.f < -0x1p63 ? "%g (beyond 64 bits)"
                   : v.f == floor(v.f)            ? "%.1f"
                                                  : "%g",
                   v.f);
    return out;
}

tt_status tt__query_row(tt__value *out, tt__query *q, size_t n) {
    bool found;
    tt_status status = tt__query_next(q, &found);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        out[i] = tt__query_value(q, i);
    tt__query_close(q);
    return status;
}

bool tt__value_holds(tt__value v) {
    return (v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL) && v.f != 0;
}

bool tt__query_holds(const tt__query *q, size_t column) {
    return tt__value_holds(tt__query_value(q, column));
}
