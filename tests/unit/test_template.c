/* Templates from their text: what is read, every sentence of refusal, and thousands of damaged texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/read_file.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"

#ifndef TT_SOURCE_DIR
#define TT_SOURCE_DIR "."
#endif
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Stand-ins, replaced by the real ones where the whole library is linked. */
#define TINY_OF(op, name)                                                                                    \
    "//@ kernel " name "\n//@ op " op "\n//@ block 1\n//@ grid 1\n//@ args dst\nextern \"C\" void " name     \
    "();"                                                                                                    \
    "\n"
#define TINY(name) TINY_OF("copy", name)
__attribute__((weak))
const tt__builtin tt__builtins[] = {{"one.cu", TINY("one"), NULL}, {"two.cu", TINY("two"), NULL}};
__attribute__((weak)) const size_t tt__n_builtins = 2;

static const char *const lines[] = {
    "// A kernel.",
    "//@ kernel   k   the symbol, and a remark",
    "//@ op       transpose",
    "//@ param    TILE_DIM 16 32",
    "  //@param   MODE slow fast\r",
    "//@ where    TILE_DIM <= max_threads_per_block AND MODE IN ('slow', 'fast')",
    "//@ block    TILE_DIM, max(4, 8)",
    "//@ grid     ceil_div(cols, TILE_DIM), rows",
    "//@ shared   TILE_DIM * elem_size",
    "//@ args     dst, src, i64 rows, i32 max(1, 2), f32 0.5",
    "//@ default  MODE=fast TILE_DIM=32",
    "extern \"C\" __global__ void k(void *dst) {}",
};

/* The text above with one line (from 1) replaced, and what the caller adds. */
static tt__str text_with(size_t line, const char *instead) {
    tt__str s = {0};
    for (size_t i = 0; i < COUNT(lines); i++)
        tt__str_addf(&s, "%s\n", i + 1 == line ? instead : lines[i]);
    return s;
}

/* Frees the text. */
static void expect_refused(tt__str *text, const char *sentence) {
    tt__template *t = (tt__template *)text;
    tt_status status = tt__template_parse(&t, "t.cu", text->text);
    if (status != TT_E_TEMPLATE || !strstr(tt_last_error(), sentence) ||
        strncmp(tt_last_error(), "t.cu:", 5) != 0)
        fail_msg("status %d\n  found    %s\n  expected %s", status, tt_last_error(), sentence);
    assert_null(t);
    tt__str_free(text);
}

