/*
 * The limits of expressions: values, and refusals with their messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/random.h"
#include "kernel/expression/expr.h"
#include "kernel/expression/scan.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/space.h"
#include "problem_fixture.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

__attribute__((weak)) const tt__builtin tt__builtins[] = {{"", "", NULL}};
__attribute__((weak)) const size_t tt__n_builtins = 0;

/* 16 in TILE_DIM, fast in MODE and auto in SIZE, `i64 EXPRESSION` as the only argument. */
static tt_status parse(tt__template **t, const char *keyword, const char *expression) {
    tt__str s = {0};
    tt__str_add(&s,
                "//@ kernel k\n//@ op transpose\n//@ param TILE_DIM 16 32\n//@ param MODE fast slow\n"
                "//@ param ORDER -1 0\n//@ block 1\n//@ grid 1\n"
                "//@ default TILE_DIM=16 MODE=fast ORDER=-1 SIZE=auto FLAG=true\nextern \"C\" void k();\n");
    tt__str_addf(&s, "//@ %s %s\n//@ param SIZE 1 auto 2\n//@ param FLAG true\n", keyword, expression);
    if (strcmp(keyword, "where") == 0)
        tt__str_add(&s, "//@ args dst\n");
    tt_status status = tt__template_parse(t, "t.cu", s.text);
    tt__str_free(&s);
    return status;
}

static const tt__gpu gpu = {.cc = 90,
                            .sm_count = 132,
                            .l2_bytes = 52428800,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 232448};
static tt__problem problem; /* beyond what may be asked for: products that need all of 64 bits */

static int set_problem(void **state) {
    (void)state;
    problem = square_of(8192, 4);
    tt__problem_set(&problem, "rows", 4194304);
    tt__problem_set(&problem, "ldd", 4194304);
    tt__problem_set(&problem, "cols", 16777216);
    tt__problem_set(&problem, "lds", 16777216);
    return 0;
}

