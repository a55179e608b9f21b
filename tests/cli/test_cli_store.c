/* `tune` on stores: damaged ones, files that are there already, GPUs that are named in part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "script.h"
#include "unit/store_fixture.h"
#include "write_in.h"

/* A path in the folder; of the last few alone. */
static const char *at(const char *name) {
    static char path[4][256];
    static int n;
    n = (n + 1) % 4;
    snprintf(path[n], sizeof path[n], "%s/%s", folder, name);
    return path[n];
}

/* Nothing is copied in part. */
static void copies_nothing_damaged(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    raw_sql(at("s.db"),
            "UPDATE winner SET time_us = 0.0 WHERE problem_id = (SELECT min(problem_id) FROM winner)");
    expect(4, "\"sqlite3 FILE .recover\"", "$TUNE check --db s.db");
    expect(2, "time_us is 0: expected more", "$TUNE export --database out.db --db s.db");
    expect(2, "time_us is 0: expected more", "$TUNE merge out.db s.db");
    expect(0, "", "test ! -e out.db");
}

/* A GPU that is hidden is not elsewhere. */
static void keeps_hidden_gpus(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    raw_sql(at("s.db"), "UPDATE run SET ended_ms = 1");
    expect(2, "CUDA_VISIBLE_DEVICES=0 may hide GPUs",
           "CUDA_VISIBLE_DEVICES=0 $TUNE prune --other-gpus --db s.db");
    expect(2, "CUDA_VISIBLE_DEVICES=0 may hide GPUs",
           "CUDA_VISIBLE_DEVICES=0 $TUNE prune --other-gpus --dry-run --db s.db");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu"), 1);
    expect(2, "sees MIG 1g.10gb alone",
           "HOSTCUDA_NAME='hostcuda MIG 1g.10gb' $TUNE prune --other-gpus --db s.db");
    expect(2, "sees MIG 1g.10gb alone",
           "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='a;b MIG 1g.10gb' $TUNE prune --other-gpus --db s.db");
    expect(0, "Would take out ", "HOSTCUDA_DEVICES=18 $TUNE prune --other-gpus --dry-run --db s.db");
    expect(3, "1 of 2 GPUs cannot be read",
           "HOSTCUDA_DEVICES=2 HOSTCUDA_FAULTS=driver:call_fails=25 $TUNE prune --other-gpus --db s.db");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu"), 1);
    expect(0, "Took out ", "CUDA_VISIBLE_DEVICES=0 $TUNE prune --stale --db s.db");
    expect(0, "Took out ", "$TUNE prune --other-gpus --db s.db");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu"), 0);
}

#define REPORT "$TUNE report --json --device replay:$TT_RECORDING --output "

/* T4 of another tuner. */
static const char other_tuner[] =
    "{\"results\": [{\"configuration\": {\"TILE_DIM\": 32, \"BLOCK_ROWS\": 8, \"PAD\": 1,"
    " \"UNROLL\": 1, \"ORDER\": 0}, \"times\": {\"compilation\": 9, \"runtimes\": [0.07]},"
    " \"invalidity\": \"correct\", \"measurements\": [{\"name\": \"time\", \"value\": 0.07}]}],"
    " \"schema_version\": \"1.0.0\"}";