static void reads_everything(void **state) {
    (void)state;
    tt__str text = text_with(0, NULL);
    tt__template *t;
    if (tt__template_parse(&t, "t.cu", text.text) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_string_equal(t->path, "t.cu");
    assert_string_equal(t->source, text.text);
    assert_int_equal(strlen(t->hash), 64);
    assert_string_equal(t->kernel, "k");
    assert_string_equal(t->op, "transpose");
    assert_int_equal(t->n_params, 2);
    assert_string_equal(t->params[0].name, "TILE_DIM");
    assert_int_equal(t->params[1].n_values, 2);
    assert_string_equal(t->params[1].values[1], "fast");
    assert_int_equal(t->n_wheres, 1);
    assert_int_equal(t->wheres[0].line, 6);
    assert_string_equal(t->passes[0].block[1].text, "max(4, 8)");
    assert_int_equal(t->passes[0].block[1].column, 24);
    assert_null(t->passes[0].block[2].text);
    assert_string_equal(t->passes[0].grid[0].text, "ceil_div(cols, TILE_DIM)");
    assert_string_equal(t->passes[0].shared.text, "TILE_DIM * elem_size");
    assert_int_equal(t->n_args, 5);
    assert_int_equal(t->args[0].operand, 1);
    assert_int_equal(t->args[3].type, TT__TYPE_I32);
    assert_string_equal(t->args[3].value.text, "max(1, 2)");
    assert_string_equal(t->default_config, "TILE_DIM=32 MODE=fast");
    tt__template_free(&t);
    assert_null(t);
    tt__template_free(&t);
    tt__str_free(&text);
}

static void needs_no_parameters(void **state) {
    (void)state;
    tt__template *t;
    assert_int_equal(tt__template_parse(&t, "t.cu", "\xEF\xBB\xBF" TINY("k")), TT_OK);
    assert_string_equal(t->default_config, "");
    tt__template_free(&t);
}

/* For one element size, one architecture, small matrices, few rows or columns, or batches: the default need
 * not be legal everywhere. */
static void default_may_be_special(void **state) {
    (void)state;
    static const char *const wheres[] = {"elem_size = 16",
                                         "cc >= 100",
                                         "rows < 1000 AND elem_size = 2",
                                         "rows > 1000 AND cols < 9",
                                         "rows < 9 AND cols > 1000",
                                         "batch > 1 AND rows < 100"};
    for (size_t i = 0; i < COUNT(wheres); i++) {
        tt__str s = {0};
        tt__template *t;
        tt__str_addf(&s, TINY_OF("transpose", "k") "//@ where %s\n", wheres[i]);
        if (tt__template_parse(&t, "t.cu", s.text) != TT_OK)
            fail_msg("%s", tt_last_error());
        tt__template_free(&t);
        tt__str_free(&s);
    }
}

#define NOT_LEGAL                                                                                            \
    "t.cu:11:14: the default configuration is not legal: k TILE_DIM=32 MODE=fast cannot do 4096x4096"
#define LONG32 "a_name_of_thirty_two_characters_"

/* A line, what stands there instead (annotations without their //@), and the sentence it earns. */
static const struct {
    size_t line;
    const char *instead, *sentence;
} damages[] = {
    {2, "", "t.cu: no `kernel` annotation, expected a line: //@ kernel NAME"},
    {2, "kernel", "t.cu:2:5: `kernel` stands alone, expected: kernel NAME"},
    {2, "kernel 2k", "t.cu:2:12: found '2k', expected a name"},
    {2, "kernel nosuch", "t.cu:2:12: the code has no kernel nosuch, which `kernel` names"},
    {2, "kernel " LONG32 LONG32, "t.cu:2:12: a name of 64 characters, the limit is 63"},
    {2, "kernle k", "t.cu:2:5: unknown annotation 'kernle'; did you mean kernel?"},
    {2, "banana k", "t.cu:2:5: unknown annotation 'banana'"},
    {2, "b\x01\x02n k",
     "t.cu:2:5: unknown annotation 'b?"
     "?n'"},
    {2, " ", "t.cu:2:4: an empty annotation, expected a keyword after //@"},
    {2, "kernel k\n//@ kernel k",
     "t.cu:2:12: no `block` annotation behind `k`, expected a line: //@ block EXPRESSION, ..."},
    {3, "", "t.cu: no `op` annotation, expected a line: //@ op NAME"},
    {3, "op a-b", "t.cu:3:8: found 'a-b', expected a name"},
    {3, "op " LONG32 LONG32, "t.cu:3:8: a name of 64 characters, the limit is 63"},
    {3, "op transposs", "t.cu:3:8: there is no operation transposs; did you mean transpose? (there are "},
    {3, "op copy\n//@ op copy", "t.cu:4:5: a second `op`, the first is in line 3"},
    {4, "param", "t.cu:4:5: `param` stands alone, expected: param NAME VALUE ..."},
    {4, "param TILE_DIM", "t.cu:4:19: TILE_DIM has no values"},
    {4, "param 1x 1 2", "t.cu:4:11: found '1x', expected a name"},
    {4, "param rows 1 2", "t.cu:4:11: rows is a property of the problem, choose another name"},
    {4, "param ROWS 1 2",
     "t.cu:4:11: ROWS differs only in capitals from rows, which is a property of the problem: choose another "
     "name"},
    {4, "param ELEM_SIZE 1", "t.cu:4:11: ELEM_SIZE is a property of the problem, choose another name"},
    {4, "param cc 1 2", "t.cu:4:11: cc is a property of the device, choose another name"},
    {4, "param Min 1 2", "t.cu:4:11: Min is a function, choose another name"},
    {4, "param case 1 2", "t.cu:4:11: case is an operator of expressions, choose another name"},
    {4, "param mode 1 2",
     "t.cu:5:14: MODE differs only in capitals from mode, which is a parameter: choose another name"},
    {4, "param T 16 1.5.2", "t.cu:4:16: value '1.5.2' of T is neither a number nor a plain word"},
    {4, "param T 16 016", "t.cu:4:16: value '016' of T is neither"},
    {4, "param T 16 -", "t.cu:4:16: value '-' of T is neither"},
    {4, "param T 16 -0", "t.cu:4:16: value '-0' of T is neither"},
    {4, "param T 16 +1", "t.cu:4:16: value '+1' of T is neither"},
    {4, "param T 16 a-b", "t.cu:4:16: value 'a-b' of T is neither"},
    {4, "param T 9999999999999999999", "t.cu:4:13: value '9999999999999999999' of T is neither"},
    {4, "param T 16,32", "t.cu:4:13: value '16,32' of T is neither"},
    {4, "param T 16 0x10", "t.cu:4:16: value '0x10' of T is neither"},
    {4, "param T 16 32 16", "t.cu:4:19: value 16 of T is given twice"},
    {4, "param T " LONG32 LONG32, "t.cu:4:13: a value of 64 characters, the limit is 63"},
    {5, "derived", "t.cu:5:5: `derived` stands alone, expected: derived NAME EXPRESSION"},
    {5, "derived E", "t.cu:5:14: `derived` has an empty expression"},
    {5, "derived 2E 1", "t.cu:5:13: found '2E', expected a name"},
    {5, "derived cols 1", "t.cu:5:13: cols is a property of the problem, choose another name"},
    {5, "derived Elem_Size 1", "t.cu:5:13: Elem_Size is a property of the problem, choose another name"},
    {5, "derived tile_dim 1",
     "t.cu:5:13: tile_dim differs only in capitals from TILE_DIM, which is a parameter: choose another name"},
    {5, "param MODE slow fast\n//@ derived E 1\n//@ derived e 2",
     "t.cu:7:13: e differs only in capitals from E, which is `derived` already: choose another name"},
    {5, "derived MODE 1\n//@ param MODE slow fast",
     "t.cu:6:11: MODE is `derived` already, choose another name"},
    {5, "derived E TILE_DMI", "t.cu:5:15: unknown name TILE_DMI; did you mean TILE_DIM?"},
    {5, "derived E time_ns", "t.cu:5:15: time_ns is the time of a launch, and only a `metric` knows it"},
    {5, "derived E rows > 1, 2", "t.cu:5:23: found ',', which stands only between arguments"},
    {5, "derived E rows rows", "t.cu:5:20: found 'rows', expected an operator or the end"},
    {5, "runtime R 1 2\n//@ derived E rows % R",
     "t.cu:6:22: R is a `runtime` parameter, whose values share one compilation: what is `derived` cannot "
     "depend on it"},
    {5, "derived E F\n//@ let F 1", "t.cu:5:15: F is `let`, which stands in `where`, in launches and in "},
    {5, "derived EDGES 1\n//@ maxrregcount 31 + EDGES", "t.cu:6:23: EDGES is `derived`, which stands in"},
    {5, "derived EDGES 1\n//@ where EDGE = 1", "t.cu:6:11: unknown name EDGE; did you mean EDGES?"},
    {5, "runtime R 1 2\n//@ let L R + 1\n//@ derived E L",
     "t.cu:7:15: R is a `runtime` parameter, whose values share one compilation"},
    {5, "let E 1\n//@ derived E 1", "t.cu:6:13: E is `let` already, choose another name"},
    {6, "derived E 1\n//@ where E = 2", "cannot do 4096x4096: `E = 2` does not hold (t.cu:7)"},
    {6, "derived E rows / (TILE_DIM - 32)",
     "t.cu:6:15: derived `rows / (TILE_DIM - 32)` is NULL (a division by zero?) for TILE_DIM=32 MODE=fast "
     "and 4096x4096, expected an integer"},
    {6, "derived E 0.5", "t.cu:6:15: derived `0.5` is 0.5 for TILE_DIM=32 MODE=fast"},
    {6, "derived E MODE", "t.cu:6:15: derived `MODE` is a word for TILE_DIM=32 MODE=fast"},
    {6, "derived E rows * 9223372036854775807", "(beyond 64 bits) for TILE_DIM=32"},
    {6, "where", "t.cu:6:5: `where` stands alone, expected: where EXPRESSION"},
    {6, "where TILE_DIM = 16", NOT_LEGAL ": `TILE_DIM = 16` does not hold (t.cu:6)"},
    {6, "where TILE_DIM / 0", "`TILE_DIM / 0` does not hold (t.cu:6)"},
    {7, "", "t.cu: no `block` annotation, expected a line: //@ block EXPRESSION, ..."},
    {7, "block TILE_DIM,", "t.cu:7:20: `block` has an empty expression"},
    {7, "block ,TILE_DIM", "t.cu:7:11: `block` has an empty expression"},
    {7, "block 1, , 1", "t.cu:7:14: `block` has an empty expression"},
    {7, "block 1, 1, 1, 1", "t.cu:7:20: `block` has more than 3 dimensions"},
    {7, "block 1\n//@ block 1", "t.cu:8:5: a second `block`, the first is in line 7"},
    {7, "block 1 / (TILE_DIM - TILE_DIM)",
     "t.cu:7:11: block `1 / (TILE_DIM - TILE_DIM)` is NULL (a division by zero?) for TILE_DIM=32 MODE=fast "
     "and 4096x4096, expected an integer of 1 or more"},
    {7, "block 0", "t.cu:7:11: block `0` is 0 for TILE_DIM=32 MODE=fast"},
    {7, "block 1, 1.5", "t.cu:7:14: block `1.5` is 1.5 for TILE_DIM=32 MODE=fast"},
    {7, "block 'fast'", "t.cu:7:11: block `'fast'` is a word for TILE_DIM=32 MODE=fast"},
    {7, "block 2048", NOT_LEGAL ": `2048` is 2048, the limit of block.x is 1024"},
    {7, "block 64, 64", "`64` makes blocks of 4096 threads, the limit is 1024 (t.cu:7)"},
    {7, "block 1, 1, 128", "`128` is 128, the limit of block.z is 64 (t.cu:7)"},
    {8, "", "t.cu: no `grid` annotation, expected a line: //@ grid EXPRESSION, ..."},
    {8, "grid 1, 2,", "t.cu:8:15: `grid` has an empty expression"},
    {8, "grid -1", "t.cu:8:10: grid `-1` is -1 for"},
    {8, "grid 1, rows * 20000", "`rows * 20000` is 81920000, the limit of grid.y is 65535 (t.cu:8)"},
    {8, "grid rows * 9223372036854775807", "is 3.77789e+22 (beyond 64 bits) for"},
    {8, "grid abs(-9223372036854775807 - 1)", "is NULL"},
    {8, "grid ceil_div(-9223372036854775807 - 1, -1)", "is NULL"},
    {8, "grid ceil_div(1.0, 2)", "is 1.0"},
    {8, "grid log2(0)", "is NULL"},
    {9, "shared", "t.cu:9:5: `shared` stands alone, expected: shared EXPRESSION"},
    {9, "shared -1", "t.cu:9:12: shared `-1` is -1 for"},
    {9, "shared 1, 2", "t.cu:9:13: found ',', which stands only between arguments and in lists after IN"},
    {9, "shared 1000000", "`1000000` is 1000000, the limit of shared is 232448 (t.cu:9)"},
    {9, "shared 1\n//@ shared 1", "t.cu:10:5: a second `shared`, the first is in line 9"},
    {9, "launch", "t.cu:9:5: `launch` stands alone, expected: launch early"},
    {9, "launch late", "t.cu:9:12: found 'late', expected: early"},
    {9, "launch early\n// griddepcontrol.wait",
     "t.cu:2:14: k says `launch early`, and the code does not wait: call wait_for_earlier() of common.cuh"},
    {9,
     "launch early\nstatic void wait_for_earlier() {\n    asm(\"griddepcontrol.wait;\");\n}\nstatic void "
     "wait_for_earlier() {\n}\n// wait_for_earlier();",
     "t.cu:2:14: k says `launch early`, and the code does not wait"},
    {9, "launch early\n//@ launch early", "t.cu:10:5: a second `launch`, the first is in line 9"},
    {10, "", "t.cu: no `args` annotation, expected a line: //@ args dst, src, TYPE EXPRESSION, ..."},
    {10, "args", "t.cu:10:5: `args` stands alone, expected: args dst, src, TYPE EXPRESSION, ..."},
    {10, "args dst,", "t.cu:10:14: `args` has an empty item"},
    {10, "args dst, , src", "t.cu:10:15: `args` has an empty item"},
    {10, "args dts", "found 'dts', expected src, dst or a type and an expression; did you mean dst?"},
    {10, "args dst src", "t.cu:10:14: found 'src' after dst, expected ','"},
    {10, "args i64", "t.cu:10:13: `args` has an empty expression"},
    {10, "args i64, dst", "t.cu:10:13: `args` has an empty expression"},
    {10, "args i23 rows", "t.cu:10:14: found 'rows' after i23, expected ','; did you mean i32?"},
    {10, "args u32 -rows", "`-rows` is -4096, which does not fit u32"},
    {10, "args i64 0.5", "t.cu:10:14: args `0.5` is 0.5 for"},
    {10, "args i32 rows * 1000000000",
     "`rows * 1000000000` is 4096000000000, the limit of i32 is 2147483647"},
    {10, "args i32 rows * -1000000000", "`rows * -1000000000` is -4096000000000, which does not fit i32"},
    {10, "args f32 NULL", "t.cu:10:14: args `NULL` is NULL"},
    {10, "args f32 1e39", "expected a number that fits f32"},
    {11, "", "t.cu: no `default` annotation, expected a line: //@ default NAME=VALUE ..."},
    {11, "default TILE_DIM=32", "t.cu:11:13: bad `default`: no value for the parameter MODE"},
    {11, "default TILE_DIM=32 MODE", "t.cu:11:13: bad `default`: found 'MODE', expected NAME=VALUE"},
    {11, "default MODE=fats",
     "t.cu:11:13: bad `default`: fats is no value of MODE, expected one of slow fast"},
    {11, "default TILE_DIM=8", "t.cu:11:13: bad `default`: 8 is no value of TILE_DIM, expected one of 16 32"},
    {11, "default TILE_DMI=32", "bad `default`: k has no parameter TILE_DMI; did you mean TILE_DIM?"},
    {11, "default MODE=fast MODE=fast", "t.cu:11:13: bad `default`: MODE is given twice"},
    {11, "default TILE_DIM=32, MODE=fast", "bad `default`: 32, is no value of TILE_DIM"},
    {12, "// extern \"C\" void k();", "t.cu:2:14: the code has no kernel k, which `kernel` names"},
    {12, "extern \"C\" kk(); k_();", "t.cu:2:14: the code has no kernel k, which `kernel` names"},
};

static void refuses_damage(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++) {
        tt__str line = {0};
        bool annotation = damages[i].instead[0] && damages[i].line != COUNT(lines);
        tt__str_addf(&line, "%s%s", annotation ? "//@ " : "", damages[i].instead);
        tt__str text = text_with(damages[i].line, line.text);
        expect_refused(&text, damages[i].sentence);
        tt__str_free(&line);
    }
}