static const struct {
    const char *expression;
    int64_t value;
} values[] = {
    {"1 + 2 * 3", 7},
    {"7 / 2", 3},
    {"-7 % 3", -1},
    {"rows * cols * elem_size", (int64_t)1 << 48},
    {"lds - cols + ldd - rows", 0},
    {"rows * cols * elem_size * 32767 + 1", 32767 * ((int64_t)1 << 48) + 1},
    {"max_threads_per_block + shared_per_block + sm_count + cc", 1024 + 232448 + 132 + 90},
    {"l2_bytes / align", 52428800 / 16},
    {"ceil_div(7, 2)", 4},
    {"ceil_div(8, 2)", 4},
    {"ceil_div(0, 2)", 0},
    {"ceil_div(-7, 2)", -3},
    {"ceil_div(-7, -2)", 4},
    {"ceil_div(9223372036854775807, 2)", (int64_t)1 << 62},
    {"min(3, 1, 2)", 1},
    {"MAX(3, 1, 2)", 3},
    {"abs(-5) + abs(5)", 10},
    {"log2(1)", 0},
    {"log2(1023)", 9},
    {"log2(1024)", 10},
    {"log2(9223372036854775807)", 62},
    {"iif(TILE_DIM = 16, 5, 6)", 5},
    {"CASE WHEN TILE_DIM > 16 THEN 1 WHEN TILE_DIM = 16 THEN 2 ELSE 3 END", 2},
    {"case MODE when 'slow' then 1 else 2 end", 2},
    {"MODE = 'fast'", 1},
    {"MODE <> 'slow' AND MODE != 'slow' AND NOT MODE == 'slow'", 1},
    {"MODE IN ('slow', 'fast') AND TILE_DIM NOT IN (1, 2, 3)", 1},
    {"TILE_DIM BETWEEN 1 AND 16 AND TILE_DIM NOT BETWEEN 17 AND 99", 1},
    {"MODE < 'slow' AND MODE >= 'fast' AND SIZE <> 2 AND SIZE < MODE", 1},
    {"(SIZE = 'auto' OR SIZE > 2) + (SIZE != 'auto' AND 1 < SIZE)", 1},
    {"(SIZE = 1) + (SIZE <> 2) + iif(SIZE = 'auto', 4, SIZE > 1)", 5},
    {"FLAG > 0 AND FLAG <= TILE_DIM", 1},
    {"1 / 0 IS NULL AND 1 IS NOT NULL AND TRUE IS NOT FALSE", 1},
    {"ORDER", -1},
    {"- - 1 + (((2)))", 3},
    {"(6 & 3) + (6 | 3) + ~0 + (1 << 4) + (256 >> 4)", 2 + 7 - 1 + 16 + 16},
    {"0x10 + (1.5 > 1.4e0)", 17},
    {"TILE_DIM\t*\tTILE_DIM", 256},
    {"(1 < 2) = (3 < 4) AND 1 < 2 AND 2 < 3 OR 2 < 1", 1},
    {"iif(1 < 2, 3 < 4, 5 < 6) = (1 < 2) AND 1 << 2 < 3 << 4", 1},
    {"CASE WHEN 1 < 2 THEN 2 < 3 ELSE 3 < 4 END", 1},
    {"1 < 2 IS TRUE AND NOT 2 < 1", 1},
    {"ceil_div(7.5, 2) = 4 AND ceil_div(8, 2.0) = 4 AND ceil_div(-7, 2.0) = -3", 1},
    {"ceil_div(7.5, 0) IS NULL AND ceil_div(7, 0.0) IS NULL AND ceil_div(MODE, 2) IS NULL", 1},
    {"log2(1023.9999999999999) = 9 AND log2(0.49999999999999994) = -2 AND log2(5e-324) = -1074", 1},
    {"4u + 3UL + 0x10ull + (1.5f > 1.4) + (2.e0F = 2)", 25},
    {"sizeof(float) + 10 * sizeof( unsigned long  long int ) + 100 * sizeof(float3)", 4 + 80 + 1200},
    {"sizeof(f16) + sizeof (f32x4) + sizeof(const double *) + sizeof(bool)", 2 + 16 + 8 + 1},
    {"log2(1023.5) = 9 AND log2(0.25) = -2 AND log2(0.0) IS NULL AND log2(-2.0) IS NULL", 1},
};

static void has_values(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        tt__template *t;
        tt__candidate c;
        tt__str arg = {0};
        tt__str_addf(&arg, "dst, i64 %s", values[i].expression);
        if (parse(&t, "args", arg.text) != TT_OK ||
            tt__space_resolve(&c, t, &gpu, &problem, t->default_config) != TT_OK)
            fail_msg("%s", tt_last_error());
        if (c.launch.args[1].i != values[i].value)
            fail_msg("%s is %lld", values[i].expression, (long long)c.launch.args[1].i);
        tt__template_free(&t);
        tt__str_free(&arg);
    }
}

#define ARITHMETIC " is not allowed: an expression is arithmetic and comparisons only"