/* A part of a name that several GPUs have chooses none of them. */
static void imports_for_one_gpu(void **state) {
    (void)state;
    write_in(folder, "kt.json", other_tuner);
#define IMPORT "$TUNE import kt.json --kernel transpose_tiled --size 4096 --db s.db --gpu "
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    raw_sql(at("s.db"),
            "INSERT INTO gpu SELECT 2, 'My H200 NVL', mig, cc, sm_count, memory_bytes, l2_bytes,"
            " max_threads_per_block, shared_per_block, peak_gbps FROM gpu;"
            "INSERT INTO run SELECT 2, 2, env_id, source, started_ms, ended_ms, who, program, file FROM run");
    expect(2, "several GPUs match in s.db; it has: ", IMPORT "h200");
    expect(2, "several GPUs match in s.db; it has: ", IMPORT "h200 --cc 9.0");
    expect(0, "1 trial, ", IMPORT "'NVIDIA H200'");
    expect(2, "several GPUs that come with tiletune match: ",
           "$TUNE import kt.json --kernel transpose_tiled --size 4096 --db new.db --gpu nvidia");
    expect(2, "\"house\": several GPUs of this machine match: house 1, house 2",
           "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='house 1;house 2' " IMPORT "house");
    expect(2, "several GPUs of this machine match: house 12, house 1",
           "HOSTCUDA_DEVICES=3 HOSTCUDA_NAME='house 12;house 1;house 12' " IMPORT "house");
    expect(2, "several GPUs of this machine match: house 1, house 12",
           "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='house 1;house 12' " IMPORT "house");
    expect(0, "1 winner", "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='house 1;house 2' " IMPORT "'house 2'");
    expect(0, "1 winner", "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='hut 12;hut 1' " IMPORT "'hut 1'");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu WHERE name = 'hut 1'"), 1);
    expect(0, "", "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='den MIG 1g.9gb;den MIG 2g.9gb' " IMPORT "'mig 2g'");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu WHERE name || mig = 'den2g.9gb'"), 1);
    expect(0, "", "HOSTCUDA_DEVICES=2 HOSTCUDA_NAME='cot MIG 1g.9gb;cot' " IMPORT "cot");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu WHERE name || mig = 'cot'"), 1);
    expect(2, "nor is there one of that name in this machine", IMPORT "a100");
    expect(0, "1 winner", IMPORT "'hall MIG 2g.20gb' --cc 9.0");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM gpu WHERE mig = '2g.20gb'"), 1);
    expect(0, "", "$TUNE list --gpu 'hall mig 2g.20gb' --db s.db | grep -x 'hall MIG 2g.20gb'");
    expect(0, "1 winner", IMPORT "a100 --cc 8.0");
}

static void says_why_a_trial_is_damaged(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    raw_sql(at("s.db"), "UPDATE trial SET time = -7 WHERE config_id = (SELECT max(config_id) FROM trial)");
    expect(4, "cannot read a trial: the file is damaged (status 0, time -7, ", "$TUNE check --db s.db");
}

/* A store is no place for other files, even if the command names it. */
static void overwrites_no_store(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING && ln -s s.db link");
    expect(2, "s.db is a database", "$TUNE export --gpu h200 --db s.db --output s.db");
    expect(2, "link is a database", REPORT "link");
    expect(2, "s.db is a database",
           "$TUNE --sizes 4096 --max-trials 4 --device replay:$TT_RECORDING --trace s.db");
    expect(0, "is whole", "$TUNE check --db s.db");
    expect(2, "the trace ./new.db is the store",
           "$TUNE --sizes 33 --max-trials 4 --db new.db --trace ./new.db");
    expect(0, "is whole", "$TUNE check --db new.db");
    expect(0, "",
           "$TUNE --sizes 4096 --max-trials 4 --device replay:$TT_RECORDING --trace t.json && grep -q ph "
           "t.json");
}