static void takes_kernels_that_wait(void **state) {
    (void)state;
    static const char *const codes[] = {
        "asm volatile(\"griddepcontrol.wait;\");",
        "cudaGridDependencySynchronize();",
        "static void wait_for_earlier() {\n    asm(\"griddepcontrol.wait;\");\n}\nwait_for_earlier();",
        "static void wait_for_earlier() {\n    "
        "asm(\"griddepcontrol.wait;\");\n}\nasm(\"griddepcontrol.wait;\");",
    };
    for (size_t i = 0; i < COUNT(codes); i++) {
        tt__template *t;
        tt__str line = {0};
        tt__str_addf(&line, "//@ launch early\n%s", codes[i]);
        tt__str text = text_with(9, line.text);
        if (tt__template_parse(&t, "t.cu", text.text) != TT_OK)
            fail_msg("%s", tt_last_error());
        assert_true(t->passes[0].early);
        tt__template_free(&t);
        tt__str_free(&text);
        tt__str_free(&line);
    }
}

/* Each limit, one beyond it. `first` starts the line; `each` is repeated; 'N' in it is a number. */
static const struct {
    size_t line;
    const char *first, *each;
    int n;
    const char *sentence;
} floods[] = {
    {4, "//@ param TILE_DIM 16 32", "\n//@ param PN 1", 31, "t.cu:36:14: more than 32 parameters"},
    {4, "//@ param TILE_DIM", " N", 257, "TILE_DIM has more than 256 values"},
    {6, "", "//@ where N < 99\n", 33, "t.cu:38:11: more than 32 `where` lines"},
    {6, "", "//@ derived EN 1\n", 13, "t.cu:18:13: more than 12 lines of `derived` and `let`"},
    {10, "//@ args dst", ", i32 N", 64, "more than 64 arguments"},
    {4, "//@ param TILE_DIM 16 32", "\n//@ param " LONG32 "N 1", 14,
     "the limit is 511: shorten names or words"},
};

