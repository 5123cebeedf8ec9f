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

# Where one input is float64 all are computed so, and what comes out is float32 as ever.
npy one64.npy '<f8' '(4, 4, 4)' '\000\000\000\000\000\000\360\077' 64
for wide in query key value grad-output; do
    set -- --query one.npy --key one.npy --value one.npy --grad-output one.npy
    works attend rope "$@" --positions 0:4 --grad-dir narrow -o narrow.npy
    works attend rope "$@" --$wide one64.npy --positions 0:4 --grad-dir wide -o wide.npy
    for name in narrow wide; do
        shape $name.npy '(4, 4, 4)'
        for what in dq dk dv; do shape $name/$what.npy '(4, 4, 4)'; done
        for file in $name.npy $name/dq.npy $name/dk.npy $name/dv.npy; do values $file; done >$name.txt
    done
    near 1e-6 wide.txt narrow.txt
done

# tensors FILE, numbers FILE: the header of a .safetensors, and its float32 numbers, one to a line
header_bytes() { od -An -t u4 -N 4 "$1" | tr -d ' '; }
tensors() { dd if="$1" bs=1 skip=8 count="$(header_bytes "$1")" 2>/dev/null; echo; }
numbers() { od -An -v -t f4 -w4 -j $((8 + $(header_bytes "$1"))) "$1" | tr -d ' '; }

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

# ---- grouped queries, other value dimensions ----

# rows FROM TO SHAPE NUMBER…: rows of four numbers of an array, by their numbers
rows() {
    from=$1 to=$2
    npy "$to" '<f4' "$3" '' 0
    start=$(($(od -An -t u2 -j 8 -N 2 "$from") + 10))
    shift 3
    for row; do
        dd if="$from" bs=1 skip=$((start + 16 * row)) count=16 2>/dev/null >>"$to"
    done
}

# Query heads 0 and 1 go with key head 0, 2 and 3 with key head 1.
for kv in k v; do
    rows $kv.npy ${kv}2.npy '(4, 2, 4)' 0 3 5 6 8 11 13 14
    rows ${kv}2.npy ${kv}4.npy '(4, 4, 4)' 0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7
done
for spec in none rope 'rope + alibi' roper; do
    works attend "$spec" --query q.npy --key k2.npy --value v2.npy --positions 0:4 --mask causal -o o.npy
    values o.npy >got
    works attend "$spec" --query q.npy --key k4.npy --value v4.npy --positions 0:4 --mask causal -o o.npy
    values o.npy >want
    near 1e-6 got want
done
works attend rope --query q.npy --key k2.npy --value v2.npy --positions 0:4 --grad-output q.npy --grad-dir grouped
shape grouped/dq.npy '(4, 4, 4)'
shape grouped/dk.npy '(4, 2, 4)'
# A gradient of a shared head is the sum over the queries' heads that share it.
works attend rope --query q.npy --key k4.npy --value v4.npy --positions 0:4 --grad-output q.npy --grad-dir alone
for name in dk dv; do
    values grouped/$name.npy >got
    values alone/$name.npy | awk '{ t = int((NR - 1) / 8); s[t, (NR - 1) % 4] += $1 }
        END { for (t = 0; t < 8; t++) for (i = 0; i < 4; i++) printf "%.9g\n", s[t, i] }' >want
    near 1e-5 got want
done
npy v8.npy '<f4' '(4, 4, 8)' '\000\000\200\077' 128
works attend rope --query q.npy --key k.npy --value v8.npy --positions 0:4 -o o.npy
shape o.npy '(4, 4, 8)'
values o.npy >got
values v8.npy >want
near 1e-6 got want
rows k.npy k3.npy '(4, 3, 4)' 0 1 2 3 4 5 6 7 8 9 10 11
refuses 1 '4 heads, --key has 3: the heads of keys must divide those of queries' attend rope --query q.npy --key k3.npy --value k3.npy \
    --positions 0:4 -o no.npy
refuses 1 '--key has 2 heads, --value has 4' attend rope --query q.npy --key k2.npy --value v.npy --positions 0:4 \
    -o no.npy
