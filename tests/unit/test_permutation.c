/* The canonical form of permutations: merging, copies, transposes, refusals. The forms of random ones move
 * each byte as a naive loop does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/problem.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct tensor {
    int rank, elem_size;
    int perm[TT_RANK_MAX];
    int64_t dims[TT_RANK_MAX], strides[TT_RANK_MAX];
    bool strided;
} tensor;

static tt_permutation asked(const tensor *t) {
    return (tt_permutation){.size = sizeof(tt_permutation),
                            .rank = t->rank,
                            .elem_size = t->elem_size,
                            .dims = t->dims,
                            .perm = t->perm,
                            .strides = t->strided ? t->strides : NULL};
}

static void forms(void **state) {
    (void)state;
    static const struct {
        tensor t;
        int align;
        const char *op, *text;
    } cases[] = {
        {{.rank = 4, .elem_size = 2, .perm = {0, 2, 1, 3}, .dims = {32, 2048, 16, 64}},
         16,
         "permute",
         "8x2048x16x32, stride1=128, stride2=8, stride3=262144, elem_size=16"},
        {{.rank = 4, .elem_size = 2, .perm = {0, 2, 1, 3}, .dims = {32, 2048, 16, 64}},
         2,
         "permute",
         "64x2048x16x32, stride1=1024, stride2=64, stride3=2097152, elem_size=2, align=2"},
        {{.rank = 4, .elem_size = 2, .perm = {0, 1, 3, 2}, .dims = {32, 16, 2048, 64}},
         16,
         "transpose",
         "2048x64, elem_size=2, batch=512"},
        {{.rank = 4, .elem_size = 1, .perm = {0, 2, 3, 1}, .dims = {4, 3, 5, 7}},
         16,
         "transpose",
         "3x35, elem_size=1, batch=4"},
        {{.rank = 3, .elem_size = 4, .perm = {0, 1, 2}, .dims = {4, 5, 6}}, 16, "copy", "bytes=480"},
        {{.rank = 3, .elem_size = 4, .perm = {2, 0, 1}, .dims = {4, 1, 1}}, 16, "copy", "bytes=16"},
        {{.rank = 1, .elem_size = 4, .perm = {0}, .dims = {1}}, 16, "copy", "bytes=4"},
        {{.rank = 3, .elem_size = 4, .perm = {0, 1, 2}, .dims = {4, 5, 6}},
         4,
         "permute",
         "120x1x1x1, align=4"},
        /* 2^42 bytes, more than `copy` takes */
        {{.rank = 1, .elem_size = 1, .perm = {0}, .dims = {INT64_C(1) << 42}},
         16,
         "permute",
         "274877906944x1x1x1, elem_size=16"},
        /* pairs of 4 bytes are transposed as elements of 8 */
        {{.rank = 3, .elem_size = 4, .perm = {1, 0, 2}, .dims = {5, 7, 2}},
         16,
         "transpose",
         "5x7, elem_size=8"},
        {{.rank = 2, .elem_size = 4, .perm = {0, 1}, .dims = {4, 6}, .strides = {8, 1}, .strided = true},
         16,
         "permute",
         "3x4x1x1, stride1=4, elem_size=8"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {4, 6}, .strides = {9, 1}, .strided = true},
         16,
         "transpose",
         "4x6, lds=9"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt_permutation p = asked(&cases[i].t);
        char text[TT__PROBLEM_TEXT_MAX];
        tt__problem out, again;
        const tt__operation *op;
        assert_int_equal(tt__permutation_problem(&out, &p, cases[i].align), TT_OK);
        assert_string_equal(out.op, cases[i].op);
        assert_string_equal(tt__problem_text(text, &out), cases[i].text);
        /* The operation's file has the same variables, in the same order, and moves as many bytes. */
        tt__str values = {0};
        tt__problem_add_settings(&values, &out, ",");
        assert_int_equal(tt__operation_builtin(&op, out.op), TT_OK);
        assert_int_equal(tt__operation_problem(&again, op, out.op, values.text), TT_OK);
        assert_true(tt__problem_same(&out, &again));
        assert_true(out.moved_bytes == again.moved_bytes);
        tt__str_free(&values);
    }
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        tensor t;
        int align;
        tt_status status;
        const char *says;
    } cases[] = {
        {{.rank = 0}, 16, TT_E_INVALID, "rank is 0"},
        {{.rank = 65, .elem_size = 4}, 16, TT_E_INVALID, "rank is 65"},
        {{.rank = 2, .elem_size = 4, .perm = {0, 2}, .dims = {4, 4}},
         16,
         TT_E_INVALID,
         "perm[1] is 2: a tensor of rank 2 has the axes 0 to 1"},
        {{.rank = 2, .elem_size = 4, .perm = {1, -1}, .dims = {4, 4}}, 16, TT_E_INVALID, "perm[1] is -1"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 1}, .dims = {4, 4}},
         16,
         TT_E_INVALID,
         "perm names axis 1 twice"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {4, 0}},
         16,
         TT_E_INVALID,
         "dims[1] is 0: an empty tensor has nothing to move"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {-4, 4}},
         16,
         TT_E_INVALID,
         "dims[0] is -4: it must be at least 1"},
        {{.rank = 2, .elem_size = 3, .perm = {1, 0}, .dims = {4, 4}},
         16,
         TT_E_INVALID,
         "elem_size is 3 bytes"},
        {{.rank = 2, .elem_size = 8, .perm = {1, 0}, .dims = {4, 4}},
         4,
         TT_E_INVALID,
         "elements of 8 bytes lie at multiples of 8: tensors aligned to 4"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {1 << 30, 1 << 30}},
         16,
         TT_E_INVALID,
         "more than 2^44 elements"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {4, 4}, .strides = {-4, 1}, .strided = true},
         16,
         TT_E_INVALID,
         "strides[0] is -4: strides below 1"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {4, 4}, .strides = {0, 1}, .strided = true},
         16,
         TT_E_INVALID,
         "strides[0] is 0"},
        {{.rank = 2, .elem_size = 4, .perm = {1, 0}, .dims = {4, 4}, .strides = {3, 1}, .strided = true},
         16,
         TT_E_INVALID,
         "the source overlaps itself"},
        {{.rank = 2,
          .elem_size = 4,
          .perm = {1, 0},
          .dims = {4, 4},
          .strides = {INT64_MAX / 2, 1},
          .strided = true},
         16,
         TT_E_INVALID,
         "reaches over more than 2^44"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt_permutation p = asked(&cases[i].t);
        tt__problem out;
        assert_int_equal(tt__permutation_problem(&out, &p, cases[i].align), cases[i].status);
        if (!strstr(tt_last_error(), cases[i].says))
            fail_msg("said %s, expected %s", tt_last_error(), cases[i].says);
    }
    tensor turned = {.rank = 20, .elem_size = 4};
    for (int i = 0; i < turned.rank; i++) {
        turned.perm[i] = turned.rank - 1 - i;
        turned.dims[i] = 2;
    }
    tt_permutation p = asked(&turned);
    tt__problem out;
    assert_int_equal(tt__permutation_problem(&out, &p, 16), TT_E_UNSUPPORTED);
    assert_non_null(strstr(tt_last_error(), "20 dimensions remain"));
}

