#!/bin/sh
# SPDX-License-Identifier: MIT
# locus reproduce roper|listops: what they are made of, text that is there or not, a training with a loss that is killed and
# goes on, bad uses.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
export LOCUS_THREADS=1 # other tests run beside it

count() {
    grep -c 'not begun' "$1"
}

# RoPER without a text: told in one line, the rest is there.
"$locus" reproduce roper --list >list 2>err || fail "--list ended with $?"
[ "$(count list)" = 18 ] || fail "roper is not 3 tasks × 2 rows × 3 seeds: $(cat list)"
grep -q "^locus: text is left out: there is no 'data/text'" err || fail "the missing text is not told: $(cat err)"
[ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat err)"
grep -q '^ *[0-9]*  addition · roper · seed 0 .*rope(values=on)' list || fail "no roper: $(cat list)"
"$locus" reproduce roper --budget paper --columns addition --list >list 2>err || fail "--list ended with $?"
[ "$(count list)" = 20 ] || fail "not ten seeds as published: $(cat list)"
[ ! -s err ] || fail "a column that nobody asked for is told: $(cat err)"

# With a text: loss and perplexity are scores of the same trainings.
awk 'BEGIN { for (i = 0; i < 900; i++) printf "the %d th of many lines says %d\n", i, i * i % 97 }' >text.txt
"$locus" data make text --train-text text.txt -o data/text >/dev/null || fail "no text: $?"
"$locus" reproduce roper --list >list 2>err || fail "--list ended with $?"
[ "$(count list)" = 24 ] || fail "text does not add 2 rows × 3 seeds: $(cat list)"
[ ! -s err ] || fail "a text that is there: $(cat err)"
"$locus" reproduce roper --data data/text --more --seeds 1 --list >list 2>err || fail "--list ended with $?"
[ "$(count list)" = 20 ] || fail "--more is not 4 tasks × 4 rows, 2 of trees × 2: $(cat list)"
grep -q 'tree-ops depth · algebraic (tree), values .*values=on, decay=0.98' list || fail "no values on trees: $(cat list)"
"$locus" reproduce roper --columns addition --decay both --seeds 1 --list >list
grep -q 'roper, with decay .*rope(values=on) + decay' list || fail "no roper with decay: $(cat list)"

# ListOps: sizes follow the expressions.
"$locus" reproduce listops --list >list || fail "--list ended with $?"
[ "$(count list)" = 48 ] || fail "listops is not 2 columns × 8 rows × 3 seeds: $(cat list)"
for spec in 'learned(size=42, deviation=1)' 'chebyshev(size=42)' 'algebraic(group=tree:4)' 'shiv-quirk(k=4, depth=4)'; do
    grep -q "parity .*$spec" list || fail "no $spec: $(cat list)"
done
[ ! -e runs ] || fail "--list made a store"

refuses 2 "table1 has no use for it" "$locus" reproduce table1 --tree-paths next --list
"$locus" reproduce table2 --list --json >own
"$locus" reproduce table2 --tree-paths own --list --json >told
"$locus" reproduce table2 --tree-paths next --list --json >next
cmp -s own told || fail "paths of their own are other runs"
[ "$(grep -c "\"name\"" next)" = 120 ] || fail "not a table of 120 trainings: $(cat next)"
grep "\"name\"" next >names
! grep -qFf names own || fail "next paths are the same runs"

# A training whose scores are a loss and a perplexity: the one that takes seconds. Killed in the middle, it stops cleanly, and
# the same command goes on with it.
part="roper --columns text --rows rope --seeds 1"
step() {
    "$locus" reproduce $part --list --json 2>/dev/null | sed -n 's/.*"state":[[:space:]]*"\(.*\)".*/\1/p'
}
is_at() { step | grep -q "$1"; }
# shellcheck disable=SC2086
"$locus" reproduce $part >out 2>err &
process=$!
until_so "it does not start" is_at 'begun,'
sleep 0.3
kill -KILL "$process"
wait "$process" 2>/dev/null || :
until_so "the training of a killed program goes on" is_at 'stopped at step'
# Ctrl-C: what there is is shown and written, and how to go on is told.
# shellcheck disable=SC2086
"$locus" reproduce $part --no-page >out 2>err &
process=$!
until_so "it does not start again" is_at 'begun,'
kill -INT "$process"
got=0
wait "$process" || got=$?
[ "$got" = 1 ] || fail "Ctrl-C ended with $got: $(cat err)"
grep -q '^locus: stopped with 0 of 1 trainings done; to go on: locus reproduce roper' err || fail "Ctrl-C: $(cat err)"
grep -q '0 of 1 trainings done.*missing' out || fail "nothing is shown after Ctrl-C: $(cat out)"
grep -q '0 of 1 done: \*\*not finished\*\*' runs/reproduce-roper-smoke-text-rope.md || fail "no file after Ctrl-C"