refuses 1 'value_dim' attend roper --query q.npy --key k.npy --value v8.npy --positions 0:4 -o no.npy

# ---- scale, cap, windows, documents ----

# Without scores to speak of, every key has the same weight.
values v.npy | awk '{ s[(NR - 1) % 16] += $1 / 4 } END { for (t = 0; t < 4; t++) for (i = 0; i < 16; i++) print s[i] }' >mean
# shellcheck disable=SC2086
{
    works attend none $qkv --scale 1e-9 -o o.npy
    values o.npy >got
    near 1e-5 got mean
    works attend none $qkv --cap 1e-7 -o o.npy
    values o.npy >got
    near 1e-5 got mean
    works attend none $qkv --scale 0.5 -o o.npy
    cmp -s o.npy full.npy || complain 'the default scale is not 1/sqrt(4)'
    works attend none $qkv --scale 0.25 -o o.npy
    works attend 'scores(scale=0.25)' $qkv -o want.npy
    cmp -s o.npy want.npy || complain '--scale is not scores(scale=…)'
    works attend 'scores(scale=3)' $qkv --scale 0.25 -o o.npy
    cmp -s o.npy want.npy || complain '--scale does not win'
    # A window of one key is the key itself; with the first kept, two of them.
    works attend rope $qkv --mask causal --window 1 -o o.npy
    values o.npy >got
    values v.npy >want
    near 1e-6 got want
    works attend none $qkv --mask causal --window 4 -o o.npy
    works attend none $qkv --mask causal -o want.npy
    cmp -s o.npy want.npy || complain 'a window of all keys hides some'
    works attend none $qkv --mask causal --window 1 --keep 1 --scale 1e-9 -o o.npy
    values o.npy >got
    values v.npy | awk '{ v[NR - 1] = $1 } END { for (t = 0; t < 4; t++) for (i = 0; i < 16; i++)
        print (t ? (v[16 * t + i] + v[i]) / 2 : v[i]) }' >want
    near 1e-5 got want
    # Two documents of two tokens are as two sequences.
    npy documents.npy '<i4' '(4,)' '\007\000\000\000\007\000\000\000\011\000\000\000\011\000\000\000'
    npy documents64.npy '<i8' '(4,)' \
        '\007\000\000\000\000\000\000\000\007\000\000\000\000\000\000\000\011\000\000\000\000\000\000\000\011\000\000\000\000\000\000\000'
    works attend rope $qkv --documents documents.npy -o o.npy
    works attend rope $qkv --documents documents64.npy -o want.npy
    cmp -s o.npy want.npy || complain 'int64 documents differ'
    works attend rope $qkv --documents documents.npy --key-positions 0:4 --key-documents documents.npy -o want.npy
    cmp -s o.npy want.npy || complain 'documents of keys differ'
    values o.npy | tail -n 32 >got
    for name in q k v; do rows $name.npy ${name}_b.npy '(2, 4, 4)' 8 9 10 11 12 13 14 15; done
    works attend rope --query q_b.npy --key k_b.npy --value v_b.npy --positions 2:4 -o o.npy
    values o.npy >want
    near 1e-6 got want
    npy few.npy '<i4' '(3,)' '\001\000\000\000' 3
    npy far.npy '<i8' '(4,)' '\000\000\000\000\001\000\000\000' 4
    refuses 1 'few.npy names the documents of 3 tokens, not of 4' attend rope $qkv --documents few.npy -o no.npy
    refuses 1 'far.npy: document 4294967296 of token 0 is out of range' attend rope $qkv --documents far.npy -o no.npy
    refuses 1 'q.npy: must be int32 or int64' attend rope $qkv --documents q.npy -o no.npy
    refuses 1 'missing.npy' attend rope $qkv --documents missing.npy -o no.npy
    refuses 2 'goes with --documents' attend rope $qkv --key-documents documents.npy -o no.npy
    refuses 2 'need --key-documents' attend rope $qkv --key-positions 0:4 --documents documents.npy -o no.npy
    refuses 2 '--keep goes with --window' attend rope $qkv --keep 2 -o no.npy
    refuses 2 '--scale must be above 0, not -1' attend rope $qkv --scale -1 -o no.npy
    refuses 2 '--cap must be above 0, not 0' attend rope $qkv --cap 0 -o no.npy
    # A result that is no number is no result: nothing is written.
    refuses 1 'no.npy is not written: element \[0, 0, 0\] of the result is NaN' attend rope $qkv --scale 1e300 -o no.npy
    refuses 1 'the output is not written' attend rope $qkv --cap 1e300 --grad-output q.npy --grad-dir nowhere
    absent no.npy nowhere
    refuses 2 '--window must be at least 1' attend rope $qkv --window 0 -o no.npy

    # ---- other attentions ----

    # As many clusters as queries: each query has its own.
    works attend rope $qkv -o want.npy
    works attend rope $qkv --attention clustered -o o.npy
    values o.npy >got
    values want.npy >want
    near 1e-5 got want
    works attend rope $qkv --attention softmax -o want.npy
    refuses 1 'alibi' attend 'rope + alibi' $qkv --attention clustered -o no.npy
    for kind in linear soft; do
        works attend rope $qkv --attention $kind -o o.npy
        shape o.npy '(4, 4, 4)'
        ! cmp -s o.npy want.npy || complain "$kind is softmax"
        works attend rope $qkv --attention $kind --grad-output q.npy --grad-dir $kind
        shape $kind/dk.npy '(4, 4, 4)'
        refuses 1 'alibi' attend 'rope + alibi' $qkv --attention $kind -o no.npy
    done
    # Linear and causal: the first query sees the first key alone.
    works attend none $qkv --attention linear --mask causal -o o.npy
    values o.npy | head -n 16 >got
    values v.npy | head -n 16 >want
    near 1e-5 got want
    works attend rope $qkv --attention soft --landmarks 2 --iterations 5 -o o.npy
    works attend rope $qkv --attention clustered --clusters 2 --iterations 3 -o o.npy
    for word in '--window 2' '--cap 5' '--documents documents.npy'; do
        refuses 2 "${word% *} goes with --attention softmax" attend rope $qkv --attention linear $word -o no.npy
    done
    refuses 2 '--landmarks goes with --attention soft' attend rope $qkv --landmarks 2 -o no.npy
    refuses 2 '--clusters goes with --attention clustered' attend rope $qkv --attention soft --clusters 2 -o no.npy
    refuses 2 '--iterations goes with --attention soft or clustered' attend rope $qkv --iterations 2 -o no.npy
    refuses 2 "did you mean 'softmax'?" attend rope $qkv --attention softmx -o no.npy
    refuses 2 "'soft' has no option 'landmark' (did you mean 'landmarks'?)" \
        attend rope $qkv --attention 'soft(landmark=2)' -o no.npy
    works attend rope $qkv --attention soft --landmarks 2 --iterations 5 -o want.npy
    works attend rope $qkv --attention 'soft(landmarks=2, iterations=5)' -o o.npy
    cmp -s o.npy want.npy || complain 'options beside a kind and inside of it differ'
    refuses 2 "write --landmarks inside: --attention" \
        attend rope $qkv --attention 'soft(iterations=5)' --landmarks 2 -o no.npy

    # ---- a bias, and weights ----

    # Zeros change nothing; numbers for one head serve all; -inf is a mask.
    npy zeros.npy '<f4' '(4, 4)' '\000\000\000\000' 16
    works attend 'rope + alibi' $qkv -o want.npy
    works attend 'rope + alibi' $qkv --bias zeros.npy -o o.npy
    cmp -s o.npy want.npy || complain 'a bias of zeros changes the output'
    npy causal.npy '<f4' '(1, 4, 4)' ''
    for i in 0 1 2 3; do
        for j in 0 1 2 3; do
            if [ $j -gt $i ]; then printf '\000\000\200\377'; else printf '\000\000\000\000'; fi >>causal.npy
        done
    done
    works attend 'rope + alibi' $qkv --mask causal -o want.npy --weights want_weights.npy
    works attend 'rope + alibi' $qkv --bias causal.npy -o o.npy --weights weights.npy --grad-output q.npy --grad-dir biased
    values o.npy >got
    values want.npy >want
    near 1e-6 got want
    shape weights.npy '(4, 4, 4)'
    values weights.npy >got
    values want_weights.npy >want
    near 1e-6 got want
    awk '{ s += $1 } NR % 4 == 0 { printf "%.6f\n", s; s = 0 }' got >sums
    awk 'BEGIN { for (i = 0; i < 16; i++) print 1 }' >want
    near 1e-5 sums want
    shape biased/dbias.npy '(1, 4, 4)'
    # Each row of the gradient sums to 0; what is hidden has none.
    values biased/dbias.npy | awk '{ s += $1 } NR % 4 == 0 { printf "%.6f\n", s; s = 0 }' >sums
    printf '0\n0\n0\n0\n' >want
    near 1e-5 sums want
    values biased/dbias.npy | awk '(NR - 1) % 4 > int((NR - 1) / 4) && $1 != 0 { exit 1 }' || complain 'hidden keys moved'
    # A learned bias is added to the same scores: what its buckets learn, [32, heads], sums the gradient of --bias, by distance
    # and, from bucket 16 on, of keys behind the query.
    npy all.npy '<f4' '(4, 4, 4)' '\000\000\000\000' 64
    works attend t5 $qkv --bias all.npy --grad-output v.npy --grad-dir learned
    tensors learned/dparams.safetensors | tr -d ' ' >got
    echo '{"bias":{"dtype":"F32","shape":[32,4],"data_offsets":[0,512]}}' >want
    cmp -s got want || complain "the gradients of parameters are $(cat got)"
    numbers learned/dparams.safetensors >got
    shape learned/dbias.npy '(4, 4, 4)'
    values learned/dbias.npy | awk '{ h = int((NR - 1) / 16); i = int((NR - 1) / 4) % 4; j = (NR - 1) % 4
        s[j > i ? 16 + j - i : i - j, h] += $1 }
        END { for (b = 0; b < 32; b++) for (h = 0; h < 4; h++) printf "%.9f\n", s[b, h] }' >want
    near 1e-6 got want
    awk '$1 ^ 2 > 1e-4 { moved++ } END { exit moved < 16 }' got || complain 'buckets learn next to nothing'
    npy short.npy '<f4' '(4, 3)' '\000\000\000\000' 12
    # Four heads, three queries and two keys: each number of [3, 2] is that of its query and key. Weights of keys alike are
    # in proportion to its exponential.
    npy queries.npy '<f4' '(3, 4, 2)' '\000\000\000\000' 24
    npy keys.npy '<f4' '(2, 4, 2)' '\000\000\000\000' 16
    npy few.npy '<f4' '(3, 2)' '\000\000\000\000\000\000\200\077\000\000\000\100\000\000\000\000\000\000\000\000\000\000\200\377'
    works attend none --query queries.npy --key keys.npy --value keys.npy --positions 0:3 --key-positions 0:2 --bias few.npy \
        --weights weights.npy
    shape weights.npy '(4, 3, 2)'
    values weights.npy >got
    for head in 0 1 2 3; do printf '0.268941\n0.731059\n0.880797\n0.119203\n1\n0\n'; done >want
    near 1e-6 got want
    refuses 1 'here 4, 3 and 2' attend none --query queries.npy --key keys.npy --value keys.npy --positions 0:3 \
        --key-positions 0:2 --bias short.npy --weights no.npy
    # A sink takes its share; weights alone need no output.
    works attend 'rope + scores(sinks=on)' $qkv --weights weights.npy
    values weights.npy | awk '{ s += $1 } NR % 4 == 0 { if (s > 0.99) exit 1; s = 0 }' || complain 'a sink has no share'
    refuses 1 'here 4, 4 and 4' attend rope $qkv --bias short.npy -o no.npy
    refuses 1 'here 4, 4 and 4' attend rope $qkv --bias wide.npy -o no.npy
    npy nan.npy '<f4' '(4, 4)' '\000\000\300\177' 16
    refuses 1 'element 0 is NaN' attend rope $qkv --bias nan.npy -o no.npy
    npy integers.npy '<i4' '(4, 4)' '\000\000\000\000' 16
    refuses 1 'holds integers' attend rope $qkv --bias integers.npy --weights no.npy
    refuses 2 'bias goes with --attention softmax' attend rope $qkv --attention linear --bias zeros.npy -o no.npy
    refuses 2 'weights goes with --attention softmax' attend rope $qkv --attention soft --weights no.npy
    refuses 1 'no such folder\|No such file' attend rope $qkv --weights none/no.npy
    absent no.npy none

    # ---- lengths, patterns ----

    works attend rope $qkv -o want.npy
    works attend 'rope(scaling=dynamic, factor=4, original=4)' $qkv -o o.npy
    cmp -s o.npy want.npy || complain 'four positions are longer than four'
    works attend 'rope(scaling=dynamic, factor=4, original=4)' $qkv --length 64 -o o.npy
    ! cmp -s o.npy want.npy || complain '--length is not heard'
    works attend 'none / rope' $qkv --layer 3 -o o.npy
    cmp -s o.npy want.npy || complain 'layer 3 has no rope'
    refuses 2 'choose one with --layer' attend 'none / rope' $qkv -o no.npy
}

