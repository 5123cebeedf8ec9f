#!/bin/sh
# SPDX-License-Identifier: MIT
# locus attend: masks, own key positions, gradients and parameters in and out, and what it refuses.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# Arrays to work with: biases are as good numbers as any. [tokens = heads of alibi, n, n]
works encode alibi --heads 4 --positions 0,2,5,6 --scores -o q.npy
works encode alibi --heads 4 --positions 1,2,9,3 --scores -o k.npy
works encode alibi --heads 4 --positions 3,1,0,8 --scores -o v.npy
qkv='--query q.npy --key k.npy --value v.npy --positions 0:4'

# shellcheck disable=SC2086
{
    works attend none $qkv -o full.npy
    works attend none $qkv --mask full -o o.npy
    cmp -s full.npy o.npy || complain 'the default mask is not full'
    works attend none $qkv --mask causal -o o.npy
    shape o.npy '(4, 4, 4)'
    # The first query sees the first key only: its output is the first value.
    values o.npy | head -n 16 >got
    values v.npy | head -n 16 >want
    near 1e-6 got want
    # The last query sees all keys: as with the full mask.
    values o.npy | tail -n 16 >got
    values full.npy | tail -n 16 >want
    near 1e-6 got want
    works attend none $qkv --mask prefix --prefix 4 -o o.npy
    values o.npy >got
    values full.npy >want
    near 1e-6 got want
    works attend none $qkv --mask prefix --prefix 0 -o prefix.npy
    works attend none $qkv --mask causal -o o.npy
    cmp -s prefix.npy o.npy || complain 'an empty prefix is not causal'

    # Scores depend on relative positions only.
    works attend rope $qkv -o o.npy
    values o.npy >want
    works attend rope --query q.npy --key k.npy --value v.npy --positions 7:11 -o o.npy
    values o.npy >got
    near 1e-5 got want
    works attend rope $qkv --key-positions 0:4 -o o.npy
    values o.npy >got
    near 1e-6 got want
    works attend rope $qkv --key-positions 5:9 -o o.npy
    values o.npy >got
    ! cmp -s got want || complain 'the positions of keys do not count'

    # Embedding terms are ignored.
    works attend 'sinusoidal + rope' $qkv -o o.npy
    values o.npy >got
    near 0 got want
}

# Central differences of L = Σ o for two elements of q, k and v (float64 inputs; outputs are float32, so a large step).
npy one.npy '<f4' '(4, 4, 4)' '\000\000\200\077' 64
works attend 'rope + alibi' --query q.npy --key k.npy --value v.npy --positions 0:4 --mask causal \
    --grad-output one.npy --grad-dir grads/deep -o o.npy
for name in dq dk dv; do
    shape grads/deep/$name.npy '(4, 4, 4)'
done
[ -s grads/deep/dparams.safetensors ] || complain 'no dparams.safetensors'
# Σ over keys of softmax weights is 1: the sum of dv is the sum of dL/do, here 64; adding a constant to all keys' scores
# changes nothing, so that Σ dk over keys vanishes where queries do not depend on positions.
values grads/deep/dv.npy | awk '{ s += $1 } END { printf "%.4f\n", s }' >got
echo 64 >want
near 1e-3 got want
works attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output v.npy --grad-dir grads
values grads/dk.npy | awk '{ s[(NR - 1) % 16] += $1 } END { for (i = 0; i < 16; i++) printf "%.7f\n", s[i] }' >got
awk 'BEGIN { for (i = 0; i < 16; i++) print 0 }' >want
near 1e-4 got want
works attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output v.npy --grad-dir again
cmp -s grads/dq.npy again/dq.npy || complain 'gradients are not repeatable'

# Parameters: gradients come back under the names that --params takes.
for spec in 'algebraic(group=seq, decay=0.98)' 'relative(window=2)' 'algebraic(group=seq) + relative(window=2)'; do
    works attend "$spec" --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output one.npy --grad-dir params
    works attend "$spec" --query q.npy --key k.npy --value v.npy --positions 0:4 \
        --params params/dparams.safetensors -o o.npy
done
grep -q '0\.generators' params/dparams.safetensors || complain 'no 0.generators'
grep -q '1\.key_table' params/dparams.safetensors || complain 'no 1.key_table'
works attend 'algebraic(group=seq)' --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output v.npy \
    --grad-dir params
grep -q '"generators"' params/dparams.safetensors || complain 'no generators'
refuses 1 "has no tensor 'key_table'" attend 'relative(window=2)' --query q.npy --key k.npy --value v.npy \
    --positions 0:4 --params params/dparams.safetensors -o no.npy
works encode alibi --heads 4 --positions 0:6 --scores -o wide.npy
refuses 1 "has shape" attend 'algebraic(group=seq)' --query wide.npy --key wide.npy --value wide.npy --positions 0:4 \
    --params params/dparams.safetensors -o no.npy

works encode alibi --heads 3 --positions 0,2,5,6 --scores -o short.npy
refuses 1 '4 tokens, --value has 3' attend none --query q.npy --key k.npy --value short.npy --positions 0:4 -o no.npy
refuses 1 'has 6 heads\|has 4 heads' attend none --query wide.npy --key k.npy --value v.npy --positions 0:4 -o no.npy
refuses 1 'give the keys their own with --key-positions' attend none --query q.npy --key short.npy --value short.npy \
    --positions 0:4 -o no.npy
works attend none --query q.npy --key short.npy --value short.npy --positions 0:4 --key-positions 0:3 -o o.npy
refuses 1 'has 4 tokens, --positions has 5' attend none --query q.npy --key k.npy --value v.npy --positions 0:5 -o no.npy
refuses 2 'go together' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output v.npy -o no.npy
refuses 2 'go together' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --mask prefix -o no.npy
refuses 2 'did you mean causal?' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --mask casual -o no.npy
refuses 2 '--key FILE is missing' attend none --query q.npy --value v.npy --positions 0:4 -o no.npy
refuses 2 '--output FILE is missing' attend none --query q.npy --key k.npy --value v.npy --positions 0:4
refuses 1 '4 tokens, --grad-output has 3' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 \
    --grad-output short.npy --grad-dir none
absent no.npy none
finish
