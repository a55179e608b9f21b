/* Arrays that grow by one at a time. */
#ifndef TT_BASE_GROW_H
#define TT_BASE_GROW_H

#include <stddef.h>

#include "base/status.h"

/* Makes room for one more item after the n of `items`, which is NULL or an array from here. The array doubles
 * where n is 0 or a power of two, so its capacity need not be stored. Free it with free. On TT_E_NO_MEMORY it
 * is unchanged. */
#define TT__GROW(items, n) tt__grow(&(items), n, sizeof *(items))
tt_status tt__grow(void *items, size_t n, size_t size);

#endif
