/* Tuning problems in T1: expressions in our language, and everything that can be wrong with a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "template/template.h"
#include "tuner/t1/python.h"
#include "tuner/t1/t1.h"

static const char source[] = "__global__ void k(float *o, int n) { o[0] = n; }\n";

#define assert_says(words)                                                                                   \
    do {                                                                                                     \
        if (!strstr(tt_last_error(), words))                                                                 \
            fail_msg("\"%s\" does not say \"%s\"", tt_last_error(), words);                                  \
    } while (0)

/* ---- Expressions --------------------------------------------------------------------------------------- */

static const tt__py words[] = {{.kind = TT__PY_WORD, .constant = true, .text = "fast"},
                               {.kind = TT__PY_WORD, .constant = true, .text = "slow"},
                               {.kind = TT__PY_INT, .constant = true, .value = 7, .low = 7, .high = 7}};
static const tt__py sizes[] = {{.kind = TT__PY_INT, .text = "nx", .level = 100, .low = 1, .high = 1e9}};
static const tt__py_name names[] = {
    {"a", {.kind = TT__PY_INT, .text = "a", .level = 100, .low = 1, .high = 8}},
    {"b", {.kind = TT__PY_INT, .text = "b", .level = 100, .low = 0, .high = 32}},
    {"s", {.kind = TT__PY_INT, .text = "s", .level = 100, .low = -4, .high = 4}},
    {"m", {.kind = TT__PY_WORD, .text = "m", .level = 100, .n = 3, .items = words}},
    {"ProblemSize", {.kind = TT__PY_LIST, .n = 1, .items = sizes}},
};

static tt_status translate(char *out, size_t size, const char *text) {
    tt__py_arena arena = {0};
    tt__py v;
    const char *ours = "";
    tt_status status = tt__py_read(&v, &arena, text, names, sizeof names / sizeof *names);
    if (status == TT_OK && v.kind == TT__PY_RATIO)
        status = tt__py_whole(&v, &arena);
    if (status == TT_OK && v.kind == TT__PY_LIST) {
        *out = '\0';
        for (size_t i = 0; i < v.n && status == TT_OK; i++) {
            status = v.items[i].kind == TT__PY_WORD ? TT_OK : tt__py_text(&ours, &arena, &v.items[i]);
            snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? " " : "",
                     v.items[i].kind == TT__PY_WORD ? v.items[i].text : ours);
        }
    } else if (status == TT_OK) {
        status = tt__py_text(&ours, &arena, &v);
        snprintf(out, size, "%s", ours);
    }
    tt__py_free(&arena);
    return status;
}

