#!/bin/sh
# SPDX-License-Identifier: MIT
# Labelled sequences of one's own from end to end: inspect, train, eval with and without the training data, what sets
# share, malformed lines, and options of other kinds.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

tiny="--dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 8 --evaluate-every 20 --rate 3e-3 --threads 1"

# A text is "up" if it has more a's than b's: the words' places say nothing.
awk 'BEGIN { srand(7)
    for (i = 0; i < 300; i++) {
        n = 0; line = ""
        for (j = 0; j < 7; j++) { a = rand() < 0.5; n += a; line = line (j ? " " : "") (a ? "a" : "b") (i % 5) }
        print line "\t" (n > 3 ? "up" : "down")
    } }' >all.tsv

"$locus" data inspect classify --data all.tsv >said 2>err || fail "inspect: $(cat err)"
grep -q '240 training, 30 development and 30 test samples of 7 to 7 tokens, vocabulary 12' said || fail "inspect: $(cat said)"
grep -q '^up ' said || fail "no labels: $(cat said)"
"$locus" data inspect classify --data all.tsv --json | grep -q '"in_training_set":' || fail "inspect --json"

# shellcheck disable=SC2086
"$locus" train --task classify --data all.tsv --encoding none $tiny --steps 300 --name own --json >own.json 2>err ||
    fail "train: $(cat err)"
trained=$(sed -n '/"test":/,/}/s/.*"accuracy":[[:space:]]*\([0-9.]*\).*/\1/p' own.json | head -1)
awk -v a="$trained" 'BEGIN { exit !(a > 0.8) }' || fail "accuracy '$trained'"
[ -s runs/own/vocabulary.json ] || fail "the vocabulary is not kept"

# The same scores from the same file; another file alone, by the vocabulary that was kept; not without either.
"$locus" eval own --data all.tsv --json >eval.json
grep -q "\"accuracy\":[[:space:]]*$trained" eval.json || fail "eval says something else"
"$locus" eval own --data all.tsv >said
scores eval.json said 'set|samples|accuracy|loss|chance|majority' ''
# shellcheck disable=SC2086
"$locus" train --task classify --data all.tsv --encoding none $tiny --steps 300 --name own >said 2>err
tells own.json said 'set|accuracy|loss|chance|majority' \
    "Chance is one of the labels; majority is the share of the most common one."
printf 'a0 a1 a2 a3 new\tup\nb0 b1 b2\tdown\n' >more.tsv
"$locus" eval own --test more.tsv >said 2>err || fail "another file: $(cat err)"
grep -q '^test *2 ' said || fail "not both samples: $(cat said)"
refuses 1 '--data FILE' "$locus" eval own
head -250 all.tsv >other.tsv
refuses 1 'holds other samples' "$locus" eval own --data other.tsv

# Sets that share samples are told.
head -3 all.tsv >shared.tsv
# shellcheck disable=SC2086
"$locus" train --task classify --data all.tsv --test shared.tsv --encoding rope $tiny --steps 20 --name shared >said 2>err ||
    fail "shared: $(cat err)"
grep -q '3 of 3 test samples stand in the training set' err || fail "what sets share is not told: $(cat err)"

printf 'a\tup\nb down\n' >broken.tsv
refuses 1 "'broken.tsv', line 2: there is no tab" "$locus" train --task classify --data broken.tsv --encoding none
refuses 1 "no input of the set has 2 to 3 tokens" "$locus" eval own --data all.tsv --lengths 3
refuses 2 "data make: classify reads samples of your own" "$locus" data make classify -o x.jsonl
refuses 2 "--tokens needs a task of labelled sequences or own pairs; copy is a task of words" "$locus" train --task copy --encoding none --tokens words
refuses 2 "--digits needs a task of problems; classify is a task of labelled sequences" "$locus" train --task classify --data all.tsv --encoding none --digits 3
refuses 1 "generates nothing" "$locus" generate own
# Characters and bytes; epochs instead of steps.
for tokens in characters bytes; do
    # shellcheck disable=SC2086
    "$locus" train --task classify --data all.tsv --tokens $tokens --encoding sinusoidal $tiny --epochs 1 --name "$tokens" \
        --quiet >said 2>err || fail "$tokens: $(cat err)"
done
"$locus" runs | grep -q classify || fail "not among the runs"
