#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data make, inspect on trees: the format, both orders, files read back, options of other kinds, refusals.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# field NAME FILE: what a text field of each line holds.
field() {
    sed 's/.*"'"$1"'": "\([^"]*\)".*/\1/' "$2"
}

# A line as the format says it: depth 1 is an operator over two leaves.
"$locus" data make tree-copy -n 1 --depth 1 --depth-deviation 0 -o one.jsonl --quiet
grep -Eq '^\{"input": \[(1[1-9]|20), [0-9]+, [0-9]+\], "target": \[' one.jsonl || fail "format: $(cat one.jsonl)"
grep -Eq '"input_text": "\(([0-9]+) ([0-9]+) ([0-9]+)\)", "target_text": "\(\1 \2 \3\)", "input_paths": \["0", "1", "2"\], "target_paths": \["0", "1", "2"\]\}$' one.jsonl ||
    fail "format: $(cat one.jsonl)"
"$locus" data make tree-reorder -n 1 --depth 1 --depth-deviation 0 -o - |
    grep -Eq '"input_text": "\(([0-9]+) ([0-9]+) ([0-9]+)\)", "target_text": "\(\1 \3 \2\)"' || fail "no mirror image"
"$locus" data make tree-copy -n 1 --depth 0 --depth-deviation 0 -o - |
    grep -Eq '"input_text": "[0-9]+", "target_text": "[0-9]+", "input_paths": \["0"\], "target_paths": \["0"\]' ||
    fail "a leaf"
"$locus" data make tree-c3 -n 200 --depth 1 --depth-deviation 0 -o c3.jsonl --quiet
field input_text c3.jsonl | tr -d '()' >expressions
field target_text c3.jsonl >values
paste -d ' ' expressions values | awk '{ if (($2 + $3 - 2) % 3 + 1 != $4) exit 1 }' || fail "c3 sums"

# A known sample of tree-ops, whole: data must stay what they are.
"$locus" data make tree-ops --order depth --set test -n 1 --seed 2 --depth 4 -o ops.jsonl --quiet
echo '{"input": [126, 111, 88, 110, 111, 41, 24, 62, 22], "target": [111, 22, 62], "input_text": "(126 111 (88 (110 41 24) (111 62 22)))", "target_text": "(111 22 62)", "input_paths": ["0", "1", "2", "2+1", "2+2", "2+1+1", "2+1+2", "2+2+1", "2+2+2"], "target_paths": ["0", "1", "2"]}' |
    cmp - ops.jsonl || fail "tree-ops: $(cat ops.jsonl)"

for task in tree-copy tree-reorder tree-c3 tree-ops; do
    # The same seed gives the same file, whatever the number of samples; both orders hold the same trees.
    "$locus" data make $task --set test -n 20 --order breadth -o b.jsonl --quiet
    "$locus" data make $task --set test -n 50 --order depth -o d.jsonl --quiet
    head -n 20 d.jsonl >d20.jsonl
    for name in input_text target_text; do
        field $name b.jsonl >b.txt
        field $name d20.jsonl | cmp - b.txt || fail "$task: the orders hold different trees"
    done
    if cmp -s b.jsonl d20.jsonl; then
        fail "$task: the orders are one"
    fi

    # What is written can be read: statistics of the task and of its file agree.
    "$locus" data make $task -n 300 --depth 5 -o t.jsonl --quiet
    "$locus" data inspect $task -n 300 --depth 5 --json | sed '/subject/d' >task.json
    "$locus" data inspect t.jsonl --json | sed '/subject/d' >file.json
    cmp task.json file.json || fail "$task: the file is not the task"
    grep -q input_depth task.json || fail "$task: no depths"
done
grep -q '"vocabulary":[[:space:]]*129' task.json || fail "vocabulary of tree-ops: $(cat task.json)"
"$locus" data inspect tree-c3 -n 50 --show 2 >shown
[ "$(grep -c '^input  (4 ' shown)" = 2 ] || fail "no trees are shown: $(cat shown)"
grep -q '^ *depth' shown || fail "no depths are shown"
grep -q 'with start token' shown || fail "trees have no end token"

# Arity and symbols.
"$locus" data make tree-copy -n 20 --arity 3 --symbols 6 --depth 2 --depth-deviation 0 -o k.jsonl --quiet
grep -q '"3+3"' k.jsonl || fail "no third child"
! grep -Eq '"(input|target)": \[[^]]*([7-9]|[1-9][0-9])' k.jsonl || fail "a seventh symbol"

# Options of other kinds, and values that make no sense.
refuses 2 "length needs a task of words or problems; tree-copy has --depth" "$locus" data make tree-copy --length 5 -o x.jsonl
refuses 2 "length-deviation needs a task of words or problems; tree-ops has --depth-deviation" "$locus" data inspect tree-ops --length-deviation 1
refuses 2 "arity needs a task of trees; copy is a task of words" "$locus" data make copy --arity 3 -o x.jsonl
refuses 2 "order needs a task of trees; reverse is a task of words" "$locus" data inspect reverse --order depth
refuses 2 "symbols: 6 symbols: tree-c3 has 4" "$locus" data make tree-c3 --symbols 6 -o x.jsonl
refuses 2 "symbols: 7 symbols: tree-copy takes an even number" "$locus" data make tree-copy --symbols 7 -o x.jsonl
refuses 2 "arity" "$locus" data make tree-copy --arity 0 -o x.jsonl
refuses 2 "arity 1: tree-ops takes 2" "$locus" data make tree-ops --arity 1 -o x.jsonl
refuses 2 "depth" "$locus" data make tree-copy --depth -1 -o x.jsonl
refuses 2 "nodes on the average" "$locus" data make tree-copy --depth 150 -o x.jsonl
refuses 2 "all symbols differ" "$locus" data make tree-ops --depth 40 -o x.jsonl
refuses 2 "breadth|depth" "$locus" data make tree-copy --order sideways -o x.jsonl
refuses 2 "did you mean 'tree-reorder'" "$locus" data make tree-reorde -o x.jsonl
[ ! -e x.jsonl ] || fail "a refused command left a file"

# Files that are no trees.
broken() {
    printf '%s\n' "$2" >bad.jsonl
    refuses 1 "$1" "$locus" data inspect bad.jsonl
}
broken 'line 1: "input_paths": token 1: its parent' '{"input": [11, 1, 2], "target": [1], "input_paths": ["0", "1+1", "2"], "target_paths": ["0"]}'
broken '"input_paths": one path' '{"input": [11, 1, 2], "target": [1], "input_paths": ["0", "1"], "target_paths": ["0"]}'
broken '"input_paths": one path' '{"input": [11, 1], "target": [1], "input_paths": ["0", 1], "target_paths": ["0"]}'
broken '"target_paths": token 0: .up. is no path' '{"input": [1], "target": [1], "input_paths": ["0"], "target_paths": ["up"]}'
broken 'must both have paths' '{"input": [1], "target": [1], "input_paths": ["0"]}'
broken 'words or trees' '{"input": [1], "target": [1], "input_paths": ["0"], "target_paths": ["0"]}
{"input": [1], "target": [1]}'
echo "ok"
