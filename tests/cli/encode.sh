#!/bin/sh
# SPDX-License-Identifier: MIT
# locus encode: tables, operators, biases and factors against numbers that awk works out; every form of --positions.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# The table of Vaswani et al.: sin and cos of p / 10000^(2i/D).
table() {
    awk -v from="$1" -v to="$2" -v dim="$3" 'BEGIN {
        for (p = from; p < to; p++) for (i = 0; i < dim / 2; i++) {
            a = p * exp(-2 * i / dim * log(10000)); printf "%.9f\n%.9f\n", sin(a), cos(a) } }'
}
works encode sinusoidal --dim 8 --positions 0:4 -o table.npy
shape table.npy '(4, 8)'
values table.npy >got
table 0 4 8 >want
near 1e-6 got want

# Ends may be negative; both ways to write an option.
works encode sinusoidal --dim=6 --positions -3:2 --output=table.npy
values table.npy >got
table -3 2 6 >want
near 1e-6 got want
works encode sinusoidal --dim 6 --positions=-3,-2,-1,0,1 -o other.npy
cmp -s table.npy other.npy || complain 'a list differs from the range'
printf -- '-3\n-2\n-1\n0\n1\n' >positions.txt
works encode sinusoidal --dim 6 --positions positions.txt -o other.npy
cmp -s table.npy other.npy || complain 'a text file differs from the range'
printf -- '-3\r\n-2\r\n-1\r\n0\r\n1' >positions.txt
works encode sinusoidal --dim 6 --positions positions.txt -o other.npy
cmp -s table.npy other.npy || complain 'a text file with CRLF and no last line end differs'
npy p32.npy '<i4' '(5,)' '\375\377\377\377\376\377\377\377\377\377\377\377\000\000\000\000\001\000\000\000'
works encode sinusoidal --dim 6 --positions p32.npy -o other.npy
cmp -s table.npy other.npy || complain 'an int32 .npy differs from the range'
npy p64.npy '<i8' '(2,)' '\375\377\377\377\377\377\377\377\001\000\000\000\000\000\000\000'
works encode sinusoidal --dim 6 --positions p64.npy -o other.npy
works encode sinusoidal --dim 6 --positions -3,1 -o table.npy
cmp -s table.npy other.npy || complain 'an int64 .npy differs from the list'

# A bias that is divided by the root of the head's dimension needs to know it; a temperature is a factor.
refuses 2 'head-dim' encode 'alibi(scaled=on)' --heads 4 --positions 0:3 --scores -o no.npy
works encode 'alibi(scaled=on)' --heads 1 --head-dim 16 --positions 0,1 --scores -o scaled.npy
values scaled.npy >got
printf '0\n-0.0009765625\n-0.0009765625\n0\n' >want
near 1e-9 got want
works encode 'temperature(length=2)' --heads 1 --positions 0,1 --scores --decay -o heat.npy
values heat.npy >got
printf '1\n1\n1.0693147\n1.0693147\n' >want
near 1e-6 got want

# Operators: a turn by p, as a matrix, for each head.
works encode rope --heads 2 --head-dim 2 --positions -1,0,3 --operators -o w.npy
shape w.npy '(3, 2, 2, 2)'
values w.npy >got
awk 'BEGIN { n = split("-1 0 3", p, " "); for (i = 1; i <= n; i++) for (h = 0; h < 2; h++)
    printf "%.9f\n%.9f\n%.9f\n%.9f\n", cos(p[i]), -sin(p[i]), sin(p[i]), cos(p[i]) }' >want
near 1e-6 got want
works encode 'rope(side=key)' --heads 2 --head-dim 2 --positions -1,0,3 --operators -o k.npy
values k.npy >got
near 1e-6 got want

# Generators are orthogonal and a homomorphism: W(1) W(1) = W(2), W(1) W(-1) = 1.
works encode 'algebraic(group=seq)' --heads 1 --head-dim 3 --positions 1,2,-1 --operators --seed 5 -o w.npy
values w.npy >got
awk '{ w[NR - 1] = $1 } END { for (i = 0; i < 3; i++) for (j = 0; j < 3; j++) { s = 0; t = 0
    for (k = 0; k < 3; k++) { s += w[3*i+k] * w[3*k+j]; t += w[3*i+k] * w[18+3*k+j] }
    printf "%.9f\n", s >"square"; printf "%.9f\n", w[9+3*i+j] >"two"
    printf "%.9f\n", t >"unit"; print (i == j) >"one" } }' got
near 2e-6 square two
near 2e-6 unit one
works encode 'algebraic(group=seq)' --heads 1 --head-dim 3 --positions 1,2,-1 --operators --seed 6 -o other.npy
! cmp -s w.npy other.npy || complain 'another seed draws the same generators'

