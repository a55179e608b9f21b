/*
 * Text from files is made harmless.
 */
#include "store_fixture.h"

#include <math.h>

#include "base/json.h"
#include "base/random.h"
#include "base/str.h"

static const struct {
    const char *text, *name, *json;
} cases[] = {
    {"plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80", "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80",
     "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80"},
    {"\x1b[31mred", "?[31mred", "\\u001b[31mred"},
    {"a\nb\tc", "a?b?c", "a\\u000ab\\u0009c"},
    {"\x7f\xc2\x9b", "???", "\\u007f\\u009b"},
    {"\xe2\x80\xaeleft", "???left", "???left"},
    {"\xff\xc0\x80 cut \xe2\x82", "??? cut ??", "??? cut ??"},
    {"\xed\xa0\x80\xf4\x90\x80\x80", "???????", "???????"},
};

static void cleans(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], quoted[64];
        tt__str json = {0};
        tt__copy(text, sizeof text, cases[i].text);
        tt__clean(text, TT__CLEAN_NAME);
        assert_string_equal(text, cases[i].name);
        tt__json_string(&(tt__json){.out = &json}, NULL, cases[i].text);
        snprintf(quoted, sizeof quoted, "\"%s\"", cases[i].json);
        assert_string_equal(json.text, quoted);
        tt__str_free(&json);
    }
    char text[] = "line 1\n\tline 2\x1b";
    tt__clean(text, TT__CLEAN_TEXT);
    assert_string_equal(text, "line 1\n\tline 2?");
    tt__fail(TT_E_INVALID, "%s", "\x1b]0;title\x07");
    assert_string_equal(tt_last_error(), "?]0;title?");
}

/* Into a store, out of one, and from one into another. */
static void cleans_stores(void **state) {
    (void)state;
    const char *path = a_store("s.db", 2, 50, 2);
    raw_sql(path, "UPDATE gpu SET name = char(27) || 'gpu'; UPDATE env SET driver = CAST(x'ff' AS TEXT);"
                  "UPDATE trial SET status = 1, reason = 'why' || char(27, 10)");
    tt__store *s = must_open(path);
    tt__gpu gpu;
    int64_t id;
    assert_ok(tt__store_find_gpu(s, "gpu", &gpu, &id));
    assert_string_equal(gpu.name, "?gpu");
    ids one = {1, 1, 1, 1};
    tt__trial bad = {.status = TT__TRIAL_CRASHED, .reason = "\x1b[2J"};
    assert_ok(tt__store_trial_put(s, one.run, one.problem, one.config, TT__STAGE_FINAL, &bad));
    tt__store_close(&s);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM trial WHERE reason = '?[2J'"), 1);
}

static void compare_number(double value, int digits) {
    char expected[64];
    tt__str json = {0};
    tt__json_number(&(tt__json){.out = &json}, NULL, value, digits);
    tt__format(expected, sizeof expected, "%.*g", digits, value);
    assert_string_equal(tt__str_text(&json), expected);
    tt__str_free(&json);
}

/* Numbers are written without printf where that is safe. */
static void writes_what_printf_would(void **state) {
    (void)state;
    uint64_t seed = 1;
    static const double edges[] = {0,    -0.0,         1,      10,        999999.5, 9999999.5, 0.5,  2.5,
                                   1e-4, 9.9999999e-5, 0.1,    0.125,     1e9,      999999999, 1e15, 1e300,
                                   -1.5, 0.99999995,   1e-300, 123456.75, 100000,   1048575.5, 1e5,  1e6,
                                   9.5,  0.00099999995};
    for (size_t i = 0; i < TT__COUNT(edges); i++)
        for (int digits = 1; digits <= 15; digits++)
            compare_number(edges[i], digits);
    for (int i = 0; i < 100000; i++) {
        const int digits = 1 + (int)tt__random_below(&seed, 10),
                  exponent = (int)tt__random_below(&seed, 20) - 7;
        double value = tt__random_unit(&seed) * pow(10, exponent);
        compare_number(value, digits);
        compare_number(round(value * 1e3) / 1e3, digits);
        compare_number((double)(float)value, digits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(cleans), TEST(cleans_stores), TEST(writes_what_printf_would)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
