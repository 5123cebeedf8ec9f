#!/bin/sh
# SPDX-License-Identifier: MIT
# One training on many ranks, by the clock: what docs/ranks.md quotes. Prints lines of JSON, of which tools/rank_costs.py
# makes tables and a model of what more ranks would cost. Needs Open MPI; the wire also network namespaces and tc.
# usage: bench/shared_steps.sh [words|trees|decoder|wire|memory] …     (all of them if none is named)
# LOCUS_RANKS: how many ranks steps are timed with, "0 2 1 4"; 0 is one process of two threads, 1/8 one rank that makes
# all of eight shards, whose parts say what an eighth of a batch costs where nobody crowds the caches.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
bench=$source/build/release/bench locus=$source/build/release/locus
[ $# -gt 0 ] || set -- words trees decoder wire memory
export LOCUS_MPI="$source/build/release/locus-mpi-openmpi.so"
[ -f "$LOCUS_MPI" ] && command -v mpirun.openmpi >/dev/null ||
    { echo "ranks: there is no Open MPI, or no plugin was built for it: install openmpi-bin and libopenmpi-dev" >&2; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader,tcp
counts=${LOCUS_RANKS:-0 2 1 4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
words='--task reverse --encoding algebraic(group=seq)'
trees='--task tree-ops --encoding algebraic(group=tree:2)'
decoder='--task addition --encoding roper'

# on RANKS OPTION…: ranks of one thread; 0: one process of two threads whose batch is not dealt.
on() {
    ranks=$1
    shift
    case $ranks in
    0) "$bench/bench_ranks" "$@" --threads 2 ;;
    1) "$bench/bench_ranks" "$@" --threads 1 --shards 1 ;;
    1/*) "$bench/bench_ranks" "$@" --threads 1 --shards "${ranks#1/}" ;;
    *) mpirun.openmpi -n "$ranks" "$bench/bench_ranks" "$@" --threads 1 --shards "$ranks" ;;
    esac
}

# The bytes of an exchange of the published model's parameters, over a cable that is no faster than this.
wire() {
    . "$source/tests/cluster/wire.inc"
    trap 'wire_close; rm -rf "$work"' EXIT
    wire_open "$work"
    $wired || { echo "ranks: no network namespaces here ($refused)" >&2; return; }
    mpicc.openmpi -O2 -o "$work/peer_allreduce" "$source/bench/mpi/peer_allreduce.c"
    for rate in none 10gbit 1gbit; do
        wire_limit $rate || continue
        for program in "$bench/bench_ranks --exchange 14776416 --steps 3" "$work/peer_allreduce 14776416 3"; do
            # shellcheck disable=SC2086 # a program and its options
            (wire_run "$work" $program) | sed "s/^{/{\"rate\": \"$rate\", /"
        done
    done
    mpirun.openmpi -n 2 "$bench/bench_ranks" --exchange 14776416 --steps 3 | sed 's/^{/{"rate": "memory", /'
    mpirun.openmpi -n 2 "$work/peer_allreduce" 14776416 3 | sed 's/^{/{"rate": "memory", /'
}

# Peak memory of `locus train`, checkpoints and all: three steps, a score, a checkpoint after each.
memory() {
    for ranks in 1 2 4; do
        start= shards=1
        [ $ranks = 1 ] || { start="mpirun.openmpi -n $ranks" && shards=$ranks; }
        # shellcheck disable=SC2086
        $start "$locus" train "$@" --budget paper --threads $((ranks == 1 ? 2 : 1)) --shards $shards --steps 3 --evaluate-every 2 \
            --dev-samples 64 --test-samples 64 --greedy-samples 0 --checkpoint-seconds 0 --name "$ranks" --store "$work/m/locus.db" --quiet
        "$locus" runs show "$ranks" --store "$work/m/locus.db" --json |
            sed -n "s/.*\"peak_bytes\":[^0-9]*\([0-9]*\).*/{\"memory\": \1, \"ranks\": $ranks, \"task\": \"$2\"}/p"
    done
    rm -rf "$work/m"
}

for part in "$@"; do
    # shellcheck disable=SC2086 # options, to be split
    case $part in
    words) for ranks in $counts; do on "$ranks" $words --steps 2; done ;;
    trees) for ranks in $counts; do on "$ranks" $trees --steps 5; done ;;
    decoder) for ranks in $counts; do on "$ranks" $decoder --steps 1; done ;;
    wire) wire ;;
    memory)
        memory $words
        memory $trees
        ;;
    *) echo "ranks: there is no part '$part': words, trees, decoder, wire, memory" >&2 && exit 2 ;;
    esac
done
