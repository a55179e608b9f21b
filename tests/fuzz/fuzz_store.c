/*
 * Any bytes as a foreign store. They are refused with a message, or merged into a store that passes its own
 * check.
 */
#include "fuzz.h"

#include "db/conn.h"
#include "db/store.h"
#include "memory.h"
#include "mutate_pages.h"

/* Connections that have read a schema and prepared their statements, for files that differ elsewhere. The
 * oldest makes room. */
enum { KEPT_MAX = 16 };
static struct {
    tt__store *store;
    fuzz_layout layout;
} kept[KEPT_MAX];

static void keep(tt__store *s, const fuzz_layout *layout) {
    static unsigned next;
    s->read_until_s = 0; /* it is read again much later */
    tt__store_close(&kept[next % KEPT_MAX].store);
    fuzz_layout_free(&kept[next % KEPT_MAX].layout);
    kept[next % KEPT_MAX].store = s;
    kept[next++ % KEPT_MAX].layout = *layout;
}

static void open_file(const char *path, const uint8_t *data, size_t size, bool fresh) {
    fuzz_layout layout;
    tt__store *s;
    bool trusted;
    fuzz_memory_note(&layout);
    tt_status status = tt__store_open_foreign(&s, path, &trusted);
    fuzz_memory_note(NULL);
    if (status == TT_OK)
        fuzz_merge(s, fresh);
    else
        fuzz_want((status == TT_E_DB || status == TT_E_NO_MEMORY) && *tt_last_error(), "a refusal");
    if (status == TT_OK && !fresh && fuzz_layout_same(&layout, data, size)) {
        keep(s, &layout);
    } else {
        tt__store_close(&s);
        fuzz_layout_free(&layout);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_memory(data, size);
    bool fresh = fuzz_fresh(data, size);
    for (int i = 0; i < KEPT_MAX && !fresh; i++)
        if (fuzz_layout_same(&kept[i].layout, data, size)) {
            fuzz_merge(kept[i].store, false);
            return 0;
        }
    open_file(path, data, size, fresh);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_pages(data, size, max_size, seed);
}
