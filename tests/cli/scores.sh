#!/bin/sh
# SPDX-License-Identifier: MIT
# locus encode --scores on every group: ALiBi's biases and decay's factors of distances that are written out here.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# distances GROUP POSITIONS 'd d d …': one head of alibi (slope 2^-8), decays alone and with operators.
distances() {
    printf '%s' "$3" | awk '{ for (i = 1; i <= NF; i++) printf "%.9f\n", -$i * exp(-8 * log(2)) }' >want
    works encode "alibi(group=$1)" --heads 1 --positions "$2" --scores -o bias.npy
    values bias.npy >got
    near 1e-6 got want
    printf '%s' "$3" | awk '{ for (i = 1; i <= NF; i++) printf "%.9f\n", exp($i * log(0.9)) }' >want
    for spec in "decay(rate=0.9, group=$1)" "algebraic(group=$1, decay=0.9)" \
        "alibi(group=$1) + algebraic(group=$1, decay=0.9, values=on)"; do
        works encode "$spec" --heads 1 --positions "$2" --scores --decay -o factors.npy
        values factors.npy >got
        near 2e-6 got want
    done
}

distances cycle:6 0:4 '0 1 2 3  1 0 1 2  2 1 0 1  3 2 1 0'
distances cycle:6 0,5,7 '0 1 1  1 0 2  1 2 0'
distances grid:2 grid:2x3 '0 1 2 1 1 2  1 0 1 1 1 1  2 1 0 2 1 1  1 1 2 0 1 2  1 1 1 1 0 1  2 1 1 2 1 0'
distances 'cycle:5*cycle:5' '(0,0),(4,3),(1,1)' '0 3 2  3 0 4  2 4 0'
printf '0\n1\n1+2\n2-1\n1+1+1\n' >tree.txt
distances tree:2 tree.txt '0 1 2 2 3  1 0 1 3 2  2 1 0 4 3  2 3 4 0 5  3 2 3 5 0'
printf '(3,4,1+2)\n(0,0,0)\n(1,4,2)\n' >product.txt
distances 'grid:2*tree:2' product.txt '0 7 5  7 0 5  5 5 0'
distances 'seq*(tree:2)' '(0,1),(-2,1),(5,2+2)' '0 2 8  2 0 10  8 10 0'
finish
