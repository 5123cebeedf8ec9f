#!/bin/sh
# SPDX-License-Identifier: MIT
# locus reproduce: the list of trainings, the table, the files, JSON, the page made of it again, a training that fails, bad
# uses. Trainings that are killed and go on: reproduce_tasks.sh.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
export LOCUS_THREADS=1 # other tests run beside it

# What a table is made of, without a store: nothing is made.
"$locus" reproduce table1 --list >list || fail "--list ended with $?"
[ "$(grep -c 'not begun' list)" = 72 ] || fail "table1 is not 4 schemes × 3 tasks × 2 initialisations × 3 seeds: $(cat list)"
grep -q '^ *[0-9]*  copy unit · relative · seed 0 .*relative(window=16)' list || fail "no relative: $(cat list)"
[ "$(grep -n 'seed 1' list | head -n 1 | cut -d: -f1)" = 26 ] || fail "the first seed does not come first: $(cat list)"
"$locus" reproduce table1 --factors --seeds 1 --list >list || fail "--factors --list ended with $?"
[ "$(grep -c 'not begun' list)" = 42 ] || fail "factors are not 3 × (4 + 4 + 1 + 4 + 1) trainings: $(cat list)"
grep -q '^ *[0-9]*  copy unit both · sinusoidal · seed 0' list || fail "no sinusoids with both factors: $(cat list)"
! grep -q '^ *[0-9]*  copy unit positions · rope' list || fail "rope, which adds nothing, is trained with a scale: $(cat list)"
"$locus" reproduce table2 --budget quick --seeds 1 --list >list || fail "--list ended with $?"
[ "$(grep -c 'not begun' list)" = 40 ] || fail "table2 is not 5 schemes × 8 columns: $(cat list)"
"$locus" reproduce table2 --columns tree-c3-depth --decay both --seeds 1 --list >list
[ "$(grep -c 'not begun' list)" = 8 ] || fail "the ablation has not 5 + 3 trainings: $(cat list)"
grep -q 'rope, with decay.*rope + decay' list || fail "no rope with decay: $(cat list)"
grep -q 'algebraic (tree), no decay.*algebraic(group=tree:2)  ' list || fail "no tree without decay: $(cat list)"
"$locus" reproduce table2 --columns tree-c3-depth --decay off --seeds 1 --list >list
! grep -q 'decay=' list || fail "--decay off leaves a decay: $(cat list)"
"$locus" reproduce table3 --more --list >list
[ "$(grep -c 'not begun' list)" = 8 ] || fail "table3 is not 4 + 4 schemes with one seed: $(cat list)"
"$locus" reproduce table2 --setup code --budget paper --list | grep -q 'shiv-quirk(depth=8)' || fail "set-up code: depth 8"
"$locus" reproduce table2 --budget paper --list | grep -q 'shiv-quirk(depth=7)' || fail "set-up paper: depth 7"
[ ! -e runs ] || fail "--list made a store"

# A part of the table whose trainings are done: they are recorded ones. reproduce_tasks.sh trains.
part="table1 --budget quick --columns copy-scaled --rows rope --seeds 1"
"$locus" runs import "$LOCUS_SOURCE/docs/results/table1-quick.json" --quiet || fail "no recorded runs: $?"
# shellcheck disable=SC2086
"$locus" reproduce $part >out 2>err || fail "recorded runs: $?, $(cat err)"
grep -q '1 of 1 trainings done' out || fail "no count: $(cat out)"
grep -q '^rope .*(99.99 ±0.0)' out || fail "no published number beside the measured one: $(cat out)"
grep -q 'steps 2500 (inferred: 37600)' out || fail "the budget's deviations are not told: $(cat out)"
grep -q 'one scheme is measured' out || fail "one scheme cannot be told apart: $(cat out)"

# Again, with a scheme that is not there: a part is shown beside what is missing.
# shellcheck disable=SC2086
"$locus" reproduce $part --no-page --json >table.json 2>err || fail "again: $(cat err)"
grep -q 'already done' err || fail "it was trained again: $(cat err)"
for word in '"table":[[:space:]]*"table1"' '"budget":[[:space:]]*"quick"' '"published":' '"half_width_95":' \
    '"greedy_exact":' '"chance":' '"done":[[:space:]]*1' '"markdown":'; do
    grep -q "$word" table.json || fail "JSON lacks $word: $(cat table.json)"
