/* The lowest layer: winners and rules that come with the library, made from recordings/ when it is built. */
#ifndef TT_DISPATCH_SHIPPED_H
#define TT_DISPATCH_SHIPPED_H

#include "db/store.h"

extern const tt__winner tt__shipped[];
extern const size_t tt__n_shipped;

typedef struct tt__shipped_rule {
    tt__gpu gpu;
    const char *text; /* base/rule.h */
} tt__shipped_rule;
extern const tt__shipped_rule tt__shipped_rules[];
extern const size_t tt__n_shipped_rules;

#endif
