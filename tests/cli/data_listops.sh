#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data make, inspect on listops: both formats, values by a stack machine in awk, files of other programs (LF, bare
# brackets, folders), presets, parity, malformed lines with their numbers, refusals.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

small="--expression-depth 3 --arguments 3 --shortest 5 --longest 20"

# A known sample, whole: data must stay what they are.
# shellcheck disable=SC2086
"$locus" data make listops $small --set test -n 2 -o known.jsonl --quiet
cat >wanted.jsonl <<'END'
{"input": [0, 13, 12, 5, 3, 15, 12, 6, 1, 15, 3, 15], "target": 4, "input_text": "( ( ( ( [MED ( ( ( [MAX 4 ) 2 ) ] ) ) ( ( ( [MAX 5 ) 0 ) ] ) ) 2 ) ] )", "input_paths": ["0", "0", "1", "1+1", "1+2", "1", "2", "2+1", "2+2", "2", "3", "0"]}
{"input": [0, 12, 3, 12, 8, 9, 10, 15, 15], "target": 9, "input_text": "( ( ( [MAX 2 ) ( ( ( ( [MAX 7 ) 8 ) 9 ) ] ) ) ] )", "input_paths": ["0", "0", "1", "2", "2+1", "2+2", "2+3", "2", "0"]}
END
cmp wanted.jsonl known.jsonl || fail "listops: $(cat known.jsonl)"

# A digit alone.
"$locus" data make listops --expression-depth 1 --shortest 0 --longest 2 -n 1 -o - |
    grep -Eq '^\{"input": \[0, ([1-9]|10)\], "target": [0-9], "input_text": "[0-9]", "input_paths": \["0", "0"\]\}$' ||
    fail "a digit"