/* Nor is what a command reads, under its name or another one. */
static void overwrites_no_input(void **state) {
    (void)state;
    static const char *const reads[] = {
        "$TUNE report r.json --output r.json",
        "$TUNE report r.json --output link",
        "$TUNE report twin r.json --output r.json",
        "$TUNE report link --json --output ./r.json",
        "$TUNE report --device replay:r.json --output twin",
        "$TUNE report --kernel k.cu --problem n=4 r.json --output k.cu",
        "$TUNE export --gpu h200 --db s.db --kernel k.cu --output k",
        "$TUNE export --gpu h200 --db s.db --template t.cu --size 4096 --output t.cu",
        "$TUNE --template t.cu --sizes 4096 --device replay:r.json --trace t.cu",
        "$TUNE report --kernel i.cu --problem n=4 r.json --output h.cuh",
        "$TUNE report --kernel i.cu --problem n=4 r.json --output deep/h.h",
        "$TUNE report --kernel i.cu --problem n=4 r.json --output x.bin",
        "$TUNE export --gpu h200 --db s.db --kernel i.cu --output ./deep/../h.cuh",
        "$TUNE export --db s.db --kernel i.cu --format json --output h.cuh",
        "$TUNE export --db s.db --gpu h200 --template u.cu --size 4096 --format c --output deep/h.c",
        "$TUNE --kernel i.cu --problem n=4 --trace h.cuh",
        "$TUNE rules r.json --output r.json",
        "$TUNE rules r.json --template t.cu --output t.cu",
        "$TUNE --collected c.txt --trace c.txt",
    };
    expect(0, "",
           "$TUNE merge s.db $TT_RECORDING && cp $TT_RECORDING r.json && ln -s r.json link && ln r.json twin"
           " && cp " TT_SOURCE_DIR "/examples/kernels/saxpy.cu k.cu && ln -s k.cu k"
           " && cp " TT_SOURCE_DIR
           "/kernel_templates/transpose_tiled.cu t.cu && mkdir deep && echo '#include \"deep/h.h\"' >h.cuh"
           " && { echo '#include \"h.cuh\"'; sed 's/x elem n in$/& file x.bin/'"
           " k.cu; } >i.cu && echo >x.bin && echo >c.txt"
           " && : >deep/h.h && { echo '#include \"h.cuh\"'; sed '/@ launch *early/d; "
           "s/transpose_tiled/mine/g' t.cu; } >u.cu"
           " && sha256sum *.cu r.json h.cuh deep/h.h x.bin c.txt s.db >sums");
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        expect(2, "is read here, and would be lost: name another file", reads[i]);
    expect(2, "s.lock is a database, and would be lost",
           "ln -s s.db s.lock && $TUNE export --lock s.db --size 4096 --format json --output s.lock");
    expect(2, "wal is a database's log, and would be lost",
           "printf '\\067\\177\\006\\202' >wal && $TUNE export --gpu h200 --db s.db --output wal");
    expect(0, "", "sha256sum --quiet -c sums");
    expect(0, "", "$TUNE report r.json --output new.html && test -s new.html");
}

/* A trace is no place for what the run reads. A run that is refused leaves an old one as it was. */
static void traces_only_runs(void **state) {
    (void)state;
    expect(0, "",
           "cp $TT_RECORDING r.json && cp " TT_SOURCE_DIR "/examples/kernels/saxpy.cu k.cu && ln k.cu k");
    expect(2, "./r.json is read here, and would be lost: name another file",
           "$TUNE --sizes 4096 --device replay:r.json --trace ./r.json");
    expect(0, "", "cmp r.json $TT_RECORDING");
    expect(2, "k is read here, and would be lost", "$TUNE --kernel k.cu --trace k");
    expect(0, "", "cmp k.cu " TT_SOURCE_DIR "/examples/kernels/saxpy.cu && echo old > t.json");
    expect(3, "no device 99", "$TUNE --device 99 --sizes 33 --trace t.json");
    expect(2, "unknown strategy", "$TUNE --sizes 33 --strategy modell --trace t.json");
    expect(2, "the recording has no transpose of 7x7",
           "$TUNE --sizes 7 --device replay:r.json --trace new.json");
    expect(1, "", "test -e new.json");
    expect(2, "the recording has no transpose of 7x7",
           "$TUNE --sizes 7 --device replay:r.json --trace t.json");
    expect(0, "old", "cat t.json");
    expect(0, "", "$TUNE --sizes 4096 --max-trials 4 --device replay:r.json --trace t.json");
    expect(1, "", "grep old t.json");
}

/* A run that was killed does not make a lock file larger. */
static void locks_only_winners(void **state) {
    (void)state;
    expect(0, "", "$TUNE --sizes 33 --max-trials 4 --quiet --db s.db");
    raw_sql(at("s.db"), "UPDATE run SET ended_ms = NULL");
    expect(0, "1 winner, 1 cubin", "$TUNE lock --output lock.db --db s.db");
    assert_int_equal(raw_sql(at("lock.db"), "SELECT count(*) FROM config"), 1);
}