# dq.npy would have room below it, dparams.safetensors has none; with a byte less it has.
long=$(printf '%0200d/%0200d/%0200d/%0200d/%0199d' 1 2 3 4 5)
works attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output v.npy --grad-dir "$long" -o late.npy
[ -s "$long/dq.npy" ] && [ -s "$long/dparams.safetensors" ] || complain 'the longest name of a folder'
rm -r "${long%%/*}" late.npy
long=$(printf '%0200d/%0200d/%0200d/%0200d/%0200d' 1 2 3 4 5)
refuses 1 '^locus: --grad-dir 0.*5: the path is too long$' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 \
    --grad-output v.npy --grad-dir "$long" -o late.npy
[ ! -e "$long" ] && [ ! -e late.npy ] || complain 'results are written before a path is found too long'
works encode alibi --heads 3 --positions 0,2,5,6 --scores -o short.npy
refuses 1 '4 tokens, --value has 3' attend none --query q.npy --key k.npy --value short.npy --positions 0:4 -o no.npy
refuses 1 'has 6 heads\|has 4 heads' attend none --query wide.npy --key k.npy --value v.npy --positions 0:4 -o no.npy
refuses 1 'give the keys their own with --key-positions' attend none --query q.npy --key short.npy --value short.npy \
    --positions 0:4 -o no.npy
