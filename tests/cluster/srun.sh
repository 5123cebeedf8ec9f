#!/bin/sh
# SPDX-License-Identifier: MIT
# One training on ranks that srun starts, with Slurm's own ways to tell ranks of each other: PMIx for Open MPI, PMI2 for
# MPICH. The same bits as alone; a scheduler's warning; a rank that dies.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
[ "${LOCUS_CLUSTER:-}" = long ] || { echo "half a minute long: ./dev test cluster runs it"; exit 77; }
. "$LOCUS_SOURCE/tests/cluster/slurm.inc"
unset TMPDIR
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_vader_single_copy_mechanism=none UCX_TLS=posix,sysv,self

# train FOLDER OPTION…: the command, which says its ranks by what stands before it.
train() {
    folder=$1
    shift
    echo "$locus" train --store "$PWD/$folder/locus.db" --name run --threads 1 --shards 4 --seed 1 --task reverse \
        --encoding "algebraic(group=seq)" --length 8 --dim 16 --heads 2 --feed-forward 32 --train-samples 120 --dev-samples 40 \
        --test-samples 40 --greedy-samples 20 --batch 16 --evaluate-every 10 "$@"
}
short=$(train alone --steps 25)
# shellcheck disable=SC2086 # a command, to be split
$short >out 2>err || fail "alone: $(cat err)"

tried=
for way in pmix:openmpi pmi2:mpich; do
    kind=${way%:*} mpi=${way#*:}
    [ -f "$(dirname "$locus")/locus-mpi-$mpi.so" ] || continue
    srun --mpi=list 2>&1 | grep -qw "$kind" || { echo "this Slurm has no $kind: $mpi is not tried"; continue; }
    tried="$tried $mpi"
    # shellcheck disable=SC2046
    srun --mpi="$kind" --ntasks=2 --overcommit $(train "$kind" --steps 25) >out 2>err || fail "$kind: $(cat err)"
    [ "$(grep -c '^run$' out)" = 1 ] && grep -q '^2 ranks, the first of which sent' out || fail "$kind: told other than once, by 2 ranks: $(cat out)"
    cmp alone/run/best.safetensors "$kind/run/best.safetensors" || fail "$kind: other parameters than alone"

    # As scancel, or the end of a job's time with --signal, warns all ranks.
    # shellcheck disable=SC2046
    srun --mpi="$kind" --ntasks=2 --overcommit --job-name "w-$kind" $(train "$kind-warned" --steps 20000 --checkpoint-seconds 0) >out 2>err &
    job=$!
    begun() { [ -f "$kind-warned/run/last.safetensors" ]; }
    until_true 60 "a checkpoint" begun
    scancel --signal=TERM --name "w-$kind"
    got=0
    wait "$job" || got=$?
    [ "$got" = 75 ] && [ "$(grep -c '^locus: stopped after step' err)" = 1 ] || fail "$kind: warned, it ended with $got: $(cat err)"

    # A dead rank: who waits for it says so, whether or not Slurm ends the job.
    # shellcheck disable=SC2046
    srun --mpi="$kind" --ntasks=2 --overcommit --kill-on-bad-exit=0 $(train "$kind-warned" --steps 20000 --checkpoint-seconds 0) >out 2>err &
    job=$!
    rm -f "$kind-warned/run/best.safetensors"
    again() { [ -f "$kind-warned/run/best.safetensors" ]; }
    until_true 60 "it to go on" again
    victim=$(ps -e -o pid= -o args= | awk -v store="$PWD/$kind-warned/locus.db" '$2 ~ /locus$/ && index($0, store) { print $1 }' | sort -n | tail -n 1)
    kill -KILL "$victim"
    got=0
    wait "$job" || got=$?
    [ "$got" != 0 ] && grep -q 'locus: rank [01] died' err || fail "$kind: a rank died, and: $got, $(cat err)"
done
[ -n "$tried" ] || { echo "this Slurm knows neither PMIx nor PMI2, or no plugin was built"; exit 77; }
echo "ok ($tried)"
