/* What is code and what is not: the lines of a text, and what each begins in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "code/cxx.h"

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

static void same_tokens(const char *a, const char *b, bool same) {
    tt__str x = {0}, y = {0};
    tt__cxx_tokens(&x, a);
    tt__cxx_tokens(&y, b);
    if ((strcmp(tt__str_text(&x), tt__str_text(&y)) == 0) != same)
        fail_msg("\"%s\" and \"%s\" are %s", a, b, same ? "other tokens" : "the same");
    tt__str_free(&x);
    tt__str_free(&y);
}

static void tells_tokens(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
    } alike[] =
        {
            {"int a = 5;", "int  a\t=\n5 ;"},
            {"f(a, b)", "f( a,b ) // c"},
            {"a /* b */ + c", "a + c"},
            {"// x\nint a;", "int a;\n/* // */"},
            {"#define A 1\nint b;", "// c\n#define A   1 // d\n\n\nint b;\n"},
            {"#define A(x) \\\n x + 1\n", "#define A(x)   x /* \n */ + 1\n"},
            {"#line 3 \"a.h\"\nint a;", "int a;"},
            {"//@ param A 1 2 \nx", "  //@ param A 1 2\nx"},
            {"1'000 + 0x1e+2", "1'000  +  0x1e+2"},
            {"u8R\"x(a\n)x\"", " u8R\"x(a\n)x\" "},
            {"'/' + \"//\"", "'/'  + \"//\" /* */"},
            {"a\r\nb", "a\nb"},
        },
      others[] = {
          {"a + +b", "a ++b"},
          {"a b", "ab"},
          {"a/**/b", "ab"},
          {"1 .5", "1.5"},
          {"\"a b\"", "\"a  b\""},
          {"\"a\"_s", "\"a\" _s"},
          {"u8\"a\"", "u8 \"a\""},
          {"'a'", "'b'"},
          {"#define F(x) 1\n", "#define F (x) 1\n"},
          {"#define A 1\n+ 2", "#define A 1 + 2\n"},
          {"#define A\n#define B", "#define A #define B"},
          {"#if 1\na\n#endif", "#if 1 a\n#endif"},
          {"//@ param A 1 2\nx", "//@ param A 1 3\nx"},
          {"//@ param A 1 2\nx", "// param A 1 2\nx"},
          {"f(__LINE__)", "\nf(__LINE__)"},
          {"a < -b", "a <- b"},
          {"0x1e+2", "0x1e +2"},
          {"R\"(a // b)\"", "R\"(a )\""},
          {"// a \\\n b\nc", "b\nc"},
      };
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        same_tokens(alike[i].a, alike[i].b, true);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        same_tokens(others[i].a, others[i].b, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_lines_begin_in),
        cmocka_unit_test(says_where_it_began),
        cmocka_unit_test(tells_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