works attend none --query q.npy --key short.npy --value short.npy --positions 0:4 --key-positions 0:3 -o o.npy
refuses 1 'has 4 tokens, --positions has 5' attend none --query q.npy --key k.npy --value v.npy --positions 0:5 -o \
    no.npy
refuses 2 'go together' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --grad-output v.npy -o \
    no.npy
refuses 2 'go together' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --mask prefix -o no.npy
refuses 2 'did you mean causal?' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 --mask casual \
    -o no.npy
refuses 2 '--key FILE is missing' attend none --query q.npy --value v.npy --positions 0:4 -o no.npy
refuses 2 '--output FILE is missing' attend none --query q.npy --key k.npy --value v.npy --positions 0:4
refuses 1 '4 tokens, --grad-output has 3' attend none --query q.npy --key k.npy --value v.npy --positions 0:4 \
    --grad-output short.npy --grad-dir none
absent no.npy none

# A polite kill, and Ctrl-C alike: one line, status 1, nothing written. Too early it ends the program as it ends any.
npy big.npy '<f4' '(40000, 1, 16)' ''
head -c 2560000 /dev/zero >>big.npy
for pause in 0.1 0.2 0.4 0.8 1.6 3.2; do
    "$LOCUS" attend rope --query big.npy --key big.npy --value big.npy --positions 0:40000 --mask causal \
        --grad-output big.npy --grad-dir none --threads 1 -o no.npy 2>err &
    process=$!
    sleep $pause
    kill -TERM $process 2>kill.err
    got=0
    wait $process || got=$?
    [ $got = 143 ] || break
done
[ $got = 1 ] && [ "$(cat err)" = 'locus: stopped; nothing was written' ] || complain "killed: status $got, $(cat err)"
absent no.npy none
finish
