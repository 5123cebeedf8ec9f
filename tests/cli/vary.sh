#!/bin/sh
# SPDX-License-Identifier: MIT
# Sweeps: a grid of options is trained, sections are called by what differs, and what cannot be varied is told.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

sweep() {
    "$locus" compare --task copy --encodings rope --dim 16 --heads 4 --feed-forward 16 --length 4 --steps 2 \
        --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
        --store v/locus.db "$@"
}
sweep --vary rate=1e-4,3e-4 --vary layers=1,2 --seeds 2 --page page.html >out
grep '^copy · ' out >titles
for point in 'layers 1, rate 0.0001' 'layers 2, rate 0.0001' 'layers 1, rate 0.0003' 'layers 2, rate 0.0003'; do
    [ "$(grep -c "^copy · $point · budget custom" titles)" = 1 ] || fail "no section '$point': $(cat titles)"
    grep -q "<h2>copy <span class=\"tag\">$point</span>" page.html || fail "the page has no section '$point'"
done
[ "$("$locus" runs --store v/locus.db --format csv | wc -l)" = 9 ] || fail "not 8 runs: $("$locus" runs --store v/locus.db)"
sweep --vary rate=1e-4,3e-4 --vary layers=1,2 --seeds 2 --no-page --json >json
[ "$(grep -c '"differs_in"' json)" = 4 ] || fail "sections as JSON: $(cat json)"
[ "$("$locus" runs --store v/locus.db --format csv | wc -l)" = 9 ] || fail "the same sweep trained again"
# One that is alone is called as before.
sweep --vary rate=1e-4 --layers 1 --no-page | grep -q '^copy · budget custom' || fail "a sweep of one point"
sweep --layers 1 --vary 'attention=softmax,soft(landmarks=4, iterations=2)' --no-page --store k/locus.db >out 2>err ||
    fail "commas in parentheses part values: $(cat err)"
[ "$(grep -c '^copy · attention ' out)" = 2 ] && grep -q 'soft(landmarks=4, iterations=2)' out || fail "two kinds: $(cat out)"

# Precision is recorded, in names, configurations and titles; what it was before it had a name is not.
sweep --layers 1 --vary precision=float32,bf16 --no-page --store p/locus.db >out
grep -q '^copy · precision bf16 .*bfloat16 products' out || fail "the section of bf16 is not called so: $(cat out)"
[ "$(grep -c 'bfloat16' out)" = 1 ] || fail "float32 has bfloat16 products: $(cat out)"
"$locus" runs diff 1 2 --store p/locus.db >out
grep -q '^precision *– *bf16' out || fail "runs diff does not say the precision: $(cat out)"
"$locus" runs --store p/locus.db >list
[ "$(grep -c ' paper, bf16 ' list)" = 1 ] || fail "the list does not show the precision: $(cat list)"
grep -q 'copy-rope-custom-bf16-s0-' out || fail "the run is not called bf16: $(cat out)"
"$locus" runs show 2 --store p/locus.db --json | grep -q '"precision":[[:space:]]*"bf16"' || fail "it is not in the configuration"
refuses 2 "precision is one of float32|bf16, not 'fp16'" sweep --vary precision=fp16

# Sets that cannot be drawn are refused before anything is trained, also those of other sizes.
refuses 2 "deeper than 1000" "$locus" compare --task tree-copy --encodings rope --test-depths 4,995 --list

refuses 2 "no task has an option 'rte'; did you mean 'rate'" sweep --vary rte=1
refuses 2 "no task has an option 'store'" sweep --vary store=1
refuses 2 '--depth needs a task of trees' sweep --vary depth=1,2
refuses 2 "compare: --rate needs a number, not 'x'" sweep --vary rate=1,x
refuses 2 '--vary rate and --rate say the same' sweep --vary rate=1,2 --rate 1
refuses 2 "'rate' is given twice" sweep --vary rate=1,2 --vary rate=3
refuses 2 "'rate' is no OPTION=VALUE" sweep --vary rate
refuses 2 "'=1' is no OPTION=VALUE" sweep --vary =1
refuses 2 'test-lengths is a list already' sweep --vary test-lengths=1,2
refuses 2 'has an empty value' sweep --vary rate=1,,2
refuses 2 'has an empty value' sweep --vary rate=
refuses 2 "has '1' twice" sweep --vary rate=1,1

# Numbers of different options are different trainings: names are made of names and values where values alone could be
# taken for another option's.
sweep --layers 1 --vary kv-heads=2,4 --vary patience=0,2 --vary shards=1,2 --no-page --store g/locus.db >out
[ "$("$locus" runs --store g/locus.db --format csv | sed 's/.*,//' | sort -u | wc -l)" = 9 ] || fail "not 8 runs: $(cat out)"

# A run that version 0.2 called by its values alone keeps its name, and is what the same command finds.
sweep --layers 1 --kv-heads 2 --no-page --store o/locus.db >out
"$locus" runs rename 1 copy-rope-custom-s0-1fecf530 --store o/locus.db >out
sweep --layers 1 --vary kv-heads=1,2 --list --store o/locus.db >out
grep -q ' done .* copy-rope-custom-s0-1fecf530$' out && [ "$(grep -c 'not begun' out)" = 1 ] || fail "the list does not find the run: $(cat out)"
sweep --layers 1 --kv-heads 2 --no-page --store o/locus.db >out
"$locus" train --task copy --encoding rope --dim 16 --heads 4 --feed-forward 16 --length 4 --steps 2 --train-samples 8 \
    --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet --layers 1 --kv-heads 2 --store o/locus.db >out
[ "$("$locus" runs --store o/locus.db --format csv | wc -l)" = 2 ] || fail "trained again: $("$locus" runs --store o/locus.db)"
echo "ok"
