#!/bin/sh
# SPDX-License-Identifier: MIT
# The script that `reproduce --sbatch` prints, run by Slurm: a controller and a node with a configuration, ports, a key
# and a state of their own, in the scratch folder. Two tasks are warned in their middle and queued again.
. "${LOCUS_SOURCE:?}/tests/cluster/cells.inc"
[ "${LOCUS_CLUSTER:-}" = long ] || { echo "a minute long: ./dev test cluster runs it"; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || { echo "there is no $program here"; exit 77; }
done

# ---- a cluster of this machine ----

cluster=$work/cluster
mkdir -p "$cluster/state" "$cluster/spool" "$work/disk"
chmod 700 "$cluster" "$cluster/state"
host=$(hostname -s)
# Ports that nobody listens at, in a range of their own.
port=$((20000 + $$ % 20000))
cat >"$cluster/slurm.conf" <<END
ClusterName=locus
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=30
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=local Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$cluster/slurm.conf"

processes=
end_cluster() {
    scancel --user "$(id -un)" 2>/dev/null || :
    for process in $processes; do
        kill "$process" 2>/dev/null || :
    done
    for process in $processes; do
        wait "$process" 2>/dev/null || :
    done
    rm -rf "$work"
}
trap end_cluster EXIT

# start NAME COMMAND…: in the background, its output in a file of its own.
start() {
    log=$cluster/$1.log
    shift
    "$@" >"$log" 2>&1 &
    processes="$! $processes"
}

# until_true SECONDS WHAT COMMAND…
until_true() {
    left=$1 what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "$what does not come: $(squeue --all 2>&1) $(tail -n 5 "$cluster"/*.log slurm-*.out 2>&1)"
        sleep 1
    done
}

dd if=/dev/urandom of="$cluster/munge.key" bs=128 count=1 2>/dev/null
chmod 400 "$cluster/munge.key"
start munged munged --foreground --force --key-file="$cluster/munge.key" --socket="$cluster/munge.socket" \
    --pid-file="$cluster/munged.pid" --seed-file="$cluster/munge.seed" --num-threads=2
until_true 30 "munged" test -S "$cluster/munge.socket"
start slurmctld slurmctld -D -f "$SLURM_CONF"
start slurmd slurmd -D -f "$SLURM_CONF" -N "$host"
node_is_idle() { [ "$(sinfo --noheader --format=%T)" = idle ]; }
until_true 60 "the node" node_is_idle

# ---- the table ----

export LOCUS="$locus" TMPDIR="$work/disk"
# shellcheck disable=SC2086
"$locus" $table --threads 1 --sbatch >script || fail "--sbatch: $?"
job=$(sbatch --parsable script) || fail "sbatch does not take the script: $(cat script)"

# trains CELL: a store on the node's own disk shows steps.
trains() {
    for store in disk/locus-*/part-"$1".db; do
        "$locus" runs --store "$store" --format csv | grep -q ',[1-9][0-9]*/600,' && return
    done
    return 1
}
waits() { scontrol show job "${job}_$1" | grep -q 'JobState=PENDING.*\|Restarts=1'; }
for cell in 1 3; do
    until_true 300 "training $cell" trains "$cell"
    scancel --batch --signal=TERM "${job}_$cell" # as --signal=B:TERM@120 does
    until_true 120 "training $cell in the queue again" waits "$cell"
    [ -f "$parts/$cell/part-$cell.db" ] || fail "what training $cell had was not brought back: $(ls -aR "$parts")"
    "$locus" runs --store "$parts/$cell/part-$cell.db" --format csv | grep -q ',stopped,[0-9]*/600,' ||
        fail "training $cell was not stopped: $(cat slurm-*.out)"
    scontrol update JobId="${job}_$cell" StartTime=now 2>/dev/null || : # Slurm lets it wait two minutes otherwise
done
is_over() { [ -z "$(squeue --noheader)" ]; }
until_true 600 "the end" is_over
[ -f "$parts/locus.db" ] || fail "there is no merged store: $(ls "$parts"; cat slurm-*.out "$parts"/table-*.txt)"
for cell in 1 3; do
    scontrol show job "${job}_$cell" | grep -q 'Restarts=1' || fail "training $cell was not queued again"
done
[ -z "$(ls disk)" ] || fail "tasks left something on the node's disk: $(ls disk)"
[ "$(ls -a "$parts" | grep -c '^\.[a-z]')" = 0 ] || fail "halves of copies are left: $(ls -a "$parts")"

unset TMPDIR
train_one
grep -v '^locus: ' "$parts"/table-*.txt >table
compare_with_one "$parts" table
echo "ok"
