#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data inspect: the whole of what is said of small files, worked out on paper, as text, CSV and JSON, for every form
# of samples. That what is drawn and what is read agree is in the other data_*.sh.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# says NAME ARGUMENT…: that prints what standard input holds; runs of blanks count as one
says() {
    what=$1
    shift
    sed 's/  */ /g; s/ $//' >wanted
    "$locus" data inspect "$@" >out 2>err || fail "$what: status $?, $(cat err)"
    sed 's/  */ /g; s/ $//' out | diff wanted - >differs || fail "$what: $(cat differs)"
}
# tells NAME JSON ARGUMENT…: the same of --json
tells() {
    what=$1 wanted=$2
    shift 2
    "$locus" data inspect "$@" --json >out 2>err || fail "$what: status $?, $(cat err)"
    [ "$(tr -d '\t\n' <out)" = "$wanted" ] || fail "$what: $(tr -d '\t\n' <out)"
}

# ---- words ----

# Of 12 target tokens and 3 ends 6 are the symbol 6.
cat >words.jsonl <<'END'
{"input": [1, 2, 3, 4, 5], "target": [5, 4, 3, 6]}
{"input": [2], "target": [2]}
{"input": [3, 3, 9], "target": [6, 6, 3, 6, 6, 4, 6]}
END
says words words.jsonl --show 2 <<'END'
words.jsonl: 3 samples
input    length 1 … 5, mean 3.00, deviation 2.00
target   length 1 … 7, mean 4.00, deviation 3.00
symbols  7 symbols seen, vocabulary 11 (with start and end token)
chance   40.00 % of target tokens (the end token counts) are the most common one

input  1 2 3 4 5
target 5 4 3 6

input  2
target 2
END
says words words.jsonl --format csv <<'END'
section,side,of,least,most,mean,deviation
words.jsonl,input,length,1,5,3,2
words.jsonl,target,length,1,7,4,3
END
tells words '{"subject":"words.jsonl","samples":3,"input_length":{"least":1,"most":5,"mean":3,"deviation":2},"target_length":{"least":1,"most":7,"mean":4,"deviation":3},"symbols_seen":7,"vocabulary":11,"chance":0.4}' \
    words.jsonl
# What is shown of a word ends after 40 symbols.
awk 'BEGIN {
    for (i = 0; i < 41; i++) long = long (i ? ", " : "") 7
    print "{\"input\": [" long "], \"target\": [" substr(long, 4) "]}" }' >long.jsonl
"$locus" data inspect long.jsonl >out
awk 'BEGIN { for (i = 0; i < 40; i++) text = text " 7"; print "input " text " …"; print "target" text }' >wanted
tail -n 2 out | diff wanted - >differs || fail "long words: $(cat differs)"

# ---- trees ----

# Of 12 target tokens 6 are the symbol 5.
cat >trees.jsonl <<'END'
{"input": [11, 3, 2], "input_paths": ["0", "1", "2"], "target": [5, 5, 5, 4], "target_paths": ["0", "1", "1+1", "1+1+1"]}
{"input": [1], "input_paths": ["0"], "target": [3], "target_paths": ["0"]}
{"input": [11, 12, 3, 1, 2], "input_paths": ["0", "1", "2", "1+1", "1+2"], "target": [5, 5, 5, 2, 2, 2, 1], "target_paths": ["0", "1", "1+1", "1+1+1", "1+1+1+1", "1+1+1+1+1", "1+1+1+1+1+1"]}
END
says trees trees.jsonl --show 9 <<'END'
trees.jsonl: 3 samples
input    nodes 1 … 5, mean 3.00, deviation 2.00
         depth 0 … 2, mean 1.00, deviation 1.00
target   nodes 1 … 7, mean 4.00, deviation 3.00
         depth 0 … 6, mean 3.00, deviation 3.00
symbols  7 symbols seen, vocabulary 13 (with start token)
chance   50.00 % of target tokens are the most common one

input  (11 3 2)
target (5 (5 (5 4)))

input  1
target 3

input  (11 (12 1 2) 3)
target (5 (5 (5 (2 (2 (2 1))))))
END
says trees trees.jsonl --format csv <<'END'
section,side,of,least,most,mean,deviation
trees.jsonl,input,nodes,1,5,3,2
trees.jsonl,input,depth,0,2,1,1
trees.jsonl,target,nodes,1,7,4,3
trees.jsonl,target,depth,0,6,3,3
END
tells trees '{"subject":"trees.jsonl","samples":3,"input_length":{"least":1,"most":5,"mean":3,"deviation":2},"input_depth":{"least":0,"most":2,"mean":1,"deviation":1},"target_length":{"least":1,"most":7,"mean":4,"deviation":3},"target_depth":{"least":0,"most":6,"mean":3,"deviation":3},"symbols_seen":7,"vocabulary":13,"chance":0.5}' \
    trees.jsonl
