#!/bin/sh
# SPDX-License-Identifier: MIT
# locus train --init-from: parameters of a run or a file begin a training, which is then another run; what does not fit is told.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

train() {
    "$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --steps 2 \
        --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
        --store s/locus.db "$@"
}
train --length 4 --name first
train --length 5 --init-from first --name of-run
train --length 5 --init-from s/first/best.safetensors --name of-file
train --length 5 --name drawn
cmp s/of-run/best.safetensors s/of-file/best.safetensors || fail "a run and its file begin other trainings"
! cmp -s s/of-run/best.safetensors s/drawn/best.safetensors || fail "parameters that were named are not taken"
"$locus" runs diff of-run drawn --store s/locus.db >diff
grep -q '^init digest' diff || grep -q '^init_digest' diff || fail "the configuration does not say it: $(cat diff)"
"$locus" eval of-run --store s/locus.db >out || fail "eval: $?"

# It begins where the other ended: with a rate of nearly 0 (it begins at 1e-7) the scores are those of the other's parameters.
train --length 4 --init-from first --rate 1e-30 --dropout 0 --name still
"$locus" eval first --store s/locus.db | tail -n 1 >one
"$locus" eval still --store s/locus.db | tail -n 1 >two
cmp one two || fail "parameters changed on the way: $(cat one two)"

# The same command goes on with the same run, and another file makes another one.
train --length 5 --init-from first
count=$("$locus" runs --store s/locus.db --format csv | wc -l)
train --length 5 --init-from first
[ "$("$locus" runs --store s/locus.db --format csv | wc -l)" = "$count" ] || fail "the same beginning is another run"
train --length 5 --init-from drawn
[ "$("$locus" runs --store s/locus.db --format csv | wc -l)" = $((count + 1)) ] || fail "another beginning is the same run"
refuses 1 "exists with another init_digest" train --length 5 --init-from drawn --name of-run

# Own data: a number means what the run's vocabulary says.
printf 'good\tyes\nbad\tno\n' >first.tsv
printf 'bad\tno\ngood\tyes\n' >turned.tsv
classify() {
    "$locus" train --task classify --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --steps 1 --batch 2 \
        --threads 1 --quiet --store s/locus.db --data "$1" --dev "$1" --test "$1" --name "$2" ${3:+--init-from "$3"} ${4:+"$4"}
}
classify first.tsv labels && classify first.tsv more labels || fail "own data: $?"
refuses 1 "numbers tokens or classes otherwise than these data" classify turned.tsv other labels
[ ! -e s/other ] || fail "a training that did not begin left a folder"
refuses 1 "numbers tokens or classes otherwise than these data" classify turned.tsv more more --restart
[ -e s/more/best.safetensors ] && "$locus" runs show more --store s/locus.db | grep -q '^state *done' ||
    fail "a training that did not begin threw another one away"
cp s/labels/best.safetensors copied.safetensors
classify turned.tsv other copied.safetensors || fail "a copy of the parameters: $?"

refuses 1 "no run 'none' in the store" train --length 4 --init-from none
refuses 1 "none.safetensors" train --length 4 --init-from none.safetensors
echo "no tensors" >bad.safetensors
refuses 1 "bad.safetensors" train --length 4 --init-from bad.safetensors --name bad
refuses 1 "has the parameters of another model" train --length 4 --init-from first --feed-forward 32 --name bad
! "$locus" runs --store s/locus.db | grep -q ' bad$' || fail "a training that did not begin left a row"
[ ! -e s/bad ] || fail "and a folder"
echo "ok"
