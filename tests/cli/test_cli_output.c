/* `tune` on the files it writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script.h"

#define REPORT "$TUNE report --json --device replay:$TT_RECORDING --output "

/* A file that cannot be written to the end leaves what was there before. */
static void replaces_whole_files(void **state) {
    (void)state;
    expect(0, "",
           "echo old >r.json && chmod 604 r.json && ln -s r.json link && echo old >two && ln two three");
    expect(1, "cannot write r.json: File too large", "(ulimit -f 8; " REPORT "r.json)");
    expect(0, "", "test \"$(cat r.json)\" = old");
    expect(1, "cannot write link: File too large", "(ulimit -f 8; " REPORT "link)");
    expect(0, "", "test \"$(cat r.json)\" = old");
    expect(1, "cannot write new: File too large", "(ulimit -f 8; " REPORT "new)");
    expect(0, "", "test ! -e new && ls -A | grep -vxE '(r.json|link|two|three)' && exit 1 || exit 0");
    expect(0, "", REPORT "link && test -h link && grep -q sm_count r.json");
    expect(0, "", "test \"$(stat -c %a r.json)\" = 604");
    expect(0, "", REPORT "three && grep -q sm_count two"); /* a second name stays one */
    expect(0, "", "ln -s later dangling && " REPORT "dangling && grep -q sm_count later && test -h dangling");
    expect(0, "", REPORT "/dev/stdout | grep -q sm_count");
    expect(0, "", REPORT "/dev/stdout >out && grep -q sm_count out");
    expect(0, "",
           "ln -s /dev/stdout so && exec 3>>out2 && " REPORT "so >&3 && echo last >&3 && grep -q last out2");
    expect(0, "", "umask 027 && " REPORT "new && test \"$(stat -c %a new)\" = 640");
    expect(0, "", "ls -A | grep -q tmp && exit 1 || exit 0");
}

/* In a container many processes have the number of one that was killed. */
static void replaces_beside_a_stale_part(void **state) {
    (void)state;
    expect(0, "", "echo old >r.json && echo theirs >t");
    expect(1, "cannot write r.json: File too large",
           "(ulimit -f 8; sh -c 'ln -s t r.json.$$.tmp && exec " REPORT "r.json')");
    expect(0, "", "test \"$(cat r.json)\" = old && test \"$(cat t)\" = theirs");
    expect(0, "", "sh -c 'echo stale >r.json.$$.tmp && exec " REPORT "r.json' && grep -q sm_count r.json");
    expect(0, "2", "ls -A | grep -c tmp");
}

/* Whose group or place is another one's. */
static void replaces_with_the_same_rights(void **state) {
    (void)state;
    expect(
        0, "",
        "echo old >r.json && chmod 640 r.json && { chgrp 1 r.json || chgrp $(id -G | sed 's/.* //') r.json ||"
        " true; } 2>/dev/null && g=$(stat -c %g.%a r.json) && " REPORT "r.json && grep -q sm_count r.json &&"
        " test $(stat -c %g.%a r.json) = $g");
    expect(0, "", /* a group that has no number in a container, for root */
           "echo old >o.json && chmod 644 o.json && (chgrp 1 o.json || true) && echo '(ulimit -f 8; " REPORT
           "o.json); test \"$(cat o.json)\" = old && " REPORT
           "o.json && test $(stat -c %a o.json) = 644' >own"
           " && (! unshare -rm true || unshare -rm sh own)");
    expect(0, "", /* a file that is mounted, as into a container, where that may be done */
           "touch a b && echo 'mount --bind a b || exit 0; " REPORT "b && grep -q sm_count a' >bind &&"
           " (! unshare -rm true || unshare -rm sh bind)");
    expect(0, "", "ls -A | grep -q tmp && exit 1 || exit 0");
}

/* bash numbers it from 10 on. */
static void writes_to_what_is_open(void **state) {
    (void)state;
    expect(0, "",
           "bash -c 'exec {f}>>out && " REPORT "/dev/fd/$f && echo last >&$f' && grep -q sm_count out &&"
           " tail -n 1 out | grep -q last");
}

/* A failure is said once, and costs nothing that was computed before it. */
static void fails_once(void **state) {
    (void)state;
    static const char *const calls[] = {
        "report --json --device replay:$TT_RECORDING",
        "export --gpu h200 --size 4096 --format json",
        "list --gpu h200",
        "list --gpu h200 --json",
        "best --gpu h200 --size 4096",
        "--device replay:$TT_RECORDING --sizes 4096 --max-trials 4 --quiet",
        "study --device replay:$TT_RECORDING --sizes 4096 --max-trials 4 --quiet"};
    char line[512];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(line, sizeof line,
                 "$TUNE %s >/dev/full 2>err; c=$?; cat err >&2; test $(wc -l <err) = 1 || exit 9; exit $c",
                 calls[i]);
        expect(1, "cannot write to standard output: No space left", line);
        snprintf(line, sizeof line,
                 "$TUNE %s >&- 2>err; c=$?; cat err >&2; test $(wc -l <err) = 1 || exit 9; exit $c",
                 calls[i]);
        expect(1, "cannot write to standard output: Bad file descriptor", line);
    }
    expect(1, "cannot write none/x: No such file",
           "$TUNE rules " TT_SOURCE_DIR
           "/recordings/h200-random-16byte.json.gz --op transpose --output none/x >out;"
           " c=$?; grep -q '^transpose, elem_size=16 ' out || exit 9; exit $c");
}

/* What judges no result is refused before anything is measured, without an option that the command lacks. */
static void judges_by_a_reference(void **state) {
    (void)state;
    expect(2, "k.cu has no reference",
           "printf '//@ %s\\n' 'kernel k' 'problem n 8' 'buffer y f32 n out' 'block 8' 'grid 1' 'args y' "
           ">k.cu &&"
           " echo 'extern \"C\" __global__ void k(float *y) { y[threadIdx.x] = 1; }' >>k.cu &&"
           " $TUNE judge k.cu k.cu 2>err; c=$?; cat err >&2; ! grep -q unverified err || exit 9; exit $c");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, run_leave)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(replaces_whole_files),
        TEST(replaces_beside_a_stale_part),
        TEST(replaces_with_the_same_rights),
        TEST(writes_to_what_is_open),
        TEST(fails_once),
        TEST(judges_by_a_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
