#!/bin/sh
# SPDX-License-Identifier: MIT
# locus compare: cells side by side, resumable cell by cell, a failing cell, tables, JSON, the page.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

small="--dim 16 --heads 2 --layers 1 --feed-forward 32 --length 5 --symbols 6 --train-samples 100 --dev-samples 20
    --test-samples 30 --greedy-samples 10 --batch 10 --steps 30 --evaluate-every 10"

# Two tasks, two encodings (one with a comma in parentheses), two seeds, two at once.
# shellcheck disable=SC2086
"$locus" compare --task copy,reverse --encodings 'rope, algebraic(group=seq, decay=0.98)' --seeds 2 --jobs 2 --threads 1 \
    $small --test-lengths 10 --no-page >table 2>err || fail "compare: $(cat err)"
grep -q '\[8/8\]' err || fail "not eight cells: $(cat err)"
[ "$(grep -c '^copy \|^reverse ' table)" = 2 ] || fail "not two sections: $(cat table)"
grep -q '^algebraic(.*±' table || fail "no mean and deviation: $(cat table)"
grep -q 'length 10' table || fail "no other length: $(cat table)"
grep -q 'published\*' table || fail "no published numbers: $(cat table)"
[ "$("$locus" runs --json | grep -c '"state":[[:space:]]*"done"')" = 8 ] || fail "not eight runs"

# A cell is the run that train makes.
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --test-lengths 10 --threads 1 --store alone/locus.db --quiet
name=$(basename "$(dirname "$(find alone -name best.safetensors)")")
cmp "alone/$name/best.safetensors" "runs/$name/best.safetensors" || fail "compare trains another model than train"

# Again: nothing is trained, and a further encoding only adds its cells.
# shellcheck disable=SC2086
"$locus" compare --task copy,reverse --encodings 'rope, algebraic(group=seq, decay=0.98)' --seeds 2 $small --test-lengths 10 \
    --no-page >table2 2>err
[ "$(grep -c 'already done' err)" = 8 ] || fail "done cells were trained again: $(cat err)"
[ "$(grep -c '· seed 0: ' err)" = 4 ] && [ "$(grep -c '· seed 1: ' err)" = 4 ] || fail "other seeds: $(cat err)"
# shellcheck disable=SC2086
"$locus" compare --task copy --encodings rope --seed 1 $small --test-lengths 10 --no-page >one 2>err
grep -q "· seed 1: already done" err || fail "another seed than was asked for: $(cat err)"
cmp table table2 || fail "another table"
# shellcheck disable=SC2086
"$locus" compare --task copy --encodings 'rope,none' --seeds 2 $small --no-page --json >table.json 2>err
sed 's/ in [0-9.]* s$/ in TIME/' err >told
cat >wanted <<'END'
locus: [1/4] copy · rope · seed 0: already done
locus: [2/4] copy · none · seed 0: done in TIME
locus: [3/4] copy · rope · seed 1: already done
locus: [4/4] copy · none · seed 1: done in TIME
END
cmp -s told wanted || fail "cells: $(cat err)"
grep -q '"none"' table.json || fail "JSON: $(cat table.json)"
# shellcheck disable=SC2086
"$locus" compare --task copy --encodings 'none' --seeds 2 $small --no-page --json --quiet 2>err >/dev/null
[ ! -s err ] || fail "--quiet says: $(cat err)"

# A cell that fails is told, the others are trained, the exit status says so.
got=0
# shellcheck disable=SC2086
"$locus" compare --task copy --encodings 'learned(size=3),sinusoidal' $small --no-page >table 2>err || got=$?
[ "$got" = 1 ] || fail "a failing cell ended with $got"
grep -q '^locus: copy · learned(size=3, deviation=1) · seed 0: ' err || fail "a failing cell said: $(cat err)"
grep -q '^sinusoidal' table || fail "the other cell is missing: $(cat table)"

# What differs between cells stands in their names, in the order in which they are trained.
# shellcheck disable=SC2086
"$locus" compare --task copy,reverse --encodings rope --embedding-init both $small --steps 1 --vary rate=1e-3,2e-3 --seed 7 --no-page \
    --store names/locus.db 2>err >/dev/null || fail "names: $(cat err)"
sed 's/: done in .*//' err >told
i=0
for task in copy reverse; do
    for rate in 1e-3 2e-3; do
        for init in scaled unit; do
            i=$((i + 1))
            echo "locus: [$i/8] $task · rope · rate $rate · $init · seed 7"
        done
    done
done >wanted
cmp -s told wanted || fail "names: $(cat err)"

# Ctrl-C stops all cells cleanly and says how to go on: not with --restart, which would begin again.
"$locus" compare --task copy --encodings none,rope --jobs 2 --threads 1 --steps 100000 --no-page --restart \
    --store long/locus.db 2>err &
process=$!
until_so "it does not start" started 2 long/locus.db
kill -INT "$process"
got=0
wait "$process" || got=$?
[ "$got" = 1 ] && grep -q '^locus: stopped; to go on: locus compare' err || fail "Ctrl-C ended with $got: $(cat err)"
grep -q -e --restart err && fail "going on would begin again: $(cat err)"
[ "$(grep -c '^locus: copy · [a-z]* · seed 0: stopped' err)" = 2 ] || fail "it is not told which were stopped: $(cat err)"
[ "$("$locus" runs --store long/locus.db | grep -c stopped)" = 2 ] ||
    fail "the cells were not stopped cleanly: $("$locus" runs --store long/locus.db) $(cat err)"

# Bad uses: nothing is trained.
for bad in "--task copi" "--task copy --encodings rope,,none" "--task copy --encodings rop" "--task copy --seeds 0" \
    "--task copy --embedding-init some" "--encodings rope" "--task listops,text --encodings rope --data here"; do
    got=0
    # shellcheck disable=SC2086
    "$locus" compare $bad --store bad/locus.db >out 2>err || got=$?
    [ "$got" = 2 ] && grep -q '^locus: ' err || fail "compare $bad ended with $got: $(cat err)"
    [ ! -e bad ] || fail "compare $bad made a store"
done

# The page.
# shellcheck disable=SC2086
"$locus" compare --task copy --encodings 'rope,none' --seeds 2 $small >table 2>err || fail "page: $(cat err)"
page=$(sed -n 's/^page: //p' table)
[ -s "$page" ] && grep -q '</html>' "$page" || fail "no page at '$page'"
echo "ok"
