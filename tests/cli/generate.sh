#!/bin/sh
# SPDX-License-Identifier: MIT
# locus generate: what it calls right; of decoders, prompts from the option, a file and standard input, problems of the test
# set, sampling, what is refused, Ctrl-C. What words and trees get is in train.sh and train_trees.sh.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

small="--dim 32 --heads 2 --layers 2 --feed-forward 64 --batch 4 --steps 6 --threads 1 --quiet"

# ---- what is right ----

printf '{"input": [1, 2], "target": [2, 1]}\n' >one.jsonl
"$locus" train --task pairs --data one.jsonl --dev one.jsonl --test one.jsonl --encoding rope --dim 16 --heads 2 --layers 1 \
    --feed-forward 16 --batch 4 --steps 60 --rate 1e-2 --threads 1 --quiet --name one || fail "train"
printf '{"input": [1, 2], "target": [2]}\n' >shorter.jsonl
printf '{"input": [1, 2], "target": [2, 2]}\n' >other.jsonl
[ "$("$locus" generate one --test one.jsonl)" = "input  1 2
output 2 1  (right)" ] || fail "what is learned is not right: $("$locus" generate one --test one.jsonl)"
for target in shorter other; do
    "$locus" generate one --test $target.jsonl | grep -q '^target 2' || fail "$target: $("$locus" generate one --test $target.jsonl)"
    "$locus" generate one --test $target.jsonl --json | grep -q '"exact":[[:space:]]*false' || fail "$target as JSON"
done

# ---- problems ----

# shellcheck disable=SC2086
"$locus" train --task addition --encoding rope $small --name add || fail "train"
"$locus" generate add -n 2 --json >json
"$locus" generate add -n 2 >out
samples json out
[ "$(grep -c '^input  ?d=' out)" = 2 ] && grep -q '^output .*  (wrong)$' out && grep -q '^target .*#$' out ||
    fail "problems: $(cat out)"

prompt='?d=12+30; '
"$locus" generate add --prompt "$prompt" --tokens 9 >whole
"$locus" generate add --prompt "$prompt" --tokens 9 --quiet >rest
[ "$(cat whole)" = "$prompt$(cat rest)" ] || fail "--quiet: $(cat rest), not quiet: $(cat whole)"
[ "$(wc -l <whole)" = 1 ] || fail "lines: $(cat whole)"
printf '%s\n' "$prompt" | "$locus" generate add --prompt - --tokens 9 | cmp - whole || fail "standard input"
printf '%s\r\n' "$prompt" | "$locus" generate add --prompt - --tokens 9 | cmp - whole || fail "standard input with CRLF"
printf '%s\n?d=7+8; \n%s' "$prompt" "$prompt" >prompts
"$locus" generate add --prompts prompts --tokens 9 >many
[ "$(wc -l <many)" = 3 ] && sed -n 1p many | cmp - whole && sed -n 3p many | cmp - whole || fail "--prompts: $(cat many)"

# Of prompts that are not decoded together each gets the same: greedily, and of each group's own numbers something else.
awk -v p="$prompt" 'BEGIN { for (i = 0; i < 70; i++) print i % 7 ? p : "?d=7+8; " }' >prompts
"$locus" generate add --prompts prompts --tokens 9 >many
[ "$(wc -l <many)" = 70 ] && [ "$(awk 'NR % 7 != 1' many | sort -u)" = "$(cat whole)" ] &&
    [ "$(awk 'NR % 7 == 1' many | sort -u | wc -l)" = 1 ] || fail "70 prompts: $(sort many | uniq -c)"
awk -v p="$prompt" 'BEGIN { for (i = 0; i < 64; i++) print p }' >prompts
"$locus" generate add --prompts prompts --tokens 20 --temperature 2 --seed 1 >many
[ "$(head -n 32 many)" != "$(tail -n 32 many)" ] || fail "both groups draw the same"
printf '%s\n?d=7+8; \n%s' "$prompt" "$prompt" >prompts

began=$(date +%s)
"$locus" generate add --prompt "$prompt" --tokens 9 --json >json
took=$(($(date +%s) - began + 1))
first=$(sed -n 's/.*"first_token_seconds":[[:space:]]*\([0-9.e+-]*\),*$/\1/p' json)
awk -v f="$first" -v t="$took" 'BEGIN { exit !(f != "" && f > 0 && f <= t) }' || fail "a first token after $first of $took seconds"
grep -q "\"prompt\":[[:space:]]*\"$prompt\"" json && grep -q '"tokens":[[:space:]]*9,' json && grep -q '"tokens_per_second"' json ||
    fail "--json: $(cat json)"
text=$(sed -n 's/.*"text":[[:space:]]*"\(.*\)",$/\1/p' json)
[ "$prompt$text" = "$(cat whole)" ] || fail "--json says '$text'"
# As many ids as tokens, and as many tokens of the prompt as letters; a letter is always the same id, and no other letter's.
"$locus" generate add --prompt "$prompt" --tokens 60 --temperature 3 --json >json
flat json | awk -v letters=${#prompt} '
    $1 == "prompt_tokens" && $2 != letters { exit bad = 1 }
    $1 == "tokens" { tokens = $2 }
    $1 == "text" { sub(/^text /, ""); text = $0 }
    $1 ~ /^token_ids/ {
        letter = substr(text, ++ids, 1)
        if (letter in id && id[letter] != $2 || $2 in of && of[$2] != letter) exit bad = 1
        id[letter] = $2
        of[$2] = letter
    }
    END { exit bad || ids != tokens || ids != 60 || length(text) != 60 }' || fail "ids: $(cat json)"
[ "$("$locus" generate add --prompts prompts --tokens 9 --json | grep -c '"text"')" = 3 ] || fail "--prompts --json"

# The same seed draws the same; another one something else; one token to choose from is greedy.
"$locus" generate add --prompt "$prompt" --tokens 40 --temperature 2 --seed 1 >first
"$locus" generate add --prompt "$prompt" --tokens 40 --temperature 2 --seed 1 --threads 2 | cmp - first || fail "the same seed"
"$locus" generate add --prompt "$prompt" --tokens 40 --temperature 2 --seed 2 | cmp -s - first && fail "another seed"
"$locus" generate add --prompt "$prompt" --tokens 9 --temperature 2 --top-k 1 | cmp - whole || fail "--top-k 1"
"$locus" generate add --prompt "$prompt" --tokens 9 --temperature 2 --top-p 1e-9 | cmp - whole || fail "--top-p 1e-9"

refuses 2 "dev needs a run of own pairs" "$locus" generate add --dev x
refuses 2 "is empty" "$locus" generate add --prompt ''
refuses 1 "standard input is empty" sh -c ": | '$locus' generate add --prompt -"
refuses 1 "--prompt: 'x', character 4 of the text: addition knows only" "$locus" generate add --prompt '?d=x'
refuses 1 "'é', character 2 of the text" "$locus" generate add --prompt '1é'
printf '?d=1+1; \n?d=b\n' >prompts
refuses 1 "'prompts', line 2: 'b', character 4 of the text" "$locus" generate add --prompts prompts
printf '?d=1+1; \n\n1' >prompts
refuses 1 "'prompts', line 2 is empty" "$locus" generate add --prompts prompts
: >prompts
refuses 1 "'prompts' is empty" "$locus" generate add --prompts prompts
refuses 1 "missing" "$locus" generate add --prompts missing
refuses 1 "byte 2 is zero" sh -c "printf '1\\0002' | '$locus' generate add --prompt -"
refuses 2 "one of the two" "$locus" generate add --prompt 1 --prompts prompts
refuses 2 "leave it out" "$locus" generate add --prompt 1 -n 2
refuses 2 "top-k: nothing is drawn" "$locus" generate add --prompt 1 --top-k 5
refuses 2 "seed: nothing is drawn" "$locus" generate add --prompt 1 --seed 5 --temperature 0
refuses 2 "top-p" "$locus" generate add --prompt 1 --temperature 1 --top-p 0
refuses 2 "tokens" "$locus" generate add --prompt 1 --tokens 0
refuses 2 "input needs a run of words" "$locus" generate add --input '1 2'
refuses 2 "depth needs a run of trees" "$locus" generate add --depth 3

# A table of positions ends somewhere: the sequences of the training are what it must hold.
sequence=$("$locus" runs show add --json | sed -n 's/.*"sequence":[[:space:]]*\([0-9]*\).*/\1/p')
sequence=${sequence:-128}
# shellcheck disable=SC2086
"$locus" train --task addition --encoding "learned(size=$sequence)" $small --name table || fail "train a table"
"$locus" generate table --prompt "$prompt" >/dev/null || fail "as long as the table"
refuses 1 "the prompt has 10 tokens and .* outside the learned table" "$locus" generate table --prompt "$prompt" \
    --tokens "$sequence"
long=$(printf "%$((sequence + 1))s" ' ')
refuses 1 "the prompt's $((sequence + 1)) tokens are too many" "$locus" generate table --prompt "$long"

# Nothing of substring-search can be answered: it goes on with what it is given.
# shellcheck disable=SC2086
"$locus" train --task substring-search --encoding rope $small --sequence 40 --name search || fail "train search"
refuses 2 "a prompt is missing" "$locus" generate search
refuses 2 "a prompt is missing" "$locus" generate search -n 3
"$locus" generate search --prompt 'abc>' --tokens 5 | grep -q '^abc>[abcd>]*$' || fail "substring-search"

# ---- text ----

i=0
while [ $i -lt 60 ]; do
    echo "Der Fuß größer Bären läuft über 12 Brücken: naïve café, 日本 $i."
    i=$((i + 1))
done >text.txt
"$locus" data make text --train-text text.txt -o folder --quiet || fail "data make text"
# shellcheck disable=SC2086
"$locus" train --task text --data folder --encoding rope $small --name bytes || fail "train text"
: >runs/bytes/tokenizer.model # as a training with pieces of the same name would have left it
# shellcheck disable=SC2086
"$locus" train --task text --data folder --encoding rope $small --name bytes --restart || fail "train text again"
[ ! -e runs/bytes/tokenizer.model ] || fail "--restart left another tokenizer"
rm -r folder # a run has what it needs
"$locus" generate bytes --prompt 'Bär ' --tokens 30 --seed 1 >first || fail "generate text"
[ "$(head -c 5 first)" = 'Bär ' ] && grep -q '^Bär ' first || fail "text: $(cat first)"
"$locus" generate bytes --prompt 'Bär ' --tokens 30 --seed 1 | cmp - first || fail "text, the same seed"
"$locus" generate bytes --prompt 'Bär ' --tokens 30 --seed 2 | cmp -s - first && fail "text, another seed"
# Text is drawn at temperature 0.8 from the likeliest 0.95; from all, or hotter or colder, it is another.
"$locus" generate bytes --prompt 'Bär ' --tokens 200 --seed 1 >drawn
"$locus" generate bytes --prompt 'Bär ' --tokens 200 --seed 1 --temperature 0.8 --top-p 0.95 --top-k 0 | cmp - drawn ||
    fail "how text is drawn"
for other in "--temperature 0.85" "--temperature 0.75" "--top-p 0.9" "--top-p 1" "--top-k 3"; do
    # shellcheck disable=SC2086
    "$locus" generate bytes --prompt 'Bär ' --tokens 200 --seed 1 $other | cmp -s - drawn && fail "text is drawn alike with $other"
done
# Whatever is drawn, what is printed is UTF-8.
if command -v iconv >/dev/null; then
    "$locus" generate bytes --prompt 'a' --tokens 400 --temperature 50 --top-p 1 >wild
    iconv -f UTF-8 -t UTF-8 wild >/dev/null || fail "what is printed is no UTF-8"
fi
# Ctrl-C: what there is has been printed, one line says so.
"$locus" generate bytes --prompt 'Bär ' --tokens 100000 >out 2>err &
pid=$!
tries=0
while [ ! -s out ] && [ $tries -lt 400 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
kill -INT $pid
got=0
wait $pid || got=$?
[ "$got" = 1 ] && grep -q '^locus: stopped after [0-9]* tokens$' err && [ "$(wc -l <err)" = 1 ] ||
    fail "stopped: status $got, $(cat err)"
[ "$(head -c 5 out)" = 'Bär ' ] && [ "$(tail -c 1 out)" = "" ] || fail "stopped: $(tail -c 200 out)"

refuses 1 "byte 2 (0xFF) is no UTF-8" "$locus" generate bytes --prompt "$(printf 'a\377')"
refuses 2 "a prompt is missing" "$locus" generate bytes
refuses 2 "this one is of text" "$locus" generate bytes -n 3

# ---- other kinds ----

# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope $small --length 5 --train-samples 20 --dev-samples 5 --test-samples 5 --name words ||
    fail "train words"
for option in "--prompt 1" "--prompts prompts" "--tokens 3" "--temperature 1" "--top-k 3" "--top-p 0.5" "--seed 1"; do
    # shellcheck disable=SC2086
    refuses 2 "${option%% *} needs a run of problems or text" "$locus" generate words $option
done
"$locus" generate words -n 1 | grep -q '^output' || fail "words"
# A table that was long enough for its own words.
# shellcheck disable=SC2086
"$locus" train --task copy --encoding 'learned(size=20)' $small --length 5 --train-samples 20 --dev-samples 5 --test-samples 5 --name few ||
    fail "train words by a table"
refuses 1 "position 20 of token 20 is outside the learned table of 20 rows" "$locus" generate few --length 30 -n 1
echo "ok"