# Scores: ALiBi's slopes for 2 heads are 2^-4 and 2^-8; decay is 0.98^distance.
works encode alibi --heads 2 --positions 0,1,5 --scores -o bias.npy
shape bias.npy '(2, 3, 3)'
values bias.npy >got
awk 'BEGIN { split("0 1 5", p, " "); for (h = 1; h <= 2; h++) for (m = 1; m <= 3; m++) for (n = 1; n <= 3; n++) {
    d = p[m] - p[n]; if (d < 0) d = -d; printf "%.9f\n", -d * exp(-4 * h * log(2)) } }' >want
near 1e-6 got want
factors() {
    awk 'BEGIN { split("0 1 5", p, " "); for (h = 1; h <= 2; h++) for (m = 1; m <= 3; m++) for (n = 1; n <= 3; n++) {
        d = p[m] - p[n]; if (d < 0) d = -d; printf "%.9f\n", exp(d * log(0.98)) } }'
}
factors >want
for spec in decay 'rope + decay' 'algebraic(group=seq, decay=0.98)' 'relative(window=2) + decay' 'alibi + decay'; do
    works encode "$spec" --heads 2 --head-dim 4 --positions 0,1,5 --scores --decay -o factors.npy
    values factors.npy >got
    near 2e-6 got want
done
works encode 'algebraic(group=seq, decay=0.98)' --heads 2 --positions 0,1,5 --scores -o bias.npy
values bias.npy >got
awk 'BEGIN { for (i = 0; i < 18; i++) print 0 }' >want
near 0 got want

# ---- grids, trees, tables behind the encoder, biases of every kind ----

# Axial: the first pair turns with the row, the second with the column, each as fast as a head of two dimensions.
works encode 'rope(axes=2)' --heads 1 --head-dim 4 --positions grid:2x3 --operators -o w.npy
shape w.npy '(6, 1, 4, 4)'
values w.npy >got
awk 'BEGIN { for (r = 0; r < 2; r++) for (c = 0; c < 3; c++) for (i = 0; i < 4; i++) for (j = 0; j < 4; j++) {
    a = i < 2 ? r : c; same = int(i / 2) == int(j / 2)
    print same ? (i == j ? cos(a) : i < j ? -sin(a) : sin(a)) : 0 } }' >want
near 1e-6 got want
# M-RoPE: frequencies run on across the sections.
printf '(2,0,0)\n(0,2,0)\n(0,0,2)\n' >axes.txt
works encode 'rope(pairs=half, axes=3, sections=1:1:2)' --heads 1 --head-dim 8 --positions axes.txt --operators -o w.npy
values w.npy >got
awk 'BEGIN { split("0 1 2 2", axis, " "); for (t = 0; t < 3; t++) for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) {
    k = i % 4; a = axis[k + 1] == t ? 2 * exp(-k / 4 * log(10000)) : 0
    print i == j ? cos(a) : k != j % 4 ? 0 : i < j ? -sin(a) : sin(a) } }' >want
near 1e-6 got want
refuses 1 '' encode 'rope(axes=3, sections=1:1:1)' --heads 1 --head-dim 8 --positions axes.txt --operators -o no.npy

# Chebyshev's first column is 1, its second runs from −1 to 1; the table is the same at both sites.
works encode 'chebyshev(size=5)' --dim 3 --positions 0:5 -o table.npy
values table.npy >got
awk 'BEGIN { for (p = 0; p < 5; p++) { x = p / 2 - 1; print 1; print x; print 2 * x * x - 1 } }' >want
near 1e-6 got want
works encode 'chebyshev(size=5, site=output)' --dim 3 --positions 0:5 -o other.npy
cmp -s table.npy other.npy || complain 'the table behind the encoder is another'
works encode 'sinusoidal + chebyshev(size=5, site=output)' --dim 4 --positions 0:5 -o other.npy
works encode sinusoidal --dim 4 --positions 0:5 -o table.npy
cmp -s table.npy other.npy || complain 'what is added to tokens does not come first'
refuses 2 "'chebyshev(site=output)' does not act on queries and keys" encode 'chebyshev(site=output)' --heads 1 \
    --head-dim 2 \
    --positions 0:4 --operators -o no.npy

# Shiv-Quirk: the root is zero, a step to the first branch fills its columns.
printf '0\n1\n2+1\n' >tree.txt
works encode 'shiv-quirk(depth=2)' --dim 4 --positions tree.txt -o table.npy
shape table.npy '(3, 4)'
values table.npy | awk '{ print ($1 != 0) }' >got
printf '%s\n' 0 0 0 0 1 0 0 0 1 0 0 1 >want
near 0 got want

# T5's biases are its table's, KERPLE's fall with ln(1 + b|m − n|), FIRE's is one number at each distance of a query.
works encode t5 --heads 2 --positions 0:4 --scores --seed 3 -o bias.npy
shape bias.npy '(2, 4, 4)'
values bias.npy >got
awk '{ b[NR - 1] = $1 } END { for (h = 0; h < 2; h++) for (m = 0; m < 4; m++) for (n = 0; n < 4; n++)
    printf "%.9g\n", b[16 * h + (n < m ? 4 * (m - n) : n - m)] }' got >want
