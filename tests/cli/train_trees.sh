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
refuses 2 "a tree has one root" "$locus" generate paths --input "1 2"

# Killed in the middle of an epoch again and again: the bits of one that was left alone.
# shellcheck disable=SC2086
train() {
    exec "$locus" train --task tree-reorder --encoding 'algebraic(group=tree:2, decay=0.98)' $small --steps 200 \
        --checkpoint-seconds 0 --quiet --name run "$@"
}
(train --store whole/locus.db)
killed_through train --store killed/locus.db
same_results whole/locus.db run killed/locus.db run

# The published schemes, with sizes of the data; what is cut is told once for all cells.
# shellcheck disable=SC2086
"$locus" compare --task tree-copy --order depth $small --seeds 2 --store schemes/locus.db >compared 2>err ||
    fail "compare: $(cat err)"
for scheme in sinusoidal 'shiv-quirk(depth=2)' rope 'algebraic(decay=0.98)' \
    'algebraic(group=tree:2, decay=0.98)'; do
    grep -q "^$scheme" compared || fail "compare without '$scheme': $(cat compared)"
done
[ "$(grep -c 'of a path' err)" = 1 ] || fail "the note: $(cat err)"
# shellcheck disable=SC2086
"$locus" compare --task tree-copy,tree-c3 --encodings 'shiv-quirk(depth=2)' $small --store schemes/locus.db --no-page \
    >compared 2>err || fail "compare: $(cat err)"
[ "$(grep -c 'of a path' err)" = 1 ] || fail "the note of two tasks: $(cat err)"
# shellcheck disable=SC2086
"$locus" compare --task tree-copy --arity 3 --encodings rope $small --store schemes/locus.db --no-page >compared 2>err ||
    fail "compare: $(cat err)"
grep -q 'trees with 3 children' compared || fail "which trees: $(cat compared)"
grep -q published compared && fail "of these trees nothing is published: $(cat compared)"
"$locus" eval 2 --store schemes/locus.db --depths 4,5 >scored 2>err || fail "eval: $(cat err)"
[ "$(grep -c 'of a path' err)" = 1 ] || fail "eval of deeper trees: $(cat err)"
"$locus" generate 2 --store schemes/locus.db --depth 5 -n 2 >grown 2>err || fail "generate: $(cat err)"
[ "$(grep -c 'of a path' err)" = 1 ] || fail "generate of deeper trees: $(cat err)"
"$locus" generate 2 --store schemes/locus.db --depth 5 -n 2 --quiet 2>&1 | cmp - grown || fail "generate --quiet"
"$locus" runs --store schemes/locus.db | grep -q ' tree-copy depth  *sinusoidal' || fail "runs without the order"
# shellcheck disable=SC2086
"$locus" compare --task tree-copy --encodings mixed $small --seeds 3 --store none/locus.db >compared 2>err &&
    fail "mixed on trees"
[ "$(wc -l <err)" = 1 ] || fail "why it cannot be trained, once: $(cat err)"
"$locus" runs show 2 --store schemes/locus.db | grep -q '^message .*paths of' || fail "the note in the run"

# A spec that the task refuses leaves neither a row nor a folder.
# shellcheck disable=SC2086
refuses 1 "grid:2" "$locus" train --task tree-copy --encoding 'algebraic(group=grid:2)' $small --store none/locus.db --name bad
[ "$("$locus" runs --store none/locus.db)" = "no runs" ] || fail "a row is left"
[ ! -e none/bad ] || fail "a folder is left"

# Options of other kinds, bad values, names that several runs begin with.
refuses 2 "length needs a task of words or problems; tree-copy has --depth" "$locus" train --task tree-copy --encoding rope --length 5
refuses 2 "tree-paths needs a task of trees or own pairs; copy is a task of words" "$locus" train --task copy --encoding rope --tree-paths next
refuses 2 "deeper than 1000" "$locus" train --task tree-copy --encoding rope --test-depths 995
refuses 2 "depth needs a task of trees; copy has --length" "$locus" train --task copy --encoding rope --depth 5
refuses 2 "test-lengths needs a task of words; tree-ops has --test-depths" "$locus" train --task tree-ops --encoding rope --test-lengths 5
refuses 2 "symbols: 5 symbols: tree-c3 has 4" "$locus" compare --task copy,tree-c3 --symbols 5
refuses 2 "data needs a task of images" "$locus" train --task tree-copy --encoding rope --data x
refuses 2 "arity must be from 1 to 16" "$locus" train --task tree-copy --encoding rope --arity 17
refuses 2 "depth must be from 0 to 1000" "$locus" train --task tree-copy --encoding rope --depth 1001
refuses 2 "order" "$locus" train --task tree-copy --encoding rope --order sideways
refuses 2 "did you mean 'tree-copy'" "$locus" train --task tree-cpy --encoding rope
refuses 2 "lengths needs a task of words, problems, text, expressions, labelled sequences or own pairs; tree-ops has --depths" "$locus" eval paths --lengths 3
refuses 2 "pictures are for runs of images" "$locus" eval paths picture.png
refuses 1 "runs begin with 'tree-copy': tree-copy-breadth-rope" "$locus" eval tree-copy
echo "ok ($killed kills)"
