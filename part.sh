#!/bin/sh
# SPDX-License-Identifier: MIT
# Trees from end to end: train, resume after a kill, eval, generate, compare, and options that belong to other kinds of tasks.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

small="--dim 16 --heads 2 --layers 1 --feed-forward 32 --depth 2 --train-samples 100 --dev-samples 20 --test-samples 30
    --greedy-samples 10 --batch 10 --steps 40 --evaluate-every 10 --threads 1"

# Every task, in both orders; the name of a run says the order.
for task in tree-copy tree-reorder tree-c3 tree-ops; do
    for order in breadth depth; do
        # shellcheck disable=SC2086
        "$locus" train --task "$task" --order "$order" --encoding rope $small --quiet 2>err || fail "$task: $(cat err)"
        "$locus" runs | grep -q "$task-$order-rope-custom-s0-" || fail "the name of $task $order"
    done
done
[ "$("$locus" runs --task tree-copy | grep -c ' done ')" = 2 ] || fail "runs of tree-copy"

# Scores by depth and by nodes, of other depths, without an end token.
# shellcheck disable=SC2086
"$locus" train --task tree-ops --order depth --encoding 'algebraic(group=tree:2)' $small --test-depths 1,3 --name paths \
    --json >paths.json 2>err || fail "paths: $(cat err)"
for set in test test:1 test:3 depth:2 nodes:5-8; do
    grep -q "\"$set\"" paths.json || fail "no scores of $set: $(cat paths.json)"
done
grep -q '"samples"' paths.json || fail "no samples of a depth"
"$locus" eval paths --json >eval.json
recorded=$(sed -n '/"test":/,/}/s/.*"accuracy":[[:space:]]*\([0-9.e-]*\).*/\1/p' paths.json)
measured=$(sed -n 's/.*"accuracy":[[:space:]]*\([0-9.e-]*\).*/\1/p' eval.json)
[ -n "$recorded" ] && [ "$recorded" = "$measured" ] || fail "eval says '$measured', the run '$recorded'"
# shellcheck disable=SC2086
"$locus" train --task tree-ops --order depth --encoding 'algebraic(group=tree:2)' $small --test-depths 1,3 --name paths >paths.txt
tells paths.json paths.txt 'set|accuracy|exact|greedy exact|loss' ''
"$locus" eval paths --depths 1,4 --json >eval.json
"$locus" eval paths --depths 1,4 >eval.txt
scores eval.json eval.txt 'set|samples|accuracy|exact|greedy exact|loss|chance' ''
grep -q '^test:1 ' eval.txt && grep -q '^test:4 ' eval.txt || fail "eval of other depths: $(cat eval.txt)"

# Trees are generated, and printed as trees.
"$locus" generate paths -n 4 >generated
[ "$(grep -c '^input  (' generated)" = 4 ] || fail "generate: $(cat generated)"
[ "$(grep -c '^output .*  (right)$\|^output .*  (wrong)$' generated)" = 4 ] || fail "generate: $(cat generated)"
[ "$(grep -c '^target ' generated)" = "$(grep -c '(wrong)$' generated)" ] || fail "targets: $(cat generated)"
"$locus" generate paths -n 4 --json >json
samples json generated
"$locus" generate paths -n 2 --depth 3 --json >json
"$locus" generate paths -n 2 --depth 3 >generated
samples json generated
"$locus" data make tree-ops --order depth --depth 3 --set test -n 2 -o test.jsonl --quiet
sed 's/.*"input_text": "\([^"]*\)".*/input  \1/' test.jsonl >inputs
grep '^input' generated | cmp -s - inputs || fail "not the test set of depth 3: $(cat generated)"
refuses 2 "input is for words" "$locus" generate paths --input "1 2"
echo ok
