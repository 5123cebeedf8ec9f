#!/bin/sh
# SPDX-License-Identifier: MIT
# Pairs of one's own from end to end. Files that a task of locus writes train the model that the task itself trains, to
# the same scores, as sequences and as trees; a run that is stopped goes on to the same bits, and not with other data;
# texts are trained on, scored, decoded as they are typed, compared and reported; what is wrong is told in one line.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

tiny="--dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 16 --steps 60 --evaluate-every 20 --rate 3e-3 --threads 1"
sizes="--train-samples 300 --dev-samples 40 --test-samples 40 --greedy-samples 20"

# What a run scored.
scores() { "$locus" runs show "$1" --json | sed -n '/"scores"/,$p' | grep -E '"(accuracy|exact|greedy_exact|loss|samples)":'; }

same_as_task() { # TASK OPTIONS ENCODING
    for set in train dev test; do
        # shellcheck disable=SC2086
        "$locus" data make "$1" $2 --set $set -n "$(if [ $set = train ]; then echo 300; else echo 40; fi)" -o $set.jsonl --quiet ||
            fail "data make $1"
    done
    # shellcheck disable=SC2086
    "$locus" train --task "$1" $2 --encoding "$3" $tiny $sizes --name "task-$1" --quiet || fail "$1"
    # shellcheck disable=SC2086
    "$locus" train --task pairs --data train.jsonl --dev dev.jsonl --test test.jsonl --encoding "$3" $tiny \
        --greedy-samples 20 --name "own-$1" --quiet 2>err || fail "pairs of $1: $(cat err)"
    scores "task-$1" >task.scores
    scores "own-$1" >own.scores
    [ -s task.scores ] || fail "no scores of $1"
    cmp -s task.scores own.scores || fail "$1 scores otherwise from its own file: $(diff task.scores own.scores)"
    "$locus" eval "own-$1" --test test.jsonl --json >eval.json 2>err || fail "eval of $1: $(cat err)"
    "$locus" eval "task-$1" --json | grep -E '"(accuracy|exact|greedy_exact|loss|chance)":' >task.scores
    grep -E '"(accuracy|exact|greedy_exact|loss|chance)":' eval.json | cmp -s - task.scores || fail "eval of $1: $(cat eval.json)"
}
same_as_task reverse "--length 6" rope
same_as_task tree-reorder "--depth 3 --order depth" "algebraic(group=tree:2)"
"$locus" generate own-tree-reorder --test test.jsonl -n 2 | grep -c '^input  (\{0,1\}[0-9]' | grep -q 2 || fail "no trees are decoded"
# A tree as it is printed is the tree that is typed; what it may be is the training set's.
"$locus" generate task-tree-reorder -n 2 | sed -n '5,$p' >drawn
tree=$(sed -n 's/^input  //p' drawn)
"$locus" generate task-tree-reorder --input "$tree" | cmp - drawn || fail "$tree is decoded otherwise than it was drawn: $(cat drawn)"
"$locus" generate own-tree-reorder --input "$tree" | head -1 | grep -qxF "input  $tree" || fail "$tree of own pairs"
"$locus" plot attention own-tree-reorder --input "$tree" -o tree.svg && grep -q '>start<' tree.svg || fail "plot attention of a tree"
refuses 2 "a node has 3 children, and in the training set none more than 2" "$locus" generate own-tree-reorder --input '(11 1 2 3)'
refuses 2 "character 5 of a tree" "$locus" generate own-tree-reorder --input '(11 999 2)'
"$locus" runs show own-tree-reorder --json | grep -q 'depth:' || fail "no scores by depth"

# Texts: copy a to b, character by character.
awk 'BEGIN { srand(3)
    for (i = 0; i < 200; i++) {
        line = ""; other = ""
        for (j = 0; j < 3 + i % 4; j++) { a = rand() < 0.5; line = line (a ? "a" : "é"); other = other (a ? "b" : "ß") }
        print "{\"input_text\": \"" line i % 7 "\", \"target_text\": \"" other "\"}"
    } }' >texts.jsonl
"$locus" data inspect pairs --data texts.jsonl --tokens characters --show 1 >said 2>err || fail "inspect: $(cat err)"
grep -q '^sets     160 training, 20 development and 20 test samples' said || fail "inspect: $(cat said)"
grep -q 'samples stand in the training set, too' said || fail "inspect does not say what sets share: $(cat said)"
grep -q '^target [bß]' said || fail "inspect shows no text: $(cat said)"
"$locus" data inspect pairs --data texts.jsonl --tokens characters --json | grep -q '"in_training_set":' || fail "inspect --json"

