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

# Same bits with any number of threads.
works encode 'algebraic(group=seq)' --heads 4 --head-dim 8 --positions 0:50 --operators --threads 1 -o one.npy
works encode 'algebraic(group=seq)' --heads 4 --head-dim 8 --positions 0:50 --operators --threads 3 -o three.npy
cmp -s one.npy three.npy || complain 'the number of threads changes the result'

refuses 2 '--dim D is missing' encode sinusoidal --positions 0:4 -o no.npy
refuses 2 '--heads H is missing' encode rope --positions 0:4 --operators -o no.npy
refuses 2 '--positions P is missing' encode sinusoidal --dim 8 -o no.npy
refuses 2 '--output FILE is missing' encode sinusoidal --dim 8 --positions 0:4
refuses 2 'SPEC is missing' encode --dim 8
refuses 2 "'rope' does not act on the embedding" encode rope --dim 8 --positions 0:4 -o no.npy
refuses 2 "does not act on queries and keys" encode sinusoidal --heads 1 --head-dim 2 --positions 0:4 --operators -o no.npy
refuses 2 "does not act on scores" encode rope --heads 1 --positions 0:4 --scores -o no.npy
refuses 2 'exclude each other' encode rope --operators --scores --positions 0:4 -o no.npy
refuses 2 '--decay goes with --scores' encode rope --operators --decay --positions 0:4 -o no.npy
refuses 1 '[Oo]dd\|even' encode rope --heads 1 --head-dim 3 --positions 0:4 --operators -o no.npy
refuses 1 '' encode 'learned(size=4)' --dim 8 --positions 0:5 -o no.npy
absent no.npy
finish
