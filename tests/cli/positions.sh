#!/bin/sh
# SPDX-License-Identifier: MIT
# --positions on every group: each form against the others and against distances that a reader can count.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# distances GROUP P WANTED: all pairs, read from a decay of 0.98 for each unit of distance
distances() {
    works encode "algebraic(group=$1, decay=0.98)" --heads 1 --head-dim 24 --positions "$2" --scores --decay -o d.npy
    found=$(values d.npy | awk '{ printf "%s%d", (NR > 1 ? " " : ""), log($1) / log(0.98) + 0.5 }')
    [ "$found" = "$3" ] || complain "$1 at $2: distances $found, not $3"
}
# same GROUP P Q: two ways to write the same positions give the same operators
same() {
    works encode "algebraic(group=$1)" --heads 1 --head-dim 24 --positions "$2" --operators -o one.npy
    works encode "algebraic(group=$1)" --heads 1 --head-dim 24 --positions "$3" --operators -o two.npy
    cmp -s one.npy two.npy || complain "$1: $2 and $3 differ"
}

# Integers: ranges, lists, files; residues on a cycle.
distances seq -1,1,4 '0 2 5 2 0 3 5 3 0'
distances cycle:6 0:4 '0 1 2 3 1 0 1 2 2 1 0 1 3 2 1 0'
distances cycle:6 7,-1,600000000000000003 '0 2 2 2 0 2 2 2 0'
same cycle:5 -2:3 3,4,0,1,2
printf -- '-2\n+3\n 4 \n' >integers.txt
same seq -2,3,4 integers.txt
same cycle:5 3,3,4 integers.txt
npy p.npy '<i8' '(2,)' '\375\377\377\377\377\377\377\377\001\000\000\000\000\000\000\000'
same seq -3,1 p.npy
same cycle:4 1,1 p.npy
same seq 0:4 grid:4

# Grids and tori: boxes row by row, tuples, rows of a .npy.
distances grid:2 grid:2x2 '0 1 1 1 1 0 1 1 1 1 0 1 1 1 1 0'
distances grid:2 '(0,0),(3,4),(3,3)' '0 5 4 5 0 1 4 1 0'
distances 'seq*cycle:4*seq' '(0,0,0),(1,3,-2)' '0 4 4 0'
same grid:2 grid:2x3 '(0,0),(0,1),(0,2),(1,0),(1,1),(1,2)'
same 'cycle:2*cycle:3' grid:2x3 '((0,0)),(2,1),(0,5),(1,0),(1,1),(1,2)'
npy q.npy '<i4' '(2, 2)' '\001\000\000\000\376\377\377\377\000\000\000\000\005\000\000\000'
same grid:2 '(1,-2),(0,5)' q.npy
same 'seq*cycle:3' '(1,1),(0,2)' q.npy

# Trees: words, also with inverses, on the command line and in files; branch indices in a .npy, padded at the end.
distances tree:2 0,1,1+2,2 '0 1 2 1 1 0 1 2 2 1 0 3 1 2 3 0'
distances tree:2 -1,1,2-2 '0 2 1 2 0 1 1 1 0'
printf '0\r\n1+2\r\n2+2-2-2\r\n1+2+2' >words.txt
same tree:2 0,1+2,0,1+2+2 words.txt
npy t.npy '<i4' '(2, 2)' '\000\000\000\000\001\000\000\000\001\000\000\000\377\377\377\377'
same tree:2 1+2,2 t.npy
same tree:3 1+2,2 t.npy

# Products with trees come as text.
distances 'seq*tree:2' '(0,0),(3,1+2)' '0 5 5 0'
printf '(3,1+2)\n( -1 , 0 )\n' >tuples.txt
same 'seq*tree:2' '(3,1+2),(-1,0)' tuples.txt
same '(seq*tree:2)*cycle:3' '((1,2),4),(0,0,0)' '(1,2,1),(0,(0,3))'

# Operators and attention take them too.
works encode 'algebraic(group=tree:2)' --heads 1 --head-dim 4 --positions 0,1,1+2 --operators -o w.npy
shape w.npy '(3, 1, 4, 4)'

# Real numbers, on the command line and in files: 0.5, 1 and 2.25; whole ones are what they are without a point.
operators() {
    works encode "$1" --heads 1 --head-dim 4 --positions "$2" --operators -o "$3"
}
near_same() {
    operators "$1" "$2" one.npy
    operators "$1" "$3" two.npy
    cmp -s one.npy two.npy || complain "$1: $2 and $3 differ"
}
npy real.npy '<f8' '(3,)' '\000\000\000\000\000\000\340\077\000\000\000\000\000\000\360\077\000\000\000\000\000\000\002\100'
near_same rope ' 0.5,+1, 2.25' real.npy
npy narrow.npy '<f4' '(3,)' '\000\000\000\077\000\000\200\077\000\000\020\100'
near_same rope 0.5,1.,2.250 narrow.npy
npy halves.npy '<f2' '(3,)' '\000\070\000\074\200\100'
near_same rope .5,1,2.25 halves.npy
near_same rope 0:3 0.0,1.0,2.0
operators rope 0.5 one.npy
values one.npy | awk 'NR == 1 && ($1 < 0.877582 || $1 > 0.877583) { exit 1 }' || complain 'half a step is not cos 0.5'
npy pairs.npy '<f4' '(2, 2)' '\000\000\000\077\000\000\200\077\000\000\000\100\000\000\160\300'
near_same 'rope(axes=2)' '(0.5,1),(2,-3.75)' pairs.npy
works encode sinusoidal --dim 4 --positions 0.5,1.25 -o table.npy
shape table.npy '(2, 4)'

