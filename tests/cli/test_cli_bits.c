/*
 * --same-bits, on sums in several orders. HOSTCUDA_ORDER turns the order of threads round in every other
 * launch, as atomics on a GPU have another order each time.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "script.h"

#define SUMS "sums.cu"

static int setup(void **state) {
    setenv("HOSTCUDA_ORDER", "1", 1);
    setenv("HOSTCUDA_EXECUTE", "4", 1); /* in both orders */
    enter(state);
    expect(0, "", "sed 's/rows 24/rows 6/' " TT_SOURCE_DIR "/tests/data/row_sums.cu >" SUMS);
    return 0;
}

/* In each class are the configurations that add in the same order; atomics have none. */
static void finds_classes(void **state) {
    (void)state;
    expect(0, "measured", "$TUNE --kernel " SUMS " --db a.db --quiet");
    expect(0, "6 6 3 3\n",
           "python3 -c \"import sqlite3\n"
           "rows = sqlite3.connect('a.db').execute('SELECT trial.bits, text FROM trial JOIN config ON id = "
           "config_id "
           "WHERE stage = 0 AND problem_id = 1').fetchall()\n"
           "stable = [(b, c.split()[0]) for b, c in rows if 'ATOMIC=0' in c]\n"
           "print(sum(b == 1 for b, c in rows if 'ATOMIC=1' in c), len(stable), len({b for b, c in stable}), "
           "len(set(stable)))\"");
    expect(0, "measured", "$TUNE --kernel " SUMS " --db b.db --quiet");
    /* show lists the fastest, which another run may order otherwise: so every trial is compared. */
    expect(0, "12\n",
           "python3 -c \"import sqlite3\n"
           "def classes(f):\n"
           "    return sqlite3.connect(f).execute('SELECT DISTINCT text, trial.bits FROM trial JOIN config "
           "ON id = "
           "config_id WHERE stage = 0 AND problem_id = 1 ORDER BY 1, 2').fetchall()\n"
           "a, b = classes('a.db'), classes('b.db')\n"
           "assert a == b, (set(a) ^ set(b))\n"
           "print(len(a))\"");
    expect(0, "\"bits\":\"", "$TUNE show --kernel " SUMS " --db b.db --json");
}

static void elects_in_the_class(void **state) {
    (void)state;
    expect(0, "\"THREADS\":64,\"ATOMIC\":0",
           "$TUNE --kernel " SUMS " --db a.db --same-bits --json 2>said.txt");
    expect(0, "", "grep -q '2 of 12 configurations are in the class [0-9a-f]*, of 3$' said.txt");
    expect(0, "",
           "grep -q '6 configurations are unstable, since two launches differ; the fastest is .*ATOMIC=1' "
           "said.txt");
    expect(0, "",
           "grep -q 'the same bits as the default, [0-9.]* % slower than the fastest (THREADS=128.*), which "
           "differs.* of elements$' said.txt");
    expect(0, "\"THREADS\":32,\"ATOMIC\":0",
           "$TUNE --kernel " SUMS
           " --db a.db --same-bits --class-of 'THREADS=32 ATOMIC=0 UNROLL=2' --json --quiet");
    /* The fastest of all has no price. */
    expect(0, "and none is faster",
           "$TUNE --kernel " SUMS " --db a.db --same-bits --class-of 'THREADS=128 ATOMIC=0 UNROLL=1' 2>&1");
    expect(0, "",
           "$TUNE lock --db a.db --output t.lock >/dev/null && test $($TUNE best --kernel " SUMS
           " --lock t.lock --json | grep -o '\"bits\":\"[^\"]*') = "
           "$($TUNE best --kernel " SUMS " --db a.db --json | grep -o '\"bits\":\"[^\"]*')");
}

static void names_what_is_unstable(void **state) {
    (void)state;
    expect(1,
           "THREADS=32 ATOMIC=1 UNROLL=2 is unstable: two launches of it gave other bits. Name another one",
           "$TUNE --kernel " SUMS " --db a.db --same-bits --class-of 'THREADS=32 ATOMIC=1 UNROLL=2'");
    expect(0, "", "sed 's/THREADS=64 ATOMIC=0/THREADS=64 ATOMIC=1/' " SUMS " >atomic.cu");
    expect(1, "the default, THREADS=64 ATOMIC=1 UNROLL=1, is unstable",
           "$TUNE --kernel atomic.cu --db a.db --same-bits --max-trials 2");
}

