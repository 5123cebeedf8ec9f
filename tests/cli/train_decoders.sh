#!/bin/sh
# SPDX-License-Identifier: MIT
# Problems, text and expressions from end to end: train, kill and resume, eval, compare, and options of other kinds.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

tiny="--dim 16 --heads 2 --layers 1 --feed-forward 32 --dev-samples 8 --test-samples 12 --batch 4 --steps 30 --evaluate-every 10
    --threads 1"

# field FILE NAME: the first number of that name in a JSON file
field() {
    sed -n "s/.*\"$2\":[[:space:]]*\([0-9.e+-]*\).*/\1/p" "$1" | head -1
}

# scored FILE NAME: what the training recorded of the test set
scored() {
    sed -n '/"test":/,/}/p' "$1" >test_scores && field test_scores "$2"
}

# agrees RUN NAME FILE WORD…: eval gives the score that the training recorded
agrees() {
    trained=$1 score=$2 file=$3
    shift 3
    "$locus" eval "$trained" --json "$@" >eval.json 2>err || fail "eval $trained: $(cat err)"
    recorded=$(scored "$file" "$score") measured=$(field eval.json "$score")
    [ -n "$recorded" ] && [ "$recorded" = "$measured" ] || fail "$trained: eval says $score '$measured', the run '$recorded'"
}

# Problems: solved, loss; substring-search has nothing to solve.
for task in addition substring-index; do
    # shellcheck disable=SC2086
    "$locus" train --task "$task" --encoding 'rope(values=on)' $tiny --sequence 40 --greedy-samples 6 --name "$task" --json \
        >"$task.json" 2>err || fail "$task: $(cat err)"
    for name in loss accuracy greedy_exact; do
        agrees "$task" "$name" "$task.json"
    done
    [ -z "$(scored "$task.json" exact)" ] || fail "$task has whole sequences right"
    # shellcheck disable=SC2086
    "$locus" train --task "$task" --encoding 'rope(values=on)' $tiny --sequence 40 --greedy-samples 6 --name "$task" >said
    tells "$task.json" said 'set|solved|loss|accuracy' \
        "Problems solved to the letter by greedy decoding; nats a character, and characters right, under teacher forcing."
    "$locus" eval "$task" >said
    scores eval.json said 'set|samples|solved|loss|accuracy' ''
done
# shellcheck disable=SC2086
"$locus" train --task substring-search --encoding rope $tiny --sequence 40 --name search --json >search.json 2>err ||
    fail "search: $(cat err)"
[ -z "$(scored search.json greedy_exact)" ] || fail "search has something solved"
agrees search loss search.json
refuses 2 "n: the training set of addition has no end" "$locus" eval addition --set train
"$locus" eval addition --set train -n 5 >/dev/null || fail "a part of the training set"
# shellcheck disable=SC2086
"$locus" train --task addition --encoding rope $tiny --sequence 40 --greedy-samples 3 --digits 1 --train-samples 20 --norm before \
    --output tied --embedding-init plain --setup code --json >parts.json 2>err || fail "parts: $(cat err)"
for part in '"norm":[[:space:]]*"before"' '"embedding_init":[[:space:]]*"plain"' '"train_samples":[[:space:]]*20' \
    '"encoding":[[:space:]]*"rope(learned=on)"' '"digits":[[:space:]]*1,' '"attention_dropout_on":[[:space:]]*"logits"'; do
    grep -q "$part" parts.json || fail "no $part: $(cat parts.json)"
done
grep -q '"output"' parts.json && fail "a tied output is written"

# Text: bytes. Perplexity is exp(loss); with bytes as tokens, bits per byte are loss / ln 2.
awk 'BEGIN { for (i = 0; i < 300; i++) printf "the %d of a %s;\n", i * i % 97, i % 3 ? "cat" : "dog" }' >plain.txt
"$locus" data make text --train-text plain.txt -o data/text --quiet >/dev/null 2>err || fail "data make text: $(cat err)"
# shellcheck disable=SC2086
"$locus" train --task text --encoding rope $tiny --sequence 24 --name text --json >text.json 2>err || fail "text: $(cat err)"
awk -v loss="$(scored text.json loss)" -v perplexity="$(scored text.json perplexity)" -v bits="$(scored text.json bits_per_byte)" \
    'BEGIN { p = exp(loss) / perplexity - 1; b = loss / log(2) / bits - 1
        exit !(loss > 0 && p < 1e-9 && p > -1e-9 && b < 1e-9 && b > -1e-9) }' || fail "scores of text: $(cat text.json)"