/* Columns count from the start of the line; the expression is at 11. */
static const struct {
    const char *expression, *sentence;
} refused[] = {
    {"TILE_DMI = 16", "t.cu:10:11: unknown name TILE_DMI; did you mean TILE_DIM?"},
    {"tile_dim = 16", "t.cu:10:11: unknown name tile_dim; did you mean TILE_DIM?"},
    {"ROWS > 16", "t.cu:10:11: unknown name ROWS; did you mean rows?"},
    {"time_ns > 16", "t.cu:10:11: time_ns is the time of a launch, and only a `metric` knows it"},
    {"16 = xyzzy", "t.cu:10:16: unknown name xyzzy"},
    {"MODE = fast", "t.cu:10:18: unknown name fast; did you mean the value 'fast'?"},
    {"MODE = 'fsat'", "t.cu:10:18: no parameter has the value 'fsat'; did you mean fast?"},
    {"MODE = 'a b'", "t.cu:10:18: expected one plain word between quotes, as in MODE = 'fast'"},
    {"MODE = ''", ":18: expected one plain word between quotes"},
    {"MODE = 'fast", ":18: expected one plain word between quotes"},
    {"MODE = 'fast''fast'", ":18: expected one plain word between quotes"},
    {"MODE = \"fast\"", ":18: unexpected '\"'"},
    {"TILE_DIM, 3", ":19: found ',', which stands only between arguments and in lists after IN"},
    {"(TILE_DIM, 3) = (1, 2)", ":20: found ',', which stands only between arguments and in lists after IN"},
    {"TILE_DIM +", ":21: the expression ends after '+', expected a value"},
    {"TILE_DIM + )", ":22: found ')' without its '('"},
    {"(TILE_DIM + )", ":23: found ')', expected a value"},
    {"TILE_DIM 3", ":20: found '3', expected an operator or the end"},
    {"TILE_DIM (3)", ":20: found '(', expected an operator or the end"},
    {"= 3", ":11: found '=', expected a value"},
    {"(TILE_DIM = 3", ":11: '(' is never closed"},
    {"TILE_DIM = 3)", ":23: found ')' without its '('"},
    {"max(1,) = 3", ":17: found ')', expected a value"},
    {"max(,1) = 3", ":15: found ',', expected a value"},
    {"max(1) = 3", ":14: max takes 2 to 16 arguments, found 1"},
    {"max() = 3", ":15: found ')', expected a value"},
    {"max(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", ":14: max takes 2 to 16 arguments, found 17"},
    {"ceil_div(1, 2, 3) = 3", ":19: ceil_div takes 2 arguments, found 3"},
    {"abs(1, 2) = 3", ":14: abs takes 1 argument, found 2"},
    {"abs", ":14: abs is a function, expected '(' after it"},
    {"abs + 1", ":15: abs is a function, expected '(' after it"},
    {"ceildiv(1, 2) = 3", ":11: unknown function ceildiv; did you mean ceil_div?"},
    {"TILE_DIM IN rows", ":23: found 'rows' after IN, expected '('"},
    {"TILE_DIM IN AND 2", ":23: found 'AND' after IN, expected '('"},
    {"TILE_DIM IN + (1)", ":23: found '+' after IN, expected '('"},
    {"TILE_DIM IN max(1, 2)", ":23: found 'max' after IN, expected '('"},
    {"TILE_DIM IN ()", ":24: found ')', expected a value"},
    {"TILE_DIM IN", ":22: the expression ends after 'IN', expected a value"},
    {"AND 1", ":11: found 'AND', expected a value"},
    {"TILE_DIM NULL", ":20: found 'NULL', expected an operator or the end"},
    {"TILE_DIM BETWEEN 1", ":11: `TILE_DIM BETWEEN 1` is not an expression: found its end, expected AND"},
    {"CASE TILE_DIM END", ":11: `CASE TILE_DIM END` is not an expression: found 'END', expected WHEN"},
    {"1 END", ":11: `1 END` is not an expression: found 'END', expected an operator or the end"},
    {"TILE_DIM NOT = 3",
     ":11: `TILE_DIM NOT = 3` is not an expression: found '=', expected IN or BETWEEN after NOT"},
    {"12abc = 1", ":11: '12a' is not a number"},
    {"12ux = 1", ":11: '12u' is not a number"},
    {"2f = 1", ":11: '2f' is not a number"},
    {"sizeof(struct_of_mine)",
     ":18: sizeof knows types of numbers, and what a `type` line declares, but not"},
    {"sizeof(MODE)", ":18: sizeof needs a type, and MODE may be fast"},
    {"sizeof float", ":11: sizeof needs a type in parentheses, as in sizeof(float)"},
    {"2 sizeof(float)", ":13: found 'sizeof', expected an operator or the end"},
    {"(size_t)TILE_DIM",
     ":12: size_t is of C++: leave the cast away, because whole numbers have 64 bits here"},
    {"static_cast<int>(1)", ":11: static_cast is of C++: leave the cast away"},
    {"std::min(1, 2)", ":11: std is a namespace of C++, and there is none here: write min(a, b)"},
    {"DIVUP(1, 2)",
     ":11: unknown function DIVUP; there are ceil_div, min, max, abs, iif, log2, align_of and"},
    {"1.2.3 = 1", ":11: '1.2.' is not a number"},
    {"0xfffffffffffffffff = 1", "is not an expression: 0xfffffffffffffffff has more than 64 bits"},
    {"(SELECT 1)", ":12: SELECT" ARITHMETIC},
    {"1; DROP TABLE x", ":12: ';' is not allowed: a second statement"},
    {"1) UNION SELECT 1 --", ":12: found ')' without its '('"},
    {"1 UNION SELECT 1", ":13: UNION" ARITHMETIC},
    {"1) OR (1", ":12: found ')' without its '('"},
    {"1 -- comment", ":13: '--' is not allowed: a comment (write - - for a double minus)"},
    {"1 /* comment", ":13: found '/*', but no comment may follow in the line of an annotation"},
    {"load_extension('x')", ":11: unknown function load_extension"},
    {"randomblob(1e9)", ":11: unknown function randomblob"},
    {"readfile('/etc/passwd')", ":11: unknown function readfile"},
    {"random()", ":11: unknown function random"},
    {"printf('%d', 1)", ":11: unknown function printf"},
    {"zeroblob(100)", ":11: unknown function zeroblob"},
    {"count(*) = 1", ":11: unknown function count"},
    {"max(*) = 1", ":15: found '*', expected a value"},
    {"max(DISTINCT 1, 2)", ":15: DISTINCT" ARITHMETIC},
    {"max(1, 2) OVER ()", ":21: OVER" ARITHMETIC},
    {"max(1, 2) FILTER (1)", ":21: FILTER" ARITHMETIC},
    {":x", ":11: ':' is not allowed: write iif(condition, a, b)"},
    {"?1", ":11: '?' is not allowed: write iif(condition, a, b)"},
    {"TILE_DIM > 8 ? 1 : 2", ":24: '?' is not allowed: write iif(condition, a, b)"},
    {"TILE_DIM ** 2 > 8", ":20: '**' is not allowed: write the product, or 1 << n for a power of two"},
    {"TILE_DIM ^ 2 > 8", ":20: '^' is not allowed: write a * a for a power, and (a | b) - (a & b) for"},
    {"TILE_DIM IN [8, 16]", ":23: '[' is not allowed: a list is in parentheses, as in IN (1, 2)"},
    {"TILE_DIM IN {8, 16}", ":23: '{' is not allowed: a list is in parentheses, as in IN (1, 2)"},
    {"@x", ":11: '@' is not allowed: a bound parameter"},
    {"$x", ":11: '$' is not allowed: a bound parameter"},
    {"EXISTS (SELECT 1)", ":11: EXISTS" ARITHMETIC},
    {"TILE_DIM IN (SELECT 1)", ":24: SELECT" ARITHMETIC},
    {"VALUES (1)", ":11: VALUES" ARITHMETIC},
    {"WITH a AS (SELECT 1) 1", ":11: WITH" ARITHMETIC},
    {"1 FROM tt_facts", ":13: FROM" ARITHMETIC},
    {"MODE LIKE 'fast'", ":16: LIKE" ARITHMETIC},
    {"MODE GLOB 'fast'", ":16: GLOB" ARITHMETIC},
    {"RAISE(ABORT, 'fast')", ":11: RAISE" ARITHMETIC},
    {"CAST(TILE_DIM AS TEXT)", ":11: CAST" ARITHMETIC},
    {"MODE COLLATE nocase = 'fast'", ":16: COLLATE" ARITHMETIC},
    {"1 AS x", ":13: AS" ARITHMETIC},
    {"MODE || 'fast'", ":16: '||' is not allowed: joining of text (write OR for a condition)"},
    {"1 && 2", ":13: '&&' is not allowed: write AND"},
    {"!TILE_DIM", ":11: '!' is not allowed: write NOT"},
    {"200 <= TILE_DIM <= 1024",
     ":27: found '<=' after a comparison: write 200 <= TILE_DIM AND TILE_DIM <= 1024, or put one"},
    {"1 < 2 AND 200<max(1, TILE_DIM)\t> 1 + (2 < 3) OR 5 < 6",
     ": write 200 < max(1, TILE_DIM) AND max(1, TILE_DIM) > 1 + (2 < 3), or"},
    {"(1 = TILE_DIM = 2) < 5", ": write 1 = TILE_DIM AND TILE_DIM = 2, or"},
    {"(1 < 2) < 3 <> 4", ": write (1 < 2) < 3 AND 3 <> 4, or"},
    {"iif(1, 2 < 3 < 4, 5)", ": write 2 < 3 AND 3 < 4, or"},
    {"1 < TILE_DIM < 2 < 3", ": write 1 < TILE_DIM AND TILE_DIM < 2, or"},
    {"1 < 2 < 1 << 2 < 3", ": write 1 < 2 AND 2 < 1 << 2, or"},
    {"NOT 1 < TILE_DIM < 2", ": write 1 < TILE_DIM AND TILE_DIM < 2, or"},
    {"1 < TILE_DIM <", ":25: the expression ends after '<', expected a value"},
    {"1 < TILE_DIM < < 2", ":26: found '<', expected a value"},
    {"CASE WHEN 1 THEN 1 < 2 != 3 END", ": write 1 < 2 AND 2 != 3, or"},
    {"MODE > 1", ":16: '>' compares the word fast with the number 1: use = or <>, or add a test for 'fast'"},
    {"SIZE = 2 OR NOT SIZE<=0x10",
     "'<=' compares the word auto with the number 0x10: use = or <>, or add a test "
     "for 'auto'"},
    {"2 * TILE_DIM + 1 < SIZE AND MODE = 'fast'",
     "'<' compares the word auto with the number 2 * TILE_DIM + 1"},
    {"max( TILE_DIM, 1 )>=MODE", "'>=' compares the word fast with the number max( TILE_DIM, 1 )"},
    {"iif('slow' > rows, 1, 2)", "'>' compares the word slow with the number rows"},
    {"MODE > fast", "unknown name fast; did you mean the value 'fast'?"},
    {"MODE -> 'fast'", ":16: '->' is not allowed: JSON access"},
    {"x'00'", ":11: found 'x' in front of a quote, expected an operator"},
    {"[TILE_DIM]", ":11: '[' is not allowed: a list is in parentheses"},
    {"`TILE_DIM`", ":11: unexpected '`'"},
    {"TILE_DIM.x", ":19: unexpected '.'"},
    {"tt_facts.rows", ":11: unknown name tt_facts"},
    {"sqlite_schema", ":11: unknown name sqlite_schema"},
    {"rowid", ":11: unknown name rowid"},
    {"CURRENT_TIME", ":11: unknown name CURRENT_TIME"},
    {"TILE_DIM \\ 2", ":20: unexpected '\\'"},
    {"TILE_DIM \x01 2", ":20: unexpected character 0x01"},
    {"TILE_DIM \xc3\x97 2", ":20: unexpected character 0xc3"},
};