done
file=runs/reproduce-table1-quick-copy-scaled-rope.md
for word in '^# Sequences' '| command | `locus reproduce table1' '| trainings | 1 of 1 done' 'locus [0-9]' \
    '^| rope | [0-9.]* (99.99 ±0.0) |' 'What the measured table says' 'What differs'; do
    grep -q "$word" "$file" || fail "$file lacks '$word': $(cat "$file")"
done
# shellcheck disable=SC2086
"$locus" reproduce $part --no-page --quiet >table 2>err || fail "quiet: $(cat err)"
[ ! -s err ] || fail "--quiet says: $(cat err)"

# Its runs as JSON: they make the page again, in another store, and without any.
json=${file%.md}.json
grep -q '"arguments": \["table1","--seeds=1","--columns=copy-scaled","--rows=rope","--budget=quick"\]' "$json" ||
    fail "what was asked for: $(grep arguments "$json")"
cp "$file" before.md
cp "$json" before.json
mv runs trained
"$locus" runs import before.json --quiet || fail "its JSON cannot be imported"
# shellcheck disable=SC2086
"$locus" reproduce $part --no-page --quiet >out 2>err || fail "imported: $(cat err)"
cmp "$file" before.md && cmp "$json" before.json || fail "imported runs make other files"
rm -r runs
mv trained runs
# Runs stand in the table's order, whatever order the store has them in, and by their names.
"$locus" reproduce table1 --budget quick --columns copy-scaled,reverse-scaled --seeds 1 --no-page --quiet >out 2>err ||
    fail "two columns: $?, $(cat err)"
for run in copy-sinusoidal copy-relative-window-20 copy-rope copy-algebraic-decay-0.98 reverse-sinusoidal reverse-relative-window-20 \
    reverse-rope reverse-algebraic-decay-0.98; do echo "$run-quick-s0-"; done >order
sed -n 's/^"name": "\([a-z].*-\)[0-9a-f]*",$/\1/p' "runs/reproduce-table1-quick-copy-scaled+reverse-scaled.json" | diff order - ||
    fail "the order of the runs"
# After each training that is over the Markdown file says how far it is, whatever becomes of the next.
"$locus" runs import "$LOCUS_SOURCE/docs/results/table1-quick.json" --store begun/locus.db --quiet || fail "no recorded runs: $?"
"$locus" reproduce table1 --budget quick --columns copy-scaled --rows rope --seeds 4 --no-page --store begun/locus.db >out 2>err &
process=$!
file=begun/reproduce-table1-quick-copy-scaled-rope.md
over() { ! started 1 begun/locus.db; }
three_done() { grep -q '^| trainings | 3 of 4 done' "$file" 2>/dev/null; }
until_so "no file while the fourth seed is trained" three_done
kill -KILL "$process"
wait "$process" 2>/dev/null || :
three_done && grep -q '^| rope | [0-9.]* ±[0-9.]* \[3 of 4\] (99.99 ±0.0) |' "$file" || fail "what a killed table leaves: $(cat "$file")"
until_so "the training of a killed table goes on" over
mkdir copy
cp before.json copy/page.json
from() {
    got=0
    "$locus" reproduce --from copy/page.json "$@" >out 2>err || got=$?
}
from --check
[ "$got" = 1 ] && [ "$(cat err)" = "locus: cannot read 'copy/page.md': No such file or directory" ] ||
    fail "no page: $got, $(cat err)"