/* ---- Random permutations ------------------------------------------------------------------------------- */

/* What the tensor's permutation does to the bytes of src, in plain loops. */
static void naive(unsigned char *dst, const unsigned char *src, const tensor *t, const int64_t *strides,
                  int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, from = 0;
        for (int k = t->rank; k-- > 0; rest /= t->dims[t->perm[k]])
            from += rest % t->dims[t->perm[k]] * strides[t->perm[k]];
        memcpy(dst + i * t->elem_size, src + from * t->elem_size, (size_t)t->elem_size);
    }
}

static void canonical(unsigned char *dst, const unsigned char *src, const tt__canonical *c) {
    int64_t n = 1;
    for (int k = 0; k < c->n; k++)
        n *= c->dim[k];
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, from = 0;
        for (int k = 0; k < c->n; rest /= c->dim[k++])
            from += rest % c->dim[k] * c->stride[k];
        memcpy(dst + i * c->elem_size, src + from * c->elem_size, (size_t)c->elem_size);
    }
}

static int below(int n) {
    return rand() % n;
}

static void make_random(tensor *t) {
    static const int sizes[] = {1, 1, 2, 2, 3, 4, 5, 8};
    int64_t stride = 1, gap = below(3);
    *t = (tensor){.rank = 1 + below(7), .elem_size = 1 << below(5), .strided = below(2)};
    for (int i = t->rank; i-- > 0;) {
        t->dims[i] = sizes[below(COUNT(sizes))];
        t->strides[i] = stride;
        stride = stride * t->dims[i] + (below(3) == 0 ? gap : 0);
        t->perm[i] = i;
    }
    for (int i = t->rank; i-- > 1;) {
        int k = below(i + 1), axis = t->perm[i];
        t->perm[i] = t->perm[k];
        t->perm[k] = axis;
    }
}

static void random_ones(void **state) {
    (void)state;
    enum { TESTS = 3000, BYTES = 1 << 20 };
    unsigned char *src = malloc(BYTES), *a = malloc(BYTES), *b = malloc(BYTES);
    srand(1);
    for (int i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 2654435761u >> 13);
    for (int i = 0; i < TESTS; i++) {
        tensor t;
        tt__canonical c;
        int64_t dense[TT_RANK_MAX], n = 1;
        make_random(&t);
        for (int k = t.rank; k-- > 0; n *= t.dims[k])
            dense[k] = n;
        if ((t.strided ? t.strides[0] * t.dims[0] : n) * t.elem_size > BYTES)
            continue;
        tt_permutation p = asked(&t);
        int align = t.elem_size << below(3);
        assert_int_equal(tt__permutation_canonical(&c, &p, align < 16 ? align : 16), TT_OK);
        naive(a, src, &t, t.strided ? t.strides : dense, n);
        canonical(b, src, &c);
        assert_memory_equal(a, b, (size_t)(n * t.elem_size));
        for (int k = 1; k < c.n; k++) /* nothing is left to merge */
            assert_true(c.dim[k] > 1 && c.stride[k] != c.stride[k - 1] * c.dim[k - 1]);
    }
    free(src);
    free(a);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(refusals),
        cmocka_unit_test(random_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
