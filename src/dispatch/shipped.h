/* The lowest layer: winners that come with the library, made from recordings/ when it is built. */
#ifndef TT_DISPATCH_SHIPPED_H
#define TT_DISPATCH_SHIPPED_H

#include "db/store.h"

extern const tt__winner tt__shipped[];
extern const size_t tt__n_shipped;

#endif
