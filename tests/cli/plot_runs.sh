#!/bin/sh
# SPDX-License-Identifier: MIT
# locus plot curves, lengths, costs: pictures that stand alone and show what the page shows; eval --lengths of every kind
# of task, whose scores are kept with the run; what cannot be drawn or scored says so.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

tiny="--dim 16 --heads 2 --layers 1 --feed-forward 32 --dev-samples 8 --test-samples 12 --batch 4 --steps 12 --evaluate-every 4
    --threads 1 --quiet"

# whole FILE PATTERN…: an SVG alone, which asks for no variable, script or file, with these texts
whole() {
    file=$1
    shift
    head -c 60 "$file" | grep -q '<svg xmlns="http://www.w3.org/2000/svg"' || fail "$file does not begin as an SVG"
    tail -n 1 "$file" | grep -q '^</svg>$' || fail "$file has no end"
    ! grep -q 'var(\|<script\|href\|nan\|inf"' "$file" || fail "$file does not stand alone"
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$file" 2>err ||
        ! command -v python3 >/dev/null || fail "$file is no XML: $(cat err)"
    for pattern; do
        grep -q -e "$pattern" "$file" || fail "$file lacks '$pattern'"
    done
}

# kept RUN SET NAME: a score of the run in the store
kept() {
    "$locus" runs show "$1" | grep '^scores' | grep -q "\"$2\":{[^}]*\"$3\":" || fail "$1 keeps no $3 of $2"
}

for encoding in rope alibi; do
    for seed in 0 1; do
        # shellcheck disable=SC2086
        "$locus" train --task copy --encoding $encoding --length 5 --symbols 6 --greedy-samples 4 --seed $seed $tiny \
            --name $encoding-$seed 2>err || fail "train: $(cat err)"
        [ $seed = 1 ] || sleep 1.1 # what overlaps within a second is taken to have run side by side
    done
done
all='rope-0 rope-1 alibi-0 alibi-1'

# Curves: those of the page, line by line, with the colours of the page in light.
# shellcheck disable=SC2086
"$locus" plot curves $all -o curves.svg 2>err || fail "curves: $(cat err)"
whole curves.svg '>rope<' '>alibi<' 'copy · budget custom' '>development accuracy, %<' 'stroke="#236bcf"' '<title>Learning curves<'
"$locus" report -o page.html >/dev/null 2>err || fail "report: $(cat err)"
grep '<path class="line"' page.html | grep -o ' d="M[^"]*"' | sort >page.lines
grep '<path class="line"' curves.svg | grep -o ' d="M[^"]*"' | sort >plot.lines
[ -s plot.lines ] && [ -z "$(comm -13 page.lines plot.lines)" ] || fail "the plot's lines are not the page's"
if command -v rsvg-convert >/dev/null 2>&1; then
    "$locus" plot curves rope-0 -o curves.pdf && [ "$(head -c 4 curves.pdf)" = %PDF ] || fail "no PDF"
    "$locus" plot curves rope-0 -o curves.png && [ "$(od -An -c -j 1 -N 3 curves.png | tr -d ' ')" = PNG ] || fail "no PNG"
fi
mkdir nothing
if PATH=$PWD/nothing "$locus" plot curves rope-0 -o none.pdf 2>err; then fail "a PDF by nobody"; fi
grep -q 'rsvg-convert is not on the PATH' err && [ "$(wc -l <err)" = 1 ] && [ ! -e none.pdf ] || fail "without rsvg-convert: $(cat err)"

# Lengths: none yet, then those that eval scored, the trained one among them and marked.
refuses 1 "no scores of other sizes: 'locus eval RUN" "$locus" plot lengths rope-0 -o lengths.svg
[ ! -e lengths.svg ] || fail "an empty picture"
for run in $all; do
    "$locus" eval $run --lengths 3,10 >/dev/null || fail "eval --lengths"
done
kept rope-0 test:10 greedy_exact
"$locus" eval rope-0 --lengths 7 -n 4 >said && "$locus" eval rope-0 --lengths 7 --greedy-samples 0 >said &&
    "$locus" eval rope-0 --lengths 7 --set dev >said || fail "parts of a set"