# shellcheck disable=SC2086
"$locus" reproduce $part --no-page >out 2>err || fail "it did not go on: $?, $(cat err)"
grep -q '1 of 1 trainings done' out || fail "no count: $(cat out)"
grep -q '^rope  *0\.[0-9][0-9][0-9][0-9]  *1\.[0-9][0-9]$' out || fail "no loss with four decimals: $(cat out)"
grep -q 'nats a token; lower is better' out || fail "which way is better is not told: $(cat out)"
grep -q 'no published numbers' out || fail "that nothing is published is not told: $(cat out)"
grep -q 'nine best of ten' out || fail "the published protocol is not told: $(cat out)"
! grep -q 'Whole outputs' out || fail "a loss has no whole outputs: $(cat out)"
# shellcheck disable=SC2086
"$locus" reproduce $part --no-page --json >table.json 2>err || fail "again: $(cat err)"
grep -q 'already done' err || fail "it was trained again: $(cat err)"
for word in '"table":[[:space:]]*"roper"' '"measure":[[:space:]]*"loss"' '"measure":[[:space:]]*"perplexity"' \
    '"better":[[:space:]]*"lower"' '"perplexity":' '"drop_worst":[[:space:]]*false' '"published":[[:space:]]*null'; do
    grep -q "$word" table.json || fail "JSON lacks $word: $(cat table.json)"
done
file=runs/reproduce-roper-smoke-text-rope.md
for word in '^# RoPER' '^## Measured' '^| scheme | text, loss | text, perplexity |' '^| rope | 0\.[0-9]* | 1\.[0-9]* |'; do
    grep -q "$word" "$file" || fail "$file lacks '$word': $(cat "$file")"
done

# Guesses beside the score, and published numbers of models that are not trained here; the runs are recorded ones.
part="listops --budget quick --columns digit --rows learned --seeds 1 --store listops/locus.db --no-page"
"$locus" runs import "$LOCUS_SOURCE/docs/results/listops-quick.json" --store listops/locus.db --quiet ||
    fail "no recorded runs: $?"
# shellcheck disable=SC2086
"$locus" reproduce $part >out 2>err || fail "listops ended with $?: $(cat err)"
grep -q 'already done' err || fail "it was trained again: $(cat err)"
grep -q '^learned  *46\.75$' out && grep -q '^majority  *12\.05$' out && grep -q '^chance  *10\.00$' out ||
    fail "no score, no guesses: $(cat out)"
grep -q 'LAS  *53.05' out && grep -q 'Chebyshev  *49.51†' out || fail "the published numbers are missing: $(cat out)"
grep -q '† Chebyshev: .*two.*guessing' out || fail "the doubt is not told: $(cat out)"

# Data that were asked for and are not there.
for part in "roper --columns text --data nowhere" "listops --pretrained nowhere" "listops --data nowhere.tsv"; do
    # shellcheck disable=SC2086
    refuses 1 nowhere "$locus" reproduce $part --store bad/locus.db
done
# Bad uses.
for bad in "roper --setup code" "roper --embedding-init unit" "listops --more" "listops --rows relative" "table1 --drop-worst" \
    "roper --drop-worst --seeds 1" "roper --pretrained here" "roper --columns tree-ops" \
    "roper --more --columns tree-ops --rows rope"; do
    # shellcheck disable=SC2086
    refuses 2 . "$locus" reproduce $bad --store bad/locus.db
done
[ ! -e bad ] || fail "a refused command made a store"
echo "ok"