/* What fails under a newer driver is no answer there, as it is none of the store. */
static void locks_failures_of_winners(void **state) {
    (void)state;
    expect(0, "", /* the stand-in takes a minute for as many elements as the file has */
           "$TUNE new k.cu && sed -i '/@ problem/s/ [0-9][0-9]*/ 5000/' k.cu && grep -q ' 5000' k.cu && "
           "$TUNE --kernel k.cu --max-trials 2 --db s.db");
    expect(1, "has no winner for the my_saxpy",
           "export HOSTCUDA_DRIVER_VERSION=13010; "
           "HOSTCUDA_FAULTS=kernel=my_saxpy:wrong $TUNE --kernel k.cu --max-trials 2 --db s.db; "
           "$TUNE lock --output lock.db --db s.db && $TUNE best --kernel k.cu --lock lock.db 2>&1");
    expect(0, "exact", "$TUNE best --kernel k.cu --lock lock.db");
}

static void imports_no_store_into_itself(void **state) {
    (void)state;
    expect(0, "", "$TUNE --sizes 33 --max-trials 4 --quiet --db s.db");
    const int64_t trials = raw_sql(at("s.db"), "SELECT count(*) FROM trial");
    expect(2, "s.db: cannot be merged into itself", "$TUNE import s.db --db s.db");
    expect(2, "link: cannot be merged into itself", "ln s.db link && $TUNE import link --db s.db");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM trial"), trials);
}

/* Each GPU has one table, and each instance of one, too. */
static void lists_each_gpu_once(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    raw_sql(at("s.db"),
            "INSERT INTO gpu SELECT 2, name, '1g.10gb', cc, sm_count, memory_bytes, l2_bytes,"
            " max_threads_per_block, shared_per_block, peak_gbps FROM gpu;"
            "INSERT INTO run SELECT 99, 2, env_id, source, started_ms, ended_ms, who, program, file FROM run;"
            "INSERT INTO winner SELECT 2, problem_id, 99, config_id, time_us, copy_us, copy_fraction,"
            " speedup_vs_default, trials, failed, unix_ms, bits, batch_invariant FROM winner");
    expect(0, "", "test $($TUNE list --db s.db | grep -c '^NVIDIA H200') = 2");
    raw_sql(at("s.db"),
            "UPDATE gpu SET name = 'B' WHERE id = 2; UPDATE value SET value = 'x' WHERE problem_id = 6;"
            "DELETE FROM winner WHERE gpu_id = 1 AND problem_id = 6"); /* damaged for the other */
    expect(0, "valid", "$TUNE list --gpu H200 --db s.db");
}

/* MIG instances of several sizes have one name. */
static void answers_for_its_own_instance(void **state) {
    (void)state;
    expect(0, "", "HOSTCUDA_NAME='big MIG 2g.20gb' $TUNE --sizes 33 --max-trials 4 --quiet --db s.db");
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "big" : "big MIG 1g.10gb";
        setenv("HOSTCUDA_NAME", name, 1);
        expect(1, i ? "was not tuned on big;" : "was not tuned on big MIG 1g.10gb;",
               "$TUNE show --size 33 --db s.db");
        expect(0, "\"match\":\"other-gpu\"", "$TUNE best --size 33 --json --db s.db");
        expect(0, "\"match\":\"exact\"", "$TUNE best --size 33 --json --db s.db --gpu big");
    }
    expect(0, "", "HOSTCUDA_NAME='big MIG 1g.10gb' $TUNE --sizes 34 --max-trials 4 --quiet --db s.db");
    expect(0, "", "$TUNE list --gpu \"$($TUNE list --db s.db | grep 2g)\" --db s.db | grep 33x33");
    expect(0, "\"match\":\"exact\"", "$TUNE best --size 34 --json --db s.db --gpu 'big mig 1g.10gb'");
    setenv("HOSTCUDA_NAME", "big MIG 2g.20gb", 1);
    expect(0, "winner", "$TUNE show --size 33 --db s.db");
    expect(0, "\"match\":\"exact\"", "$TUNE best --size 33 --json --db s.db");
    unsetenv("HOSTCUDA_NAME");
}

