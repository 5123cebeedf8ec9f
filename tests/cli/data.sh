#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data make, inspect, get: formats, sets that depend on their seed only, bad uses, nothing half-written.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# A line as the format says it.
"$locus" data make reverse -n 1 --length 3 --length-deviation 0 --symbols 9 -o - >one.jsonl
grep -Eq '^\{"input": \[[1-9], [1-9], [1-9]\], "target": \[[1-9], [1-9], [1-9]\], "input_text": "[1-9] [1-9] [1-9]", "target_text": "[1-9] [1-9] [1-9]"\}$' one.jsonl ||
    fail "format: $(cat one.jsonl)"
forward=$(sed 's/.*"input_text": "\([^"]*\)".*/\1/' one.jsonl)
backward=$(sed 's/.*"target_text": "\([^"]*\)".*/\1/' one.jsonl)
# shellcheck disable=SC2086
set -- $forward
[ "$backward" = "$3 $2 $1" ] || fail "$forward is not reversed by $backward"

# The same seed gives the same file, whatever the number of samples; sets and seeds differ.
"$locus" data make copy --set test -n 20 -o a.jsonl --quiet
"$locus" data make copy --set test -n 50 -o b.jsonl --quiet
head -n 20 b.jsonl | cmp - a.jsonl || fail "a sample depends on how many are drawn"
"$locus" data make copy --set dev -n 20 -o c.jsonl --quiet
"$locus" data make copy --set test -n 20 --seed 1 -o d.jsonl --quiet
if cmp -s a.jsonl c.jsonl || cmp -s a.jsonl d.jsonl; then
    fail "sets or seeds give the same samples"
fi

# What is written can be read: statistics of the task and of its file agree.
"$locus" data make repeat -n 200 --length 24 -o r.jsonl 2>note
grep -q '200 samples of repeat in r.jsonl' note || fail "no note: $(cat note)"
"$locus" data inspect repeat -n 200 --length 24 --json | sed '/subject/d' >task.json
"$locus" data inspect r.jsonl --json | sed '/subject/d' >file.json
cmp task.json file.json || fail "the file is not the task"
grep -q '"vocabulary":[[:space:]]*22' task.json || fail "vocabulary"
"$locus" data inspect copy --length 8 -n 100 | grep -q 'chance' || fail "no chance rate"

# What is said of a file, worked out on paper; of 13 target tokens the 3 ends are the most common.
printf '{"input": [1, 2, 3, 4, 5], "target": [5, 4, 3, 2, 1, 6, 7]}\n{"input": [2], "target": [2]}\n' >known.jsonl
printf '{"input": [3, 3, 9], "target": [3, 4]}\n' >>known.jsonl
"$locus" data inspect known.jsonl | head -n 5 >said
printf '%s\n' 'known.jsonl: 3 samples' 'input    length 1 … 5, mean 3.00, deviation 2.00' \
    'target   length 1 … 7, mean 3.33, deviation 3.21' \
    'symbols  8 symbols seen, vocabulary 11 (with start and end token)' \
    'chance   23.08 % of target tokens (the end token counts) are the most common one' | diff said - >known ||
    fail "of a known file: $(cat known)"
printf '{"input": [4, 4], "target": [4]}\n' >known.jsonl
"$locus" data inspect known.jsonl | grep -q '^input    length 2 … 2, mean 2.00, deviation 0.00$' || fail "of one sample"

# Bad uses.
refuses 2 "did you mean 'reverse'" "$locus" data make revers -o x.jsonl
refuses 2 "output" "$locus" data make copy
refuses 2 "n" "$locus" data make copy -n 0 -o x.jsonl
refuses 2 "set" "$locus" data make copy --set tset -o x.jsonl
refuses 2 "length" "$locus" data make copy --length -3 -o x.jsonl
refuses 2 "deviation" "$locus" data make copy --length 3 --length-deviation 9 -o x.jsonl
refuses 1 "no/such/folder" "$locus" data make copy -o no/such/folder/x.jsonl
refuses 1 "nothing.jsonl" "$locus" data inspect nothing.jsonl
refuses 2 "no set 'mnist'" "$locus" data get mnist
"$locus" data get copy | grep -q 'nothing to download' || fail "data get copy"
[ ! -e x.jsonl ] || fail "a refused command left a file"
printf '{"input": [1, 2], "target": [1, 2]}\n{"input": [1, 2]\n' >bad.jsonl
refuses 1 "bad.jsonl, line 2" "$locus" data inspect bad.jsonl
printf '{"input": [1, -2], "target": [1, 2]}\n' >bad.jsonl
refuses 1 '"input" needs whole numbers' "$locus" data inspect bad.jsonl
: >empty.jsonl
refuses 1 "no sample" "$locus" data inspect empty.jsonl

# A full disk: a failure, and no file under the final name.
if [ -w /dev/full ]; then
    got=0
    "$locus" data make copy -n 1000 -o - >/dev/full 2>err || got=$?
    [ "$got" = 1 ] || fail "a full disk ended with $got"
    grep -q '^locus: .*standard output' err || fail "a full disk said: $(cat err)"
fi
echo "ok"
