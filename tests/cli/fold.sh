#!/bin/sh
# SPDX-License-Identifier: MIT
# locus fold: attention before and after agrees, for every group that has a normal form, both ways, and both kinds of
# pairs. Queries and keys themselves are folded, [tokens, heads, head_dim]; a projection is folded alike.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# random FILE SHAPE COUNT SEED: a .npy of numbers in [-1, 1], through a table of the library's own
random() {
    works encode "learned(size=$3, deviation=0.02)" --dim 1 --positions 0:"$3" --seed "$4" -o .out/table.npy
    values .out/table.npy | awk '{ printf "%.9g\n", 50 * $1 }' >.out/numbers
    text="{'descr': '<f4', 'fortran_order': False, 'shape': $2, }"
    while [ ${#text} -lt 117 ]; do text="$text "; done
    printf '\223NUMPY\001\000\166\000%s\n' "$text" >"$1"
    start=$(($(od -An -t u2 -j 8 -N 2 .out/table.npy) + 10))
    # The table is drawn with deviation 0.02: the same bits, their exponents raised by 64 = 2^6.
    od -An -v -t u4 -w4 -j "$start" .out/table.npy | awk '{ b = $1 + 6 * 8388608
        printf "\\%03o\\%03o\\%03o\\%03o\n", b % 256, int(b / 256) % 256, int(b / 65536) % 256, int(b / 16777216) }' |
        while IFS= read -r bytes; do
            # shellcheck disable=SC2059
            printf "$bytes"
        done >>"$1"
}

# vectors TOKENS DIM: q.npy k.npy v.npy of 2 heads
vectors() {
    random q.npy "($1, 2, $2)" $((2 * $1 * $2)) 1
    random k.npy "($1, 2, $2)" $((2 * $1 * $2)) 2
    random v.npy "($1, 2, $2)" $((2 * $1 * $2)) 3
}

# folds WANTED DIM POSITIONS SPEC [OPTION…]: the folded spec is WANTED, and attends alike; values=on: so do outputs
folds() {
    wanted=$1 dim=$2 positions=$3 spec=$4
    shift 4
    rm -rf folded
    works attend "$spec" --seed 3 --query q.npy --key k.npy --value v.npy --positions "$positions" -o o.npy
    case $spec in
    *values=on* | roper*) set -- "$@" --value v.npy --out-projection o.npy ;;
    esac
    works fold "$spec" --seed 3 --heads 2 --head-dim "$dim" --query q.npy --key k.npy -o folded "$@"
    [ "$(cat .out/stdout)" = "$wanted" ] || complain "$spec folds to '$(cat .out/stdout)', not '$wanted'"
    value=v.npy output=o.npy
    [ ! -f folded/value.npy ] || value=folded/value.npy output=folded/output.npy
    works attend "$wanted" --params folded/params.safetensors --query folded/query.npy --key folded/key.npy \
        --value "$value" --positions "$positions" -o after.npy
    values "$output" >before
    values after.npy >after
    near 1e-5 after before
    ! cmp -s q.npy folded/query.npy || [ -n "${same:-}" ] || complain "$spec: nothing was turned"
}

vectors 24 8
folds 'algebraic(generator=angles)' 8 0:24 'algebraic(group=seq)'
folds 'algebraic(generator=angles)' 8 1000000:1000024 'algebraic(group=seq, init=random)'
folds 'algebraic(generator=angles)' 8 0:24 'algebraic(group=seq, generator=cayley, init=random)'
folds 'algebraic(generator=angles)' 8 -9:15 'algebraic(group=seq, generator=householder, init=random)'
folds 'algebraic(generator=angles)' 8 0:24 'algebraic(group=seq, generator=fixed, init=random)'
folds 'algebraic(group=cycle:6, generator=angles)' 8 0:24 'algebraic(group=cycle:6)'
folds 'algebraic(group=cycle:6, generator=angles)' 8 0:24 'algebraic(group=cycle:6, generator=householder, init=random)'
folds 'algebraic(group=grid:2, generator=angles, decay=0.9)' 8 grid:4x6 'algebraic(group=grid:2, decay=0.9)'
folds 'algebraic(group=grid:2, generator=angles, heads=shared, decay=learned:0.9)' 8 grid:4x6 \
    'algebraic(group=grid:2, heads=shared, decay=learned:0.9)'
folds 'algebraic(group=seq*cycle:6, generator=angles, side=query, split=2:6)' 8 grid:4x6 \
    'algebraic(group=seq*cycle:6, generator=cayley, side=query, split=2:6)'