static void test_expressions(void **state) {
    (void)state;
    static const char *const good[][2] = {
        {"a * b >= 32", "a * b >= 32"},
        {"a % 2 == 0 or b != 1", "a % 2 = 0 OR b <> 1"},
        {"a==1 && !(b == 2) || true", "TRUE"},
        {"a==1 && !(b == 2)", "a = 1 AND NOT (b = 2)"},
        {"not a == 1 and (b > 2 or a > 3)", "NOT (a = 1) AND (b > 2 OR a > 3)"},
        {"1 <= a < b", "1 <= a AND a < b"},
        {"a in [1, 2] and b not in (3,)", "a IN (1, 2) AND b NOT IN (3)"},
        {"m == 'fast'", "m = 'fast'"},
        {"'slow' != m", "m <> 'slow'"},
        {"m == '7' or m == \"none\"", "m = 7"},
        {"m in ('fast', 'none', 7)", "m IN ('fast', 7)"},
        /* Python's / is no integer division. */
        {"b / a > 3", "b > 3 * a"},
        {"b / a == 0", "b = 0"},
        {"a % (a / 2) == 0", "a * 2 % a = 0"},
        {"b % (b / a) == 0", "((b * a) % b + b) % b = 0"},
        {"b % ((a * 4) / a) == 0", "b * a % (a * 4) = 0"},
        {"b / s > 3", "1.0 * b / s > 3.0"},
        {"int(b / a)", "b / a"},
        {"math.ceil(b / a)", "ceil_div(b, a)"},
        {"b // a", "b / a"},
        {"64 / a", "64 / a"},
        /* Where a number may be negative, rounding down is written out. */
        {"s // a", "s / a - (s % a <> 0 AND (s < 0) <> (a < 0))"},
        {"s % a", "(s % a + a) % a"},
        {"(a - b) * (a - (b - 1))", "(a - b) * (a - (b - 1))"},
        {"a - (b - s)", "a - (b - s)"},
        {"a & 1 == 1", "a & 1 = 1"},
        {"a ^ b", "(a | b) - (a & b)"},
        {"2 ** a", "1 << a"},
        {"b**2", "b * b"},
        {"12*1024", "12288"},
        {"-7 // 2", "-4"},
        {"-7 % 3", "2"},
        {"0x10 + 2**10", "1040"},
        {"a if b > 2 else 1", "iif(b > 2, a, 1)"},
        {"max(a, b, 4)", "max(max(a, b), 4)"},
        {"min([4, 2, 3])", "2"},
        {"ProblemSize[0] // 4", "nx / 4"},
        {"b <= 1.5 * a", "b <= 1.5 * a"},
        {"[16, 32]", "16 32"},
        {"list(range(1, 9))", "1 2 3 4 5 6 7 8"},
        {"range(10, 0, -4)", "10 6 2"},
        {"[2**i for i in range(0, 6)]", "1 2 4 8 16 32"},
        {"[1, 2] + [32 * i for i in range(1, 5) if i != 3]", "1 2 32 64 128"},
        {"('fast', \"slow\")", "fast slow"},
    };
    char out[1100];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (translate(out, sizeof out, good[i][0]) != TT_OK)
            fail_msg("%s: %s", good[i][0], tt_last_error());
        assert_string_equal(out, good[i][1]);
    }
}

static void test_refused_expressions(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"", "it is empty"},
        {"a +", "it ends, expected a value"},
        {"a b", "found 'b', expected an operator or the end"},
        {"(a", "it ends, expected ')'"},
        {"[1, 2", "it ends, expected ']'"},
        {"a = 1", "'=' is nothing known here"},
        {"'a", "a text that is never closed"},
        {"c > 1", "c is no parameter and nothing else known here"},
        {"open('/etc/passwd')", "there is no open() here"},
        {"__import__('os')", "there is no __import__() here"},
        {"a.b", "expected an operator or the end"},
        {"m + 1", "the word m is no number"},
        {"m < 'fast'", "words are compared by == and != only"},
        {"(a or b) + 1", "`and` or `or` of numbers is used as a number"},
        {"a % 1.5 == 0", "% of a number with a fraction"},
        {"a / 0", "a division by 0"},
        {"a ** b", "`**` is only known of"},
        {"ProblemSize[1]", "[1] of a list of 1"},
        {"a[0]", "[ ] behind what is no list"},
        {"a in b", "`in` is followed by no list"},
        {"9223372036854775807 + 1", "a number beyond 64 bits"},
        {"99999999999999999999", "is too large"},
        {"range(0, 100000)", "a list of more than 1024"},
        {"[i for i in range(1024)] + [1]", "a list of more than 1024"},
        {"[[j for j in range(9)] for i in range(9)]", "a comprehension within another"},
        {"a \001", "a character 0x01"},
    };
    char out[1100];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (translate(out, sizeof out, bad[i][0]) != TT_E_INVALID)
            fail_msg("%s: %s", bad[i][0], out);
        assert_says(bad[i][1]);
    }
}

static void test_long_expressions(void **state) {
    (void)state;
    char text[5000] = "", out[1100];
    memset(text, '(', 200);
    assert_int_equal(translate(out, sizeof out, text), TT_E_INVALID);
    assert_says("nested deeper than 48");
    memset(text, '-', 200);
    assert_int_equal(translate(out, sizeof out, text), TT_E_INVALID);
    assert_says("nested deeper than 48");
    memset(text, ' ', 4500);
    assert_int_equal(translate(out, sizeof out, text), TT_E_INVALID);
    assert_says("4500 characters, the limit is 4000");
    strcpy(text, "a");
    for (int i = 0; i < 400; i++)
        strcat(text, " + b");
    assert_int_equal(translate(out, sizeof out, text), TT_E_INVALID);
    assert_says("more than 1000 characters in tiletune's language");
}

