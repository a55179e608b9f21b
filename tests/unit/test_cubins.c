/* The queue of cubins: what is wanted comes first, what shares a cubin is compiled once, what is done is
 * kept. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "db/conn.h"
#include "db/store.h"
#include "kernel/load/parse.h"
#include "kernel/space/space.h"
#include "problem_fixture.h"
#include "tuner/backend/gpu/event_loop.h"
#include "tuner/farm/cubins.h"

static const char text[] = "//@ kernel   k\n"
                           "//@ op       transpose\n"
                           "//@ param    A 1 2 3 4\n"
                           "//@ runtime  R 1 2\n"
                           "//@ derived  EDGES rows % 32 > 0\n"
                           "//@ block    32\n"
                           "//@ grid     R\n"
                           "//@ args     dst, src\n"
                           "//@ default  A=1 R=1\n"
                           "extern \"C\" __global__ void k(int *dst, const int *src) {}\n";

typedef struct fixture {
    tt__store *store;
    tt__template *t;
    tt__problem p;
    tt__cubins cubins;
    tt__expected expected;
} fixture;

static const tt__gpu gpu = {.cc = 90, .max_threads_per_block = 1024};

static int enter(void **state) {
    static fixture f;
    f = (fixture){.p = square_of(64, 4)};
    assert_int_equal(tt__store_open(&f.store, ":memory:", TT__STORE_READ_WRITE), TT_OK);
    if (tt__template_parse(&f.t, "k.cu", text) != TT_OK)
        fail_msg("%s", tt_last_error());
    f.cubins = (tt__cubins){.store = f.store, .cc = 90, .nvrtc = "13.0"};
    f.expected = (tt__expected){.gpu = &gpu, .operation = f.t->operation}; /* nothing is verified here */
    *state = &f;
    return 0;
}

static int leave(void **state) {
    fixture *f = *state;
    tt__cubins_close(&f->cubins);
    tt__expected_close(&f->expected);
    tt__template_free(&f->t);
    tt__store_close(&f->store);
    return 0;
}

static tt__configuration configuration(const fixture *f, const char *config) {
    tt__candidate c;
    if (tt__space_resolve(&c, f->t, &gpu, &f->p, config) != TT_OK)
        fail_msg("%s", tt_last_error());
    return c.configuration;
}

static tt__cubin *want(fixture *f, const char *config) {
    tt__configuration c = configuration(f, config);
    tt__cubin *cubin;
    assert_int_equal(tt__cubins_want(&f->cubins, &c, &f->p, &cubin), TT_OK);
    return cubin;
}

static void expect(fixture *f, const char *config) {
    tt__configuration c = configuration(f, config);
    assert_int_equal(tt__expected_later(&f->expected, &c, &f->p), TT_OK);
}

static void expect_soon(fixture *f, size_t n, const char *const *configs) {
    tt__configuration c[4];
    const tt__configuration *pointers[4] = {0};
    for (size_t i = 0; i < n; i++) {
        c[i] = configuration(f, configs[i]);
        pointers[i] = &c[i];
    }
    assert_int_equal(tt__expected_soon(&f->expected, pointers, n, &f->p), TT_OK);
}

static tt__cubin *next(fixture *f) {
    tt__cubin *cubin;
    assert_int_equal(tt__cubins_next(&f->cubins, &f->expected, &cubin), TT_OK);
    return cubin;
}

