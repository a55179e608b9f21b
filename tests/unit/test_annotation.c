/* Where annotations count: lines of code do, and all that only looks like one is named with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/annotation/annotation.h"
#include "kernel/load/parse.h"

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

/* A refused option says what to write in its place. */
static void options_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *options, *says; /* NULL: taken */
    } cases[] = {
        {"--use_fast_math -lineinfo --fmad=false -DC -DB=2 -UN -std=c++20 --std=c++14", NULL},
        {"--ptxas-options=-O1,-dlcm=cg --ptxas-options=--allow-expensive-optimizations=true", NULL},
        {"-DA=1", "t.cu:8:13: -DA=1 would take the place of `param A`, which makes the macro: take"},
        {"-w -DA", "t.cu:8:16: -DA would take the place of `param A`"},
        {"-UA", "t.cu:8:13: -UA would take the place of `param A`"},
        {"-DELEM_SIZE=4", "-DELEM_SIZE=4 would take the place of `elem_size ELEM_SIZE`"},
        {"-DD=2\n//@ derived D A + 1", "-DD=2 would take the place of `derived D`"},
        {"-O3", "t.cu:8:13: -O3 is not allowed: code is always optimized"},
        {"-std c++20", "-std is not allowed: the standard goes with =, as in -std=c++20"},
        {"-std=gnu++20", "-std=gnu++20 is not allowed: the standard goes with =, as in -std=c++20"},
        {"-maxrregcount=64", "-maxrregcount=64 is not allowed: it is an annotation: //@ maxrregcount 64"},
        {"--maxrregcount 64", "--maxrregcount is not allowed: it is an annotation"},
        {"-I/usr/include", "-I/usr/include is not allowed: it is an annotation: //@ include FOLDER"},
        {"-Iinclude", "-Iinclude is not allowed: it is an annotation: //@ include FOLDER"},
        {"--include-path=x", "--include-path=x is not allowed: it is an annotation: //@ include FOLDER"},
        {"-include x.h", "-include is not allowed: write #include in the file"},
        {"-arch=sm_90a", "-arch=sm_90a is not allowed: the code is made for the GPU that is tuned"},
        {"--expt-relaxed-constexpr", "is not allowed: it is nvcc's: write -default-device"},
        {"-Xptxas -v", "-Xptxas is not allowed: a value goes with =, as in --ptxas-options=-dlcm=cg"},
        {"-Xptxas=-v", "-Xptxas=-v is not allowed: of ptxas -O, -dlcm, -dscm"},
        {"--ptxas-options=-O1,--output-file=x", "is not allowed: of ptxas -O, -dlcm, -dscm"},
        {"-rdc=true", "-rdc=true is not allowed: a file is compiled as a whole"},
        {"-lcublas", "-lcublas is not allowed: code of libraries cannot be linked"},
        {"-D A", "-D is not allowed: a macro goes without a blank, as in -DNAME=1"},
        {"--time=x", "--time=x is not allowed: only options of NVRTC that say how code is made are"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[256];
        tt__template *t;
        snprintf(lines, sizeof lines, "//@ options %s", cases[i].options);
        tt_status status = parse(&t, lines);
        if (cases[i].says ? status != TT_E_TEMPLATE || !strstr(tt_last_error(), cases[i].says)
                          : status != TT_OK)
            fail_msg("%s\n  found    %s\n  expected %s", cases[i].options, status ? tt_last_error() : "taken",
                     cases[i].says ? cases[i].says : "taken");
        tt__template_free(&t);
    }
}

/* Literals have the type that C++ gives them. */
static void literals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        tt__type type;
        const char *value;
    } cases[] = {
        {"3", TT__TYPE_I32, "3"},
        {"-3", TT__TYPE_I32, "-3"},
        {"3u", TT__TYPE_U32, "3"},
        {"3ll", TT__TYPE_I64, "3"},
        {"3L", TT__TYPE_I64, "3"},
        {"3ull", TT__TYPE_U64, "3"},
        {"3LLU", TT__TYPE_U64, "3"},
        {"4000000000", TT__TYPE_I64, "4000000000"},
        {"4000000000u", TT__TYPE_U32, "4000000000"},
        {"0x10", TT__TYPE_I32, "0x10"},
        {"0x10u", TT__TYPE_U32, "0x10"},
        {"0xffffffff", TT__TYPE_U32, "0xffffffff"},
        {"0x100000000", TT__TYPE_I64, "0x100000000"},
        {"0X10ull", TT__TYPE_U64, "0X10"},
        {"nullptr", TT__TYPE_U64, "0"},
        {"0.5", TT__TYPE_F64, "0.5"},
        {"0.5f", TT__TYPE_F32, "0.5"},
        {"1.F", TT__TYPE_F32, "1."},
        {"1e3f", TT__TYPE_F32, "1e3"},
        {"true", TT__TYPE_BOOL, "true"},
        {"3f", TT__TYPE_NONE, NULL},
        {"3lll", TT__TYPE_NONE, NULL},
        {"3uu", TT__TYPE_NONE, NULL},
        {"0.5u", TT__TYPE_NONE, NULL},
        {"0x", TT__TYPE_NONE, NULL},
        {"0xffffffffffffffff", TT__TYPE_NONE, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[128];
        tt__template *t;
        snprintf(lines, sizeof lines, "//@ kernel k\n//@ block 1\n//@ grid 1\n//@ args %s", cases[i].text);
        tt_status status = parse(&t, lines);
        if (!cases[i].value != (status != TT_OK))
            fail_msg("%s: %s", cases[i].text, status ? tt_last_error() : "taken");
        if (status == TT_OK) {
            assert_int_equal(t->args[1].type, cases[i].type);
            assert_string_equal(t->args[1].value.text, cases[i].value);
        }
        tt__template_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_in_lines_of_code),
        cmocka_unit_test(lookalikes_are_named),
        cmocka_unit_test(options_that_are_refused),
        cmocka_unit_test(literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