/* ---- Files --------------------------------------------------------------------------------------------- */

/* A whole file; a test puts other text in the place of one part. */
static const char whole[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"B\", \"Type\": \"int\", \"Values\": "
    "\"[32, 64]\"},"
    " {\"Name\": \"U\", \"Type\": \"int\", \"Values\": [1, 2]}],"
    " \"Conditions\": [{\"Parameters\": [\"B\"], \"Expression\": \"B > U\"}]},"
    " \"KernelSpecification\": {\"Language\": \"CUDA\", \"KernelName\": \"k\", \"KernelFile\": \"k.cu\","
    " \"GlobalSize\": {\"X\": \"256 // B\"}, \"LocalSize\": {\"X\": \"B\"}, \"Arguments\": ["
    "{\"Name\": \"o\", \"Type\": \"float\", \"Size\": 256, \"MemoryType\": \"Vector\", \"AccessType\": "
    "\"WriteOnly\"},"
    "{\"Name\": \"n\", \"Type\": \"int32\", \"FillValue\": 3, \"MemoryType\": \"Scalar\"}]}}";

/* What comes of the whole with `part` replaced, and of that kernel. */
static tt_status convert(tt__str *text, tt__str *notes, const char *part, const char *instead,
                         const char *kernel) {
    char path[] = "/tmp/tt-t1-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    const char *at = strstr(whole, part);
    tt__t1 *t1 = NULL;
    assert_non_null(f);
    assert_non_null(at);
    fprintf(f, "%.*s%s%s", (int)(at - whole), whole, instead, at + strlen(part));
    fclose(f);
    tt_status status = tt__t1_read(&t1, path);
    if (status == TT_OK)
        status = tt__t1_convert(text, notes, t1, "x.json", kernel);
    tt__t1_free(&t1);
    unlink(path);
    return status;
}

static void expect_text(const char *part, const char *instead, const char *kernel, const char *has) {
    tt__str text = {0}, notes = {0};
    if (convert(&text, &notes, part, instead, kernel) != TT_OK)
        fail_msg("%s: %s", instead, tt_last_error());
    if (!strstr(text.text, has))
        fail_msg("no %s in\n%s", has, text.text);
    tt__str_free(&text);
    tt__str_free(&notes);
}

static void expect_refusal(const char *part, const char *instead, const char *kernel, const char *says) {
    tt__str text = {0}, notes = {0};
    if (convert(&text, &notes, part, instead, kernel) != TT_E_INVALID)
        fail_msg("%s: %s", instead, tt__str_text(&text));
    assert_says(says);
    tt__str_free(&text);
    tt__str_free(&notes);
}

static void test_files(void **state) {
    (void)state;
    static const struct {
        const char *part, *instead, *has;
    } good[] = {
        {"[1, 2]", "[1, 2]", "//@ param    B 32 64\n//@ param    U 1 2\n//@ where    B > U\n"},
        {"[32, 64]", "range(1, 41)", " 29 30 31 32 33 34 35 36 37 38 39 40\n"},
        {"\"Conditions\": [{", "\"x\": [{", "//@ param    U 1 2\n//@ block    B\n"},
        {"\"[32, 64]\"", "\"[32, 64]\", \"Default\": 64", "//@ default  B=64 U=1\n"},
        {"\"[32, 64]\"", "\"[32, 64]\", \"Default\": [64]", "//@ default  B=64 U=1\n"},
        {"\"[32, 64]\"", "\"[32, 64]\", \"Default\": 7",
         "// - the default 7 of B is none of its values: 32 is taken\n"},
        {"B > U", "B > U * 32", "// - the default configuration was not legal"},
        {"B > U", "B > U * 32", "//@ default  B=64 U=1\n"},
        {"B > U", "1 < 2", "// - the condition \"1 < 2\" always holds and is left out\n"},
        {"\"256 // B\"", "\"256\"}, \"GlobalSizeType\": \"OpenCL\", \"x\": {\"X\": 1",
         "//@ grid     ceil_div(256, B)\n"},
        {"\"256 // B\"", "8, \"Y\": \"B * 2\"}, \"SharedMemory\": \"4 * B\", \"x\": {\"X\": 1",
         "//@ grid     8, B * 2\n//@ shared   4 * B\n"},
        {"\"GlobalSize\"", "\"ProblemSize\": [1000, 20], \"GridDivX\": [\"B\", \"U\"], \"GlobalSize\"",
         "//@ problem  problem_size_x 1000\n//@ problem  problem_size_y 20\n"},
        {"\"GlobalSize\"", "\"ProblemSize\": [1000, 20], \"GridDivX\": [\"B\", \"U\"], \"GlobalSize\"",
         "//@ grid     ceil_div(problem_size_x, B * U), problem_size_y\n"},
        {"\"o\"", "\"B\"", "//@ buffer   B_ f32 256 out\n//@ scalar   n i32 3\n//@ args     B_, n\n"},
        {"\"float\"", "\"double4\"", "//@ buffer   o f64 1024 out\n"},
        {"\"Size\": 256", "\"Size\": \"max(B) * 4 + U[0]\"", "//@ buffer   o f32 257 out\n"},
        {"\"WriteOnly\"", "\"ReadWrite\", \"FillType\": \"Random\", \"FillValue\": 4.0",
         "//@ buffer   o f32 256 inout uniform 0 4\n"},
        {"\"WriteOnly\"", "\"ReadWrite\", \"FillType\": \"BinaryRaw\", \"DataSource\": \"o.bin\"",
         "//@ buffer   o f32 256 inout file o.bin\n"},
        {"\"WriteOnly\"", "\"ReadWrite\", \"FillType\": \"BinaryRaw\", \"DataSource\": \"../o.bin\"",
         "// - argument o is filled by BinaryRaw ../o.bin, which has no counterpart"},
        {"\"WriteOnly\"", "\"ReadWrite\", \"FillType\": \"Generator\", \"DataSource\": \"i\\n//@ op copy\"",
         "// - argument o is filled by Generator i //@ op copy, which has no counterpart"},
        {"\"FillValue\": 3", "\"FillValue\": \"U * 2\"", "//@ args     o, i32 U * 2\n"},
        {"\"GlobalSize\"", "\"CompilerOptions\": [\"-O3\", \"-DX=1\", \"-fmad=false\"], \"GlobalSize\"",
         "//@ options  -DX=1 -fmad=false\n"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect_text(good[i].part, good[i].instead, source, good[i].has);
}

static void test_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *part, *instead, *says;
    } bad[] = {
        {"{\"Conf", "{Conf", "not valid JSON"},
        {whole, "[]", "is a list: expected an object with ConfigurationSpace"},
        {"TuningParameters", "x", "ConfigurationSpace.TuningParameters is missing: expected a list"},
        {"{\"Name\": \"B\"", "7, {\"Name\": \"B\"",
         "TuningParameters[0] is a whole number: expected an object"},
        {"\"Name\": \"B\"", "\"Name\": 7", "TuningParameters[0].Name is a whole number: expected a text"},
        {"\"Values\": \"[32, 64]\"", "\"V\": 1",
         "TuningParameters[0].Values is missing: expected a text or a list"},
        {"\"B\"", "\"a b\"",
         "x.json: ConfigurationSpace.TuningParameters[0] (a b): \"a b\" is no name of a macro"},
        {"\"B\"", "\"max\"", "max is a function to tiletune: rename it"},
        {"\"U\"", "\"b\"", "b is there twice"},
        {"[32, 64]", "[]", "(B): no values"},
        {"[32, 64]", "[0.5]", "(B): the value 0.5: values are whole numbers and plain words"},
        {"[32, 64]", "range(1, 300)", "(B): more than 256 values"},
        {"[32, 64]", "['unsigned int']", "the value \"unsigned int\": values are"},
        {"[1, 2]", "[1, true, \"w\"]", "Conditions[0] \"B > U\": words are compared by == and != only"},
        {"B > U", "B > V", "Conditions[0] \"B > V\": V is no parameter"},
        {"B > U", "B > 100", "no combination of values is legal"},
        {"B > U", "1 > 2", "it never holds"},
        {"\"Expression\"", "\"E\"", "Conditions[0].Expression is missing"},
        {"\"CUDA\"", "\"OpenCL\"", "Language is \"OpenCL\": expected CUDA"},
        {"\"k\"", "\"k<int>\"", "KernelName is \"k<int>\": expected the name of a function"},
        {"\"k\"", "\"j\"", "KernelFile k.cu: it has no __global__ function j"},
        {"\"GlobalSize\"", "\"KernelTypeNames\": [\"int\"], \"GlobalSize\"",
         "a C++ template is no kernel here"},
        {"\"GlobalSize\"", "\"x\"", "GlobalSize.X is missing"},
        {"\"LocalSize\"", "\"x\"", "LocalSize.X is missing"},
        {"256 // B", "256 // C", "GlobalSize.X \"256 // C\": C is no parameter"},
        {"\"float\"", "\"complex\"", "Arguments[0] (o): Type is \"complex\""},
        {"\"Vector\"", "\"Local\"", "Arguments[0] (o): MemoryType is \"Local\": expected Vector or Scalar"},
        {"\"Size\": 256, ", "", "Arguments[0] (o): Size is missing"},
        {"\"Size\": 256", "\"Size\": \"B * 4\"", "Arguments[0] (o): "},
        {"\"WriteOnly\"", "\"Write\"", "AccessType is \"Write\": expected ReadOnly"},
        {"\"WriteOnly\"", "\"ReadOnly\"", "no argument is a Vector that is WriteOnly or ReadWrite"},
        {"\"FillValue\": 3, ", "", "Arguments[1] (n): FillValue is missing"},
        {"\"FillValue\": 3", "\"FillValue\": 3.5, \"x\": \"", "not valid JSON"},
        {"\"int32\"", "\"int16\"", "a scalar of type int16: expected int32"},
        {"256 // B", "0", "what it comes to is no template"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refusal(bad[i].part, bad[i].instead, source, bad[i].says);
}

static void test_kernels(void **state) {
    (void)state;
    expect_text("x", "x", "#ifdef kernel_tuner\n#endif\nextern \"C\" __global__ void k(float *o, int n) {}",
                "\n#define kernel_tuner 1\n");
    expect_text("x", "x",
                "// void k(\n/* __global__ void k( */ __global__\n#if 0\n#endif\nvoid k(float *o, int n) {}",
                "*/ extern \"C\" __global__\n");
    expect_text("x", "x", "#include <a.h>\n#include \"b.h\"\n__global__ void k(float *o, int n) {}\n",
                "// - line 2 of the kernel's file includes \"b.h\", which is looked up beside this one");
    expect_refusal("x", "x", "//@ kernel k\n__global__ void k(float *o, int n) {}\n",
                   "line 1 is an annotation: the file is a template already");
    expect_refusal("x", "x", "template <int N>\n__global__ void k(float *o, int n) {}\n",
                   "the kernel k is a C++ template");
    expect_refusal("x", "x", "/* __global__ void k(float *o, int n) {} */\n",
                   "it has no __global__ function k");
}

/* Parameters of one value make room for others. */
static void test_many_parameters(void **state) {
    (void)state;
    char list[4000] = "";
    for (int i = 0; i < 20; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list),
                 "{\"Name\": \"P%d\", \"Values\": \"[%d%s]\"}, ", i, i, i < 4 ? ", 99" : "");
    strcat(list, "{\"Name\": \"B\"");
    expect_text("{\"Name\": \"B\"", list, source, "//@ param    P3 3 99\n//@ param    B 32 64\n");
    expect_text("{\"Name\": \"B\"", list, source, "\n#define P4 4\n#define P5 5\n");
    *list = '\0';
    for (int i = 0; i < 20; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list),
                 "{\"Name\": \"P%d\", \"Values\": \"[1, 2]\"}, ", i);
    strcat(list, "{\"Name\": \"B\"");
    expect_refusal("{\"Name\": \"B\"", list, source, "22 parameters of more than one value, the limit is 16");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),      cmocka_unit_test(test_refused_expressions),
        cmocka_unit_test(test_long_expressions), cmocka_unit_test(test_files),
        cmocka_unit_test(test_bad_files),        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_many_parameters),
    };
    return cmocka_run_group_tests_name("t1", tests, NULL, NULL);
}
