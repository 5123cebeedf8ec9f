#!/bin/sh
# SPDX-License-Identifier: MIT
# The script that `reproduce --sbatch` prints, run by Slurm: two tasks are warned in their middle and queued again.
. "${LOCUS_SOURCE:?}/tests/cluster/cells.inc"
[ "${LOCUS_CLUSTER:-}" = long ] || { echo "a minute long: ./dev test cluster runs it"; exit 77; }
. "$LOCUS_SOURCE/tests/cluster/slurm.inc"

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