/* Does a row change when rows are added? */
static void measures_batches(void **state) {
    (void)state;
    expect(0, "tune: rows=6, cols=300: batch invariant: the first results are the same where rows is less",
           "$TUNE --kernel " SUMS " --db i.db 2>&1");
    expect(0, "\"batch_invariant\":1", "$TUNE --kernel " SUMS " --db i.db --json"); /* stored */
    expect(0, ", batch invariant", "$TUNE show --kernel " SUMS " --db i.db");
    expect(0, "",
           "sed 's/cols + i\\]/cols + (i + gridDim.x) % cols]/' " SUMS
           " >turned.cu && ! cmp -s turned.cu " SUMS);
    expect(0, "not batch invariant: the first results are others where rows is 5",
           "$TUNE --kernel turned.cu --max-trials 3 --db i.db 2>&1");
    expect(0, "\"batch_invariant\":0", "$TUNE best --kernel turned.cu --db i.db --json");
    expect(0, "", "sed '/batch/d' " SUMS " >none.cu");
    expect(1, "", "$TUNE --kernel none.cu --max-trials 3 --db i.db 2>&1 | grep 'batch invariant'");
}

/* A recording has classes, too. */
static void replays_classes(void **state) {
    (void)state;
    expect(0, "", "$TUNE export --gpu hostcuda --db b.db --output r.json");
    expect(0, "\"bits\":\"unstable\"", "cat r.json");
    expect(0, "the same bits as the default",
           "$TUNE --device replay:r.json --kernel " SUMS " --same-bits 2>&1");
    expect(0, "", "sed 's/\"bits\":\"[^\"]*\",//' r.json >old.json");
    expect(1, "it is not known which bits the default, THREADS=64 ATOMIC=0 UNROLL=1, computes",
           "$TUNE --device replay:old.json --kernel " SUMS " --same-bits");
    expect(0, "", "sed 's/\"bits\":\"unstable\"/\"bits\":\"maybe\"/' r.json >bad.json");
    expect(2, "bits is \"maybe\": expected 16 hexadecimal digits, unstable or exact",
           "$TUNE --device replay:bad.json --kernel " SUMS);
}

/* Trials of a version that knew no classes are measured again. */
static void measures_what_it_does_not_know(void **state) {
    (void)state;
    expect(0, "",
           "cp b.db o.db && python3 -c \"import sqlite3\n"
           "db = sqlite3.connect('o.db')\ndb.execute('UPDATE trial SET bits = NULL')\ndb.commit()\"");
    expect(0, "\"THREADS\":64,\"ATOMIC\":0", "$TUNE --kernel " SUMS " --db o.db --same-bits --json --quiet");
}

static void says_what_is_wrong(void **state) {
    (void)state;
    expect(2, "--class-of says whose bits: give --same-bits, too", "$TUNE --kernel " SUMS " --class-of 00");
    expect(2, "\"THREADS=5\" (--class-of, tt_tune_opts.class_of) is no legal configuration of row_sums",
           "$TUNE --kernel " SUMS " --db a.db --same-bits --class-of THREADS=5");
    expect(2, "leave --shard-by configuration out",
           "$TUNE --kernel " SUMS " --db a.db --same-bits --shard 1/2 --shard-by configuration");
}

/* What must be right bit for bit is one class. */
static void knows_exact_results(void **state) {
    (void)state;
    expect(0, "\"bits\":\"exact\"",
           "$TUNE --kernel " TT_SOURCE_DIR
           "/examples/kernels/vector_add.cu --problem n=4096 --max-trials 4 --db e.db "
           "--same-bits --json --quiet");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_classes),          cmocka_unit_test(elects_in_the_class),
        cmocka_unit_test(names_what_is_unstable), cmocka_unit_test(replays_classes),
        cmocka_unit_test(measures_batches),       cmocka_unit_test(measures_what_it_does_not_know),
        cmocka_unit_test(says_what_is_wrong),     cmocka_unit_test(knows_exact_results),
    };
    return cmocka_run_group_tests(tests, setup, run_leave);
}
