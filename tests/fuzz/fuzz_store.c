/* Any bytes as a store of somebody else's: refused with a sentence, or merged into one that passes its own
 * check. */
#include "fuzz.h"

#include "db/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file(data, size);
    tt__store *s;
    bool trusted;
    tt_status status = tt__store_open_foreign(&s, path, &trusted);
    if (status == TT_OK)
        fuzz_merge(s);
    else
        fuzz_want(status == TT_E_DB && *tt_last_error(), "a refusal");
    tt__store_close(&s);
    return 0;
}
