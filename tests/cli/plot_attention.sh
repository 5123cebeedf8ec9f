#!/bin/sh
# SPDX-License-Identifier: MIT
# locus plot attention: of every kind of task that has tokens, from a text, a file or the test set; what is not drawn says
# so, and why.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

tiny="--dim 16 --heads 2 --layers 2 --feed-forward 32 --dev-samples 8 --test-samples 12 --batch 4 --steps 4 --evaluate-every 4
    --threads 1 --quiet"

# drawn FILE FIELDS PATTERN…: a whole SVG with so many fields, and these names of tokens
drawn() {
    file=$1 fields=$2
    shift 2
    tail -n 1 "$file" | grep -q '^</svg>$' || fail "$file has no end"
    [ "$(grep -c '<title>.*layer [0-9]*, head [0-9]*</title>' "$file")" = "$fields" ] || fail "$file has not $fields fields"
    ! grep -q '"end"></text>' "$file" || fail "$file has tokens without a name"
    for pattern; do
        grep -q -e "$pattern" "$file" || fail "$file lacks '$pattern'"
    done
}

# shellcheck disable=SC2086
"$locus" train --task repeat --encoding rope --length 5 --symbols 6 $tiny --name words &&
    "$locus" train --task tree-copy --encoding 'algebraic(group=tree:2)' --depth 2 $tiny --name trees &&
    "$locus" train --task addition --encoding alibi --digits 2 --sequence 40 $tiny --name sums &&
    "$locus" train --task listops --encoding rope --expression-depth 4 --arguments 4 --shortest 3 --longest 20 $tiny \
        --name lists &&
    "$locus" train --task copy --encoding rope --attention 'soft(landmarks=4)' --length 5 $tiny --name soft &&
    "$locus" train --task addition --encoding rope --attention linear --digits 2 --sequence 40 $tiny --name linear || fail "train"

# Three attentions, two layers, two heads; the decoder reads what the task asks for, behind its start.
"$locus" plot attention words --input '4 2 6' -o words.svg 2>err || fail "words: $(cat err)"
drawn words.svg 12 '>start<' '>encoder<' '>decoder, of what the encoder gives<'
[ "$(grep -o '>6</text>' words.svg | wc -l)" -gt 12 ] || fail "the symbols are not named in all fields"
printf '4 2 6\n' >word.txt
"$locus" plot attention words --input word.txt -o file.svg && cmp -s words.svg file.svg || fail "a file is not its text"
"$locus" plot attention words --sample 3 -o third.svg && "$locus" plot attention words -o first.svg || fail "samples"
cmp -s first.svg third.svg && fail "all samples look alike"
"$locus" plot attention trees --sample 2 -o trees.svg && drawn trees.svg 12 '>start<' || fail "trees"
# A sample of the test set, typed, is that sample.
tree=$("$locus" generate trees -n 2 | sed -n 's/^input  //p' | tail -n 1)
"$locus" plot attention trees --input "$tree" -o typed.svg && cmp -s trees.svg typed.svg || fail "the tree $tree is not sample 2"
"$locus" plot attention sums --input '?d=12+7; ' -o sums.svg && drawn sums.svg 4 '>␣<' '>+<' || fail "sums"
# Heads stand side by side, layers one below the other, and the keys are named below the last layer only.
sed -n 's/^.*<g transform="translate(\([0-9.]*\) \([0-9.]*\))"><title>.*layer \([0-9]*\), head \([0-9]*\)<.*/\3 \4 \1 \2/p' sums.svg | awk '
    { x[$1, $2] = $3; y[$1, $2] = $4; rows += 1 }
    END { exit !(rows == 4 && x[1, 1] == x[2, 1] && x[1, 2] == x[2, 2] && x[1, 2] - x[1, 1] > 40 &&
                 y[1, 1] == y[1, 2] && y[2, 1] == y[2, 2] && y[2, 1] - y[1, 1] > 40) }' || fail "fields stand in each other's place"
grep 'layer 1, head' sums.svg | grep -q 'rotate(-90)' && fail "the first layer's keys are named where the second's fields are"
grep 'layer 2, head' sums.svg | grep -q 'rotate(-90)' || fail "the last layer's keys are not named"
"$locus" plot attention sums --sample 2 -o sums.svg && drawn sums.svg 4 '>#<' || fail "a problem with its answer"
"$locus" plot attention lists --input '[MAX 1 2 [MIN 3 4 ] ]' -o lists.svg && drawn lists.svg 4 '>\[MAX<' || fail "lists"
"$locus" plot attention soft -o soft.svg 2>err && grep -q 'make no weights and are left out' err || fail "soft: $(cat err)"
refuses 1 "'linear' makes no weight for each query and key" "$locus" plot attention linear -o no.svg

awk 'BEGIN { for (i = 0; i < 120; i++) printf "the %d of a cat;\n", i * i % 97 }' >plain.txt
"$locus" data make text --train-text plain.txt -o data/text --quiet >/dev/null 2>err || fail "data make text: $(cat err)"
awk 'BEGIN { for (i = 0; i < 60; i++) print (i % 2 ? "good day" : "bad <night>") " " i % 7 "\t" (i % 2 ? "up" : "down") }' >labels.tsv
# shellcheck disable=SC2086
"$locus" train --task text --encoding rope --sequence 24 $tiny --name text &&
    "$locus" train --task classify --data labels.tsv --encoding rope --dim 16 --heads 2 --layers 2 --feed-forward 32 --batch 4 \
        --steps 4 --evaluate-every 4 --threads 1 --quiet --name labels || fail "train text and labels"
"$locus" plot attention text --input 'a cat;' -o text.svg && drawn text.svg 4 '>c<' '>␣<' || fail "text"
"$locus" plot attention text --input 'c' -o one.svg && drawn one.svg 4 '>c<' || fail "a text of one token"
"$locus" plot attention labels --input 'bad <night> 3 owl' -o labels.svg && drawn labels.svg 4 '>&lt;night&gt;<' '>unknown<' ||
    fail "labels"
"$locus" plot attention labels --data labels.tsv --sample 2 -o labels.svg && drawn labels.svg 4 '>start<' || fail "a labelled sample"

refuses 1 "'7' is no symbol: give numbers from 1 to 6" "$locus" plot attention words --input '7' -o no.svg
refuses 1 "the word is empty" "$locus" plot attention words --input ' ' -o no.svg
refuses 1 "1 has 2 children, and the task's trees have 0 there" "$locus" plot attention trees --input '(1 2 3)' -o no.svg
refuses 1 "sample 31 is asked for, the set has 6" "$locus" plot attention labels --data labels.tsv --sample 31 -o no.svg
refuses 1 "addition knows only" "$locus" plot attention sums --input 'Z' -o no.svg
refuses 1 "no arguments" "$locus" plot attention lists --input '[MAX ]' -o no.svg
refuses 1 "has no samples of a size that can be drawn" "$locus" plot attention text -o no.svg
"$locus" plot attention text --input "$(printf '%096d' 0)" -o most.svg && [ -s most.svg ] || fail "96 tokens"
refuses 1 "has 200 tokens, and 96 can be drawn" "$locus" plot attention text --input "$(printf '%0200d' 0)" -o no.svg
refuses 2 "give one of them" "$locus" plot attention words --input '1' --sample 2 -o no.svg
refuses 2 "must end in" "$locus" plot attention words -o no.gif
refuses 1 "no run 'nobody'" "$locus" plot attention nobody -o no.svg
[ ! -e no.svg ] || fail "a picture of nothing"