static void expect_refused(const char *expression, const char *sentence) {
    tt__template *t;
    tt_status status = parse(&t, "where", expression);
    if (status != TT_E_TEMPLATE || !strstr(tt_last_error(), sentence) ||
        strncmp(tt_last_error(), "t.cu:10:", 8) != 0)
        fail_msg("status %d\n  found    %s\n  expected %s", status, tt_last_error(), sentence);
    assert_null(t);
}

static void refuses_all_else(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++)
        expect_refused(refused[i].expression, refused[i].sentence);
}

/* `head`, n times `each`, `tail`. */
static const struct {
    const char *head, *each, *tail;
    int n;
    const char *sentence; /* NULL: accepted */
} sizes[] = {
    {"", "1+", "1", 50000, "an expression of 100001 characters, the limit is 1000"},
    {"1", " ", "+1", 100000, "an expression of 100003 characters, the limit is 1000"},
    {"1", "+1", "", 150, NULL},
    {"1", "+1", "", 400, NULL},
    {"", "(", "1))))))))))))))))))))))))))))))))", 32, NULL},
    {"", "(", "1", 33, "more than 32 parentheses inside one another"},
    {"", "(", "", 400, "more than 32 parentheses inside one another"},
    {"", "- ", "1", 40, NULL},
    {"", "- ", "1", 400, "is nested too deeply"},
    {"", "NOT ", "0", 240, "is nested too deeply"},
};