static void test_order(void **state) {
    fixture *f = *state;
    static const char *const expected[] = {"A=1 R=1", "A=2 R=1", "A=2 R=2", "A=3 R=1", "A=4 R=1"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        expect(f, expected[i]);
    tt__cubin *four = want(f, "A=4 R=2"), *three = want(f, "A=3 R=2");
    assert_ptr_equal(next(f), four); /* in the order of wanting */
    assert_ptr_equal(next(f), three);
    tt__cubin *one = next(f), *two = next(f);
    assert_string_equal(one->config, "A=1 R=1"); /* and then of expecting */
    assert_string_equal(two->config, "A=2 R=1");
    assert_null(next(f)); /* the others share theirs */
    assert_int_equal(tt__expected_left(&f->expected), 0);
    assert_ptr_equal(want(f, "A=2 R=2"), two);
    assert_int_equal(two->state, TT__CUBIN_COMPILING);
}

/* A kernel may be judged by itself, and a reference is in the file of its kernel. */
static void test_one_text(void **state) {
    fixture *f = *state;
    tt__template *t = f->t, *same, *other;
    assert_int_equal(tt__template_parse(&same, "same.cu", text), TT_OK);
    assert_int_equal(tt__template_parse(&other, "other.cu",
                                        "// another\n"
                                        "//@ kernel k\n//@ op transpose\n"
                                        "//@ param A 1 2\n//@ runtime R 1\n//@ derived EDGES rows % 32 > 0\n"
                                        "//@ block 32\n//@ grid R\n//@ args dst, src\n//@ default A=1 R=1\n"
                                        "extern \"C\" __global__ void k(int *dst, const int *src) {}\n"),
                     TT_OK);
    tt__cubin *cubin = want(f, "A=2 R=1");
    f->t = same;
    assert_ptr_equal(want(f, "A=2 R=1"), cubin);
    assert_ptr_not_equal(want(f, "A=1 R=1"), cubin);
    f->t = other;
    assert_ptr_not_equal(want(f, "A=2 R=1"), cubin);
    f->t = t;
    tt__cubins_close(&f->cubins);
    f->cubins = (tt__cubins){.store = f->store, .cc = 90, .nvrtc = "13.0"};
    tt__template_free(&same);
    tt__template_free(&other);
}

/* The next expected cubins come after requested ones and before other expected ones, until the list is
 * replaced. */
static void test_next_before_the_rest(void **state) {
    fixture *f = *state;
    expect(f, "A=1 R=1");
    expect_soon(f, 2, (const char *const[]){"A=4 R=1", "A=3 R=2"});
    assert_int_equal(tt__expected_left(&f->expected), 3);
    tt__cubin *two = want(f, "A=2 R=1");
    assert_ptr_equal(next(f), two);
    assert_string_equal(next(f)->config, "A=4 R=1");
    expect_soon(f, 2, (const char *const[]){"A=4 R=2", "A=2 R=2"}); /* both are being compiled */
    assert_string_equal(next(f)->config, "A=1 R=1");
    expect_soon(f, 1, (const char *const[]){"A=3 R=1"});
    expect_soon(f, 0, NULL);
    assert_null(next(f));
    expect_soon(f, 1, (const char *const[]){"A=3 R=1"});
    tt__expected_forget(&f->expected);
    assert_null(next(f));
}

static void test_a_failure_is_remembered(void **state) {
    fixture *f = *state;
    tt__cubin *cubin = want(f, "A=1 R=1");
    assert_ptr_equal(next(f), cubin);
    tt__cubin_failed(cubin, TT__TRIAL_COMPILE_TIMEOUT, "compiled longer than 5 s");
    assert_ptr_equal(want(f, "A=1 R=2"), cubin);
    assert_null(next(f));
    assert_string_equal(cubin->reason, "compiled longer than 5 s");
}

/* Sizes with the same derived values share a cubin; others do not, not even by name in the store. */
static void test_what_is_derived_makes_another(void **state) {
    fixture *f = *state;
    static const int64_t sides[] = {64, 96, 100, 50};
    tt__cubin *cubins[4];
    tt__str key = {0};
    bool found;
    for (size_t i = 0; i < 4; i++) {
        tt__problem_set(&f->p, "rows", sides[i]);
        tt__configuration c = configuration(f, "A=1 R=1");
        cubins[i] = want(f, "A=1 R=1");
        assert_int_equal(tt__cubins_name(&f->cubins, &c, &f->p, cubins[i]), TT_OK);
    }
    assert_ptr_equal(cubins[0], cubins[1]);
    assert_ptr_equal(cubins[2], cubins[3]);
    assert_ptr_not_equal(cubins[0], cubins[2]);
    assert_string_not_equal(cubins[0]->key, cubins[2]->key);
    assert_ptr_equal(next(f), cubins[0]);
    assert_ptr_equal(next(f), cubins[2]);
    assert_null(next(f));
    assert_int_equal(tt__cubins_ready(&f->cubins, cubins[0], "image", 5), TT_OK);
    assert_int_equal(tt__cubins_save(&f->cubins, true), TT_OK);
    assert_int_equal(tt__store_cubin_find(f->store, f->t->hash, "A=1 R=1 EDGES=0", 4, 90, &key, &found),
                     TT_OK);
    assert_true(found);
    assert_string_equal(tt__str_text(&key), cubins[0]->key);
    tt__str_free(&key);
    assert_int_equal(tt__store_cubin_find(f->store, f->t->hash, "A=1 R=1 EDGES=1", 4, 90, &key, &found),
                     TT_OK);
    assert_false(found);
    static const struct {
        const char *config;
        bool linked;
    } linked[] = {{"A=1 R=1", true},        {"A=1 R=1 EDGES=0", true}, {"A=1 R=1 EDGES=1", false},
                  {"A=1 R=1 EDGES", false}, {"A=1 R=", false},         {"A=2 R=1", false}};
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
        assert_int_equal(tt__store_cubin_linked(f->store, f->t->hash, linked[i].config, 4, 90, &found),
                         TT_OK);
        assert_int_equal(found, linked[i].linked);
    }
}

