#!/bin/sh
# SPDX-License-Identifier: MIT
# locus plot: every figure is a whole SVG with what it must show; PNG and PDF where rsvg-convert is there; what cannot be
# drawn says so.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# picture FILE PATTERN…: a whole SVG with a view box that has these texts, and nothing that is not a number
picture() {
    file=$1
    shift
    checks=$((checks + 1))
    head -c 4 "$file" | grep -q '<svg' && tail -n 1 "$file" | grep -q '</svg>' || complain "$file is not a whole SVG"
    ! grep -q -i 'nan\|inf[",]' "$file" || complain "$file has coordinates that are not finite"
    for pattern; do
        grep -q -e "$pattern" "$file" || complain "$file lacks '$pattern'"
    done
}

# count FILE PATTERN NUMBER
count() {
    checks=$((checks + 1))
    [ "$(grep -c -e "$2" "$1")" -eq "$3" ] || complain "$1 has $(grep -c -e "$2" "$1") '$2', not $3"
}

# Groups: points, and the relative path in words. Two circles are its ends.
works plot group seq --from 1 --to 4 -o seq.svg
picture seq.svg '>seq<' '−a + b = 3<' 'length 3, distance 3'
count seq.svg '<circle' 9
works plot group cycle:6 --from 1 --to 5 -o ring.svg
picture ring.svg '>cycle:6<' '−a + b = 4<' 'length 4, distance 2'
count ring.svg '<circle' 8
works plot group grid:2 --from '(3,0)' --to '(1,3)' -o grid.svg
picture grid.svg '−a + b = (-2,3)<' 'length 5, distance 3'
count grid.svg '<circle' 51
works plot group tree:2 --from 2 --to 1+2 -o tree.svg
picture tree.svg '−a + b = -2+1+2<' 'length 3, distance 3' '>+1<' '>−2<'
count tree.svg '<circle' 17
works plot group tree:2 --from 1+2+1+2+1+1+2+1+1+2+2+1 --to 2+1+2+2+1+2+2+1+1+2+2+1+2 -o long.svg
picture long.svg '>a = 1+2+1+2+1+1+2+1+1+2+2+1<' '>b = 2+1+2+2+1+2+2+1+1+2+2+1+2<' '>−a + b = -1-2-2.*+1…<' 'length 25'
# A caption of many words in a wide figure is cut, and says so.
ones=1$(printf '+1%.0s' $(seq 60)) twos=2$(printf '+2%.0s' $(seq 60))
works plot group 'seq*tree:2' --from "(0,$ones)" --to "(29,$twos)" -o wide.svg
picture wide.svg 'a = (0,1+1' '…<' 'length 151, distance 151'
works plot group tree:3 -o bare.svg
picture bare.svg '>tree:3<'
count bare.svg '<circle' 13
for case in 'cycle:8*cycle:16 (1,2) (3,6)' 'seq*cycle:12 (1,2) (4,10)' 'seq*tree:2 (0,1+2) (2,2)' \
    'grid:3 (0,0,0) (1,2,2)' 'seq*seq*tree:2 (0,1,1) (2,2,2+1)' \
    'tree:2*cycle:4 (1,0) (2+1,3)' 'tree:2 -1+2 2-1' 'seq -3 4' 'cycle:1 0 0'; do
    set -- $case
    works plot group "$1" --from "$2" --to "$3" -o group.svg
    picture group.svg '−a + b = ' 'distance'
done

# Similarity: the origin is as similar as can be.
works plot similarity rope --positions -20:21 --origin 0 -o curve.svg
picture curve.svg '>rope<' '>position<' '>score<'
works plot similarity sinusoidal --dim 32 --positions 0:40 --origin 7 -o cosine.svg
picture cosine.svg '>cosine<'
works plot similarity 'algebraic(group=grid:2)' --positions grid:8x12 --origin '(3,4)' -o field.svg
picture field.svg '>1\.0*<'
[ "$(grep -c '<polygon' field.svg)" -eq $((96 + 60)) ] ||
    complain 'the field has not 96 cells beside the 60 of its scale'
