#!/bin/sh
# SPDX-License-Identifier: MIT
# Results that leave the house: every form of a table, runs as CSV and as TensorBoard's events (which TensorBoard reads in
# python/tests/test_tensorboard.py), differences, notes, names.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

store="--store s/locus.db"
for seed in 0 1; do
    # shellcheck disable=SC2086
    "$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 4 \
        --evaluate-every 2 --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 2 --batch 4 --threads 1 \
        --quiet $store --name "run-$seed" --seed "$seed" || fail "train: $?"
done
locus() {
    # shellcheck disable=SC2086
    "$locus" "$@" $store
}

# ---- forms ----

locus runs >text
locus runs --format text | cmp - text || fail "--format text is not the table"
locus runs --json >json
locus runs --format json | cmp - json || fail "--format json is not --json"
locus runs --format csv >csv
[ "$(head -n 1 csv)" = "run,task,encoding,budget,set-up,embeddings,seed,state,steps,test acc. (%),time (s),peak memory (bytes),name" ] ||
    fail "heads of CSV: $(head -n 1 csv)"
[ "$(wc -l <csv)" = 3 ] || fail "lines of CSV: $(cat csv)"
locus runs --format markdown | grep -q '^| run | task |' || fail "markdown"
locus runs --format csv --task none >empty
[ "$(wc -l <empty)" = 1 ] || fail "a table without rows has its heads: $(cat empty)"
locus compare --task copy --encodings rope --seeds 2 --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 4 \
    --evaluate-every 2 --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 2 --batch 4 --threads 1 \
    --no-page --quiet --format csv >both
[ "$(grep -c '^section,encoding,' both)" = 2 ] && ! grep -q 'Shares in' both || fail "compare as CSV: $(cat both)"
locus report --format markdown >marks
[ "$(grep -c '^### copy · budget custom' marks)" -ge 2 ] || fail "report as Markdown: $(cat marks)"
locus eval run-0 --format csv >sets
[ "$(wc -l <sets)" = 2 ] && grep -q '^section,set,samples,accuracy (%)' sets || fail "eval as CSV: $(cat sets)"
for command in 'encodings' 'encodings rope' 'check rope' 'data inspect copy' 'bench apply --tokens 64'; do
    # shellcheck disable=SC2086
    "$locus" $command --format csv >form || fail "$command --format csv: $?"
    [ "$(wc -l <form)" -ge 2 ] || fail "$command --format csv: $(cat form)"
done
refuses 2 'runs: --json and --format csv: one of them' "$locus" runs --json --format csv --store s/locus.db
refuses 2 "runs: --format is one of" "$locus" runs --format xml --store s/locus.db
refuses 2 "runs: --format tensorboard is what 'runs export' writes" "$locus" runs --format tensorboard --store s/locus.db

locus runs note run-0 'a & b'

# ---- differences, notes, names ----

locus runs diff run-0 run-1 >diff
grep -q '^seed  *0  *1$' diff && grep -q '^test loss ' diff || fail "diff: $(cat diff)"
! grep -q '^dim' diff || fail "diff says what is alike: $(cat diff)"
[ "$(locus runs diff run-0 run-0 | wc -l)" = 1 ] || fail "a run differs from itself"
"$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 1 \
    --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
    --store s/locus.db --name 'a|1' --seed 12345678901 || fail "a name with a bar: $?"
locus runs diff run-0 'a|1' >diff
head -n 1 diff | grep -q 'a|1$' && grep -q '^seed  *0  *12345678901$' diff || fail "digits and names: $(cat diff)"
locus runs show 'a|1' | grep -q '^seed  *12345678901$' || fail "digits: $(locus runs show 'a|1')"
locus runs delete 'a|1' --quiet
locus runs show run-0 | grep -q '^note  *a & b$' || fail "note: $(locus runs show run-0)"
locus runs note run-0 ''
! locus runs show run-0 | grep -q '^note' || fail "an empty note stays"
locus runs rename run-1 other 2>err
[ "$(cat err)" = "locus: run 2 (run-1) is called other now" ] || fail "rename says: $(cat err)"
[ -e s/other/best.safetensors ] && [ ! -e s/run-1 ] || fail "the folder was not renamed: $(ls s)"
locus eval other >/dev/null || fail "a renamed run has no checkpoint"
refuses 1 "the run store 's/locus.db' has a run 'other' already" "$locus" runs rename run-0 other --store s/locus.db
refuses 1 "the name '../x' is no file name" "$locus" runs rename run-0 ../x --store s/locus.db
mkdir s/taken
refuses 1 "'s/taken' is there already" "$locus" runs rename run-0 taken --store s/locus.db
locus runs --format csv | grep -q ',other$' || fail "the names after refusals: $(locus runs)"
refuses 2 "runs rename: which run" "$locus" runs rename run-0 --store s/locus.db
refuses 2 "runs note: which run" "$locus" runs note run-0 --store s/locus.db
refuses 2 "runs diff: which two runs" "$locus" runs diff run-0 --store s/locus.db
# As long as a note may be, and one byte longer.
longest=$(head -c 65536 /dev/zero | tr '\0' n)
locus runs note run-0 "$longest" --quiet
[ "$(locus runs show run-0 | sed -n 's/^note  *//p')" = "$longest" ] || fail "a note of 65536 bytes is not kept"
refuses 2 "runs note: a note has at most 65536 bytes" "$locus" runs note run-0 "${longest}n" --store s/locus.db
locus runs note run-0 '' --quiet
# A process that was killed between the folder and the row: the same command again mends it.
mv s/other s/mended
locus runs rename other mended --quiet
locus eval mended >/dev/null || fail "a rename that was killed is not mended"

# ---- values ----

locus runs export run-0 mended --format csv -o values.csv --quiet
[ "$(head -n 1 values.csv)" = "run,task,encoding,budget,setup,embedding_init,seed,kind,set,name,step,value" ] ||
    fail "heads of values: $(head -n 1 values.csv)"
[ "$(grep -c '^run-0,copy,rope,custom,paper,scaled,0,curve,dev,loss,[24],' values.csv)" = 2 ] || fail "curves: $(cat values.csv)"
[ "$(grep -c ',score,test,accuracy,,' values.csv)" = 2 ] || fail "scores: $(cat values.csv)"
refuses 2 "runs export: --format latex is of tables" "$locus" runs export --format latex -o x --store s/locus.db
locus runs export run-0 mended --format tensorboard -o board --quiet
locus runs export run-0 mended --format tensorboard -o board --quiet # once more: files are replaced
[ "$(find board -type f | sort | tr '\n' ' ')" = "board/mended/events.out.tfevents.0.locus board/run-0/events.out.tfevents.0.locus " ] ||
    fail "event files: $(find board)"
# The first record has 26 bytes, behind their number and its sum: when, step 0, the form of the file.
for run in run-0 mended; do
    events=board/$run/events.out.tfevents.0.locus
    [ "$(head -c 8 $events | od -An -t u1 | tr -d ' \n')" = 260000000 ] || fail "the first record of $events: $(od -c $events | head -3)"
    [ "$(head -c 38 $events | tail -c 15)" = "$(printf '\032\015brain.Event:2')" ] ||
        fail "the form of $events: $(od -c $events | head -3)"
done
echo file >taken
refuses 1 "taken" "$locus" runs export --format tensorboard -o taken --store s/locus.db
refuses 1 "nowhere/values.csv" "$locus" runs export --format csv -o nowhere/values.csv --store s/locus.db
echo "ok"
