/* Where annotations count: lines of code do, and all that only looks like one is named with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/load/parse.h"
#include "kernel/annotation/annotation.h"

/* Seven lines; the text of a case comes after them. */
#define FRAME                                                                                                \
    "//@ kernel k\n//@ buffer x f32 4 out\n//@ param A 1 2\n//@ default A=1\n//@ block 1\n//@ grid 1\n"      \
    "//@ args x\n"

static tt_status parse(tt__template **t, const char *lines) {
    char text[1024];
    snprintf(text, sizeof text, FRAME "%s\nextern \"C\" void k(); int a = A;\n", lines);
    return tt__template_parse(t, "t.cu", text);
}

static const struct {
    const char *lines, *says; /* NULL: taken, and the lines hold no `where` */
} places[] = {
    {"/*\n//@ where A > 1\n*/",
     "t.cu:9:1: `//@ where` is in the comment that begins in line 8, and does not"},
    {"/* a\n b\n  //@where A > 1 */", "t.cu:10:3: `//@ where` is in the comment that begins in line 8"},
    {"const char *s = R\"(\n//@ where A > 1\n)\";",
     "t.cu:9:1: `//@ where` is in the text that begins in line 8"},
    {"#define B \\\n//@ where A > 1",
     "t.cu:9:1: `//@ where` belongs to a line that ends with a backslash, line 8"},
    {"// a \\\n//@ where A > 1",
     "t.cu:9:1: `//@ where` belongs to a line that ends with a backslash, line 8"},
    {"// a \\\r\n//@ where A > 1", "t.cu:9:1: `//@ where` belongs to a line that ends with a backslash"},
    {"//@ where A > 0 \\\n//@ where A > 1",
     "t.cu:8:17: an annotation ends with its line, and a backslash makes"},
    {"//@ sample \\\r\n", "t.cu:8:12: an annotation ends with its line, and a backslash makes"},
    {"#if 0\n//@ where A > 1\n#endif",
     "t.cu:9:1: `//@ where` is in the #if of line 8, but an annotation counts"},
    {"#if 1\n#else\n//@ tolerance rel 1\n#endif", "t.cu:10:1: `//@ tolerance` is in the #if of line 8"},
    {"\n # ifdef B\n#if 0\n#endif\n//@ where A > 1\n#endif",
     "t.cu:12:1: `//@ where` is in the #if of line 9"},
    {"int i; //@ where A > 1", "t.cu:8:8: `//@ where` stands behind something else"},
    {"/* a */ //@ where A > 1", "t.cu:8:9: `//@ where` stands behind something else"},
    {"/* a\n*/ //@ where A > 1", "t.cu:9:4: `//@ where` stands behind something else"},
    {"//@ where A > 0 // always",
     "t.cu:8:17: found '//', but no comment may follow in the line of an annotation"},
    {"//@ where A > 0 /* always */", "t.cu:8:17: found '/*', but no comment may follow in the line"},
    {"//@ param B 1 2 //two", "t.cu:8:17: found '//', but no comment may follow in the line"},
    {"//@ problem n // none", "t.cu:8:15: found '//', but no comment may follow in the line"},
    {"//@brief k", "t.cu:8:4: unknown annotation 'brief'"},
    {"//@", "an empty annotation"},
    /* What counts nowhere is no fault where it does not look as if it counted. */
    {"//@{\n//@}\n  //@{ a group", NULL},
    {"/*\n//@{\n//@ brief\n// where A > 1\n * //@ where A > 1\n*/", NULL},
    {"#if 0\n//@{\n//@}\n#endif", NULL},
    {"// //@ where A > 1\n////@ where A > 1\n// See //@ where A > 1", NULL},
    {"const char *s = \"//@ where A > 1\";", NULL},
    {"#if 0 // a\n#endif /* \n*/\n//@ problem n 3", NULL},
    {"const char c = '\"', *s = \"/*\"; // don't\n//@ problem n 3", NULL},
};

static void count_in_lines_of_code(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        tt__template *t;
        tt_status status = parse(&t, places[i].lines);
        if (places[i].says ? status != TT_E_TEMPLATE || !strstr(tt_last_error(), places[i].says)
                           : status != TT_OK || t->n_wheres)
            fail_msg("%s\n  found    %s\n  expected %s", places[i].lines, status ? tt_last_error() : "taken",
                     places[i].says ? places[i].says : "taken");
        tt__template_free(&t);
    }
}

static void lookalikes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *lines, *says;
    } cases[] = {
        {"// @ where A > 1", "line 8: `// @ where` is a comment only: an annotation begins with //@"},
        {"// @where A > 1", "line 8: `// @where` is a comment only: an annotation begins with //@"},
        {"  /// @param X\n//! @grid 4",
         "line 8: `/// @param` is a comment only: an annotation begins with //@\n"
         "line 9: `//! @grid` is a comment only: an annotation begins with //@"},
        {"///@param B 1 2 4", "line 8: `///@param` is a comment only: an annotation begins with //@"},
        {"//\t@ param B one two", "line 8: `//\t@ param` is a comment only: an annotation begins with //@"},
        {"/// @param x the values\n/// @brief Twice\n/// @{\n// @param x Where to.", ""},
        {"/**\n * @param x 1\n // @ where A > 1\n */", ""},
        {"int b; // @ where A > 1\n// mail@where.org\n// at @ where\n////@ where A > 1\n// //@ where", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__template *t;
        tt__str says = {0};
        if (parse(&t, cases[i].lines) != TT_OK)
            fail_msg("%s: %s", cases[i].lines, tt_last_error());
        assert_int_equal(tt__annotation_lookalikes(&says, t), TT_OK);
        assert_string_equal(tt__str_text(&says), cases[i].says);
        tt__str_free(&says);
        tt__template_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_in_lines_of_code),
        cmocka_unit_test(lookalikes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
