/* What `tune` suggests: after a run that failed, and as a command that can be pasted. On the CPU stand-in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"
#include "write_in.h"

/* `sets`: of the code, after "y[threadIdx.x] ". */
static void write_kernel(const char *name, const char *more, const char *sets) {
    char text[1024];
    snprintf(text, sizeof text,
             "//@ kernel k\n//@ problem n 64\n//@ buffer y u32 n out\n//@ param B 32 64\n%s"
             "//@ block B\n//@ grid n / B\n//@ args y\n//@ default B=32%s\n"
             "//@ reference r\n//@ block 64\n//@ grid 1\n//@ args y\n"
             "extern \"C\" __global__ void k(unsigned *y) { y[blockIdx.x * B + threadIdx.x] %s; }\n"
             "extern \"C\" __global__ void r(unsigned *y) { y[threadIdx.x] = 2; }\n",
             more, strstr(more, "param C") ? " C=1" : "", sets);
    write_in(folder, name, text);
}

static void after_a_run_without_winners(void **state) {
    (void)state;
    write_kernel("adds.cu", "", "+= 2");
    write_kernel("large.cu", "//@ where n < 100\n", "= 2");
    run_result r = told(1, " 2 failed, in ", "$TUNE --kernel adds.cu --db a.db");
    assert_has(&r, r.out, ".\nNext: \"tune report --db a.db --output report.html\" says why they failed\n");
    assert_null(strstr(r.out, "Winners"));
    assert_has(&r, r.err, "; an `out` buffer that it adds to must be `inout` with `zeros`\n");
    run_free(&r);
    expect(0, "", "$TUNE report --db a.db --output report.html && grep -q 'first wrong element' report.html");
    expect(1, "\nNext: \"tune report --output report.html\" says why", "$TUNE --kernel adds.cu 2>/dev/null");
    /* A trial that was left out, as recordings have them, is no reason. */
    expect(
        1, " 2 screened, 1 wrong_result, 1 skipped; the first: first wrong element",
        "python3 -c 'import sqlite3; s = sqlite3.connect(\"a.db\"); s.execute(\"UPDATE trial SET status = 6, "
        "reason = 1 WHERE at_ms = (SELECT min(at_ms) FROM trial WHERE stage = 0)\"); s.commit()' && "
        "$TUNE show --kernel adds.cu --db a.db 2>&1");
    r = told(1, "Nothing was stored.\n", "$TUNE --kernel adds.cu --db :memory: 2>/dev/null");
    assert_null(strstr(r.out, "Next"));
    run_free(&r);
    /* Of several, some may win. The note says what no configuration can do. */
    r = told(1, "Winners are in a.db.\n",
             "$TUNE --kernel large.cu --problem n=64 --problem n=128 --db a.db 2>/dev/null");
    assert_null(strstr(r.out, "Next"));
    run_free(&r);
    /* The winner of an older driver does not hide what fails under this one. */
    expect(0, "Winners are in", "$TUNE --kernel large.cu --problem n=64 --db u.db");
    expect(1, "\nNext: \"tune report --db u.db",
           "HOSTCUDA_DRIVER_VERSION=13010 HOSTCUDA_FAULTS=kernel=k:launch_error "
           "$TUNE --kernel large.cu --problem n=64 --db u.db");
    expect(0, "", "$TUNE report --db u.db --output u.html && grep -q 'launch_error: ' u.html");
}

/* The default serves problems that were never tuned, so its failure is told beside a winner, as is what fails
 * most often. */
static void beside_a_winner(void **state) {
    (void)state;
    write_kernel("rarely.cu", "", "= B == 32 ? 3 : 2");
    write_kernel("often.cu", "//@ param C 1 2 3 4\n", "= B == 32 ? C + 3 : C == 4 ? 1 : 2");
    run_result r = told(0, "2 of 2 configurations tried, 1 failed, ", "$TUNE --kernel rarely.cu --db b.db");
    assert_has(&r, r.err,
               "tune: n=64: the default of k, B=32 failed: wrong_result: first wrong element at y[0]");
    assert_null(strstr(r.err, "configurations failed"));
    assert_has(&r, r.out, "\nWhat failed, and why: tune report --db b.db --output report.html\nNext: ");
    run_free(&r);
    expect(0, "\"note\":\"the default of k, B=32 failed: wrong_result: ",
           "$TUNE --kernel rarely.cu --db b.db --json --quiet");
    r = told(0, " 5 failed, ",
             "HOSTCUDA_FAULTS='kernel=k,B=32,C=1:launch_error;kernel=k,B=32,C=2:launch_error' $TUNE --kernel "
             "often.cu --db b.db");
    assert_has(&r, r.err, "the default of k, B=32 C=1 failed: launch_error: ");
    assert_has(&r, r.err, "tune: n=64: 5 of 8 configurations failed, most often, 2: launch_error: ");
    run_free(&r);
    r = told(0, " 1 failed, ", "$TUNE --kernel rarely.cu --db :memory:");
    assert_null(strstr(r.out, "What failed"));
    run_free(&r);
}

/* Each command that is suggested, after its words, is run as it stands. */
static void for_names_with_blanks(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *script, *after;
    } cases[] = {
        {0, "$TUNE new 'a b.cu'", "  tune"},
        {0, "$TUNE new --transpose \"it's.cu\"", "  tune"},
        {0, "$TUNE doctor --template \"it's.cu\"", "more: tune"},
        {0, "$TUNE best --kernel 'a b.cu' --problem n=64", "run \"tune"},
        {1, "$TUNE report --kernel 'a b.cu' --problem n=64 --db 'a b.db' --output x.html 2>&1",
         "tuned: \"tune"},
        {1, "$TUNE --kernel adds.cu --db 'a b.db' 2>/dev/null", "Next: \"tune"},
    };
    write_kernel("adds.cu", "", "+= 2");
    expect(0, "", "$TUNE --sizes 33 --max-trials 2 --db 'a b.db'");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512];
        run_result r = told(cases[i].code, cases[i].after, cases[i].script);
        const char *at = strstr(r.out, cases[i].after) + strlen(cases[i].after);
        snprintf(command, sizeof command, "$TUNE%.*s", (int)strcspn(at, "\"\n"), at);
        expect(0, "", command);
        run_free(&r);
    }
    expect(1, "b.cu was not tuned: \"tune --kernel 'b b.cu'\" does it",
           "sed s/my_saxpy/other/ 'a b.cu' >'b b.cu' && "
           "$TUNE report --kernel 'b b.cu' --db 'a b.db' --output x.html 2>&1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_run_without_winners),
        cmocka_unit_test(beside_a_winner),
        cmocka_unit_test(for_names_with_blanks),
    };
    return cmocka_run_group_tests_name("cli-advice", tests, enter, run_leave);
}