static void keeps_sizes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        tt__str s = {0};
        tt__template *t;
        tt__str_add(&s, sizes[i].head);
        for (int k = 0; k < sizes[i].n; k++)
            tt__str_add(&s, sizes[i].each);
        tt__str_add(&s, sizes[i].tail);
        if (sizes[i].sentence)
            expect_refused(s.text, sizes[i].sentence);
        else if (parse(&t, "where", s.text) != TT_OK)
            fail_msg("%s", tt_last_error());
        else
            tt__template_free(&t);
        tt__str_free(&s);
    }
}

/* Words of SQL are good names for parameters, as long as they are no operators of expressions. */
static void quotes_names(void **state) {
    (void)state;
    static const char *const names[] = {"SELECT", "TABLE", "rowid", "pos", "tt_facts", "GROUP", "x", "_1"};
    for (size_t i = 0; i < COUNT(names); i++) {
        tt__str s = {0};
        tt__template *t;
        tt__space space = {0};
        tt__str_addf(&s,
                     "//@ kernel k\n//@ op transpose\n//@ param %s 1 -2 3\n//@ where %s < 2\n//@ block 1\n"
                     "//@ grid 1\n//@ args dst\n//@ default %s=-2\nextern \"C\" void k();\n",
                     names[i], names[i], names[i]);
        if (tt__template_parse(&t, "t.cu", s.text) != TT_OK ||
            tt__space_add(&space, t, &gpu, &problem) != TT_OK)
            fail_msg("%s", tt_last_error());
        assert_int_equal(space.n, 2);
        tt__space_free(&space);
        tt__template_free(&t);
        tt__str_free(&s);
    }
}

