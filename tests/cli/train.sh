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
"$locus" train --task copy --encoding rope $small --name first --quiet >said && [ ! -s said ] || fail "--quiet prints: $(cat said)"
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --schedule constant --warmup 0.2 --name flat --quiet 2>err ||
    fail "a constant rate: $?"
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --schedule constant --warmup 0.2 --name flat >said 2>err
grep -q "warmup: a constant rate does not rise" err || fail "--warmup is ignored in silence: $(cat err)"
# shellcheck disable=SC2086
refuses 1 "another seed" "$locus" train --task copy --encoding rope $small --name first --seed 1

# What the optimiser, the data and the end of a training are told is recorded, and does what it says.
opts() {
    # shellcheck disable=SC2086
    "$locus" train --task copy --encoding rope $small --rate 1e-3 --quiet --store o/locus.db --name "$@" || fail "train $*: $?"
}
opts early --clip 0.5 --weight-decay 0.03 --data-seed 9 --patience 2 --rate 1e-9 --evaluate-every 2 --checkpoint-every-minutes 7
"$locus" runs show early --store o/locus.db --json | tr -d ' \t\n' >json
for said in '"clip":0.5' '"weight_decay":0.03' '"data_seed":9' '"data_seed":"9"' '"patience":2' '"checkpoint_seconds":420' \
    '"message":"endedearly:2developmentscoresinarow'; do
    grep -q "$said" json || fail "an option is not recorded as $said: $(cat json)"
done
opts plain
opts clipped --clip 0.01
opts decayed --weight-decay 0.5
opts other --data-seed 9 --setup code
for run in clipped decayed other; do
    ! cmp -s o/plain/best.safetensors "o/$run/best.safetensors" || fail "$run is trained as if nothing had been said"
done
table_rows() {
    "$locus" report --store o/locus.db --json "$@" >json || fail "report $*: $?"
    tr -d ' \t\n' <json | sed 's/"encoding":"rope/\n&/g' | grep -c '^"encoding"' || true
}
filtered() { # OPTION VALUE ROWS
    [ "$(table_rows --task copy "$1" "$2")" = "$3" ] || fail "report $1 $2: $(cat json)"
}
[ "$(table_rows)" = 5 ] || fail "five trainings are other rows: $(cat json)"
filtered --budget custom 5
filtered --budget smoke 0
filtered --setup paper 4
filtered --setup code 1
filtered --embedding-init scaled 5
filtered --embedding-init unit 0

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
refuses 2 "cifar10 is a task of images" "$locus" train --task cifar10 --encoding rope --position-scale sqrt-dim
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
for length in 5 30; do
    "$locus" generate 1 -n 4 --length $length --json >json
    "$locus" generate first -n 4 --length $length >generated
    samples json generated
    "$locus" data make copy --length $length --length-deviation "$((length / 10)).$((length % 10))" --symbols 6 --set test -n 4 -o test.jsonl --quiet
    sed 's/.*"target_text": "\(.*\)"}/input  \1/' test.jsonl >inputs
    grep '^input' generated | cmp -s - inputs || fail "not the test set of length $length: $(cat generated)"
done
[ "$("$locus" generate 1 | grep -c '^input')" = 3 ] || fail "how many are generated: $("$locus" generate 1)"
refuses 2 "'7' is no symbol" "$locus" generate first --input "1 7"
refuses 2 "empty" "$locus" generate first --input " "
refuses 2 "leave out --n" "$locus" generate first --input "1" -n 3

# runs
"$locus" runs | grep -q 'first' || fail "runs does not list it"
"$locus" runs show first | grep -q '^command  *locus train' || fail "runs show"
[ "$("$locus" runs --task reverse)" = "no runs" ] || fail "a filter that matches nothing"
refuses 2 "none of" "$locus" runs drop first
refuses 2 "which run" "$locus" runs delete

# Shorthand, and what a set-up changes.
# shellcheck disable=SC2086
"$locus" train --task reverse --encoding algebraic $small --json | grep -q '"encoding":[[:space:]]*"algebraic' ||
    fail "algebraic"