static void keeps_limits(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(floods); i++) {
        tt__str line = {0};
        tt__str_add(&line, floods[i].first);
        for (int k = 0; k < floods[i].n; k++)
            for (const char *c = floods[i].each; *c; c++)
                *c == 'N' ? tt__str_addf(&line, "%d", k + 10) : tt__str_addn(&line, c, 1);
        tt__str text = text_with(floods[i].line, line.text);
        expect_refused(&text, floods[i].sentence);
        tt__str_free(&line);
    }
}

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void sets_hold_builtins_and_files(void **state) {
    (void)state;
    char path[] = "/tmp/tt_template_XXXXXX";
    close(mkstemp(path));
    const char *const paths[] = {path, path};
    tt__template_set set;
    write_file(path, TINY("mine"), strlen(TINY("mine")));
    assert_int_equal(tt__template_set_open(&set, paths, 1), TT_OK);
    assert_int_equal(set.n, tt__n_builtins + 1);
    assert_string_equal(tt__template_set_find(&set, "mine")->path, path);
    assert_ptr_equal(tt__template_set_find(&set, set.items[0]->kernel), set.items[0]);
    assert_null(tt__template_set_find(&set, "nobody"));
    tt__template_set_close(&set);
    assert_int_equal(set.n, 0);
    tt__template_set_close(&set);

    assert_int_equal(tt__template_set_open(&set, paths, 2), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "both define the kernel mine"));
    assert_null(set.items);

    write_file(path, "//@ a\0b", 7);
    assert_int_equal(tt__template_set_open(&set, paths, 1), TT_E_TEMPLATE);
    assert_non_null(strstr(tt_last_error(), "NUL byte"));
    unlink(path);
    assert_int_equal(tt__template_set_open(&set, paths, 1), TT_E_IO);
}