"$locus" runs show rope-0 | grep -q 'test:7\|dev:7' && fail "a part of a set is kept"
# shellcheck disable=SC2086
"$locus" plot lengths $all -o lengths.svg 2>err || fail "lengths: $(cat err)"
whole lengths.svg 'class="beyond"' '>trained<' '>mean length of the test words<' '>greedy exact matches, %<'
"$locus" report -o page.html >/dev/null && grep -q 'what is beyond it is shaded' page.html || fail "the page has no lengths"

# Costs: of runs that had the machine alone.
"$locus" plot costs rope-1 alibi-1 -o costs.svg 2>err || fail "costs: $(cat err)"
whole costs.svg '>training speed<' '>peak memory<' '<rect [^>]*fill="#236bcf"'
"$locus" train --task copy --encoding rope --length 5 --name long --dim 64 --steps 1000000 --evaluate-every 1000000 --quiet 2>/dev/null &
long=$!
sleep 1.1
# shellcheck disable=SC2086
"$locus" train --task copy --encoding rope --length 6 $tiny --name beside || fail "beside"
sleep 1.1
kill -TERM $long
wait $long || true
refuses 1 "'beside' ran while 'long' did" "$locus" plot costs beside -o no.svg
refuses 1 'none of these runs is finished' "$locus" plot curves long -o no.svg
"$locus" plot curves long rope-0 -o some.svg 2>err && grep -q "1 of 2 runs are not done and left out" err || fail "what is left out: $(cat err)"
refuses 2 'must end in .svg, .png or .pdf' "$locus" plot curves rope-0 -o no.gif
refuses 2 'output FILE is missing' "$locus" plot lengths rope-0
refuses 1 "no run 'nobody'" "$locus" plot costs nobody -o no.svg
[ ! -e no.svg ] || fail "a picture of nothing"

# Problems by digits and letters, trees by depth, expressions by tokens: scored, kept, drawn.
# shellcheck disable=SC2086
"$locus" train --task addition --encoding rope --digits 2 --sequence 40 --greedy-samples 6 $tiny --name sums &&
    "$locus" train --task substring-search --encoding rope --length 4 --sequence 40 $tiny --name search &&
    "$locus" train --task tree-copy --encoding 'algebraic(group=tree:2)' --depth 2 --greedy-samples 2 $tiny --name trees &&
    "$locus" train --task listops --encoding rope --expression-depth 4 --arguments 4 --shortest 3 --longest 20 $tiny \
        --name lists || fail "train other kinds"
"$locus" eval sums --lengths 1,3 >said 2>err && grep -q '^test:3 ' said || fail "sums: $(cat err)"
kept sums test:3 greedy_exact
"$locus" eval search --lengths 3,6 >/dev/null && kept search test:6 accuracy
"$locus" eval trees --depths 1,3 >/dev/null && kept trees test:3 greedy_exact
"$locus" eval lists --lengths 12,30 >/dev/null && kept lists test:30 accuracy
"$locus" plot lengths sums search trees lists -o kinds.svg || fail "lengths of other kinds"
whole kinds.svg '>problems solved, %<' '>mean depth of the test trees<' '>tokens of the longest expressions<' '>characters right, %<'
refuses 1 'numbers of 19 digits: give 1 to 18' "$locus" eval sums --lengths 19
refuses 2 'lengths' "$locus" eval sums --lengths 0
refuses 2 'depths' "$locus" eval trees --lengths 3
refuses 2 'lengths' "$locus" eval rope-0 --lengths 2,x