near 0 got want
[ "$(sort -u got | wc -l)" -eq 14 ] || complain 't5: not seven distances in two heads'
works encode 't5(direction=causal)' --heads 2 --positions 0:4 --scores -o bias.npy
works encode kerple --heads 1 --positions 0,1,3 --scores -o bias.npy
values bias.npy >got
awk '{ b[NR - 1] = $1 } END { print b[0]; print b[1]; print b[2]; print b[1]; print b[0]; print b[5]; print b[2]; print b[5]
    print b[0]; if (!(b[0] == 0 && b[1] < 0 && b[2] < b[5] && b[5] < b[1])) print "does not fall" }' got >want
near 0 got want
works encode fire --heads 2 --positions 0:4 --scores -o bias.npy
shape bias.npy '(2, 4, 4)'
works encode 'relative(window=2) + alibi' --heads 2 --positions 0,1,5 --scores -o bias.npy
values bias.npy >got
works encode alibi --heads 2 --positions 0,1,5 --scores -o bias.npy
values bias.npy >want
near 0 got want
refuses 1 "'cope' depends on queries and keys" encode cope --heads 2 --positions 0:4 --scores -o no.npy
refuses 1 "'cope' depends on queries and keys" encode 'rope + cope' --heads 2 --positions 0:4 --scores -o no.npy
# What operators stretch, caps and sinks are no part of a bias or a factor.
factors >want
for spec in 'rope(scaling=yarn, factor=4, original=16) + decay' 'rope(xpos=512) + decay' 'rope(rotate=8) + decay' \
    'decay + scores(cap=2, sinks=on)'; do
    works encode "$spec" --heads 2 --positions 0,1,5 --scores --decay -o factors.npy
    values factors.npy >got
    near 2e-6 got want
done

# Lengths and layers.
works encode 'rope(scaling=dynamic, factor=4, original=8)' --heads 1 --head-dim 4 --positions 0:8 --operators -o w.npy
works encode rope --heads 1 --head-dim 4 --positions 0:8 --operators -o other.npy
cmp -s w.npy other.npy || complain 'eight positions are longer than eight'
works encode 'rope(scaling=dynamic, factor=4, original=8)' --heads 1 --head-dim 4 --positions 0:8 --operators \
    --length 9 \
    -o other.npy
! cmp -s w.npy other.npy || complain '--length is not heard'
works encode '2*none / rope' --layer 5 --heads 1 --head-dim 4 --positions 0:8 --operators -o other.npy
cmp -s w.npy other.npy || complain 'layer 5 has no rope'

# Same bits with any number of threads.
works encode 'algebraic(group=seq)' --heads 4 --head-dim 8 --positions 0:50 --operators --threads 1 -o one.npy
works encode 'algebraic(group=seq)' --heads 4 --head-dim 8 --positions 0:50 --operators --threads 3 -o three.npy
cmp -s one.npy three.npy || complain 'the number of threads changes the result'

refuses 2 '--dim D is missing' encode sinusoidal --positions 0:4 -o no.npy
refuses 2 "'rope' does not act on the embedding; 'locus encode --operators' writes its operators" \
    encode rope --positions 0:4 -o no.npy
refuses 2 "'alibi' does not act on the embedding; 'locus encode --scores' writes its biases" \
    encode alibi --positions 0:4 -o no.npy
refuses 2 "'sinusoidal' does not act on queries and keys; 'locus encode --dim D' writes its table" \
    encode sinusoidal --operators --positions 0:4 -o no.npy
refuses 2 '--heads H is missing' encode rope --operators --positions 0:4 -o no.npy
refuses 2 '--heads H is missing' encode rope --positions 0:4 --operators -o no.npy
refuses 2 '--positions P is missing' encode sinusoidal --dim 8 -o no.npy
refuses 2 '--output FILE is missing' encode sinusoidal --dim 8 --positions 0:4
refuses 2 'SPEC is missing' encode --dim 8
refuses 2 "'rope' does not act on the embedding" encode rope --dim 8 --positions 0:4 -o no.npy
refuses 2 "does not act on queries and keys" encode sinusoidal --heads 1 --head-dim 2 --positions 0:4 --operators \
    -o no.npy
refuses 2 "does not act on scores" encode rope --heads 1 --positions 0:4 --scores -o no.npy
refuses 2 'exclude each other' encode rope --operators --scores --positions 0:4 -o no.npy
refuses 2 '--decay goes with --scores' encode rope --operators --decay --positions 0:4 -o no.npy
refuses 1 '[Oo]dd\|even' encode rope --heads 1 --head-dim 3 --positions 0:4 --operators -o no.npy
refuses 1 '' encode 'learned(size=4)' --dim 8 --positions 0:5 -o no.npy
absent no.npy
finish