# Uneven blocks without a cycle: angles.0 has one pair, angles.1 three.
folds 'algebraic(group=grid:2, generator=angles, split=2:6)' 8 grid:4x6 'algebraic(group=grid:2, split=2:6, init=random)'
folds 'algebraic(group=grid:2, generator=angles, values=on)' 8 grid:4x6 \
    'algebraic(group=grid:2, values=on, init=random)'
folds 'alibi(group=grid:2) + algebraic(group=grid:2, generator=angles)' 8 grid:4x6 \
    'alibi(group=grid:2) + algebraic(group=grid:2)'
folds mixed 8 grid:4x6 'string(group=grid:2)'
works fold mixed --heads 2 --head-dim 8 --to rotary -o mixed.safetensors # which is rotary already
prints '^mixed$'
folds 'mixed(values=on, decay=0.9)' 8 grid:4x6 'string(values=on, decay=0.9)'

# Pairs (2i, 2i + 1) and (i, i + r/2).
folds 'rope(pairs=half)' 8 0:24 rope --pairs half
folds 'rope(base=100, rotate=6)' 8 0:24 'rope(pairs=half, base=100, rotate=6)'
folds 'rope(learned=on)' 8 0:24 'rope(rotate=proportional:0.5)'
folds 'roper(pairs=half)' 8 0:24 roper --pairs half
folds 'rope(pairs=half, learned=on) + decay(rate=0.9)' 8 0:24 \
    'algebraic(group=seq, heads=shared, decay=0.9)' --pairs half
folds 'rope(pairs=half, learned=on) + decay(rate=0.9, learned=on)' 8 0:24 \
    'algebraic(group=seq, heads=shared, decay=learned:0.9)' --pairs half

# To generators.
same=yes
folds algebraic 8 0:24 rope --to algebraic
same=
folds algebraic 8 0:24 rope --to algebraic --basis random
folds 'algebraic(side=key) + decay' 8 0:24 'rope(pairs=half, rotate=6, learned=on, side=key) + decay' --to algebraic \
    --basis random
folds 'algebraic(values=on)' 8 0:24 roper --to algebraic --basis random
folds 'algebraic(group=seq*cycle:6, split=2:6)' 8 grid:4x6 'algebraic(group=seq*cycle:6, generator=angles, split=2:6)' \
    --to algebraic --basis random
folds algebraic 8 0:24 'algebraic(group=seq, generator=householder, init=random)' --to algebraic --basis random

# An odd head of one list of angles is rope with a direction that stands still.
vectors 24 7
folds 'rope(rotate=6, learned=on)' 7 0:24 'algebraic(group=seq, heads=shared, init=random)'
folds algebraic 7 0:24 'rope(rotate=6)' --to algebraic --basis random

