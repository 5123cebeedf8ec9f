#!/bin/sh
# SPDX-License-Identifier: MIT
# Bad specs, positions, parameters and places: one clear line, the right exit status, nothing left behind.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# caret SPEC COLUMN: the spec is shown, with a caret under its byte COLUMN (from 1)
caret() {
    refuses 2 '' encode "$1" --dim 8 --positions 0:4 -o no.npy
    sed -n 2p .out/stderr >.out/line
    [ "$(cat .out/line)" = "  $1" ] || complain "the spec '$1' is not shown"
    column=$(sed -n 3p .out/stderr | awk '{ print index($0, "^") - 2 }')
    [ "$column" = "$2" ] || complain "'$1': the caret stands at $column, not $2"
}
caret 'sinusodal' 1
grep -q 'sinusoidal' .out/stderr || complain 'no nearest name'
caret 'rope(bsae=10)' 6
grep -q 'base' .out/stderr || complain 'no nearest option'
caret 'rope(base=ten)' 11
caret 'rope(base=10' 5
caret 'rope + ' 8
caret 'rope + alibbi' 8
caret 'rope(pairs=thirds)' 12
caret 'rope)' 5
caret '' 1
# Scalings: what is missing, what is not theirs, what contradicts what.
scaling() {
    caret "$1" "$2"
    grep -q -e "$3" .out/stderr || complain "'$1' lacks '$3'"
}
scaling 'rope(scaling=stretch)' 14 'expected none|linear|ntk|dynamic|yarn|llama3|longrope'
scaling 'rope(scaling=yarn, factor=4)' 6 'needs original='
scaling 'rope(scaling=llama3, factor=4)' 6 'needs original='
scaling 'rope(scaling=dynamic, factor=4)' 6 'needs original='
scaling 'rope(scaling=linear)' 6 'needs factor='
scaling 'rope(factor=4)' 6 'say which with scaling='
scaling 'rope(scaling=linear, factor=0)' 29 'expected number > 0'
scaling 'rope(scaling=linear, factor=-1)' 29 'expected number > 0'
scaling 'rope(scaling=linear, factor=2, original=4)' 32 "'original' is for"
scaling 'rope(scaling=yarn, factor=2, original=8, attention=1, mscale=1)' 42 'attention= is the factor itself'
scaling 'rope(scaling=longrope, original=8, factor=2)' 6 'needs short= and long='
scaling 'rope(scaling=longrope, original=8, factor=2, short=1:2, long=1:2:3)' 57 'of the same length'
scaling 'rope(axes=2, sections=1:2:3)' 14 'one section for each'
scaling 'rope(axes=2, order=interleaved)' 14 'give sections'
refuses 1 'sections of .rope. add up to 3 pairs: 8 dimensions turn, which are 4' encode \
    'rope(axes=3, sections=1:1:1)' --heads 1 \
    --head-dim 8 --positions '(1,1,1)' --operators -o no.npy
refuses 1 'have 2 numbers: 8 dimensions turn, so 4' encode \
    'rope(scaling=longrope, original=8, factor=2, short=1:2, long=1:2)' \
    --heads 1 --head-dim 8 --positions 1 --operators -o no.npy
refuses 1 'position 40000 .* too far' encode 'rope(xpos=512)' --heads 1 --head-dim 8 --positions 40000 --operators \
    -o no.npy
works encode alibi --heads 40000 --positions 0 --scores -o many.npy
refuses 2 '--heads must be' encode alibi --heads 70000 --positions 0 --scores -o no.npy

e() { refuses "$1" "$2" encode sinusoidal --dim 8 --positions "$3" -o no.npy; }
e 2 "has 2 sizes, 'seq' has 1 coordinate" grid:4x6
e 2 'a path here is one integer' 1+2
e 2 'more components than the 1' '(3,1)'
e 2 'the range is empty' 4:4
e 2 'the range is empty' 4:-4
e 2 'not a range' 1:2:3
e 2 'not a range' 1:
e 2 'ends too early' 1,,2
e 2 'more than' 0:99999999999
e 1 'missing.txt' missing.txt
e 1 'missing.npy' missing.npy
printf '1\n2\nthree\n' >words.txt
e 1 "words.txt, line 3: unexpected 'three'" words.txt
printf '1\n1+2\n' >paths.txt
e 1 "paths.txt, line 2: unexpected '+2'" paths.txt
printf '1\n99999999999999999999\n' >large.txt
e 1 'line 2' large.txt
: >empty.txt
e 1 'is empty' empty.txt
printf '1\n\0002\n' >binary.txt
e 1 'binary.txt' binary.txt
npy floats.npy '<f4' '(2,)' '\000\000\300\177' 2
e 1 'position nan of token 0' floats.npy
npy matrix.npy '<i4' '(2, 1)' '\001\000\000\000' 2
e 1 'has 2 dimensions' matrix.npy
e 1 '' 0,99999999999999

