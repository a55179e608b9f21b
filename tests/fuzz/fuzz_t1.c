/* Any bytes as a tuning problem in T1: refused with a sentence, or a kernel file that parses. */
#include "fuzz.h"

#include <string.h>

#include "mutate_json.h"
#include "template/template.h"
#include "tuner/t1/t1.h"

/* With the kernels that the corpus names. */
static const char source[] = "__global__ void saxpy(float *y, const float *x, float a, int n) {}\n"
                             "__global__ void threes(float4 *out) {}\n";

static void look_at(const tt__t1 *t1) {
    tt__str text = {0}, notes = {0};
    tt__template *t = NULL;
    tt_status status = tt__t1_convert(&text, &notes, t1, "fuzz.json", source);
    fuzz_want(status == TT_OK || ((status == TT_E_INVALID || status == TT_E_NO_MEMORY) && *tt_last_error()),
              "a refusal");
    if (status == TT_OK)
        fuzz_want(tt__template_parse(&t, "fuzz.cu", text.text) == TT_OK, "a template");
    tt__template_free(&t);
    tt__str_free(&text);
    tt__str_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tt__t1 *t1;
    tt_status status = tt__t1_read(&t1, fuzz_file(data, size));
    if (status == TT_OK)
        look_at(t1);
    else
        fuzz_want(status == TT_E_INVALID && *tt_last_error(), "a refusal");
    tt__t1_free(&t1);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_json(data, size, max_size, seed);
}