printf '0\n1\n2\n1+1\n1+2\n' >tree.txt
works plot similarity 'algebraic(group=tree:2)' --positions tree.txt --origin 1 -o nodes.svg
picture nodes.svg '>1+2<'
count nodes.svg '<circle' 5
for case in 'algebraic(group=cycle:9) 0:9 4' 'alibi(group=grid:2) grid:5x5 (2,2)' 'decay(group=cycle:9) 0:9 4' \
    'algebraic(group=cycle:5*cycle:6) grid:5x6 (1,1)' 'algebraic(group=seq*cycle:6,values=on) grid:5x6 (1,1)' \
    'liere(group=grid:3) grid:2x3x3 (0,1,1)'; do
    set -- $case
    works plot similarity "$1" --positions "$2" --origin "$3" -o other.svg
    picture other.svg 'mean over heads'
done

# Spectra: rope's own frequencies at the start; generators one by one.
works plot spectrum 'algebraic(group=grid:2)' -o spectrum.svg
picture spectrum.svg 'coordinate 1: axis' 'coordinate 2: axis' '>all heads<' 'rope.s frequencies'
works plot spectrum 'algebraic(group=seq*tree:2, init=random)' --heads 2 --head-dim 16 -o spectrum.svg
picture spectrum.svg 'coordinate 2: branch 1' 'coordinate 2: branch 2' '>head 1<'
for spec in rope 'algebraic(group=cycle:12)' mixed string liere 'algebraic(generator=householder, init=random)'; do
    works plot spectrum "$spec" --heads 2 --head-dim 12 -o spectrum.svg
    picture spectrum.svg 'radians in one step'
done

# Figures that no page of docs/ shows, to the last coordinate: as tests/golden/figures.txt has them, which were looked at when
# they were put there.
shown() {
    works plot "$@" -o shown.svg
    printf '== plot %s\n' "$*" >>figures.txt
    cat shown.svg >>figures.txt
}
shown group seq --from -3 --to 4
shown group seq --from 5 --to 5
shown group seq*seq*seq --from '(0,1,-1)' --to '(1,0,1)'
shown group 'seq*cycle:5' --from '(1,4)' --to '(-1,1)'
shown group 'cycle:4*seq' --from '(0,0)' --to '(2,3)'
shown group 'tree:2*cycle:4' --from '(1,0)' --to '(2,3)'
shown group tree:2 --from -1+2 --to 2-1
shown group tree:2 --from 1+2+1+2+1 --to 2+1+2+1
shown group tree:15 --from 14+13 --to 12+11
shown group cycle:1 --from 0 --to 0
shown group cycle:40
shown group cycle:6 --from 1 --to 4 # both ways are three steps: the one that does not pass 0
shown group cycle:6 --from 4 --to 1
shown group 'cycle:9*cycle:5' --from '(8,4)' --to '(1,1)' # both coordinates the short way, past 0
shown group 'seq*tree:2*seq' --from '(0,1,1)' --to '(1,2,2)'
shown group tree:2 --from 1+2+1+2+1+2+1+2+1+2+1+2+1 --to 1+2+1+2+1+2+1+2+1+2+1+2+2
shown group seq --from 2 --to 40 # more numbers than there is room for
shown group grid:2 --from '(-3,1)' --to '(0,-1)'
shown group tree:3
shown group 'tree:2*tree:1'
shown similarity 'algebraic(group=seq*cycle:4)' --positions '(-1,0),(-1,1),(0,3),(2,2)' --origin '(0,1)' --heads 1 --head-dim 4
shown similarity 'algebraic(group=cycle:3*tree:2)' --positions '(0,0),(1,1),(2,1+2)' --origin '(0,2)' --heads 2 --head-dim 4
shown similarity 'alibi(group=cycle:4)' --positions 0:4 --origin 1 --heads 2
shown similarity alibi --positions 3 --origin 5 --heads 2
shown similarity 'algebraic(group=grid:2)' --positions '(0,0),(0,140),(3,2)' --origin '(0,0)' --heads 1 --head-dim 4
shown similarity 'rope(base=4)' --positions 2,-3,5,4 --origin -9 --heads 1 --head-dim 4
shown spectrum 'algebraic(group=seq*tree:3, init=random)' --heads 3 --head-dim 8
shown spectrum 'mixed(group=grid:2)' --heads 10 --head-dim 4
shown spectrum 'algebraic(group=cycle:12)' --heads 1 --head-dim 6
shown frequencies 'rope(base=500000, pairs=half, scaling=llama3, factor=8, original=8192, low=2, high=8) + alibi(scaled=on) + t5(buckets=16, max=64) + kerple + fire + decay(rate=0.5)' rope --head-dim 8
shown table 'learned(size=3)' --dim 5 --positions 2,0,1
checks=$((checks + 1))
alike figures.txt "$LOCUS_SOURCE/tests/golden/figures.txt" || {
    cp figures.txt "${LOCUS_BUILD:-/tmp}"
    complain "figures are drawn otherwise, all of them in ${LOCUS_BUILD:-/tmp}/figures.txt, from where they can take the kept" \
        "file's place if they are right: $(diff figures.txt "$LOCUS_SOURCE/tests/golden/figures.txt" | head -n 20)"
}