# evaluate FILE.tsv: every line's value by a stack machine against its Target; the lengths lie between $1 and $2.
evaluate() {
    tr -d '()\r' <"$3" | awk -F '\t' -v low="$1" -v high="$2" '
        NR == 1 { if ($0 != "Source\tTarget") { print "header: " $0; exit 1 } next }
        {
            n = split($1, words, " ")
            if (n <= low || n >= high) { print NR ": length " n; exit 1 }
            top = 0
            for (i = 1; i <= n; i++) {
                if (words[i] != "]") { stack[++top] = words[i]; continue }
                for (c = 0; c < 10; c++) count[c] = 0
                got = 0; sum = 0
                while (stack[top] !~ /\[/) { count[stack[top]]++; sum += stack[top]; got++; top-- }
                k = 0
                for (c = 0; c < 10; c++) for (j = 0; j < count[c]; j++) sorted[++k] = c
                if (stack[top] == "[MIN") v = sorted[1]
                else if (stack[top] == "[MAX") v = sorted[k]
                else if (stack[top] == "[SM") v = sum % 10
                else if (stack[top] == "[MED") v = int((sorted[int((k + 1) / 2)] + sorted[int(k / 2) + 1]) / 2)
                else { print NR ": " stack[top]; exit 1 }
                if (k < 2) { print NR ": " k " arguments"; exit 1 }
                stack[top] = v
            }
            if (top != 1 || stack[1] != $2) { print NR ": " stack[1] " is not " $2; exit 1 }
        }' || fail "$3"
}

"$locus" data make listops --set test -n 300 -o seed.tsv 2>note
grep -q '300 samples of listops in seed.tsv' note || fail "no note: $(cat note)"
evaluate 250 1000 seed.tsv
"$locus" data make listops --preset lra --set dev -n 60 -o lra.tsv --quiet
evaluate 500 2000 lra.tsv
[ "$(wc -l <seed.tsv)" = 301 ] || fail "lines of seed.tsv"
[ "$(grep -c "$(printf '\r')\$" seed.tsv)" = 301 ] || fail "lines don't end in CRLF"
# The generator's own bounds: operators have up to ten arguments, so "[" is followed by eleven pairs at most.
grep -q '( ( ( ( ( ( ( ( ( ( ( \[' lra.tsv || fail "nobody has ten arguments"

# The same seed gives the same file, whatever the number of samples; sets and seeds differ.
"$locus" data make listops --set test -n 20 -o few.tsv --quiet
head -n 21 seed.tsv | cmp - few.tsv || fail "a sample depends on how many are drawn"
"$locus" data make listops --set dev -n 20 -o dev.tsv --quiet
"$locus" data make listops --set test --seed 1 -n 20 -o other.tsv --quiet
if cmp -s few.tsv dev.tsv || cmp -s few.tsv other.tsv; then
    fail "sets or seeds give the same samples"
fi

# Statistics of the task and of its files agree, in each format and with either line end.
"$locus" data make listops --set test -n 300 -o seed.jsonl --quiet
tr -d '\r' <seed.tsv >lf.tsv
tr -d '()' <lf.tsv | sed '1s/.*/Source\tTarget/' >bare.tsv
"$locus" data inspect listops --set test -n 300 --json | sed '/subject/d' >task.json
for file in seed.tsv seed.jsonl lf.tsv bare.tsv; do
    "$locus" data inspect $file --json | sed '/subject/d' >file.json
    cmp task.json file.json || fail "$file is not the task"
done
grep -q '"vocabulary":[[:space:]]*16' task.json || fail "vocabulary"
grep -q '"chance":[[:space:]]*0.1,' task.json || fail "chance"
most=$(cut -f 2 lf.tsv | sed 1d | sort | uniq -c | sort -rn | awk '{ printf "%.2f", 100 * $1 / 300; exit }')
"$locus" data inspect seed.tsv --show 1 >shown
grep -q "^majority *$most % of samples" shown || fail "majority: $most: $(cat shown)"
grep -q '^chance  *10.00 %, one of 10 classes' shown || fail "chance: $(cat shown)"
[ "$(grep -c '^input  ( ( ( ' shown)" = 1 ] || fail "no sample is shown: $(cat shown)"

# Parity, made and read; files of values serve, too.
"$locus" data make listops --set test -n 300 --target parity -o parity.tsv --quiet
sed 1d lf.tsv | awk -F '\t' '{ print $2 % 2 }' >odd
sed 1d parity.tsv | tr -d '\r' | cut -f 2 | cmp - odd || fail "parities"
"$locus" data inspect parity.tsv --target parity --json | sed '/subject/d' >a.json
"$locus" data inspect seed.tsv --target parity --json | sed '/subject/d' >b.json
cmp a.json b.json || fail "parities of values"
grep -q '"chance":[[:space:]]*0.5,' a.json || fail "chance of parities"
refuses 1 'parity.tsv, line 2: .*--target parity' "$locus" data inspect parity.tsv

# Read instead of drawn: a file, or a folder with one file for each set.
mkdir folder
cp seed.tsv folder/basic_test.tsv
cp dev.tsv folder/basic_val.tsv
"$locus" data make listops --data folder --set test -o again.tsv --quiet
cmp seed.tsv again.tsv || fail "reading and writing changes a file"
"$locus" data make listops --data folder --set dev -n 5 -o five.tsv --quiet
head -n 6 dev.tsv | cmp - five.tsv || fail "the first five"
refuses 1 'basic_train.tsv' "$locus" data inspect listops --data folder
refuses 1 '21 expressions are asked for, and it has 20' "$locus" data inspect listops --data dev.tsv -n 21
refuses 1 'line .*: an operator has [0-9]* arguments, the most expected is 7' "$locus" data inspect listops --data lra.tsv
"$locus" data inspect listops --data lra.tsv --preset lra | grep -q '60 samples' || fail "preset of a file"

# Malformed lines: their numbers, and what is wrong.
bad() { # PATTERN LINE: as the third line of a file
    printf 'Source\tTarget\r\n( ( ( [MAX 2 ) 9 ) ] )\t9\r\n%s\r\n' "$2" >bad.tsv
    refuses 1 "bad.tsv, line 3: .*$1" "$locus" data inspect bad.tsv
    refuses 1 "bad.tsv, line 3: .*$1" "$locus" data make listops --data bad.tsv -o made.tsv
    [ ! -e made.tsv ] || fail "made of a bad file"
}
tab=$(printf '\t')
bad 'no tab' '( ( ( [MAX 2 ) 9 ) ] )'
bad 'value is 9' "( ( ( [MAX 2 ) 9 ) ] )${tab}2"
bad "Target 'x' is no class" "( ( ( [MAX 2 ) 9 ) ] )${tab}x"
bad "Target '11' is no class" "( ( ( [MAX 2 ) 9 ) ] )${tab}11"
bad 'unbalanced' "( ( ( [MAX 2 ) 9 ) ]${tab}9"
bad 'is not closed' "( ( ( [MAX 2 ) 9 )${tab}9"
bad 'closes no operator' "[MAX 2 9 ] ]${tab}9"
bad "'\[MEAN' is no digit, no operator" "[MEAN 2 9 ]${tab}5"
bad 'no arguments' "( [MAX ] )${tab}0"
bad 'the text goes on' "1 2${tab}1"
printf '1\t1\n' >bad.tsv
refuses 1 'line 1: the header' "$locus" data inspect bad.tsv
: >bad.tsv
refuses 1 'no expression in it' "$locus" data inspect bad.tsv
sed 's/"target": 9/"target": 8/' known.jsonl >bad.jsonl
refuses 1 'bad.jsonl, line 2: the Target is 8' "$locus" data inspect bad.jsonl
sed 's/"input": \[0, 12/"input": [0, 11/' known.jsonl >bad.jsonl
refuses 1 'bad.jsonl, line 2: "input" is not the tokens' "$locus" data inspect bad.jsonl

# Bad uses.
# Deep nesting takes no longer than the same number of tokens side by side: 200,000 levels are below a second.
awk 'BEGIN {
    print "Source\tTarget"
    for (i = 0; i < 200000; i++) printf "[MIN 1 "
    printf "1 "
    for (i = 0; i < 200000; i++) printf "] "
    print "\t1"
}' >deep.tsv
timeout 20 "$locus" data inspect deep.tsv --show 0 >deep || fail "a deep expression: $?"
grep -q '^arguments  2 … 2, mean 2.00' deep && grep -q '^depth      200001 … 200001' deep || fail "deep: $(cat deep)"

refuses 2 'no length lies between 1000 and 1000' "$locus" data make listops --shortest 1000 -o x.tsv
refuses 2 'the longest 65' "$locus" data make listops --expression-depth 3 -o x.tsv
refuses 2 'longest: none of 19.8 million random expressions of depth 4 with up to 7 arguments had a length between 450 and 1000, both excluded: give wider bounds' "$locus" data make listops --expression-depth 4 --shortest 450 -o x.tsv
refuses 2 'expression-depth' "$locus" data make listops --expression-depth 2.5 -o x.tsv
refuses 2 'arguments' "$locus" data make listops --arguments 1 -o x.tsv
refuses 2 'arity needs a task of trees; listops has --arguments' "$locus" data make listops --arity 3 -o x.tsv
refuses 2 'preset' "$locus" data make listops --preset long -o x.tsv
refuses 2 'length needs a task of words or problems; listops is a task of expressions' "$locus" data make listops --length 5 -o x.tsv
refuses 2 'target needs a task of expressions; copy is a task of words' "$locus" data make copy --target parity -o x.jsonl
refuses 2 'output' "$locus" data make listops
refuses 1 'nowhere' "$locus" data make listops -n 1 -o nowhere/x.tsv
[ ! -e x.tsv ] || fail "something was written"