/* ---- Damaged at random --------------------------------------------------------------------------------- */

static uint32_t seed;
static size_t below(size_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (size_t)(((uint64_t)seed * n) >> 32);
}

/* Replaces up to 8 bytes somewhere, mostly in the annotations, by a piece from the list or from elsewhere. */
static void mutate(tt__str *s) {
    static const char *const pieces[] = {
        "(",          ")",
        ",",          "'",
        "\"",         " ",
        "\n//@ ",     "--",
        "/*",         ";",
        "0",          "-1",
        "/ 0",        "9223372036854775807",
        "SELECT",     "max(",
        "CASE WHEN ", " END",
        " IN ",       "?",
        ".",          "rows",
        "TILE_DIM",   "param ",
        "=",          "\xff",
        "",           " BETWEEN 1 AND ",
        " NOT ",      "param X 1 2 3",
        "where ",     "1e300",
        "log2(",      "~",
        "<<",         "%",
        "*",
    };
    size_t span = below(4) ? (s->len < 900 ? s->len : 900) : s->len;
    size_t at = below(span + 1), drop = below(9), from = below(s->len), n = below(12);
    const char *piece = below(4) ? pieces[below(COUNT(pieces))] : NULL;
    tt__str out = {0};
    drop = drop < s->len - at ? drop : s->len - at;
    tt__str_addn(&out, s->text, at);
    if (piece)
        tt__str_add(&out, piece);
    else
        tt__str_addn(&out, s->text + from, n < s->len - from ? n : s->len - from);
    tt__str_add(&out, s->text + at + drop);
    tt__str_free(s);
    *s = out;
}

