#!/bin/sh
# SPDX-License-Identifier: MIT
# Every encoding of the registry trains on data of one's own: on pairs of texts, those of trees on paths, those of grids
# on pictures, too. 'cope' needs a causal mask, which no own data have, and says so.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# sweep STORE SPECS OPTION…: trains two steps with each
sweep() {
    store=$1 specs=$2
    shift 2
    "$locus" compare --encodings "$specs" --dim 16 --heads 2 --layers 1 --feed-forward 16 --steps 2 --batch 4 --threads 1 \
        --jobs 2 --no-page --quiet --store "$store/locus.db" "$@"
}
# trained STORE: how many runs are done
trained() {
    "$locus" runs --store "$1/locus.db" --format csv | grep -c ',done,2/2,'
}

names=$("$locus" encodings --format csv | sed 1d | cut -d, -f1)
on_words=$(echo "$names" | sed 's/^\(mixed\|string\|liere\)$/\1(group=seq)/' | paste -sd, -)
count=$(echo "$names" | wc -l)
[ "$count" -ge 20 ] || fail "the registry: $names"
for pair in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo '{"input_text": "a b c", "target_text": "c b a"}' >&3
    echo '{"input": [1, 2, 3], "target": [3, 1, 2], "input_paths": ["0", "1", "2"], "target_paths": ["0", "1", "2"]}' >&4
    mkdir -p pictures/a pictures/b
    for class in a b; do
        { printf 'P6\n5 5\n255\n' && head -c 75 /dev/zero | tr '\0' $class; } >pictures/$class/$pair.ppm
    done
done 3>words.jsonl 4>trees.jsonl

sweep words "$on_words" --task pairs --data words.jsonl --greedy-samples 0 >out 2>err && fail "shiv-quirk and cope are of sequences"
grep -q "shiv-quirk .*: the encoding acts on 'tree:2', but the task's positions are" err || fail "shiv-quirk: $(cat err)"
grep -q "cope .*: 'cope' counts the keys from a query back, so the mask must be causal" err || fail "cope: $(cat err)"
[ "$(trained words)" = $((count - 2)) ] || fail "on words: $(cat err)"
sweep trees 'shiv-quirk(depth=4),algebraic(group=tree:2),rope' --task pairs --data trees.jsonl --greedy-samples 0 >out 2>err ||
    fail "on trees: $(cat err)"
[ "$(trained trees)" = 3 ] || fail "on trees: $(cat err)"
sweep grids 'mixed,string,liere,algebraic(group=grid:2)' --task images --data pictures --side 8 >out 2>err ||
    fail "on pictures: $(cat err)"
[ "$(trained grids)" = 4 ] || fail "on pictures: $(cat err)"
echo "ok"