agrees text perplexity text.json
"$locus" eval text >said
scores eval.json said 'set|samples|loss|perplexity|bits per byte|accuracy' ''
# shellcheck disable=SC2086
"$locus" train --task text --encoding rope $tiny --sequence 24 --name text >said
tells text.json said 'set|loss|perplexity|bits per byte|accuracy' \
    "Perplexity is exp(loss), loss in nats a token; bits per byte of the text that the tokens stand for."
# Epochs are counted by a number of windows that is really there.
# shellcheck disable=SC2086
refuses 1 "99999 sequences of 24 tokens: the train set in 'data/text' has" "$locus" train --task text --encoding rope $tiny --sequence 24 \
    --train-samples 99999 --name many
[ ! -e runs/many ] || fail "a refused number of windows left a folder"
cp -r data/text elsewhere && mv data/text data/away
agrees text bits_per_byte text.json --data elsewhere
refuses 1 "train.tokens" "$locus" eval text
"$locus" data make text --train-text text.json -o data/other --quiet >/dev/null 2>err || fail "data make text: $(cat err)"
refuses 1 "another text" "$locus" eval text --data data/other
# shellcheck disable=SC2086
refuses 1 "was made with other data (their files have another digest)" "$locus" train --task text --encoding rope $tiny --sequence 24 --name text --data data/other

# Expressions: what is asked is in the name; scores beside chance and majority, by depth and length.
for target in digit parity; do
    # shellcheck disable=SC2086
    "$locus" train --task listops --target "$target" --encoding 'algebraic(group=tree:3)' $tiny --arguments 3 \
        --expression-depth 4 --longest 30 --train-samples 40 --pool mean --json >"$target.json" 2>err ||
        fail "listops $target: $(cat err)"
    name=$(sed -n 's/.*"name":[[:space:]]*"\([^"]*\)".*/\1/p' "$target.json")
    case $name in listops-$target-*) ;; *) fail "its name is $name" ;; esac
    for each in accuracy chance majority; do
        agrees "$name" "$each" "$target.json"
    done
    "$locus" eval "$name" >said
    scores eval.json said 'set|samples|accuracy|loss|chance|majority' ''
    grep -q '"depth:3"' "$target.json" && grep -q '"length:9-16"' "$target.json" || fail "groups: $(cat "$target.json")"
done
[ "$(scored digit.json chance)" = 0.1 ] && [ "$(scored parity.json chance)" = 0.5 ] || fail "chance"
"$locus" data make listops --set test -n 40 --expression-depth 4 --arguments 3 --shortest 3 --longest 30 -o basic_test.tsv --quiet >/dev/null
mkdir files
for set in train val test; do cp basic_test.tsv "files/basic_$set.tsv"; done
# shellcheck disable=SC2086
"$locus" train --task listops --encoding rope $tiny --train-samples 40 --data files --name files --json >files.json 2>err ||
    fail "expressions of files: $(cat err)"
agrees files accuracy files.json --data files
refuses 2 "data says where they are" "$locus" eval files
for run in files "$name"; do # read from files, or drawn
    refuses 2 "expressions are read from files: none of other sizes can be drawn" "$locus" eval "$run" --data files --lengths 9
done
refuses 2 "lengths: 17 are given, at most 16 can be" "$locus" eval "$name" --lengths "$(seq -s , 10 26)"
# shellcheck disable=SC2086
refuses 1 "basic_test.tsv' is one file for all sets" "$locus" train --task listops --encoding rope $tiny --train-samples 20 \
    --data basic_test.tsv
sed '3s/\[/(/' basic_test.tsv >files/basic_val.tsv
# shellcheck disable=SC2086
refuses 1 "basic_val.tsv" "$locus" train --task listops --encoding rope $tiny --train-samples 40 --data files
refuses 1 "other expressions\|basic_val.tsv" "$locus" eval files --data files
# What is wrong with the test set is said before the training, and no run is made.
cp basic_test.tsv files/basic_val.tsv
# shellcheck disable=SC2086
refuses 1 "basic_test.tsv: 41 expressions are asked for" "$locus" train --task listops --encoding rope $tiny --train-samples 40 \
    --data files --test-samples 41 --name late
