#!/bin/sh
# SPDX-License-Identifier: MIT
# locus train --continue: a new run that goes on from a finished one; with a constant rate it ends with the bits of one long
# run, also after a kill. Its parent is recorded and shown. What cannot be gone on with says so.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

tiny="--encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 32 --train-samples 40 --dev-samples 8 --test-samples 12 --batch 8
    --evaluate-every 10 --threads 1 --quiet"

# same RUN RUN: parameters and curves to the bit
same() {
    weights "runs/$1/best.safetensors" >one.bin && weights "runs/$2/best.safetensors" >two.bin
    [ -s one.bin ] && cmp -s one.bin two.bin || fail "$1 and $2 have other parameters"
    for run in "$1" "$2"; do
        "$locus" runs export "$run" --format csv -o all.csv >/dev/null 2>&1 && grep ',curve,' all.csv | cut -d, -f8- >"$run.csv"
    done
    [ -s "$1.csv" ] && cmp -s "$1.csv" "$2.csv" || fail "$1 and $2 have other curves: $(diff "$1.csv" "$2.csv" | head -4)"
}

for task in copy addition; do
    size="--length 5 --symbols 6" && [ $task = copy ] || size="--digits 2 --sequence 40"
    # shellcheck disable=SC2086
    {
        "$locus" train --task $task $tiny $size --schedule constant --steps 40 --keep-optimizer --name $task-first &&
            "$locus" train --continue $task-first --steps 40 --keep-optimizer --name $task-second --threads 1 --quiet &&
            "$locus" train --continue $task-second --steps 20 --name $task-third --threads 1 --quiet &&
            "$locus" train --task $task $tiny $size --schedule constant --steps 100 --name $task-long || fail "train $task"
    }
    same $task-third $task-long
done
[ -e runs/copy-first/state.safetensors ] && [ ! -e runs/copy-first/last.safetensors ] || fail "the state is not kept"
[ ! -e runs/copy-third/state.safetensors ] || fail "a state is kept that nobody asked for"

# The parent is told: in the list, of a run, on the page, in JSON; a store without any has no such column.
"$locus" runs show copy-second | grep -q '^parent *copy-first$' || fail "runs show: $("$locus" runs show copy-second)"
"$locus" runs show copy-first | grep -q '^parent' && fail "a run of its own has a parent"
"$locus" runs >said; head -1 said | grep -q 'goes on from' || fail "runs"
grep -q '  copy-first  *–$' said && grep -q '  copy-second  *copy-first$' said || fail "runs: $(cat said)"
"$locus" report -o page.html >/dev/null && grep -q 'goes on from</small> <code>copy-second' page.html || fail "the page"
"$locus" runs note copy-second 'the middle one' --quiet && "$locus" runs export copy-second -o file.json >/dev/null 2>err || fail "export"
grep -q '"note": *"the middle one"' file.json && grep -q '"parent": *"copy-first"' file.json || fail "note or parent are not exported"
"$locus" runs import file.json --store other/locus.db >/dev/null 2>err || { mkdir -p other && "$locus" runs import file.json --store other/locus.db >/dev/null 2>err; } || fail "import: $(cat err)"
"$locus" runs show copy-second --store other/locus.db >said && grep -q '^note *the middle one$' said && grep -q '^parent *copy-first$' said ||
    fail "note or parent are not imported"
"$locus" runs note copy-second 'another' --store other/locus.db --quiet && "$locus" runs import file.json --store other/locus.db >/dev/null 2>err ||
    fail "a run with another note is another run: $(cat err)"

# Seeds and encodings that went on from trainings that are alike but for these stand in one table.
for run in 'rope 0' 'rope 1' 'none 0' 'none 1'; do
    # shellcheck disable=SC2086
    "$locus" train --task copy $tiny --encoding "${run% *}" --seed "${run#* }" --length 5 --symbols 6 --schedule constant --steps 10 \
        --keep-optimizer --name "begun-$run" --store seeds/locus.db &&
        "$locus" train --continue "begun-$run" --steps 10 --name "went-$run" --threads 1 --quiet --store seeds/locus.db ||
        fail "train $run"
done
"$locus" report --store seeds/locus.db --format csv >said || fail "report: $?"
[ "$(grep -c 'rope,2,' said)" = 2 ] && [ "$(grep -c 'continued at 10 .*none,2,' said)" = 1 ] && ! grep -q parent said ||
    fail "seeds of runs that went on: $(cat said)"

# Killed and gone on with: the same bits. A run that is done is not trained again.
continued() { exec "$locus" train --continue copy-second --steps 80 --name killed --checkpoint-seconds 0 --threads 1 --quiet; }
killed_through continued
# shellcheck disable=SC2086
"$locus" train --task copy $tiny --length 5 --symbols 6 --schedule constant --steps 160 --name unbroken || fail "unbroken"
same killed unbroken
"$locus" train --continue copy-first --steps 40 --name copy-second --threads 1 --quiet || fail "a finished run"

refuses 1 "has kept no state of its optimiser" "$locus" train --continue copy-third --steps 5
refuses 2 "steps N says how many more" "$locus" train --continue copy-first
refuses 2 "rate: a run that goes on has its parent's" "$locus" train --continue copy-first --steps 5 --rate 1e-3
refuses 2 "task: a run that goes on has its parent's" "$locus" train --continue copy-first --steps 5 --task copy
refuses 1 "no run 'nobody'" "$locus" train --continue nobody --steps 5
refuses 1 "exists with another" "$locus" train --continue copy-first --steps 5 --name copy-second
refuses 2 "'copy-first' is the run that this one goes on from" "$locus" train --continue copy-first --steps 5 --name copy-first --restart
[ -e runs/copy-first/state.safetensors ] || fail "the parent is thrown away"