/* ---- The same as SQL ----------------------------------------------------------------------------------- */

/* Appends a random expression in parentheses. */
static void add_random(tt__str *s, uint64_t *seed, int depth) {
    static const char *const leaves[] = {
        "0",  "1",   "2",    "3",    "7",        "-5",  "9223372036854775807", "0.5", "-2.5", "1e30",
        "63", "-70", "NULL", "TRUE", "TILE_DIM", "MODE"};
    static const char *const binary[] = {"+", "-", "*",  "/",  "%",  "&",   "|",  "<<", ">>",    "=",
                                         "<", ">", "<=", ">=", "<>", "AND", "OR", "IS", "IS NOT"};
    static const char *const forms[][4] = {
        {"-", ""},
        {"~", ""},
        {"NOT ", ""},
        {"", " IS NOT TRUE"},
        {"", " IS FALSE"},
        {"", " BETWEEN ", " AND ", ""},
        {"", " NOT IN (", ", ", ")"},
        {"CASE WHEN ", " THEN ", " END"},
        {"CASE ", " WHEN ", " THEN ", " ELSE 3 END"},
        {"iif(", ", ", ", ", ")"},
        {"max(", ", ", ")"},
        {"min(", ", ", ", ", ")"},
    };
    tt__str_add(s, "(");
    if (depth == 0) {
        tt__str_add(s, leaves[tt__random_below(seed, COUNT(leaves))]);
    } else if (tt__random_below(seed, 2)) {
        add_random(s, seed, depth - 1);
        tt__str_addf(s, " %s ", binary[tt__random_below(seed, COUNT(binary))]);
        add_random(s, seed, depth - 1);
    } else {
        const char *const *form = forms[tt__random_below(seed, COUNT(forms))];
        for (int i = 0; i < 4 && form[i]; i++) {
            tt__str_add(s, form[i]);
            if (i < 3 && form[i + 1])
                add_random(s, seed, depth - 1);
        }
    }
    tt__str_add(s, ")");
}