# shellcheck disable=SC2086
"$locus" train --task repeat --encoding rope --setup code --embedding-init unit $small --json >code.json
grep -q '"encoding":[[:space:]]*"rope(learned=on)"' code.json || fail "set-up code does not learn the frequencies"
grep -q '"norm":[[:space:]]*"after"' code.json || fail "set-up code: LayerNorm"
# shellcheck disable=SC2086
"$locus" train --task copy --encoding none --budget paper $small --steps 3 --json >steps.json
grep -q '"epochs":[[:space:]]*0,' steps.json && grep -q '"steps_done":[[:space:]]*3,' steps.json ||
    fail "steps do not take the place of the budget's epochs: $(cat steps.json)"
"$locus" runs delete first --quiet
[ ! -e runs/first ] || fail "runs delete leaves files"
refuses 1 "no run 'first'" "$locus" runs show first

# Bad uses.
refuses 2 "task" "$locus" train --encoding rope
refuses 2 "did you mean 'copy'" "$locus" train --task cpoy --encoding rope
refuses 2 "heads" "$locus" train --task copy --encoding rope --dim 30 --heads 4
refuses 2 "one of them" "$locus" train --task copy --encoding rope --steps 3 --epochs 4
refuses 2 "steps" "$locus" train --task copy --encoding rope --steps 0
refuses 2 "kv-heads" "$locus" train --task copy --encoding rope --heads 4 --kv-heads 3
refuses 2 "one of softmax linear soft clustered" "$locus" train --task copy --encoding rope --attention softer
refuses 2 "only the first encoding" "$locus" train --task copy --encoding 'rope / learned'
refuses 1 "linear" "$locus" train --task copy --encoding alibi --attention linear --steps 5
refuses 2 "budget" "$locus" train --task copy --encoding rope --budget huge
got=0
"$locus" train --task copy --encoding 'rope + sinusodal' 2>err || got=$?
[ "$got" = 2 ] || fail "a bad spec ended with $got"
grep -q "sinusoidal" err && sed -n 3p err | grep -q '\^' || fail "a bad spec said: $(cat err)"
refuses 1 "odd\|pairs\|even" "$locus" train --task copy --encoding rope --dim 6 --heads 2 --feed-forward 8 --steps 5
refuses 1 "position" "$locus" train --task copy --encoding 'learned(size=3)' --steps 5
printf 'no store' >text.db
refuses 1 "text.db" "$locus" train --task copy --encoding rope --store text.db
refuses 1 "no run store" "$locus" runs --store nothing.db
refuses 1 "file.txt" sh -c "touch file.txt && '$locus' train --task copy --encoding rope --store file.txt/x/locus.db"

# A loss that explodes: one line, the step and the rate in it, the best parameters kept.
# shellcheck disable=SC2086
refuses 1 "not finite at step .*learning rate" "$locus" train --task copy --encoding rope $small --evaluate-every 1 \
    --rate 1e5 --warmup 0.5 --name wild
"$locus" runs show wild | grep -q '^state  *failed' || fail "a failed run is not marked"

# No space, as far as that can be had without a disk: files may not grow beyond 50 KB. The checkpoint cannot be written: one
# line, and neither a part of it nor its temporary file is left.
got=0
# shellcheck disable=SC2086
(
    trap '' XFSZ
    ulimit -f 100 # nor would a profile of ./dev coverage fit
    exec env LLVM_PROFILE_FILE=/dev/null "$locus" train --task copy --encoding rope $small --checkpoint-seconds 0 --store tight/locus.db --name full
) >out 2>err || got=$?
[ "$got" = 1 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "no space: $got, $(cat err)"
grep -q "^locus: cannot write 'tight/full/last.safetensors'\|^locus: .*run store 'tight/locus.db'" err ||
    fail "no space: $(cat err)"
[ -z "$(find tight -name '*safetensors*')" ] || fail "no space: $(find tight)"

# No permission: tried as somebody who may not write, if there is a way to be him.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$work"
    cp "$locus" program
    refuses 1 "cannot\|may be written" setpriv --reuid=65534 --regid=65534 --clear-groups \
        env LLVM_PROFILE_FILE=/dev/null "$work/program" train --task copy --encoding rope --store "$work/denied/locus.db"
fi
[ -z "$(find . -name '*.tmp*' -o -name '.*.safetensors*')" ] || fail "temporary files are left"
echo "ok"
