#!/bin/sh
# SPDX-License-Identifier: MIT
# locus apply: forward, inverse, both number types, and what it refuses.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# Ones: [3, 2, 2]. A turn by p of (1, 1) is (cos p − sin p, sin p + cos p).
npy x.npy '<f4' '(3, 2, 2)' '\000\000\200\077' 12
npy x64.npy '<f8' '(3, 2, 2)' '\000\000\000\000\000\000\360\077' 12
awk 'BEGIN { for (p = 0; p < 3; p++) for (h = 0; h < 2; h++) printf "%.9f\n%.9f\n", cos(p) - sin(p), sin(p) + cos(p) }' >want
works apply rope -i x.npy --positions 0:3 -o y.npy
shape y.npy '(3, 2, 2)'
values y.npy >got
near 1e-6 got want
works apply rope -i x64.npy --positions 0:3 -o y64.npy
shape y64.npy '(3, 2, 2)'
values y64.npy >got
near 1e-7 got want
works apply rope -i y.npy --positions 0:3 --inverse -o back.npy
values back.npy >got
values x.npy >want
near 1e-6 got want
works apply 'algebraic(group=seq)' -i x.npy --positions -1,5,1000000 --seed 3 -o y.npy
works apply 'algebraic(group=seq)' -i y.npy --positions -1,5,1000000 --seed 3 --inverse -o back.npy
values back.npy >got
near 5e-6 got want
works apply none -i x.npy --positions 0:3 -o y.npy
cmp -s x.npy y.npy || complain 'none changes its input'

# Positions on a grid, the numbers of M-RoPE from a .npy, a length beyond the positions.
npy grid.npy '<f4' '(6, 1, 4)' '\000\000\200\077' 24
works apply 'rope(axes=2)' -i grid.npy --positions grid:2x3 -o y.npy
values y.npy >got
awk 'BEGIN { for (r = 0; r < 2; r++) for (c = 0; c < 3; c++) for (a = r; ; a = c) {
    printf "%.9f\n%.9f\n", cos(a) - sin(a), sin(a) + cos(a); if (k++ % 2) break } }' >want
near 1e-6 got want
works apply 'rope(axes=2)' -i y.npy --positions grid:2x3 --inverse -o back.npy
values back.npy >got
values grid.npy >want
near 1e-6 got want
refuses 2 'has 2 sizes' apply rope -i grid.npy --positions grid:2x3 -o no.npy
refuses 2 'has 2 sizes' apply 'rope(axes=3, sections=1:1:1, rotate=2)' -i grid.npy --positions grid:2x3 -o no.npy
npy three.npy '<i8' '(3, 3)' '\001\000\000\000\000\000\000\000' 9
works apply 'rope(axes=3, sections=1:1:2)' -i \
    "$(npy eight.npy '<f4' '(3, 1, 8)' '\000\000\200\077' 24; echo eight.npy)" \
    --positions three.npy -o y.npy
works apply rope -i eight.npy --positions 1,1,1 -o z.npy
cmp -s y.npy z.npy || complain 'equal numbers on all axes are not one number'
works apply 'rope(scaling=dynamic, factor=2, original=4)' -i x.npy --positions 0:3 -o y.npy
works apply rope -i x.npy --positions 0:3 -o z.npy
cmp -s y.npy z.npy || complain 'three positions are longer than four'
works apply 'rope(scaling=linear, factor=2)' -i x.npy --positions 0,2,4 -o y.npy
works apply rope -i x.npy --positions 0:3 -o z.npy
values y.npy >got
values z.npy >want
near 1e-6 got want

# In place, under the same name.
cp x.npy z.npy
works apply rope -i z.npy --positions 0:3 -o z.npy
shape z.npy '(3, 2, 2)'

npy nan.npy '<f4' '(3, 2, 2)' '\000\000\200\077' 11
printf '\000\000\300\177' >>nan.npy
npy two.npy '<f4' '(3, 4)' '\000\000\200\077' 12
npy ints.npy '<i4' '(3, 2, 2)' '\001\000\000\000' 12
npy odd.npy '<f4' '(3, 1, 3)' '\000\000\200\077' 9
npy half.npy '<f2' '(3, 2, 2)' '\000\074' 12
npy one.npy '<f4' '(3, 2, 2)' '\000\000\200\077' 12
npy halves.npy '<f2' '(3, 2, 2)' '\000\074' 11
npy cut.npy '<f4' '(3, 2, 2)' '\000\000\200\077' 7
npy empty.npy '<f4' '(0, 2, 2)' '' 1
printf 'this is no array' >text.npy
refuses 1 'element \[2, 1, 1\] is NaN' apply rope -i nan.npy --positions 0:3 -o no.npy
refuses 1 'has shape \[3, 4\]; it must be \[tokens, heads, head_dim\]' apply rope -i two.npy --positions 0:3 -o no.npy
refuses 1 'holds integers' apply rope -i ints.npy --positions 0:3 -o no.npy
refuses 1 'has shape \[0, 2, 2\]' apply rope -i empty.npy --positions 0:3 -o no.npy
refuses 1 'halves.npy' apply rope -i halves.npy --positions 0:3 -o no.npy
# Half precision is read as float32.
works apply rope -i half.npy --positions 0:3 -o half-out.npy
works apply rope -i one.npy --positions 0:3 -o one-out.npy
cmp -s half-out.npy one-out.npy || complain 'float16 input is not read as float32'
refuses 1 'cut.npy' apply rope -i cut.npy --positions 0:3 -o no.npy
refuses 1 'text.npy' apply rope -i text.npy --positions 0:3 -o no.npy
refuses 1 'missing.npy' apply rope -i missing.npy --positions 0:3 -o no.npy
refuses 1 '3 tokens, --positions has 4' apply rope -i x.npy --positions 0:4 -o no.npy
refuses 1 '[Oo]dd\|even' apply rope -i odd.npy --positions 0:3 -o no.npy
works apply 'algebraic(group=seq)' -i odd.npy --positions 0:3 -o odd-out.npy
refuses 2 'does not act on queries and keys' apply sinusoidal -i x.npy --positions 0:3 -o no.npy
refuses 2 '--input FILE is missing' apply rope --positions 0:3 -o no.npy
refuses 1 'nowhere' apply rope -i x.npy --positions 0:3 -o nowhere/no.npy
absent no.npy nowhere
finish