sed '7s/\t.*/\t77/' basic_test.tsv >files/basic_test.tsv
# shellcheck disable=SC2086
refuses 1 "basic_test.tsv, line 7: the Target '77'" "$locus" train --task listops --encoding rope $tiny --train-samples 40 \
    --data files --name late
[ ! -e runs/late ] || fail "a run was made of a broken test set"

# Killed again and again: the bits of one that was left alone.
# shellcheck disable=SC2086
train() {
    exec "$locus" train --task addition --encoding 'algebraic(group=seq, values=on)' $tiny --sequence 40 --steps 150 \
        --greedy-samples 4 --checkpoint-seconds 0 --quiet --name run "$@"
}
(train --store whole/locus.db)
killed_through train --store killed/locus.db
same_results whole/locus.db run killed/locus.db run

# Tables of each kind.
# shellcheck disable=SC2086
"$locus" compare --task addition,listops --encodings none,rope $tiny --train-samples 40 --seeds 2 --no-page --store c/locus.db \
    >table 2>err || fail "compare: $(cat err)"
grep -q '^encoding .*solved' table && grep -q 'chance is 10.00' table || fail "compare: $(cat table)"
# shellcheck disable=SC2086
"$locus" compare --task text --data elsewhere --encodings none,rope $tiny --sequence 24 --no-page --store c/locus.db >table 2>err ||
    fail "compare: $(cat err)"
grep -q '^encoding .*perplexity  *bits per byte' table || fail "compare: $(cat table)"
refuses 1 "train.tokens" "$locus" compare --task text --encodings none,rope --no-page --store c/locus.db

# A checkpoint of another architecture or encoding names the first tensor that differs.
"$locus" runs show search >/dev/null
cp runs/addition/best.safetensors kept
cp runs/search/best.safetensors runs/addition/best.safetensors
refuses 1 "best.safetensors.*embedding.weight" "$locus" eval addition
# Weights that are not finite would answer anything: the file's last number becomes NaN.
head -c -4 kept >runs/addition/best.safetensors
printf '\377\377\377\177' >>runs/addition/best.safetensors
refuses 1 "best.safetensors.*numbers that are not finite" "$locus" generate addition -n 1
mv kept runs/addition/best.safetensors
"$locus" runs delete text --quiet
[ ! -e runs/text ] || fail "runs delete leaves files: $(ls runs/text)"

# Options of other kinds and bad values.
# A table that ends before the longest test sample does is told before the training, and leaves no run.
refuses 1 "a test sample has 39 tokens: position 36" "$locus" train --task listops --encoding 'learned(size=36)' --budget smoke \
    --name short
if "$locus" runs | grep -q short; then fail "a run was begun that cannot be scored"; fi

refuses 2 "digits: substring-index has none" "$locus" train --task substring-index --encoding rope --digits 3
refuses 2 "greedy-samples: substring-search has none" "$locus" train --task substring-search --encoding rope --greedy-samples 3
refuses 2 "digits needs a task of problems; copy is a task of words" "$locus" train --task copy --encoding rope --digits 3
refuses 2 "sequence needs a task of problems, text or expressions; copy has --length" "$locus" train --task copy --encoding rope --sequence 9
refuses 2 "target needs a task of expressions; text is a task of text" "$locus" train --task text --encoding rope --target parity
refuses 2 "depth needs a task of trees; listops has --expression-depth" "$locus" train --task listops --encoding rope --depth 3
refuses 2 "arity needs a task of trees; listops has --arguments" "$locus" train --task listops --encoding rope --arity 3
refuses 2 "pretrained needs a task of expressions" "$locus" train --task addition --encoding rope --pretrained x
refuses 2 "epochs: sequences that are drawn without end" "$locus" train --task addition --encoding rope --epochs 3
refuses 2 "sequence must be" "$locus" train --task addition --encoding rope --sequence 1
refuses 2 "shortest: " "$locus" train --task listops --encoding rope --expression-depth 2 --shortest 30
refuses 2 "symbols: 27 letters" "$locus" train --task substring-index --encoding rope --symbols 27
refuses 2 "sequence is for --pretrained" "$locus" train --task listops --encoding rope --sequence 5
refuses 2 "dim: the pretrained encoder says it" "$locus" train --task listops --encoding none --pretrained x --dim 8
refuses 1 "x" "$locus" train --task listops --encoding none --pretrained x
refuses 1 "train.tokens" "$locus" train --task text --encoding rope
[ "$("$locus" runs --task text)" = "no runs" ] || fail "a refused training left a row"
echo "ok ($killed kills)"