# A text by the context: each window of the same text, so that what is scored is the same number of tokens.
awk 'BEGIN { for (i = 0; i < 300; i++) printf "the %d of a %s;\n", i * i % 97, i % 3 ? "cat" : "dog" }' >plain.txt
"$locus" data make text --train-text plain.txt -o data/text --quiet >/dev/null 2>err || fail "data make text: $(cat err)"
# shellcheck disable=SC2086
"$locus" train --task text --encoding alibi --sequence 25 $tiny --name text 2>err || fail "text: $(cat err)"
"$locus" eval text --lengths 6,24,48 --json >contexts.json 2>err || fail "contexts: $(cat err)"
kept text test:48 perplexity
grep -o '"tokens":[^,]*' contexts.json | sort -u >tokens
[ "$(wc -l <tokens)" = 1 ] || fail "contexts are not of one text: $(cat tokens)"
"$locus" plot lengths text -o contexts.svg && whole contexts.svg '>test perplexity<' '>tokens of context that a window has<'
sed 's/cat/cow/' plain.txt >cows.txt
"$locus" data make text --train-text cows.txt -o data/other --quiet >/dev/null 2>err || fail "data make text: $(cat err)"
refuses 1 'another text than the one that was trained on' "$locus" eval text --data data/other --lengths 12
"$locus" report -o page.html >/dev/null && grep -q 'Context extrapolation' page.html || fail "the page draws no contexts"

# Own sequences: parts of the test set by the tokens of its inputs, with those that are longer than any that was trained on.
rows() { # FIRST COUNT MOST: pairs whose inputs have 1 to MOST tokens
    awk -v first="$1" -v count="$2" -v most="$3" 'BEGIN { for (i = first; i < first + count; i++) {
        ids = ""
        for (j = 0; j < 1 + i * 7 % most; j++) ids = ids (j ? ", " : "") 1 + (i * 5 + j) % 6
        print "{\"input\": [" ids "], \"target\": [" ids "], \"label\": " i % 2 "}"
    } }'
}
rows 0 40 6 >train.jsonl && rows 100 20 6 >dev.jsonl && rows 200 33 11 >test.jsonl
own="--data train.jsonl --dev dev.jsonl --test test.jsonl"
small="--dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 4 --steps 12 --evaluate-every 4 --threads 1 --quiet"
# shellcheck disable=SC2086
"$locus" train --task pairs $own --encoding rope --greedy-samples 4 $small --name pairs 2>err || fail "pairs: $(cat err)"
# shellcheck disable=SC2086
"$locus" train --task classify $own --encoding rope $small --name labels 2>err || fail "classify: $(cat err)"
for run in pairs labels; do
    # shellcheck disable=SC2086
    "$locus" eval $run $own --lengths 1,2,4,8,16 --json >parts.json 2>err || fail "lengths of $run: $(cat err)"
    # shellcheck disable=SC2086
    "$locus" eval $run $own --json >whole.json
    for name in samples tokens correct; do
        awk -v name=$name -F '[:,]' '
            { gsub(/[[:space:]"]/, "", $1) }
            $1 == "samples" || $1 == "tokens" { value[$1] = $2 }
            $1 == "accuracy" { value["correct"] = $2 * value["tokens"]; sum[FILENAME] += value[name]; parts[FILENAME]++ }
            END {
                if (parts["parts.json"] != 5 || (sum["parts.json"] - sum["whole.json"]) ^ 2 > 1e-8 || !sum["whole.json"]) {
                    print name, sum["parts.json"], sum["whole.json"]
                    exit 1
                }
            }' parts.json whole.json >difference || fail "the parts of $run are not the whole: $(cat difference)"
    done
    kept $run test:16 accuracy
    # shellcheck disable=SC2086
    refuses 1 "no input of the set has 17 to 32 tokens" "$locus" eval $run $own --lengths 32
    # Another file's scores are told and not kept.
    "$locus" eval $run --test dev.jsonl --lengths 6 | grep -q '^test:6 ' || fail "lengths of another file"
    "$locus" runs show $run | grep -q 'test:6' && fail "another file's scores are kept"
    "$locus" plot lengths $run -o own.svg || fail "lengths of $run are not drawn"
    whole own.svg '>trained<' 'class="beyond"' '>tokens of the longest inputs<'
done
"$locus" report -o page.html >/dev/null && grep -q 'Scores by length: the longest training input has 6 tokens' page.html || fail "the page draws no parts"