# Of two parents with as many steps each has a child of its own.
# shellcheck disable=SC2086
"$locus" train --task copy $tiny --length 5 --symbols 6 --schedule constant --steps 40 --keep-optimizer --rate 3e-3 --name other-first ||
    fail "another parent"
"$locus" train --continue other-first --steps 40 --name other-second --checkpoint-every-minutes 2 --threads 1 --quiet || fail "another child"
"$locus" runs show other-second --json | grep -q '"checkpoint_seconds":[[:space:]]*120' &&
    "$locus" runs show killed --json | grep -q '"checkpoint_seconds":[[:space:]]*0,' || fail "how often checkpoints are written is lost"
[ "$("$locus" runs show copy-second --json | grep -c continued_from)" = 1 ] || fail "the parent is no part of the configuration"
[ "$("$locus" runs show copy-second --json | grep -o '"continued_from":[^,}]*')" != \
    "$("$locus" runs show other-second --json | grep -o '"continued_from":[^,}]*')" ] || fail "two parents are told as one"

# Data that changed: not gone on with, and nothing is lost.
awk 'BEGIN { for (i = 0; i < 60; i++) print (i % 2 ? "good day" : "bad night") " " i % 7 "\t" (i % 2 ? "up" : "down") }' >labels.tsv
"$locus" train --task classify --data labels.tsv --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 8 --steps 10 \
    --evaluate-every 5 --schedule constant --keep-optimizer --threads 1 --quiet --name own || fail "own data"
"$locus" train --continue own --steps 10 --data labels.tsv --name own-more --threads 1 --quiet || fail "own data, more"
refuses 2 "data says where they are" "$locus" train --continue own --steps 5
refuses 1 "nowhere.tsv" "$locus" train --continue own --steps 5 --data nowhere.tsv --name unread
[ ! -e runs/unread ] && ! "$locus" runs show unread >/dev/null 2>&1 || fail "a run of data that are not there is in the store"
echo 'one more	up' >>labels.tsv
refuses 1 "the data of 'own' have changed since it was trained" "$locus" train --continue own --steps 5 --data labels.tsv --name changed
[ -e runs/own/state.safetensors ] && [ ! -e runs/changed ] || fail "something is lost, or left"
cp runs/own/state.safetensors whole && head -c 1000 whole >runs/own/state.safetensors
sed -i '$d' labels.tsv
refuses 1 "'own' cannot be gone on with: .*state.safetensors" "$locus" train --continue own --steps 7 --data labels.tsv --name cut
[ ! -e runs/cut ] && ! "$locus" runs show cut >/dev/null 2>&1 || fail "a run that never began is in the store"
"$locus" runs delete own --quiet && [ ! -e runs/own ] || fail "a state stays behind"

# A run that got no better for long, one that is not done, one of another arithmetic.
"$locus" train --task classify --data labels.tsv --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 8 --steps 400 \
    --evaluate-every 2 --patience 1 --schedule constant --rate 0.1 --keep-optimizer --threads 1 --quiet --name patient || fail "patience"
refuses 2 "data says where they are" "$locus" train --continue patient --steps 5
refuses 1 "'patient' ended because it got no better for long" "$locus" train --continue patient --steps 5 --data labels.tsv
cp -R runs edited
# edit COLUMN = VALUE… [NAME]: of that run, copy-first if none is named
edit() { "${LOCUS_PYTHON:-python3}" -c 'import sqlite3, sys
with sqlite3.connect("edited/locus.db") as store:
    assert store.execute("UPDATE run SET " + sys.argv[1] + " WHERE name = ?", (sys.argv[2],)).rowcount == 1' "$1" "${2-copy-first}"; }
go_on() { "$locus" train --continue copy-first --steps 5 --store edited/locus.db --checkpoint-every-minutes 2 --name more; }
edit "config = replace(config, '{', '{\"numerics\":9,')" || fail "another arithmetic"
refuses 1 "'copy-first' was trained by a version whose arithmetic differs" go_on
edit "state = 2" || fail "a run that is not done"
refuses 1 "'copy-first' is stopped, not done: its own command goes on with it" go_on
refuses 1 "the run 'copy-first' is not finished: only finished runs are exported" "$locus" runs export copy-second copy-first -o x.json \
    --store edited/locus.db
# What another program may have written: tasks that are not there, names that are no folder's.
edit "task = 'copied'" || fail "another task"
refuses 1 "the run 'copy-first' is of the task 'copied', which this version does not have" "$locus" eval copy-first --store edited/locus.db
edit "task = 'copy', state = 1, name = '../first'" || fail "another name"
refuses 1 "the state of '../first' cannot be found" "$locus" train --continue ../first --steps 5 --store edited/locus.db
refuses 1 "the parameters of '../first' cannot be found" "$locus" train --task copy --encoding rope --init-from ../first --store edited/locus.db

# How far trainings are that are not done.
cell=$("$locus" compare --task copy --encodings rope --list --format csv | sed -n '2s/.*not begun,\([^,]*\),.*/\1/p')
edit "name = '$cell', state = 0, steps_done = 7, steps_total = 9" ../first || fail "a run that is begun"
listed() { "$locus" compare --task copy --encodings rope --list --store edited/locus.db | grep -q "  $1  " || fail "the list does not say '$1'"; }
listed 'begun, not finished, at step 7 of 9'
edit "state = 2" "$cell" && listed 'stopped at step 7 of 9'
edit "state = 3" "$cell" && listed 'failed at step 7 of 9'
edit "state = 1" "$cell" && listed 'done'