static void test_what_is_saved_is_found(void **state) {
    fixture *f = *state;
    tt__cubin *cubin = want(f, "A=1 R=1");
    tt__configuration c = configuration(f, "A=1 R=1"), other = configuration(f, "A=1 R=2");
    tt__str key = {0};
    bool found;
    assert_ptr_equal(next(f), cubin);
    assert_int_equal(tt__cubins_ready(&f->cubins, cubin, "image", 5), TT_OK);
    assert_int_equal(tt__cubins_name(&f->cubins, &c, &f->p, cubin), TT_OK);
    assert_int_equal(tt__cubins_save(&f->cubins, true), TT_OK);
    assert_int_equal(tt__store_cubin_find(f->store, f->t->hash, "A=1 R=1 EDGES=0", 4, 90, &key, &found),
                     TT_OK);
    assert_true(found);
    assert_string_equal(tt__str_text(&key), cubin->key);
    tt__str_free(&key);

    tt__cubins again = {.store = f->store, .cc = 90, .nvrtc = "13.0"};
    assert_int_equal(tt__cubins_want(&again, &other, &f->p, &cubin), TT_OK);
    assert_int_equal(cubin->state, TT__CUBIN_READY);
    assert_int_equal(cubin->image.len, 5);
    tt__cubins_close(&again);
    assert_int_equal(sqlite3_exec(f->store->db, "UPDATE cubin SET image = x'00'", NULL, NULL, NULL),
                     SQLITE_OK);
    again = (tt__cubins){.store = f->store, .cc = 90, .nvrtc = "13.0"}; /* damaged: it is compiled anew */
    assert_int_equal(tt__cubins_want(&again, &other, &f->p, &cubin), TT_OK);
    assert_int_equal(cubin->state, TT__CUBIN_IDLE);
    tt__cubins_close(&again);
    again = (tt__cubins){.store = f->store, .cc = 100, .nvrtc = "13.0"}; /* of another GPU */
    assert_int_equal(tt__cubins_want(&again, &other, &f->p, &cubin), TT_OK);
    assert_int_equal(cubin->state, TT__CUBIN_IDLE);
    tt__cubins_close(&again);
}

/* Expected cubins wait while no compiler may work ahead. */
static void test_works_ahead_if_it_may(void **state) {
    fixture *f = *state;
    tt__cubin *cubin;
    expect(f, "A=1 R=1");
    assert_int_equal(tt__cubins_next(&f->cubins, NULL, &cubin), TT_OK);
    assert_null(cubin);
    tt__cubin *wanted = want(f, "A=2 R=1");
    assert_int_equal(tt__cubins_next(&f->cubins, NULL, &cubin), TT_OK);
    assert_ptr_equal(cubin, wanted);
    assert_non_null(next(f));
}