# What is shown of a tree ends after 240 bytes: chains of 60 nodes have 4 · 59 + 1 and one for each second digit.
chain() { # SECOND-DIGITS
    awk -v more="$1" 'BEGIN {
        for (i = 0; i < 60; i++) {
            ids = ids (i ? ", " : "") (i < more ? 10 : 5)
            path = i == 0 ? "0" : i == 1 ? "1" : path "+1"
            paths = paths (i ? ", " : "") "\"" path "\""
        }
        print "{\"input\": [1], \"input_paths\": [\"0\"], \"target\": [" ids "], \"target_paths\": [" paths "]}" }' >chain.jsonl
    "$locus" data inspect chain.jsonl | tail -n 1
}
[ "$(chain 3 | wc -c)" = 248 ] && chain 3 | grep -q '^target (10 (10 (10 (5 .*)$' || fail "240 bytes: $(chain 3)"
[ "$(chain 4 | wc -c)" = 252 ] && chain 4 | grep -q '^target (10 (10 (10 (10 (5 .*) …$' || fail "241 bytes: $(chain 4)"

# ---- problems ----

says problems substring-index -n 4 --length 1 --symbols 1 --sequence 38 --show 1 <<'END'
substring-index: 4 samples
input    length 16 … 16, mean 16.00, deviation 0.00
target   length 3 … 3, mean 3.00, deviation 0.00
sequence 38 characters, 2.0 problems on the average
symbols  12 characters seen, vocabulary 45
chance   33.33 % of target characters are the most common one

input  ?s='a'; s[0:]=='
target a'#
END
says problems substring-search -n 1 --length 2 --symbols 1 --sequence 9 <<'END'
substring-search: 1 samples
target   length 9 … 9, mean 9.00, deviation 0.00
symbols  2 characters seen, vocabulary 2
chance   77.78 % of target characters are the most common one

target aa>aaaa>a
END
says problems substring-search -n 1 --length 2 --symbols 1 --sequence 9 --format csv <<'END'
section,side,of,least,most,mean,deviation
substring-search,target,length,9,9,9,0
END
"$locus" data inspect substring-search -n 1 --length 3 --symbols 1 --sequence 241 | tail -n 1 >out
[ "$(wc -c <out)" = 252 ] && grep -q ' …$' out || fail "241 characters: $(cat out)"
"$locus" data inspect substring-search -n 1 --length 3 --symbols 1 --sequence 240 | tail -n 1 >out
[ "$(wc -c <out)" = 248 ] || fail "240 characters: $(cat out)"
# Of a file nobody says how many letters there were: as many as are seen.
printf '{"task": "addition", "input": [14], "target": [4, 5]}\n' >problem.jsonl
tells problems '{"subject":"problem.jsonl","samples":1,"input_length":{"least":1,"most":1,"mean":1,"deviation":0},"target_length":{"least":2,"most":2,"mean":2,"deviation":0},"symbols_seen":3,"vocabulary":15,"chance":0.5}' \
    problem.jsonl

# ---- expressions ----

printf 'Source\tTarget\n[MAX 2 [MIN 8 9 ] 4 7 ]\t8\n6\t6\n[SM 1 2 3 ]\t6\n' >values.tsv
says expressions values.tsv --show 2 <<'END'
values.tsv: 3 samples, digit
length     1 … 9, mean 5.00, deviation 4.00
depth      1 … 3, mean 2.00, deviation 1.00
arguments  2 … 4, mean 3.00, deviation 1.00
tokens     3 operators and 9 digits, vocabulary 16 (with start token)

class  samples    share
    0        0   0.00 %
    1        0   0.00 %
    2        0   0.00 %
    3        0   0.00 %
    4        0   0.00 %
    5        0   0.00 %
    6        2  66.67 %
    7        0   0.00 %
    8        1  33.33 %
    9        0   0.00 %

chance     10.00 %, one of 10 classes
majority   66.67 % of samples are of the most common class, 6

input  ( ( ( ( ( [MAX 2 ) ( ( ( [MIN 8 ) 9 ) ] ) ) 4 ) 7 ) ] )
target 8

