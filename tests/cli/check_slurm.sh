#!/usr/bin/env bash
# check_slurm.sh ROOT BUILD: the jobs of examples/cluster/slurm on the CPU stand-ins, with Slurm's variables and stubs for
# its commands. One task is preempted. Exit 0: the merged store has every problem's winner, and no trial twice.
set -euo pipefail
jobs=$1/examples/cluster/slurm
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/stores"
ln -s "$2/tune" "$folder/bin/tune"
printf '#!/bin/sh\necho $$ >%s/pid\nexec "$@"\n' "$folder" >"$folder/bin/srun"
printf '#!/bin/sh\necho "$@" >>%s/requeued\n' "$folder" >"$folder/bin/scontrol"
chmod +x "$folder/bin/srun" "$folder/bin/scontrol"
export PATH=$folder/bin:$PATH LD_LIBRARY_PATH=$HOSTCUDA_DIR TILETUNE_NVRTC=$HOSTCUDA_DIR/libnvrtc.so TILETUNE_SYSTEM_DB=
export PROBLEMS="--sizes 40,41,42,43,44 --max-trials 4 --quiet" STORES=$folder/stores
export SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1 SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=1

task() { SLURM_ARRAY_TASK_ID=$1 bash "$jobs/tune.sbatch" >"$folder/out$1" 2>&1; }
preempted() { # SIGTERM to the program as soon as it has a trial; it tries all, so that it is not over before
    PROBLEMS="--sizes 40,41,42,43,44 --effort exhaustive --quiet" task "$1" &
    local job=$!
    until [[ $(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(
        "SELECT count(*) FROM trial").fetchone()[0])' "$STORES/$1.db" 2>/dev/null) -gt 0 ]]; do sleep 0.05; done
    kill -TERM "$(cat "$folder/pid")"
    wait "$job" || true
}
preempted 0
grep -q "requeue 7" "$folder/requeued" || { cat "$folder/out0"; echo "task 0 was not requeued"; exit 1; }
for i in 0 1 2; do task $i || { cat "$folder/out$i"; exit 1; }; done
bash "$jobs/merge.sbatch" >"$folder/merged" 2>&1 || { cat "$folder/merged"; exit 1; }
bash "$jobs/merge.sbatch" | grep "0 trials" # again: nothing
python3 - "$STORES/all.db" <<'EOF'
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
winners = store.execute("SELECT count(*) FROM winner").fetchone()[0]
twice = store.execute("SELECT count(*) FROM (SELECT 1 FROM trial WHERE stage = 0 GROUP BY problem_id, config_id"
                      " HAVING count(*) > 1)").fetchone()[0]
print(f"{winners} winners, {twice} trials twice")
sys.exit((winners, twice) != (5, 0))
EOF