/* A service or a container may have no $USER. */
static void names_the_host_without_a_user(void **state) {
    (void)state;
    expect(0, "", "env -u TILETUNE_WHO USER= $TUNE --sizes 33 --max-trials 4 --quiet --db s.db");
    expect(0, "", "$TUNE show --size 33 --db s.db >s.txt && grep -qx \"by  *$(uname -n)\" s.txt");
}

static void keeps_what_it_exports(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    expect(2, ":memory: keeps nothing: name a file", "$TUNE export --database :memory: --db s.db");
    expect(2, ":memory: keeps nothing: name a file", "$TUNE lock --output :memory: --db s.db");
    expect(2, ":memory: keeps nothing: name a file", "$TUNE merge :memory: s.db");
    expect(2, ":memory: keeps nothing: name a file", "$TUNE import s.db --db :memory:");
}

/* What doctor says of a store that is not there is what happens. */
static void makes_no_store_in_vain(void **state) {
    (void)state;
    expect(4, "nodir/x.db: the folder of the store does not exist", "$TUNE doctor --db nodir/x.db");
    expect(0, "", "mkdir open && chmod 777 open");
    expect(4, "others can make files in the folder", "$TUNE doctor --db open/x.db");
    expect(4, "others can make files in the folder", "$TUNE merge open/x.db $TT_RECORDING");
    expect(0, "", "test -z \"$(ls -A open)\"");
    expect(0, "", "TILETUNE_TRUST_STORE=1 $TUNE merge open/x.db $TT_RECORDING");
    expect(0, "", /* the folder of another user, for root */
           "mkdir theirs && (! chown 1 theirs || { $TUNE doctor --db theirs/x.db; test $? = 4 &&"
           " ! $TUNE merge theirs/x.db $TT_RECORDING && test -z \"$(ls -A theirs)\"; })");
    expect(4, "link.db: this symbolic link leads to a file", "ln -s no link.db && $TUNE doctor --db link.db");
    expect(0, "new.db: not there yet, the first run makes it", "$TUNE doctor --db new.db");
    expect(0, "a/b/tiletune/tiletune.db: not there yet", "XDG_DATA_HOME=$PWD/a/b $TUNE doctor");
    expect(0, "", "test ! -e a && test ! -e new.db");
    expect(0, "empty.db: still empty", ">empty.db && chmod 600 empty.db && $TUNE doctor --db empty.db");
}

/* A file without a date is the same when it comes again. */
static void imports_once(void **state) {
    (void)state;
    write_in(folder, "kt.json", other_tuner);
#define IMPORT_4096 "$TUNE import --kernel transpose_tiled --size 4096 --gpu h200 --db s.db "
    const char *line = IMPORT_4096 "kt.json";
    expect(0, "1 winner, 1 trial, ", line);
    expect(0, "0 winners (1 more is as good here already), 0 trials, ", line);
    expect(0, "0 winners (1 more is as good here already), 0 trials, ",
           "touch kt.json -d @1600000000 && " IMPORT_4096 "kt.json");
    expect(0, "0 trials, ", "gzip kt.json && " IMPORT_4096 "kt.json.gz");
    expect(0, "60 trials, ", /* other files of one moment */
           "for i in $(seq 100 159); do zcat kt.json.gz | sed s/0.07/0.07$i/g >$i.json; done && touch -d @0 "
           "1*.json && " IMPORT_4096 "1*.json");
    assert_int_equal(raw_sql(at("s.db"), "SELECT count(*) FROM run WHERE started_ms > 1500000000000"), 61);
}