input  6
target 6
END
tells expressions '{"subject":"values.tsv","target":"digit","samples":3,"length":{"least":1,"most":9,"mean":5,"deviation":4},"depth":{"least":1,"most":3,"mean":2,"deviation":1},"arguments":{"least":2,"most":4,"mean":3,"deviation":1},"operators":3,"digits":9,"vocabulary":16,"classes":[0, 0, 0, 0, 0, 0, 2, 0, 1, 0],"chance":0.1,"majority":0.66666666666666663}' \
    values.tsv
# Two samples, and two operators, are enough for a deviation: √24.5, √2 and √0.5.
printf 'Source\tTarget\n[MAX 2 [SM 1 4 6 ] ]\t2\n6\t6\n' >two.tsv
tells "two expressions" '{"subject":"two.tsv","target":"digit","samples":2,"length":{"least":1,"most":8,"mean":4.5,"deviation":4.9497474683058327},"depth":{"least":1,"most":3,"mean":2,"deviation":1.4142135623730951},"arguments":{"least":2,"most":3,"mean":2.5,"deviation":0.70710678118654757},"operators":2,"digits":5,"vocabulary":16,"classes":[0, 0, 1, 0, 0, 0, 1, 0, 0, 0],"chance":0.1,"majority":0.5}' \
    two.tsv
