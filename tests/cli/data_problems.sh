#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data make, inspect on problems: the format, sums and suffixes done again with awk, files read back, options of other
# tasks, refusals.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# field NAME FILE: what a text field of each line holds.
field() {
    sed 's/.*"'"$1"'": "\([^"]*\)".*/\1/' "$2"
}

# whole FILE: the problems, prompt and rest, one to a line.
whole() {
    sed 's/.*"input_text": "\([^"]*\)", "target_text": "\([^"]*\)"}$/\1\2/' "$1"
}

# A line as the format says it: with numbers of one digit, and with one letter.
"$locus" data make addition -n 30 --digits 1 -o one.jsonl --quiet
grep -Eqvx '\{"task": "addition", "input": \[15, 17, 14, ([4-9]|1[0-2]), 2, ([4-9]|1[0-2]), 13, 0\], "target": \[[0-9, ]*, 17, 14, 14, [0-9, ]*, 1\], "input_text": "\?d=[1-9]\+[1-9]; ", "target_text": "[1-9]e0\+[1-9]e0\+0e0==1?[0-9]e0 and (0e1\+0e1\+1e1==1e1 and )?d==1?[0-9]#"\}' one.jsonl &&
    fail "format: $(cat one.jsonl)"
"$locus" data make substring-index -n 1 --length 1 --symbols 1 -o - >index.jsonl
[ "$(cat index.jsonl)" = '{"task": "substring-index", "input": [16, 37, 15, 2, 19, 2, 14, 0, 37, 17, 3, 13, 18, 15, 15, 2], "target": [19, 2, 1], "input_text": "?s='"'a'; s[0:]=='"'", "target_text": "a'"'"'#"}' ] ||
    fail "format: $(cat index.jsonl)"
"$locus" data make substring-search -n 1 --length 2 --symbols 1 --sequence 9 -o - >search.jsonl
[ "$(cat search.jsonl)" = '{"task": "substring-search", "input": [], "target": [1, 1, 0, 1, 1, 1, 1, 0, 1], "input_text": "", "target_text": "aa>aaaa>a"}' ] ||
    fail "format: $(cat search.jsonl)"

