#!/bin/sh
# SPDX-License-Identifier: MIT
# locus train, eval, generate, runs: a small training from end to end, and every way to ask for something impossible.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

small="--dim 16 --heads 2 --layers 1 --feed-forward 32 --length 5 --symbols 6 --train-samples 100 --dev-samples 20
    --test-samples 30 --greedy-samples 10 --batch 10 --steps 40 --evaluate-every 10 --threads 1"

# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --test-lengths 8,12 --name first --json >train.json 2>err ||
    fail "train: $(cat err)"
[ ! -s err ] || fail "train said: $(cat err)"
grep -q '"state":[[:space:]]*"done"' train.json || fail "not done: $(cat train.json)"
grep -q '"test:12"' train.json || fail "no score at length 12"
grep -q '"budget":[[:space:]]*"custom"' train.json || fail "another budget"
[ -f runs/locus.db ] && [ -f runs/first/best.safetensors ] || fail "files are not where they belong"
[ ! -e runs/first/last.safetensors ] || fail "a finished run keeps its checkpoint"

# Done is done: the same command prints the same and trains nothing.
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --test-lengths 8,12 --name first --json >again.json
cmp train.json again.json || fail "a finished run was changed"
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --test-lengths 8,12 --name first >train.txt
tells train.json train.txt 'set|accuracy|exact|greedy exact|loss' ''
# shellcheck disable=SC2086
[ -z "$("$locus" train --task copy --encoding rope $small --name first --quiet)" ] || fail "--quiet prints"
# shellcheck disable=SC2086
refuses 1 "another seed" "$locus" train --task copy --encoding rope $small --name first --seed 1

# A pattern over layers, shared heads, another attention: trained, shown as they are, scored and decoded again.
# shellcheck disable=SC2086
"$locus" train --task copy --encoding '1*rope/2*none' $small --layers 3 --heads 4 --kv-heads 2 --attention linear \
    --name layers --json >layers.json 2>err || fail "train by a pattern: $(cat err)"
grep -q '"encoding":[[:space:]]*"rope / 2\*none"' layers.json || fail "the pattern: $(cat layers.json)"
"$locus" runs | grep -q 'rope / 2\*none' || fail "the pattern in the list"
"$locus" eval layers | grep -q '^test' || fail "eval of a pattern"
"$locus" generate layers -n 1 | grep -q '^output' || fail "generate with a pattern"

# Scales are kept with the run: eval computes with them, and it doesn't go on with others. What adds nothing to tokens
# is the run that it is without a scale.
scales="--embedding-init unit --logit-scale inverse-sqrt-dim"
# shellcheck disable=SC2086
"$locus" train --task copy --encoding sinusoidal $small $scales --position-scale sqrt-dim --name scales --json \
    >scales.json || fail "train with scales"
"$locus" eval scales --json >eval.json
recorded=$(sed -n '/"test":/,/}/s/.*"loss":[[:space:]]*\([0-9.e-]*\).*/\1/p' scales.json)
measured=$(sed -n 's/.*"loss":[[:space:]]*\([0-9.e-]*\).*/\1/p' eval.json)
[ -n "$recorded" ] && [ "$recorded" = "$measured" ] || fail "eval with scales says '$measured', the run '$recorded'"
# shellcheck disable=SC2086
refuses 1 "position_scale" "$locus" train --task copy --encoding sinusoidal $small $scales --name scales
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --position-scale sqrt-dim --name first --json >same.json 2>err ||
    fail "a scale of nothing: $(cat err)"
grep -q "'rope' adds nothing to tokens" err || fail "nothing is said of a scale of nothing: $(cat err)"
refuses 2 "cifar10 is of images" "$locus" train --task cifar10 --encoding rope --position-scale sqrt-dim
refuses 2 "add --output tied" "$locus" train --task addition --encoding rope --logit-scale inverse-sqrt-dim