/* Words and signs without parentheses, for the precedence of operators. */
static void add_chain(tt__str *s, uint64_t *seed) {
    static const char *const operators[] = {"+",  "-",  "*",   "/",  "%",       "&",   "|",
                                            "<<", ">>", "AND", "OR", "AND NOT", "+ -", "* ~"};
    tt__str_add(s, "3");
    for (int i = 0; i < 6; i++)
        tt__str_addf(s, " %s %d", operators[tt__random_below(seed, COUNT(operators))],
                     (int)tt__random_below(seed, 9));
}

static bool same_as_sql(tt__value v, sqlite3_stmt *row) {
    switch (sqlite3_column_type(row, 0)) {
    case SQLITE_INTEGER:
        return v.kind == TT__VALUE_INT && v.i == sqlite3_column_int64(row, 0);
    case SQLITE_FLOAT:
        return v.kind == TT__VALUE_REAL &&
               memcmp(&v.f, &(double){sqlite3_column_double(row, 0)}, sizeof v.f) == 0;
    case SQLITE_TEXT:
        return v.kind == TT__VALUE_TEXT && strcmp(v.text, (const char *)sqlite3_column_text(row, 0)) == 0;
    default:
        return v.kind == TT__VALUE_NULL;
    }
}

/* SQLite says what a random expression is. */
static void computes_as_sql_does(void **state) {
    (void)state;
    const size_t expressions = getenv("TT_LONG") ? 3000 : 750;
    static const tt__facts facts;
    static const size_t choice[TT__PARAMS_MAX]; /* TILE_DIM=16 MODE=fast */
    uint64_t seed = 1;
    size_t tried = 0;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (size_t i = 0; i < expressions; i++) {
        tt__str text = {0}, sql = {0};
        tt__template *t = NULL;
        tt__inputs in;
        sqlite3_stmt *row;
        if (i % 3)
            add_random(&text, &seed, 1 + (int)(i % 4));
        else
            add_chain(&text, &seed);
        tt_status status = text.len <= TT__EXPR_MAX ? parse(&t, "where", text.text) : TT_E_TEMPLATE;
        if (status != TT_OK && strstr(tt_last_error(), "the default configuration is not legal"))
            status = parse(&t, "let L", text.text); /* a condition that does not hold here */
        tt__str_addf(&sql, "SELECT %s FROM (SELECT 16 AS TILE_DIM, 'fast' AS MODE)", text.text);
        if (status == TT_OK) {
            const tt__expr *e = t->n_wheres ? &t->wheres[0] : &t->derived[0].value;
            tried++;
            tt__inputs_start(&in, t, &facts, choice);
            if (sqlite3_prepare_v2(db, sql.text, -1, &row, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql.text, sqlite3_errmsg(db));
            assert_int_equal(sqlite3_step(row), SQLITE_ROW);
            tt__value v = tt__expr_value(&in, e);
            if (!same_as_sql(v, row))
                fail_msg("%s\n  is kind %d, %lld, %g; to SQLite %s", text.text, v.kind, (long long)v.i,
                         tt__value_number(v), (const char *)sqlite3_column_text(row, 0));
            sqlite3_finalize(row);
        }
        tt__template_free(&t);
        tt__str_free(&text);
        tt__str_free(&sql);
    }
    sqlite3_close(db);
    assert_true(tried > expressions / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_values),   cmocka_unit_test(refuses_all_else),     cmocka_unit_test(keeps_sizes),
        cmocka_unit_test(quotes_names), cmocka_unit_test(computes_as_sql_does),
    };
    return cmocka_run_group_tests(tests, set_problem, NULL);
}
