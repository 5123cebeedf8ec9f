#!/bin/sh
# SPDX-License-Identifier: MIT
# locus runs: names that several runs begin with, and deleting with what killed processes left.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

for name in a-one a-two a-three a-four b-one; do
    "$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 1 \
        --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
        --store s/locus.db --name "$name" || fail "train: $?"
done

# The first three that were made are named, and that there are more.
says() {
    expected=$1
    shift
    got=0
    "$locus" runs "$@" --store s/locus.db >out 2>err || got=$?
    [ "$got" = 1 ] || fail "runs $*: $got"
    [ "$(cat err)" = "locus: $expected" ] || fail "runs $* says: $(cat err)"
}
tail="give more of the name, or a number of 'locus runs'"
says "4 runs begin with 'a-': a-one, a-two, a-three, …; $tail" show a-
says "2 runs begin with 'a-t': a-two, a-three; $tail" show a-t
"$locus" runs delete a-two --store s/locus.db --quiet
says "3 runs begin with 'a': a-one, a-three, a-four; $tail" show a
says "no run 'c' in the store 's/locus.db': \`locus runs\` lists them" show c
"$locus" runs show b --store s/locus.db | grep -q '^name  *b-one$' || fail "a beginning that is unique"

# A run goes with everything that was made for it; what somebody else put there stays, with the folder.
touch s/a-one/.last.safetensors.tmp-0123456789abcdef s/a-one/.best.safetensors.tmp-fedcba9876543210
"$locus" runs delete a-one --store s/locus.db --quiet
[ ! -e s/a-one ] || fail "left over: $(ls -A s/a-one)"
echo mine >s/a-four/notes
"$locus" runs delete a-four --store s/locus.db --quiet
[ "$(ls -A s/a-four)" = notes ] || fail "left over: $(ls -A s/a-four)"

# A resumed training removes them before it goes on.
touch s/b-one/.last.safetensors.tmp-0123456789abcdef
"$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 1 \
    --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
    --store s/locus.db --name b-one
[ ! -e s/b-one/.last.safetensors.tmp-0123456789abcdef ] || fail "a resume leaves what a killed process left"
echo "ok"
