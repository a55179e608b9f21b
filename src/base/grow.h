/* Arrays that grow by one at a time. */
#ifndef TT_BASE_GROW_H
#define TT_BASE_GROW_H

#include <stddef.h>

#include "base/status.h"

/* Makes room for one more behind the n items of `items`, an array from here or NULL: where n is 0 or a power
 * of two it becomes twice as large, so that nobody has to remember its capacity. Free it with free. On
 * TT_E_NO_MEMORY it stays as it was. */
#define TT__GROW(items, n) tt__grow(&(items), n, sizeof *(items))
tt_status tt__grow(void *items, size_t n, size_t size);

#endif