# A projection [heads·head_dim, model_dim] folds like its transpose, like vectors, and like a bias.
random w.npy '(5, 2, 4)' 40 5
random b.npy '(8,)' 8 6
works fold 'algebraic(group=seq)' --heads 2 --head-dim 4 --query w.npy --key b.npy -o whole
works fold 'algebraic(group=seq)' --heads 2 --head-dim 4 --query w.npy --key b.npy -o whole.safetensors --json
prints '"spec":.*"algebraic(generator=angles)"'
{ printf '\223NUMPY\001\000\166\000'
  text="{'descr': '<f4', 'fortran_order': False, 'shape': (5, 8), }"
  while [ ${#text} -lt 117 ]; do text="$text "; done
  printf '%s\n' "$text"
  dd if=w.npy bs=1 skip=128 2>/dev/null; } >flat.npy
works fold 'algebraic(group=seq)' --heads 2 --head-dim 4 --query flat.npy --key b.npy --transposed -o flat
shape flat/query.npy '(5, 8)'
values whole/query.npy >want
values flat/query.npy >got
near 0 got want
{ printf '\223NUMPY\001\000\166\000'
  text="{'descr': '<f4', 'fortran_order': False, 'shape': (8, 5), }"
  while [ ${#text} -lt 117 ]; do text="$text "; done
  printf '%s\n' "$text"
  for i in 0 1 2 3 4 5 6 7; do for m in 0 1 2 3 4; do
      dd if=w.npy bs=1 skip=$((128 + 4 * (m * 8 + i))) count=4 2>/dev/null
  done; done; } >across.npy
works fold 'algebraic(group=seq)' --heads 2 --head-dim 4 --query across.npy --key b.npy -o across
shape across/query.npy '(8, 5)'
values across/query.npy | awk '{ w[NR - 1] = $1 } END {
    for (m = 0; m < 5; m++) for (i = 0; i < 8; i++) print w[i * 5 + m] }' >got
near 1e-6 got want
shape whole/key.npy '(8,)'

# Rotary options end in the angles, axes in a grid, sections in a split: operators agree in the folded basis.
# The standard basis of interleaved pairs is the head's own, so no turn is left.
for spec in 'rope(scaling=linear, factor=4)' 'rope(scaling=llama3, factor=8, original=64)' \
    'rope(base=500, rotate=4)'; do
    works fold "$spec" --heads 1 --head-dim 8 --to algebraic -o plain.safetensors
    works encode algebraic --heads 1 --head-dim 8 --params plain.safetensors --positions 0:9 --operators -o got.npy
    works encode "$spec" --heads 1 --head-dim 8 --positions 0:9 --operators -o want.npy
    values got.npy >got
    values want.npy >want
    near 1e-6 got want
done
works fold 'rope(sections=1:3, scaling=ntk, factor=2)' --heads 1 --head-dim 8 --to algebraic -o plain.safetensors --json
prints '"algebraic(group=grid:2, split=2:6)"'
works encode 'algebraic(group=grid:2, split=2:6)' --heads 1 --head-dim 8 --params plain.safetensors \
    --positions grid:3x4 --operators -o got.npy
works encode 'rope(sections=1:3, scaling=ntk, factor=2)' --heads 1 --head-dim 8 --positions grid:3x4 --operators \
    -o want.npy
values got.npy >got
values want.npy >want
near 1e-6 got want
works fold 'rope(axes=2)' --heads 1 --head-dim 8 --to algebraic -o plain.safetensors --json
prints '"algebraic(group=grid:2)"'
refuses 1 'only order=chunked folds' fold 'rope(sections=2:1:1, order=interleaved)' --heads 1 --head-dim 8 \
    --to algebraic -o no.safetensors
refuses 1 '4 of 8 head dimensions stand still' fold 'rope(axes=2, rotate=4)' --heads 1 --head-dim 8 --to algebraic \
    -o no.safetensors

# A folder with the longest name that its files leave room for, and one more; "./././" is where we are.
here=$(printf '%490s' '' | sed 's/ /.\//g')
vectors 3 4
works fold 'rope(pairs=half)' --heads 2 --head-dim 4 --query q.npy --key k.npy -o "${here}long-one"
[ -s long-one/params.safetensors ] && [ -s long-one/query.npy ] && [ -s long-one/key.npy ] || complain 'the longest name'
refuses 1 "^locus: --output ${here}long-ones: the path is too long$" fold 'rope(pairs=half)' --heads 2 --head-dim 4 \
    --query q.npy --key k.npy -o "${here}long-ones"
absent long-ones

# What has no normal form says so.
refuses 1 'branches do not commute' fold 'algebraic(group=tree:2)' --heads 2 --head-dim 8 -o no.safetensors
refuses 1 'branches do not commute' fold 'algebraic(group=seq*tree:2)' --heads 2 --head-dim 8 -o no.safetensors
refuses 1 "'liere' has no normal form" fold liere --heads 2 --head-dim 8 -o no.safetensors
refuses 1 'reflects one direction' fold 'algebraic(generator=householder)' --heads 2 --head-dim 7 -o no.safetensors
refuses 1 'no pair to turn' fold algebraic --heads 1 --head-dim 1 -o no.safetensors
refuses 1 'each head has its own' fold 'algebraic(init=random)' --heads 2 --head-dim 8 --pairs half -o no.safetensors
refuses 1 'seq only' fold 'algebraic(group=grid:2)' --heads 2 --head-dim 8 --pairs half -o no.safetensors
refuses 1 'follows several axes' fold mixed --heads 2 --head-dim 8 --to algebraic -o no.safetensors
refuses 1 "'relative' reads the queries" fold 'relative(window=3) + algebraic' --heads 2 --head-dim 8 -o no.safetensors
refuses 2 'does not act on queries' fold alibi --heads 2 --head-dim 8 -o no.safetensors
refuses 2 'query and --key go together' fold algebraic --heads 2 --head-dim 7 --query q.npy -o no.safetensors
refuses 2 'acts on values, too' fold 'algebraic(values=on)' --heads 2 --head-dim 7 --query q.npy --key k.npy \
    -o no.safetensors
refuses 2 'does not act on values' fold algebraic --heads 2 --head-dim 7 --value v.npy --out-projection v.npy \
    -o no.safetensors
refuses 2 'pairs goes with --to rotary' fold rope --heads 2 --head-dim 8 --to algebraic --pairs half -o no.safetensors
refuses 1 'must be \[tokens, heads, head_dim\]' fold algebraic --heads 3 --head-dim 7 --query q.npy --key k.npy \
    -o no.safetensors
refuses 2 '--head-dim D is missing' fold algebraic --heads 2 -o no.safetensors
refuses 2 'must end in .safetensors' fold algebraic --heads 2 --head-dim 8 -o no.npy
absent no.safetensors
finish