# What is shown of an expression ends after 240 bytes: 37 arguments take 6 each, and two operators of 7 letters the rest.
ones=$(printf ' 1%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18)
for operator in SM MIN; do
    value=1 && [ $operator = MIN ] || value=9 # 1 + 18, of ten
    printf 'Source\tTarget\n[%s [MAX%s ]%s ]\t%d\n' $operator "$ones" "$ones" $value >long.tsv
    "$locus" data inspect long.tsv --show 1 | grep '^input' >$operator
done
[ "$(wc -c <SM)" = 248 ] && ! grep -q '…' SM || fail "an expression of 240 bytes: $(cat SM)"
[ "$(wc -c <MIN)" = 252 ] && grep -q ' …$' MIN || fail "an expression of 241 bytes: $(cat MIN)"
printf 'Source\tTarget\n4\t4\n3\t3\n5\t5\n[SM 1 2 ]\t3\n' >parity.tsv
tells parity '{"subject":"parity.tsv","target":"parity","samples":4,"length":{"least":1,"most":4,"mean":1.75,"deviation":1.5},"depth":{"least":1,"most":2,"mean":1.25,"deviation":0.5},"arguments":{"least":2,"most":2,"mean":2,"deviation":0},"operators":1,"digits":5,"vocabulary":16,"classes":[1, 3],"chance":0.5,"majority":0.75}' \
    parity.tsv --target parity

# ---- labelled sequences ----

printf 'a b\tx\nc\ty\na b c\tx\nb\ty\nd\tx\n' >train.tsv
printf 'a b\tx\ne\ty\nc\ty\n' >dev.tsv
printf 'd\tx\nf g h i\ty\n' >test.tsv
says labels classify --data train.tsv --dev dev.tsv --test test.tsv <<'END'
train.tsv: 5 training, 3 development and 2 test samples of 1 to 4 tokens, vocabulary 6

label  train  dev  test
x          3    1     1
y          2    2     1

2 of the 3 dev samples stand in the training set, too

1 of the 2 test samples stand in the training set, too
END
tells labels '{"data":"train.tsv","vocabulary":6,"shortest":1,"longest":4,"train":{"samples":5,"in_training_set":0,"labels":{"x":3,"y":2}},"dev":{"samples":3,"in_training_set":2,"labels":{"x":1,"y":2}},"test":{"samples":2,"in_training_set":1,"labels":{"x":1,"y":1}}}' \
    classify --data train.tsv --dev dev.tsv --test test.tsv

# ---- pictures ----

picture() { # FILE NUMBER
    mkdir -p "${1%/*}"
    printf 'P3 2 1 255\n%d 0 0 0 %d 9\n' "$2" "$2" >"$1"
}
picture pics/blue/0.ppm 1 && picture pics/blue/1.ppm 2
picture pics/red/0.ppm 3 && picture pics/red/1.ppm 4 && picture pics/red/2.ppm 5
picture dev/blue/0.ppm 1 && picture dev/red/0.ppm 6
picture test/red/7.ppm 3 && picture test/red/8.ppm 5 && picture test/blue/9.ppm 7
says pictures images --data pics --dev dev --test test --side 8 --show 3 <<'END'
pics: 5 training, 2 development and 3 test pictures in 2 classes, brought to 8×8 pixels

class  train  dev  test
blue       2    1     1
red        3    1     2

1 of the 2 dev pictures are files of the training set, too

2 of the 3 test pictures are files of the training set, too

pics/blue/0.ppm
pics/blue/1.ppm
pics/red/0.ppm
END
refuses 1 "cannot read 'nowhere'" "$locus" data inspect images --data nowhere
"$locus" data inspect images --data pics --dev dev --test test --side 8 --set test --show 9 | tail -n 4 | diff - /dev/fd/3 3<<'END' || fail "the test set"

test/blue/9.ppm
test/red/7.ppm
test/red/8.ppm
END
tells pictures '{"data":"pics","side":8,"train":{"samples":5,"in_training_set":0,"classes":{"blue":2,"red":3}},"dev":{"samples":2,"in_training_set":1,"classes":{"blue":1,"red":1}},"test":{"samples":3,"in_training_set":2,"classes":{"blue":1,"red":2}}}' \
    images --data pics --dev dev --test test --side 8

# ---- own pairs ----

pair() { # INPUT TARGET
    printf '{"input_text": "%s", "target_text": "%s"}\n' "$1" "$2"
}
{ pair 'a b c' 'c b' && pair a 'a a a' && pair 'b b' d; } >train.jsonl
{ pair a e && pair 'f g' h; } >dev.jsonl
{ pair 'b b' d && pair 'a b c' i && pair c b; } >test.jsonl
says pairs pairs --data train.jsonl --dev dev.jsonl --test test.jsonl --show 1 <<'END'
pairs: 3 samples
sets     3 training, 2 development and 3 test samples
         1 of the 2 dev samples stand in the training set, too
         4 tokens of the dev set are not in the training set
         2 of the 3 test samples stand in the training set, too
         1 tokens of the test set are not in the training set
input    length 1 … 3, mean 2.00, deviation 1.00
target   length 1 … 3, mean 2.00, deviation 1.00
symbols  4 symbols seen, vocabulary 7 (with start and end token)
chance   33.33 % of target tokens (the end token counts) are the most common one

input  a b c
target c b
END
tells pairs '{"subject":"pairs","samples":2,"input_length":{"least":1,"most":2,"mean":1.5,"deviation":0.70710678118654757},"target_length":{"least":1,"most":1,"mean":1,"deviation":0},"symbols_seen":2,"vocabulary":7,"chance":0.5,"train":{"samples":3,"in_training_set":0,"unknown_tokens":0},"dev":{"samples":2,"in_training_set":1,"unknown_tokens":4},"test":{"samples":3,"in_training_set":2,"unknown_tokens":1},"decodes":true}' \
    pairs --data train.jsonl --dev dev.jsonl --test test.jsonl --set dev
sed 's/"target": \[3\]/"target": [2]/' trees.jsonl >own.jsonl
says "own trees" pairs --data own.jsonl --dev own.jsonl --test own.jsonl --show 0 <<'END'
pairs: 3 samples
sets     3 training, 3 development and 3 test samples
         3 of the 3 dev samples stand in the training set, too
         3 of the 3 test samples stand in the training set, too
         nothing is decoded: one symbol has now more, now fewer children in the targets
input    nodes 1 … 5, mean 3.00, deviation 2.00
         depth 0 … 2, mean 1.00, deviation 1.00
target   nodes 1 … 7, mean 4.00, deviation 3.00
         depth 0 … 6, mean 3.00, deviation 3.00
symbols  7 symbols seen, vocabulary 13 (with start token)
chance   50.00 % of target tokens are the most common one
END

# ---- text ----

# Lines are shown up to 400 tokens.
awk 'BEGIN { for (i = 0; i < 400; i++) { x = x "x"; y = y "y" } print x; print y "y"; print "z"; print "" }' >text
"$locus" data make text --train-text text --dev-text text --test-text text -o folder --quiet
"$locus" data inspect text --data folder --set dev --show 3 >out
awk 'BEGIN {
    for (i = 0; i < 400; i++) { x = x "x"; y = y "y" }
    print ""; print "dev:"; print x; print y " …"; print "z" }' >wanted
tail -n 5 out | diff wanted - >differs || fail "lines of a text: $(cat differs)"
# The last line ends, although it does not in the text.
printf 'ab\nz' >text
"$locus" data make text --train-text text --dev-text text --test-text text -o short --quiet
"$locus" data inspect text --data short --set test --show 5 | tail -n 3 >out
printf 'test:\nab\nz\n' | cmp - out || fail "a line without an end: $(cat out)"
"$locus" data inspect text --data folder --show 0 | grep -q train: && fail "--show 0 shows lines"
echo "ok"