from
[ "$got" = 0 ] && [ "$(cat err)" = "locus: written: copy/page.md" ] || fail "from: $got, $(cat err)"
cmp copy/page.md before.md && cmp copy/page.json before.json || fail "--from makes another page"
printf '\n## Conditions, and what it shows\n\nMine.\n' >>copy/page.md
from --check
[ "$got" = 0 ] && [ ! -s err ] || fail "--check: $got, $(cat err)"
cp copy/page.md mine.md
sed 's/^| rope | [0-9]/| rope | 7/' mine.md >copy/page.md
from --check
[ "$got" = 1 ] && grep -q '^locus: copy/page.md: line [0-9]* is not what the runs' err || fail "another number: $got, $(cat err)"
sed 's/^| rope | [0-9]/| rope | 7/' mine.md >copy/page.md
from --quiet
[ "$got" = 0 ] && cmp copy/page.md mine.md || fail "--from does not mend the page, or loses what was written by hand"
from
[ "$(cat err)" = "locus: copy/page.md stands as it is" ] || fail "--from again: $(cat err)"
from --json --quiet
grep -q '"table":[[:space:]]*"table1"' out || fail "--from --json: $(cat out)"
# Another configuration under the name, no table, bad uses.
sed 's/"dim":64/"dim":32/' before.json >copy/page.json
from
[ "$got" = 1 ] && grep -q "^locus: the run 'copy-rope-quick-s0-[0-9a-f]*' has another dim than" err || fail "another dim: $got, $(cat err)"
"$locus" runs export -o copy/page.json --quiet
from
[ "$got" = 1 ] && grep -q "^locus: 'copy/page.json' holds runs, but not of a table" err || fail "no table: $got, $(cat err)"
sed 's/"--seeds=1"/"--seeds=one"/' before.json >copy/page.json
from
[ "$got" = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "a bad argument: $got, $(cat err)"
sed 's/"table1",/"table1","table2",/' before.json >copy/page.json
from
[ "$got" = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "two tables: $got, $(cat err)"
sed 's/"table1",//' before.json >copy/page.json
from
[ "$got" = 1 ] && [ "$(cat err)" = "locus: 'copy/page.json': the arguments of its table name none" ] ||
    fail "no table named: $got, $(cat err)"
for bad in "--from copy/page.json table1" "--from copy/page.json --seeds 2" "table1 --check"; do
    got=0
    # shellcheck disable=SC2086
    "$locus" reproduce $bad >out 2>err || got=$?
    [ "$got" = 2 ] && [ "$(wc -l <err)" = 1 ] || fail "reproduce $bad: $got, $(cat err)"
done

# Another part has a file of its own; what would end a field of a table does not.
mv runs 'a|b'
cp "a|b/reproduce-table1-quick-copy-scaled-rope.md" before
# shellcheck disable=SC2086
"$locus" reproduce $part --embedding-init scaled --no-page --store 'a|b/locus.db' >out 2>err || fail "scaled: $(cat err)"
cmp -s "a|b/reproduce-table1-quick-copy-scaled-rope.md" before || fail "the file of another part was written over"
grep -q "^| command | .*'a.|b/locus.db'" "a|b/reproduce-table1-quick-scaled-copy-scaled-rope.md" || fail "a | ends a field: $(ls a*)"
mv 'a|b' runs

# A training that fails is told, its field stays empty, and the exit status says so.
mkdir failing
name=$("$locus" reproduce table1 --columns copy-unit --rows rope --seeds 1 --list --json |
    sed -n 's/.*"name":[[:space:]]*"\(.*\)".*/\1/p')
touch "failing/$name" # where its checkpoints would go
got=0
"$locus" reproduce table1 --columns copy-unit --rows rope --seeds 1 --no-page --store failing/locus.db >out 2>err || got=$?
[ "$got" = 1 ] && grep -q '^locus: copy unit · rope · seed 0: ' err || fail "a failing training: $got, $(cat err)"
grep -q '^rope .*– (99.99 ±0.0)' out || fail "a failing training is not shown as missing: $(cat out)"

# Data that is not there is told once, before the first training.
got=0
"$locus" reproduce table3 --data nowhere --store images/locus.db >out 2>err || got=$?
[ "$got" = 1 ] && [ "$(grep -c '^locus: ' err)" = 1 ] || fail "no data: $got, $(cat err)"
[ ! -e images ] || fail "a store was made for no data"

# Bad uses.
for bad in "" "table4" "table1 table2" "table1 --budget tiny" "table1 --columns cop" "table2 --rows relative" \
    "table1 --seeds 0" "table1 --decay maybe" "table3 --embedding-init unit" "table1 --more" "table2 --data here" \
    "table3 --rows mixed" "table2 --factors" "table1 --factors --embedding-init scaled"; do
    got=0
    # shellcheck disable=SC2086
    "$locus" reproduce $bad --store bad/locus.db >out 2>err || got=$?
    [ "$got" = 2 ] && [ "$(grep -c '^locus: ' err)" = 1 ] || fail "reproduce $bad ended with $got: $(cat err)"
    [ ! -e bad ] || fail "reproduce $bad made a store"
done
echo "ok"