static void try_text(const char *text) {
    static const tt__gpu gpu = {
        .cc = 90, .sm_count = 132, .max_threads_per_block = 1024, .shared_per_block = 232448};
    tt__problem p;
    tt__template *t;
    tt__space space = {0};
    tt_status status = tt__template_parse(&t, "t.cu", text);
    if (status == TT_OK) {
        assert_int_equal(tt__operation_sample(&p, t->operation, t->op), TT_OK);
        status = tt__space_add(&space, t, &gpu, &p);
    }
    if (status != TT_OK && status != TT_E_TEMPLATE)
        fail_msg("status %d: %s\n%s", status, tt_last_error(), text);
    tt__space_free(&space);
    tt__template_free(&t);
}

static void survives_mutations(void **state) {
    (void)state;
    static const char *const names[] = {"transpose_tiled.cu", "copy_linear.cu"};
    const char *more =
        getenv("TT_MUTATIONS"); /* for a longer run: TT_MUTATIONS="100000 7" is count and seed */
    unsigned long count = 2000;
    seed = 1;
    if (more)
        sscanf(more, "%lu %u", &count, &seed);
    for (size_t i = 0; i < COUNT(names); i++) {
        tt__str whole;
        char path[4096];
        snprintf(path, sizeof path, TT_SOURCE_DIR "/kernel_templates/%s", names[i]);
        assert_int_equal(tt__read_file(&whole, path), TT_OK);
        for (unsigned long m = 0; m < count / COUNT(names); m++) {
            tt__str s = {0};
            tt__str_add(&s, whole.text);
            for (size_t n = 1 + below(3); n > 0; n--)
                mutate(&s);
            try_text(s.text);
            tt__str_free(&s);
        }
        tt__str_free(&whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),
        cmocka_unit_test(needs_no_parameters),
        cmocka_unit_test(default_may_be_special),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(takes_kernels_that_wait),
        cmocka_unit_test(keeps_limits),
        cmocka_unit_test(sets_hold_builtins_and_files),
        cmocka_unit_test(survives_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