# bad STATUS PATTERN GROUP P
bad() { refuses "$1" "$2" encode "algebraic(group=$3)" --heads 1 --head-dim 24 --positions "$4" --operators -o no.npy; }
bad 2 'has no ranges' tree:2 0:4
bad 2 'has no ranges' grid:2 0:4
bad 2 'has 2 sizes' grid:3 grid:4x6
bad 2 'no box describes' tree:2 grid:4
bad 2 'not a box' grid:2 grid:4x0
bad 2 'not a box' grid:2 grid:4xx6
bad 2 'more than' grid:2 grid:99999x99999
bad 2 'no branch .+3.' tree:2 1,1+3
[ "$(awk '/^ *\^/ { print index($0, "^") - 2 }' .out/stderr)" = 4 ] || complain 'the caret is not under the branch'
bad 2 'ends too early' tree:2 1,,2
bad 2 'needs a tuple of 2' grid:2 1,2
printf '1+2\n\n2\n' >blank.txt
bad 1 'blank.txt, line 2: is empty' tree:2 blank.txt
printf '1+2\n1+3\n' >beyond.txt
bad 1 'beyond.txt, line 2: there is no branch' tree:2 beyond.txt
bad 1 "has 1 dimension; positions on 'tree:2' have two" tree:2 p.npy
bad 1 "has 2 columns; 'grid:3' has 3" grid:3 q.npy
bad 1 "has 2 dimensions; positions on 'cycle:4' have one" cycle:4 q.npy
bad 1 'has no .npy form' 'seq*tree:2' q.npy
bad 1 'no branch index 1;' tree:1 t.npy
npy hole.npy '<i4' '(1, 2)' '\377\377\377\377\000\000\000\000'
bad 1 'stands behind a -1' tree:2 hole.npy
npy minus.npy '<i4' '(1, 1)' '\376\377\377\377'
bad 1 'no branch index -2' tree:2 minus.npy
bad 1 '2^62' seq 4611686018427387905
bad 2 "cycle:4' has no real-valued positions" cycle:4 0.5
bad 1 "tree:2' has no real-valued positions" tree:2 real.npy
refuses 1 'needs whole positions' encode 'learned(size=8)' --dim 4 --positions 0.5,1 -o no.npy
refuses 2 'numbers, as in 0.5,1.25' encode rope --head-dim 4 --heads 1 --positions 0.5,,1 --operators -o no.npy
refuses 2 'numbers, as in 0.5,1.25' encode rope --head-dim 4 --heads 1 --positions 0.5.1 --operators -o no.npy
refuses 2 'ranges are of whole numbers' encode rope --head-dim 4 --heads 1 --positions 0.5:2 --operators -o no.npy
refuses 2 'one number for each axis' encode 'rope(axes=2)' --head-dim 4 --heads 1 --positions 0.5,1 --operators -o no.npy
refuses 1 'one (\[tokens\])' encode rope --head-dim 4 --heads 1 --positions pairs.npy --operators -o no.npy
refuses 1 '2 columns' encode 'rope(axes=3)' --head-dim 6 --heads 1 --positions pairs.npy --operators -o no.npy
npy nan.npy '<f4' '(1,)' '\000\000\300\177'
refuses 1 'position nan of token 0' encode rope --head-dim 4 --heads 1 --positions nan.npy --operators -o no.npy

# Text files of real positions.
printf '(0.5,1)\r\n(2,-3.75)\n' >pairs.txt
works encode 'rope(axes=2)' --head-dim 8 --heads 1 --positions pairs.txt --operators -o file.npy
works encode 'rope(axes=2)' --head-dim 8 --heads 1 --positions '(0.5,1),(2,-3.75)' --operators -o list.npy
cmp -s file.npy list.npy || complain 'a file of real positions is not the list'
printf '0.5\n-1.25 \n3' >reals.txt
works encode sinusoidal --dim 8 --positions reals.txt -o file.npy
works encode sinusoidal --dim 8 --positions 0.5,-1.25,3 -o list.npy
cmp -s file.npy list.npy || complain 'a file of real positions is not the list'
printf '0.5\n\n2\n' >hole.txt
refuses 1 'hole.txt, line 2: not a real position: write a number' encode sinusoidal --dim 8 --positions hole.txt \
    -o no.npy
printf '(0.5,1)\n(2,3,4)\n' >long.txt
refuses 1 'long.txt, line 2: not a real position: write a number for each axis' encode 'rope(axes=2)' --head-dim 8 \
    --heads 1 --positions long.txt --operators -o no.npy
refuses 1 "tree:2' has no real-valued positions" encode 'shiv-quirk(depth=2)' --dim 8 --positions reals.txt -o no.npy
refuses 2 "'grid:3' has no ranges; give grid:4x6x8 or a file" encode 'rope(axes=3)' --head-dim 12 --heads 1 \
    --positions 0:4 --operators -o no.npy
refuses 2 '--positions: is empty' encode sinusoidal --dim 8 --positions '' -o no.npy
refuses 1 'no range (0:100), list (0,5,7) or box (grid:4x6), and no file' encode sinusoidal --dim 8 --positions 1e3 \
    -o no.npy
absent no.npy
finish