# The same figure twice is the same file, whatever the threads.
works plot similarity 'algebraic(group=tree:2)' --positions tree.txt --origin 1 --threads 1 -o one.svg
works plot similarity 'algebraic(group=tree:2)' --positions tree.txt --origin 1 --threads 3 -o three.svg
cmp -s one.svg three.svg || complain 'threads change a figure'

# --length is heard, a pattern shows one of its layers, and vectors at the encoder's output are compared as vectors.
dynamic='rope(scaling=dynamic, factor=4, original=64)'
for figure in spectrum frequencies 'similarity --positions 0:8 --origin 0'; do
    # shellcheck disable=SC2086
    {
        works plot $figure "$dynamic" -o short.svg
        works plot $figure "$dynamic" --length 100000 -o long.svg
        ! cmp -s short.svg long.svg || complain "plot $figure does not hear --length"
        works plot $figure 'none / rope' --layer 1 -o layer.svg
        works plot $figure rope -o rope.svg
        cmp -s layer.svg rope.svg || complain "plot $figure does not hear --layer"
        refuses 2 'choose one with --layer' plot $figure 'none / rope' -o no.svg
    }
done
works plot table 'sinusoidal / none' --positions 0:8 --layer 0 -o layer.svg
works plot similarity 'chebyshev(site=output)' --positions 0:9 --origin 0 -o encoded.svg
works plot similarity chebyshev --positions 0:9 --origin 0 -o embedding.svg
sed 's/(site=output)//' encoded.svg | cmp -s - embedding.svg ||
    complain 'the same vectors are not as similar at both sites'
refuses 2 'whole positions are needed' plot similarity rope --positions 0.5,1 --origin 0 -o no.svg

if command -v rsvg-convert >/dev/null 2>&1; then
    works plot group tree:2 --from 2 --to 1+2 -o tree.png
    [ "$(od -An -c -j 1 -N 3 tree.png | tr -d ' ')" = PNG ] || complain 'tree.png is not a PNG'
    works plot group tree:2 --from 2 --to 1+2 -o tree.pdf
    [ "$(head -c 4 tree.pdf)" = %PDF ] || complain 'tree.pdf is not a PDF'
fi

refuses 2 'GROUP is missing' plot group
refuses 2 '--output FILE is missing' plot group seq
refuses 2 'from and --to go together' plot group seq --from 1 -o no.svg
refuses 2 '' plot group seq --from 1 --to 1+2 -o no.svg
refuses 2 'branch' plot group tree:2 --from 1 --to 3 -o no.svg
refuses 2 '' plot group cycle:0 -o no.svg
refuses 2 'must end in .svg, .png or .pdf' plot group seq -o no.gif
refuses 1 'more branches than can be drawn' plot group tree:64 -o no.svg
refuses 1 'cannot be drawn' plot group grid:5 -o no.svg
refuses 1 'too many' plot group cycle:1000000 -o no.svg
absent no.svg no.gif
finish