# eval gives the scores that the training recorded.
"$locus" eval first --json >eval.json
recorded=$(sed -n '/"test":/,/}/s/.*"accuracy":[[:space:]]*\([0-9.e-]*\).*/\1/p' train.json)
measured=$(sed -n 's/.*"accuracy":[[:space:]]*\([0-9.e-]*\).*/\1/p' eval.json)
[ -n "$recorded" ] && [ "$recorded" = "$measured" ] || fail "eval says '$measured', the run '$recorded'"
"$locus" eval first >eval.txt
scores eval.json eval.txt 'set|samples|accuracy|exact|greedy exact|loss|chance' ''
"$locus" eval fir --lengths 8,12 --json >eval.json
"$locus" eval fir --lengths 8,12 >eval.txt
scores eval.json eval.txt 'set|samples|accuracy|exact|greedy exact|loss|chance' ''
grep -q '^test:8 ' eval.txt && grep -q '^test:12 ' eval.txt || fail "eval by the beginning of a name: $(cat eval.txt)"
flat eval.json | grep -v -e ' 30$' -e '^run first$' -e '^task copy$' -e '^encoding rope$' >measured.txt
flat train.json | sed -n 's/^scores\.test:\(8\|12\)\.\([a-z_]*\) /\1 \2 /p' | while read -r length name value; do
    grep -q "\.$name $value\$" measured.txt || fail "eval says another $name of length $length than $value: $(cat measured.txt)"
done
# A part of another set: as many samples, and their tokens with the end of each.
"$locus" eval first --set dev -n 5 --json >eval.json
"$locus" eval first --set dev -n 5 >eval.txt
scores eval.json eval.txt 'set|samples|accuracy|exact|greedy exact|loss|chance' ''
"$locus" data make copy --length 5 --symbols 6 --set dev -n 5 -o dev.jsonl --quiet
wanted=$(sed 's/.*"target_text": "\(.*\)"}/\1/' dev.jsonl | wc -w)
flat eval.json | grep -q "^sets.0.tokens $((wanted + 5))\$" && grep -q '^dev  *5 ' eval.txt || fail "dev -n 5, $wanted tokens: $(cat eval.json)"
# Whole test sets of other lengths are kept with the run, others are not.
"$locus" eval first --lengths 9 --json >eval.json
"$locus" eval first --lengths 10 -n 5 >/dev/null
"$locus" eval first --lengths 10 --set dev >/dev/null
"$locus" eval first --lengths 10 --greedy-samples 3 >/dev/null
"$locus" runs show first --json >shown.json
flat shown.json | sed -n 's/^scores\.\([a-z]*:9\|[a-z]*:10\)\./\1 /p' | sort >kept.txt
flat eval.json | sed -n 's/^sets\.0\.\([a-z_]* [0-9].*\)/test:9 \1/p' | grep -v -e ' samples ' -e ' tokens ' -e ' chance ' |
    sort | cmp -s - kept.txt || fail "kept is $(cat kept.txt)"
refuses 1 "no run 'second'" "$locus" eval second
refuses 2 "lengths" "$locus" eval first --lengths 8,x

# generate decodes a word with as many tokens as it may get.
"$locus" generate first --input "1 2 3" >generated
grep -q '^input  1 2 3$' generated && grep -q '^output' generated || fail "generate: $(cat generated)"
"$locus" generate first --input "1 2 3" --json >json
samples json generated
for length in 5 9; do
    "$locus" generate 1 -n 4 --length $length --json >json
    "$locus" generate first -n 4 --length $length >generated
    samples json generated
    "$locus" data make copy --length $length --length-deviation 0.$length --symbols 6 --set test -n 4 -o test.jsonl --quiet
    sed 's/.*"target_text": "\(.*\)"}/input  \1/' test.jsonl >inputs
    grep '^input' generated | cmp -s - inputs || fail "not the test set of length $length: $(cat generated)"
done
[ "$("$locus" generate 1 | grep -c '^input')" = 3 ] || fail "how many are generated: $("$locus" generate 1)"
refuses 2 "'7' is no symbol" "$locus" generate first --input "1 7"
refuses 2 "empty" "$locus" generate first --input " "
refuses 2 "one of them" "$locus" generate first --input "1" -n 3
echo ok