refuses 2 '--dim must be' encode sinusoidal --dim 0 --positions 0:4 -o no.npy
refuses 2 '--dim needs an integer' encode sinusoidal --dim 8.5 --positions 0:4 -o no.npy
refuses 2 '--dim needs a value' encode sinusoidal --dim --positions 0:4 -o no.npy
refuses 2 'did you mean --positions' encode sinusoidal --dim 8 --position 0:4 -o no.npy
# What other tools call it.
refuses 2 'unknown option --lr; did you mean --rate?$' train --task copy --encoding rope --lr 0.1
refuses 2 'unknown option --learning_rate; did you mean --rate?$' train --task copy --encoding rope --learning_rate=0.1
refuses 2 'unknown option --learning-rate; did you mean --rate?$' compare --task copy --learning-rate 0.1
refuses 2 'unknown option --batch-size; did you mean --batch?$' train --task copy --encoding rope --batch-size 8
refuses 2 'unknown option --n_head; did you mean --heads?$' encode rope --n_head 8
refuses 2 'unknown option --max-seq-len; did you mean --sequence?$' train --task copy --max-seq-len 8
refuses 2 'unknown option --max-seq-len; did you mean --length?$' generate x --max-seq-len 8
refuses 2 "unknown option --lr; 'locus path --help' lists the options$" path 1+2 --lr 1
refuses 2 'takes no value' encode rope --operators=yes --positions 0:4 -o no.npy
refuses 2 '--threads must be' encode sinusoidal --dim 8 --positions 0:4 --threads 0 -o no.npy
refuses 1 'nowhere' encode sinusoidal --dim 8 --positions 0:4 -o nowhere/no.npy
refuses 1 'out of memory' encode alibi --heads 1000 --positions 0:1000000 --scores -o no.npy

printf 'not a tensor file' >bad.safetensors
refuses 1 'bad.safetensors' encode 'learned(size=9)' --dim 8 --positions 0:4 --params bad.safetensors -o no.npy
refuses 1 'gone.safetensors' encode 'learned(size=9)' --dim 8 --positions 0:4 --params gone.safetensors -o no.npy

# A folder in the way, a full device, no permission: nothing is left.
mkdir taken.npy
refuses 1 'taken.npy' encode sinusoidal --dim 8 --positions 0:4 -o taken.npy
[ -z "$(ls -A taken.npy)" ] || complain 'something was written into the folder'
[ "$(ls -A | grep -c taken)" -eq 1 ] || complain 'a temporary file was left'
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod a-w locked
    refuses 1 'locked' encode sinusoidal --dim 8 --positions 0:4 -o locked/no.npy
    chmod u+w locked
    [ -z "$(ls -A locked)" ] || complain 'something was left in the locked folder'
fi
# A write that fails half way (a limit on the file's size stands for a full disk) keeps the old file.
printf 'old' >old.npy
checks=$((checks + 1))
(
    ulimit -f 1
    trap '' XFSZ
    exec "$LOCUS" encode sinusoidal --dim 512 --positions 0:512 -o old.npy
) >.out/stdout 2>.out/stderr
[ $? -eq 1 ] && grep -q '^locus: ' .out/stderr || complain 'a file that does not fit'
[ "$(cat old.npy)" = old ] || complain 'the old file is gone'
[ "$(ls -A | grep -c 'old')" -eq 1 ] || complain 'a temporary file was left'

refuses 1 'there is no run store' report --store none.db -o no.html
printf 'SQLite format 3 but no' >corrupt.db
refuses 1 'corrupt.db' report --store corrupt.db -o no.html
refuses 2 "there is no bench 'atention'; it is apply, attention or step; did you mean attention?" bench atention
absent no.npy no.html none.db
finish