# Sums done again: every clause adds up, carries on, and has the digits of both numbers.
"$locus" data make addition -n 400 --set test -o sums.jsonl --quiet
whole sums.jsonl | awk '
    function digit(number, place) { return place < length(number) ? substr(number, length(number) - place, 1) : 0 }
    {
        split(substr($0, 4), parts, /[+;]/)
        a = parts[1]; b = parts[2]
        sub(/^[^;]*; /, "")
        sub(/#$/, "")
        count = split($0, clauses, / and /)
        carry = 0
        for (k = 0; k < count - 1; k++) {
            sum = digit(a, k) + digit(b, k) + carry
            wanted = digit(a, k) "e" k "+" digit(b, k) "e" k "+" carry "e" k "==" sum "e" k
            if (clauses[k + 1] != wanted) { print NR ": " clauses[k + 1] " is not " wanted; bad = 1 }
            carry = int(sum / 10)
        }
        longer = length(a) > length(b) ? length(a) : length(b)
        if (carry || clauses[count] != "d==" (a + b) || count - 1 < longer || count - 1 > longer + 1) { print NR ": " $0; bad = 1 }
    }
    END { exit bad || NR != 400 }' || fail "addition"

"$locus" data make substring-index -n 400 --length 30 --length-deviation 5 -o suffixes.jsonl --quiet
whole suffixes.jsonl | awk -F"'" '
    {
        index_ = $3
        gsub(/[^0-9]/, "", index_)
        if ($0 != "?s=\047" $2 "\047; s[" index_ ":]==\047" substr($2, index_ + 1) "\047#" || index_ + 0 >= length($2)) { print NR ": " $0; bad = 1 }
        long += index_ + 0 >= 10
    }
    END { exit bad || NR != 400 || long < 100 }' || fail "substring-index"

# Ids are characters: as many, the same for the same, and the text can be had from them.
for task in addition substring-index substring-search; do
    "$locus" data make $task -n 60 --set dev -o t.jsonl --quiet
    sed 's/.*"target": \[\([^]]*\)\].*"target_text": "\([^"]*\)".*/\1;\2/' t.jsonl | awk '
        {
            at = index($0, ";")
            count = split(substr($0, 1, at - 1), ids, ", ")
            text = substr($0, at + 1)
            if (count != length(text)) { print NR ": " count " ids"; bad = 1 }
            for (i = 1; i <= count; i++) {
                c = substr(text, i, 1)
                if ((ids[i] in of) && of[ids[i]] != c || (c in id) && id[c] != ids[i]) { print NR ": " ids[i] " " c; bad = 1 }
                of[ids[i]] = c; id[c] = ids[i]
            }
        }
        END { exit bad }' || fail "$task: ids"

    # The same seed gives the same file, whatever the number of samples; sets and seeds differ.
    "$locus" data make $task -n 90 --set dev -o more.jsonl --quiet
    head -n 60 more.jsonl | cmp - t.jsonl || fail "$task: a sample depends on how many are drawn"
    "$locus" data make $task -n 60 --set test -o other.jsonl --quiet
    "$locus" data make $task -n 60 --set dev --seed 1 -o seed.jsonl --quiet
    if cmp -s t.jsonl other.jsonl || cmp -s t.jsonl seed.jsonl; then
        fail "$task: sets or seeds give the same samples"
    fi

    # What is written can be read: statistics of the task and of its file agree.
    "$locus" data make $task -n 200 -o r.jsonl 2>note
    grep -q "200 samples of $task in r.jsonl" note || fail "no note: $(cat note)"
    "$locus" data inspect $task -n 200 --json | sed '/subject/d' >task.json
    "$locus" data inspect r.jsonl --json | sed '/subject/d' >file.json
    cmp task.json file.json || fail "$task: the file is not the task"
    "$locus" data inspect r.jsonl --show 2 >shown
    text=$(field target_text r.jsonl | head -n 1 | cut -c 1-40)
    grep -qF -- "target $text" shown || fail "$task: no text is shown: $(cat shown)"
done
grep -q '"vocabulary":[[:space:]]*5' task.json || fail "vocabulary of substring-search: $(cat task.json)"
! grep -q '^input' shown || fail "substring-search has no prompts"
"$locus" data inspect addition -n 50 | grep -q '^sequence 641 characters, 4\.. problems' || fail "no length of sequences"
"$locus" data inspect addition -n 50 | grep -q 'vocabulary 20$' || fail "there is no start token"
"$locus" data inspect substring-search -n 50 --sequence 100 | grep -q 'target   length 100 … 100' || fail "--sequence"
"$locus" data get addition | grep -q 'nothing to download' || fail "data get addition"

# Options of other tasks, and values that make no sense.
refuses 2 "length: addition has none" "$locus" data make addition --length 5 -o x.jsonl
refuses 2 "digits: substring-index has none" "$locus" data make substring-index --digits 3 -o x.jsonl
refuses 2 "length-deviation: a deviation of lengths 1: those of substring-search are all the same" "$locus" data make substring-search --length-deviation 1 -o x.jsonl
refuses 2 "depth needs a task of trees; addition is a task of problems" "$locus" data inspect addition --depth 3
refuses 2 "sequence needs a task of problems, text or expressions; copy has --length" "$locus" data inspect copy --sequence 100
refuses 2 "json needs a task of text; addition is a task of problems" "$locus" data make addition --json -o x.jsonl
refuses 2 "train-text needs a task of text; substring-index is a task of problems" "$locus" data make substring-index --train-text x -o x.jsonl
refuses 2 "target needs a task of expressions; addition is a task of problems" "$locus" data make addition --target parity -o x.jsonl
refuses 2 "set: data make text makes all three" "$locus" data make text --set dev
refuses 2 "digits" "$locus" data make addition --digits 19 -o x.jsonl
refuses 2 "digits" "$locus" data make addition --digits 0 -o x.jsonl
refuses 2 "symbols: 27 letters: substring-index takes 1 to 26" "$locus" data make substring-index --symbols 27 -o x.jsonl
refuses 2 "length: strings of 5000 letters" "$locus" data make substring-index --length 5000 -o x.jsonl
refuses 2 "length: random strings and substrings of 2.5 letters: give a whole number" "$locus" data make substring-search --length 2.5 -o x.jsonl
refuses 2 "length-deviation: the deviation of lengths 14 is not between 0 and the mean 13" "$locus" data make substring-index --length-deviation 14 -o x.jsonl
refuses 2 "sequence" "$locus" data make substring-search --sequence 1 -o x.jsonl
refuses 2 "output" "$locus" data make addition
refuses 2 "did you mean 'substring-index'" "$locus" data make substring-indx -o x.jsonl
[ ! -e x.jsonl ] || fail "a refused command left a file"

# Files that are no problems.
# Limits are whole numbers, as they are typed.
refuses 2 'n must be from 1 to 4294967295, not 0' "$locus" data make addition -n 0 -o x.jsonl
refuses 2 'sequence must be from 2 to 1000000000, not 1' "$locus" data inspect addition --sequence 1

broken() {
    printf '%s\n' "$2" >bad.jsonl
    refuses 1 "$1" "$locus" data inspect bad.jsonl
}
broken 'line 1: "task" is none of characters' '{"task": "copy", "input": [1], "target": [1]}'
broken 'line 1: "task" is none of characters' '{"task": 7, "input": [1], "target": [1]}'
broken 'line 1: token 20: addition has characters 0 to 19' '{"task": "addition", "input": [1, 20], "target": [1]}'
broken 'line 1: "target" needs an array' '{"task": "addition", "input": [1]}'
broken 'problems of addition have no paths' '{"task": "addition", "input": [1], "target": [1], "input_paths": ["0"], "target_paths": ["0"]}'
broken 'line 2: "task" is substring-index, unlike' '{"task": "addition", "input": [1], "target": [1]}
{"task": "substring-index", "input": [1], "target": [1]}'
broken 'line 2: "task" is missing' '{"task": "addition", "input": [1], "target": [1]}
{"input": [1], "target": [1]}'
echo "ok"
