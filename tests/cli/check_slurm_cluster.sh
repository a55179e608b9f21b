#!/usr/bin/env bash
# check_slurm_cluster.sh ROOT BUILD: the jobs of examples/cluster/slurm under a real slurmctld, with four slurmd on this machine.
# The CPU stand-in is the GPU, and a file is its device. Two of four nodes are killed while they run an array of 16, and
# come back; their tasks are requeued. One more task is preempted. Then the merge job runs.
#
# With TT_WORLD=1, as root, and with Debian's packages slurmctld, slurmd, slurm-client and munge. Else it is skipped (77).
set -euo pipefail
jobs=$1/examples/cluster/slurm build=$2
skip() {
    echo "skipped: $*"
    exit 77
}
[[ ${TT_WORLD:-} ]] || skip "TT_WORLD=1 is not set"
[[ $(id -u) == 0 ]] || skip "slurmd needs root"
for program in slurmctld slurmd sbatch scontrol munged mungekey; do
    command -v "$program" >/dev/null || skip "$program is missing: apt-get install slurmctld slurmd slurm-client munge"
done

folder=$(mktemp -d /tmp/slurm.XXXXXX)
nodes=4 base=$((20000 + $$ % 20000)) daemons=()
finish() {
    local code=$?
    ((code == 0)) || tail -n 20 "$folder"/*.log "$folder"/out/* 2>/dev/null || true
    scancel --user=root 2>/dev/null || true
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
mkdir -m 755 "$folder/bin" "$folder/state" "$folder/spool" "$folder/munge" "$folder/stores" "$folder/out"
chmod 755 "$folder"

# ---- A cluster of one machine

chown munge "$folder/munge"
mungekey --create --keyfile "$folder/munge/key"
chown munge "$folder/munge/key"
setpriv --reuid munge --regid munge --clear-groups munged --foreground --key-file "$folder/munge/key" \
    --socket "$folder/munge/socket" --pid-file "$folder/munge/pid" --seed-file "$folder/munge/seed" \
    --log-file "$folder/munge/log" >"$folder/munged.log" 2>&1 &
daemons+=($!)
host=$(hostname -s)
cat >"$folder/slurm.conf" <<EOF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=requeue_delay=0,batch_sched_delay=0,bf_interval=1,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
MinJobAge=600
KillWait=2
JobRequeue=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
EOF
for ((i = 0; i < nodes; i++)); do
    mkdir "$folder/spool/node$i"
    echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 1 + i)) CPUs=8 RealMemory=1 Gres=gpu:1"
done >>"$folder/slurm.conf"
echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$folder/slurm.conf"
for ((i = 0; i < nodes; i++)); do
    echo "NodeName=node$i Name=gpu File=/dev/null"
done >"$folder/gres.conf"
export SLURM_CONF=$folder/slurm.conf

declare -A slurmd
start_node() { # I
    slurmd -D -N "node$1" >"$folder/slurmd$1.log" 2>&1 &
    slurmd[$1]=$!
    daemons+=($!)
    disown
}
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || { echo "gave up waiting for: $*"; sinfo -N || true; squeue || true; return 1; }
        sleep 0.3
    done
}
slurmctld -D >"$folder/ctld.log" 2>&1 &
daemons+=($!)
for ((i = 0; i < nodes; i++)); do start_node "$i"; done
are_idle() { [[ $(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l) == "$nodes" ]]; }
until_true 40 are_idle
echo "$SECONDS s: $nodes nodes are idle"

# ---- The array

ln -s "$build/tune" "$folder/bin/tune"
export PATH=$folder/bin:$PATH LD_LIBRARY_PATH=$HOSTCUDA_DIR TILETUNE_NVRTC=$HOSTCUDA_DIR/libnvrtc.so TILETUNE_SYSTEM_DB=
sizes=$(seq -s, 40 71)
export PROBLEMS="--sizes $sizes --max-trials 4 --quiet" STORES=$folder/stores
cd "$folder"
array=$(sbatch --parsable --array=0-15 --cpus-per-task=1 --output="$folder/out/%a" "$jobs/tune.sbatch")
merge=$(sbatch --parsable --dependency=afterok:"$array" --output="$folder/out/merge" "$jobs/merge.sbatch")

trials() { # in the stores of these tasks
    python3 - "$@" <<'EOF'
import os, sqlite3, sys
print(sum(sqlite3.connect(f).execute("SELECT count(*) FROM trial").fetchone()[0]
          for f in (f"{os.environ['STORES']}/{k}.db" for k in sys.argv[1:]) if os.path.exists(f)))
EOF
}
task_on() { squeue -h -r -t R -j "$array" -w "node$1" -o %K 2>/dev/null | head -n 1; } # NODE
measures() { # NODE: its task has a trial
    local task
    task=$(task_on "$1")
    [[ $task && $(trials "$task" 2>/dev/null) -gt 0 ]]
}
is_of() { { tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null | grep -qx "$2"; } # PID VARIABLE
kill_node() { # NODE: at once all that runs on it, so that nothing can report its end
    local job pids
    job=$(squeue -h -r -t R -j "$array" -w "node$1" -o %A | head -n 1)
    pids=$(pgrep -f "^slurmstepd: \[$job\." || true)
    for pid in $(pgrep -x "bash|srun|tune|tiletune-worker|slurm_script"); do
        if is_of "$pid" "SLURMD_NODENAME=node$1" && is_of "$pid" "STORES=$STORES"; then pids+=" $pid"; fi
    done
    # shellcheck disable=SC2086 # several words
    kill -9 "${slurmd[$1]}" $pids
}
lost=()
for i in 1 2; do
    until_true 60 measures $i
    lost+=("$(task_on $i)")
    kill_node $i
    echo "$SECONDS s: node$i is dead, with task ${lost[-1]}"
done
until_true 60 measures 0
preempted=$(task_on 0)
scontrol requeue "${array}_$preempted"
echo "$SECONDS s: task $preempted is preempted"
sleep 2
for i in 1 2; do start_node $i; done

hurry() { # a job that was requeued waits two minutes
    local job
    for job in $(squeue -h -r -t PD -o "%A %r" | awk '$2 == "BeginTime" { print $1 }'); do
        scontrol update JobId="$job" StartTime=now || true
    done
}
job_state() { scontrol show job "$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p' | sort | uniq -c | xargs; }
is_over() {
    hurry
    [[ $(job_state "$merge") =~ COMPLETED|FAILED|CANCELLED ||
        $(job_state "$array") == *FAILED* ]]
}
until_true 240 is_over
echo "$SECONDS s: array $(job_state "$array"); merge $(job_state "$merge")"
restarts=$(scontrol show job "$array" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n }')
echo "$restarts restarts; lost with nodes: ${lost[*]}"
[[ $(job_state "$merge") == *COMPLETED* && $restarts -ge 3 ]]

python3 - "$STORES" <<'EOF'
import pathlib, sqlite3, sys
folder = pathlib.Path(sys.argv[1])
ask = lambda store, sql: sqlite3.connect(store).execute(sql).fetchall()
key = ("SELECT problem.key, kernel, config.text FROM trial JOIN problem ON problem.id = problem_id JOIN config ON"
       " config.id = config_id JOIN template ON template.id = template_id WHERE stage = 0")
apart = [row for k in range(16) for row in ask(folder / f"{k}.db", key)]
merged = ask(folder / "all.db", key)
winners = ask(folder / "all.db", "SELECT count(*) FROM winner")[0][0]
print(f"{winners} winners, {len(merged)} trials, {len(merged) - len(set(merged))} twice, {len(set(apart) - set(merged))} lost")
sys.exit(winners != 32 or len(merged) != len(set(merged)) or set(apart) != set(merged))
EOF