/* A store that could not be made leaves nothing, and can be made later. */
static void leaves_no_half_store(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    expect(4, "e.db: cannot ", "(ulimit -f 100; $TUNE export --database e.db --db s.db)");
    expect(4, "f.db: cannot ", "(ulimit -f 64; $TUNE merge f.db $TT_RECORDING)");
    expect(0, "", "ls -A | grep '^[ef]' && exit 1 || exit 0");
    expect(0, "5 winners", "$TUNE export --database e.db --db s.db");
    expect(0, "", ">f.db && chmod 600 f.db"); /* what was there before stays */
    expect(4, "f.db: cannot ", "(ulimit -f 8; $TUNE merge f.db $TT_RECORDING)");
    expect(0, "5 winners", "test -e f.db && $TUNE merge f.db $TT_RECORDING");
    expect(
        0, "", /* a disk that is full for its log, too, where one may be mounted */
        "mkdir m && echo 'mount -t tmpfs -o mode=700,size=300k tmpfs m || exit 0; $TUNE merge m/f.db "
        "$TT_RECORDING; test $? = 4 && test -z \"$(ls -A m)\" || exit 1; head -c 1M /dev/zero >m/all; "
        "$TUNE merge m/f.db $TT_RECORDING; test $? = 4 && test \"$(ls -A m)\" = all' >full && (! unshare -rm "
        "true || unshare -rm sh full)");
}

static void repairs_what_is_half_written(void **state) {
    (void)state;
    expect(0, "", "$TUNE merge s.db $TT_RECORDING");
    copy_half_written(at("hot.db"), at("s.db"));
    expect(4, "\"tune vacuum --db hot.db\" repairs it", "$TUNE list --db hot.db");
    copy_half_written(at("it is.db"), at("s.db"));
    expect(4, "\"tune vacuum --db 'it is.db'\" repairs it", "$TUNE list --db 'it is.db'");
    expect(4, "chmod go-w 'it is.db' if", "chmod 620 'it is.db' && $TUNE list --db 'it is.db'");
    expect(0, "is whole", "$TUNE vacuum --db hot.db && $TUNE check --db hot.db");
    expect(4, "no store here", "$TUNE vacuum --db none.db");
    expect(4, "still empty", ">none.db && chmod 600 none.db && $TUNE vacuum --db none.db");
    raw_sql(at("other.db"), "CREATE TABLE a (x); DROP TABLE a");
    expect(0, "", "chmod 600 other.db && cp other.db before");
    expect(4, "still empty", "$TUNE prune --stale --db other.db");
    expect(0, "", "cmp other.db before");
}

/* An older schema is not brought up to date in a copy, nor is the compact file made in memory. */
static void updates_large_stores_in_place(void **state) {
    (void)state;
    expect(0, "", "cp " TT_SOURCE_DIR "/tests/data/store-v4.db s.db && chmod 600 s.db");
    raw_sql(at("s.db"),
            "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 64) INSERT INTO cubin"
            " (key, hash, image) SELECT i, hash, zeroblob(500000) FROM cubin, n");
    if (getenv("HOSTCUDA_PLAIN")) /* sanitizers need more for themselves */
        return;
    expect(0, "32.", "cp s.db old.db && (ulimit -d 20000; $TUNE vacuum --db old.db)");
    expect(0, "64 cubins", "(ulimit -d 20000; $TUNE prune --older-than 30000 --db s.db)");
    expect(0, "is whole", "$TUNE check --db s.db");
}

#define TEST_STORE(f) cmocka_unit_test_setup_teardown(f, enter, run_leave)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_STORE(copies_nothing_damaged),
        TEST_STORE(keeps_hidden_gpus),
        TEST_STORE(imports_for_one_gpu),
        TEST_STORE(says_why_a_trial_is_damaged),
        TEST_STORE(overwrites_no_store),
        TEST_STORE(overwrites_no_input),
        TEST_STORE(traces_only_runs),
        TEST_STORE(locks_only_winners),
        TEST_STORE(locks_failures_of_winners),
        TEST_STORE(imports_no_store_into_itself),
        TEST_STORE(lists_each_gpu_once),
        TEST_STORE(answers_for_its_own_instance),
        TEST_STORE(names_the_host_without_a_user),
        TEST_STORE(keeps_what_it_exports),
        TEST_STORE(makes_no_store_in_vain),
        TEST_STORE(imports_once),
        TEST_STORE(leaves_no_half_store),
        TEST_STORE(repairs_what_is_half_written),
        TEST_STORE(updates_large_stores_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