train() { # NAME [OPTION…]
    name=$1
    shift
    # shellcheck disable=SC2086
    "$locus" train --task pairs --data texts.jsonl --tokens characters --encoding rope $tiny --name "$name" "$@"
}
train whole >said 2>err || fail "train: $(cat err)"
grep -q 'test samples stand in the training set, too' err || fail "what sets share is not told: $(cat err)"
grep -q '"tokens":"characters"' runs/whole/vocabulary.json || fail "the vocabulary is not kept"
"$locus" eval whole --test texts.jsonl | grep -q '^test *200 ' || fail "eval of another file"
"$locus" generate whole --input 'aaé1' >said 2>err || fail "generate: $(cat err)"
head -1 said | grep -qx 'input  aaé1' || fail "generate: $(cat said)"
# What has no target is read by the decoder as the model itself decodes it.
"$locus" plot attention whole --input 'aaé1' -o typed.svg || fail "plot attention of a text"
made=$(sed -n 's/^output //p' said)
for c in start a é 1 $(printf '%s' "$made" | sed 's/./& /g'); do
    grep -q ">$c</text>" typed.svg || fail "'$made' of 'aaé1' is drawn without '$c'"
done
"$locus" plot attention whole --sample 2 --data texts.jsonl -o map.svg && [ -s map.svg ] || fail "plot attention of a sample"
! grep -q '^target' said || fail "generate knows a target: $(cat said)"
"$locus" generate whole --data texts.jsonl -n 2 --json | grep -q '"target_text":' || fail "generate from the data"

# Killed on the way it ends with the same bits, and it does not go on with other samples.
long() { # NAME
    # shellcheck disable=SC2086
    exec "$locus" train --task pairs --data texts.jsonl --tokens characters --encoding rope $tiny --steps 40 --name "$1" \
        --checkpoint-seconds 0 --quiet
}
(long straight) || fail "the long run"
killed_through long parted
same_results runs/locus.db straight runs/locus.db parted
cp texts.jsonl kept.jsonl
sed -i '1s/target_text": "/&b/' texts.jsonl
again() { (long parted); }
refuses 1 "was made with other data" again
refuses 1 "holds other samples" "$locus" eval parted --data texts.jsonl
mv kept.jsonl texts.jsonl

# shellcheck disable=SC2086
"$locus" compare --task pairs --data texts.jsonl --tokens bytes --encodings rope,none --seeds 1 $tiny --page page.html --quiet 2>err ||
    fail "compare: $(cat err)"
grep -q 'training pairs of own data' page.html || fail "the page does not say what the data are"
"$locus" report -o all.html --quiet || fail "report"

# Trees that don't say how they grow are trained on, and not decoded.
cat >varies.jsonl <<'END'
{"input": [1], "target": [2, 2], "input_paths": ["0"], "target_paths": ["0", "1"]}
END
# shellcheck disable=SC2086
"$locus" train --task pairs --data varies.jsonl --dev varies.jsonl --test varies.jsonl --encoding none $tiny --name varies >said 2>err ||
    fail "varies: $(cat err)"
grep -q 'nothing is decoded: one symbol has now more' err || fail "it is not said that nothing is decoded: $(cat err)"
refuses 1 "say how they grow" "$locus" generate varies --test varies.jsonl
refuses 1 "do not grow from their symbols" "$locus" plot attention varies --input 1 -o no.svg

printf '{"input": [1], "target": [1]}\n{"input": [1], "target": "b"}\n' >broken.jsonl
refuses 1 "'broken.jsonl', line 2: \"target\" needs an array of ids" "$locus" train --task pairs --data broken.jsonl --encoding none
printf '{"input": [9], "target": [1]}\n' >beyond.jsonl
printf '{"input": [1], "target": [1]}\n' >one.jsonl
refuses 1 "'beyond.jsonl', line 1: id 9 is beyond the vocabulary" "$locus" train --task pairs --data one.jsonl --dev one.jsonl --test beyond.jsonl --encoding none
refuses 1 "line 1: the training set has texts, not ids" "$locus" eval whole --test one.jsonl
refuses 1 "1 samples: too few" "$locus" train --task pairs --data one.jsonl --encoding none
refuses 2 "data make: pairs reads samples of your own" "$locus" data make pairs -o x.jsonl
refuses 2 "give --input, or --test" "$locus" generate whole
refuses 2 "--test needs a run of own pairs" "$locus" generate task-reverse --test test.jsonl
refuses 2 "the input has no token" "$locus" generate whole --input ''
refuses 2 "a tree has one root" "$locus" generate own-tree-reorder --input '1 2'
refuses 1 "no input of the set has 2 to 3 tokens" "$locus" eval whole --test texts.jsonl --lengths 3
refuses 2 "--digits needs a task of problems; pairs is a task of own pairs" "$locus" train --task pairs --data one.jsonl --encoding none --digits 3
