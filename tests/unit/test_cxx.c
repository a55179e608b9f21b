/* What is code and what is not: the lines of a text, and what each begins in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cxx.h"

/* A letter for each line: code, comment, text, continued. A capital: a // comment begins in it. */
static void tells_what_lines_begin_in(void **state) {
    (void)state;
    static const struct {
        const char *text, *kinds;
    } cases[] = {
        {"", ""},
        {"a", "c"},
        {"a\n\nb\n", "ccc"},
        {"// a\nb // c\n", "CC"},
        {"/* a\n b\n*/ c\n", "coo"},
        {"/* a */ b\nc", "cc"},
        {"/* a\n*/ // b\nc", "cOc"},
        {"/* // a\n", "c"},
        {"// a \\\n b \\\r\n c\nd", "Cllc"},
        {"#define A \\\n 1 \\\n // 2\n3", "clLc"},
        {"\"/*\"\na", "cc"},
        {"'\"' // a\n\"", "Cc"},
        {"R\"(\n// a\n\" )\" // b\nc", "ctTc"},
        {"u8R\"x(\n)\"\n)x\" + LR\"(\n)\"; // a\nb", "cttTc"},
        {"\"a \\\n b\" c\nd", "clc"},
        {"1'000 /* a\n */ 2'0 // b", "cO"},
        {"\"open\n// a\n", "cC"},
        {"/* open\n\n", "co"},
        {"R\"(open\n\n// a", "ctt"},
        {"\\\n\\\n//", "clL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__cxx_lines l = {.source = cases[i].text};
        char kinds[16] = "";
        while (tt__cxx_next_line(&l)) {
            const char *letters = l.comment ? "COTL" : "cotl";
            kinds[l.number - 1] = letters[l.inside];
        }
        if (strcmp(kinds, cases[i].kinds) != 0)
            fail_msg("%s\n  found    %s\n  expected %s", cases[i].text, kinds, cases[i].kinds);
    }
}

static void says_where_it_began(void **state) {
    (void)state;
    static const char text[] = "\n/*\n\n*/ R\"(\n)\"\n#define A \\\n B \\\n C\n";
    static const int since[] = {0, 0, 2, 2, 4, 0, 6, 6};
    tt__cxx_lines l = {.source = text};
    while (tt__cxx_next_line(&l))
        assert_int_equal(l.inside ? l.since : 0, since[l.number - 1]);
    assert_int_equal(l.number, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_lines_begin_in),
        cmocka_unit_test(says_where_it_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