/* A cubin with five arrays of constants, of which `set` has a value. */
typedef struct image {
    Elf64_Ehdr head;
    Elf64_Shdr sections[4];
    Elf64_Sym symbols[5];
    char names[64];
    int data[8];
} image;

static image image_of(void) {
    image im = {
        .head = {.e_ident = ELFMAG "\2", .e_shoff = offsetof(image, sections), .e_shnum = 4, .e_shstrndx = 1},
        .sections = {{0},
                     {.sh_type = SHT_STRTAB, .sh_offset = offsetof(image, names), .sh_size = sizeof im.names},
                     {.sh_type = SHT_SYMTAB,
                      .sh_name = 1,
                      .sh_link = 1,
                      .sh_offset = offsetof(image, symbols),
                      .sh_size = sizeof im.symbols},
                     {.sh_type = SHT_PROGBITS,
                      .sh_name = 9,
                      .sh_offset = offsetof(image, data),
                      .sh_size = sizeof im.data}},
        .names = "\0.symtab\0.nv.constant3\0c\0left\0set\0_ZN1n1dE\0__of_cuda",
        .data = {0, 0, 1},
    };
    static const Elf64_Word names[] = {23, 25, 30, 34, 43};
    for (size_t i = 0; i < 5; i++)
        im.symbols[i] = (Elf64_Sym){.st_name = names[i],
                                    .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
                                    .st_shndx = 3,
                                    .st_value = 4 * i,
                                    .st_size = 4};
    return im;
}

static char said[512];

static void keep_message(void *user, const char *line) {
    (void)user;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

/* A run compiles the default of its own kernel, then another configuration, then the default anew. */
static void test_warns_once_of_what_stays_zero(void **state) {
    (void)state;
    static const char own[] = "//@ kernel k\n//@ buffer x f32 4 out\n//@ constant c f32 1\n//@ param A 1 2\n"
                              "//@ default A=1\n//@ block 1\n//@ grid 1\n//@ args x\n"
                              "__constant__ float c[1];\nvoid k();\n";
    static const char *const configs[] = {"A=2", "A=1", "A=1"};
    static tt__loop loop;
    const image im = image_of();
    tt__cubin cubin = {.state = TT__CUBIN_COMPILING}, *compiling = &cubin;
    const tt__msg_compiled m = {0};
    tt__template *t;
    loop = (tt__loop){.opts = {.on_message = keep_message}, .compiling = &compiling};
    assert_int_equal(tt__template_parse(&t, "k.cu", own), TT_OK);
    cubin.t = t;
    tt__str_addn(&loop.workers.payload, (const char *)&m, sizeof m);
    tt__str_addn(&loop.workers.payload, (const char *)&im, sizeof im);
    *said = '\0';
    for (size_t i = 0; i < 3; i++) {
        compiling = &cubin;
        snprintf(cubin.config, sizeof cubin.config, "%s", configs[i]);
        assert_int_equal(tt__loop_compiled(&loop, 0), TT_OK);
        tt__str_free(&cubin.image);
        if (i == 0)
            assert_string_equal(said, "");
    }
    assert_string_equal(
        said, "k.cu: the code has a __constant__ array left, which no `constant` line fills: it stays zero\n"
              "k.cu: the code has a __constant__ array d, which no `constant` line fills: it stays zero\n");
    tt__str_free(&loop.workers.payload);
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, enter, leave),
        cmocka_unit_test_setup_teardown(test_one_text, enter, leave),
        cmocka_unit_test_setup_teardown(test_next_before_the_rest, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_failure_is_remembered, enter, leave),
        cmocka_unit_test_setup_teardown(test_what_is_derived_makes_another, enter, leave),
        cmocka_unit_test_setup_teardown(test_what_is_saved_is_found, enter, leave),
        cmocka_unit_test_setup_teardown(test_works_ahead_if_it_may, enter, leave),
        cmocka_unit_test(test_warns_once_of_what_stays_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
