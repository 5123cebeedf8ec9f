#!/bin/sh
# SPDX-License-Identifier: MIT
# Images from end to end, on a few grey ones in CIFAR-10's format: train, resume in the middle of an epoch, eval of the test
# set and of pictures, and data that are cut, mislabelled or missing.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

# record LABEL LETTER: an image of one grey, which is the letter's code
record() {
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "$1")"
    head -c 3072 /dev/zero | tr '\0' "$2"
}
mkdir data
for i in 1 2 3 4 5; do
    { record 0 A; record 1 P; record 2 c; record 3 n; record 4 z; record 9 '~'; } >data/data_batch_$i.bin
done
{ record 0 B; record 1 Q; record 2 d; record 3 m; record 4 y; record 9 '}'; } >data/test_batch.bin

small="--dim 16 --heads 2 --layers 2 --feed-forward 16 --train-samples 30 --test-samples 6 --batch 4 --epochs 8 --rate 3e-3
    --threads 1 --data data"

# shellcheck disable=SC2086
"$locus" train --task cifar10 --encoding 'algebraic(group=grid:2)' $small --name first >train.txt 2>err ||
    fail "train: $(cat err)"
[ "$(grep -c '^locus: epoch [1-8] of 8: test ' err)" -ge 1 ] || fail "epochs: $(cat err)"
# told_epochs NAME EPOCHS: what was told of an epoch are the scores after its eight steps
told_epochs() {
    "$locus" runs export "$1" --format csv -o curves.csv --quiet
    awk -F '[ ,:;%]+' -v epochs="$2" '
    NR == FNR { split($0, v, ","); if (v[8] == "curve" && v[9] == "dev") curve[v[10], v[11]] = v[12]; next }
    {
        test = sprintf("%.2f", 100 * curve["accuracy", 8 * $3])
        line = sprintf("locus: epoch %d of %d: test %s %%, loss %.4f; training loss %s, %s tokens/s", $3, epochs, test,
                       curve["loss", 8 * $3], $12, $13)
        if ($0 != line || $3 <= before || $12 !~ /^[0-9]\.[0-9]+$/ || $13 !~ /^[1-9][0-9]+$/) { print $0 ", not " line; exit 1 }
        before = $3
    }' curves.csv err >difference || fail "epochs of $1: $(cat difference curves.csv)"
}
grep -q '^cifar10 · algebraic(group=grid:2) · budget custom · set-up paper · seed 0$' train.txt || fail "what is trained: $(cat train.txt)"
told_epochs first 8
# An epoch that takes longer than it is between two looks is told once all the same.
# shellcheck disable=SC2086
"$locus" train --task cifar10 --encoding rope $small --dim 96 --layers 4 --feed-forward 192 --epochs 2 --name slow >out 2>err ||
    fail "train: $(cat err)"
told_epochs slow 2
# shellcheck disable=SC2086
"$locus" train --task cifar10 --encoding 'algebraic(group=grid:2)' $small --name first --json >train.json
for name in accuracy accuracy_half accuracy_last loss best_step; do
    grep -q "\"$name\"" train.json || fail "no $name: $(cat train.json)"
done
tells train.json train.txt 'set|best to half|accuracy|at the end|loss|best step' \
    "Best accuracy of all epochs, best up to half of them, that of the last; loss and step of the best."
grep -q '"exact"\|"greedy_exact"' train.json && fail "images are not decoded: $(cat train.json)"
grep -q '"tokens_seen":[[:space:]]*24000,' train.json || fail "8 epochs of 30 images of 100 tokens: $(cat train.json)"

# eval scores the test set again with the parameters that are kept.
"$locus" eval first --data data --json >eval.json
recorded=$(sed -n '/"test":/,/}/s/.*"accuracy":[[:space:]]*\([0-9.e-]*\).*/\1/p' train.json)
measured=$(sed -n 's/.*"accuracy":[[:space:]]*\([0-9.e-]*\).*/\1/p' eval.json)
[ -n "$recorded" ] && [ "$recorded" = "$measured" ] || fail "eval says '$measured', the run '$recorded'"
# 100 places, of which the rows are named, each field by its own scale.
"$locus" plot attention first --data data --sample 5 -o places.svg || fail "plot attention"
[ "$(grep -c 'layer [12], head [12]</title>' places.svg)" = 4 ] && grep -q '>row 10</text>' places.svg &&
    [ "$(grep -o '>to [0-9.e-]*</text>' places.svg | wc -l)" = 4 ] || fail "places: $(grep -o '>[^<]*</text>' places.svg | head -40)"
"$locus" eval first --data data >eval.txt
"$locus" eval first --data data --sides 32,47 >sides 2>err || fail "sides: $(cat err)"
[ "$(sed -n 's/^test:32 *//p' sides)" = "$(sed -n 's/^test *//p' eval.txt)" ] && grep -q '^test:47 ' sides || fail "sides: $(cat sides eval.txt)"
scores eval.json eval.txt 'set|samples|accuracy|loss|chance' ''
"$locus" runs | grep -q ' cifar10  *algebraic.* –  *0 ' || fail "images have no embedding: $("$locus" runs)"
"$locus" eval first --data data --set train | grep -q '^train  *30 ' || fail "eval of the training set"

# The page shows the angles that its encoding turns by, of each axis of an image.
"$locus" report -o page.html --quiet
grep '^<div class="cell"><h4>axis' page.html >axes || true
printf '<div class="cell"><h4>%s</h4>\n' 'axis 1: down the rows' 'axis 2: along a row' | cmp -s - axes || fail "axes: $(cat axes)"

# Pictures: the class and its probability; the same for PPM and PNG, one channel or three.
{ printf 'P6\n32 32\n255\n'; head -c 3072 /dev/zero | tr '\0' 'B'; } >grey.ppm
{ printf 'P5\n32 32\n255\n'; head -c 1024 /dev/zero | tr '\0' 'B'; } >grey.pgm
"$locus" eval first grey.ppm grey.pgm >named
grep -q '^grey.ppm  *[a-z]* [0-9.]* %  *[a-z]* [0-9.]* %  *[a-z]* [0-9.]* %' named || fail "eval of a picture: $(cat named)"
[ "$(sed -n 's/^grey.ppm *//p' named)" = "$(sed -n 's/^grey.pgm *//p' named)" ] || fail "PPM and PGM differ: $(cat named)"
"$locus" eval first grey.ppm grey.pgm --json >named.json
flat named.json | awk '{ key = $1; sub(/^[^ ]* /, ""); v[key] = $0 }
    END { print "picture|class|or|or"
        for (i = 0; i < 2; i++) {
            line = v[i ".picture"]
            for (k = 0; k < 3; k++)
                line = line sprintf("|%s %.1f %%", v[i ".classes." k ".class"], 100 * v[i ".classes." k ".probability"])
            print line
            if (v[i ".class"] != v[i ".classes.0.class"]) print "another class"
        } }' >wanted
sed 's/   */|/g; s/ *$//' named | cmp -s - wanted || fail "eval of pictures: $(cat named named.json)"
# More than stand in memory at once.
{ printf 'P6\n32 32\n255\n'; head -c 3072 /dev/zero | tr '\0' '\300'; } >light.ppm
# shellcheck disable=SC2046 # a list of names
"$locus" eval first $(yes grey.ppm | head -257) light.ppm | tr -s ' ' >many
"$locus" eval first light.ppm grey.ppm | tr -s ' ' >alone
{ sed -n '1p' alone; yes "$(sed -n '3p' alone)" | head -257; sed -n '2p' alone; } | cmp -s - many || fail "many pictures: $(tail -3 many)"
{ printf 'P6\n64 48\n255\n'; head -c 9216 /dev/zero; } >large.ppm
refuses 1 "'large.ppm' is 64×48 pixels: .*32×32" "$locus" eval first large.ppm
refuses 1 "'large.ppm' is 64×48" "$locus" eval first grey.ppm large.ppm
head -c 2000 grey.ppm >cut.ppm
refuses 1 "cut.ppm" "$locus" eval first cut.ppm
refuses 1 "classifies images" "$locus" generate first
for option in "--data data" "--set train" "-n 3"; do
    # shellcheck disable=SC2086
    refuses 2 "is for a set of images: with pictures" "$locus" eval first grey.ppm $option
done

# Killed and stopped in the middle of an epoch: the bits of one that was left alone.
# shellcheck disable=SC2086
train() {
    exec "$locus" train --task cifar10 --encoding 'algebraic(group=grid:2, decay=0.98)' $small --epochs 12 \
        --checkpoint-seconds 0 --quiet --name run "$@"
}
(train --store whole/locus.db)
killed=0 wait=0.2 signal=KILL
while :; do
    (train --store killed/locus.db) 2>err &
    process=$!
    sleep "$wait"
    kill -"$signal" "$process" 2>/dev/null || true
    got=0
    wait "$process" 2>/dev/null || got=$?
    [ "$got" != 0 ] || break
    case $got in 137 | 75 | 130 | 143) ;; *) fail "it ended with $got: $(cat err)" ;; esac
    killed=$((killed + 1))
    [ "$killed" -lt 60 ] || fail "it does not get through: $(cat err)"
    case $signal in KILL) signal=TERM ;; *) signal=KILL ;; esac
    case $wait in 0.2) wait=0.35 ;; 0.35) wait=0.5 ;; 0.5) wait=0.8 ;; 0.8) wait=1.3 ;; *) wait=30 ;; esac
done
[ "$killed" -gt 0 ] || fail "the training was over before it could be killed"
same_results whole/locus.db run killed/locus.db run

# The published schemes.
# shellcheck disable=SC2086
"$locus" compare --task cifar10 $small --epochs 2 --store schemes/locus.db --no-page >compared 2>err || fail "compare: $(cat err)"
for scheme in sinusoidal 'learned(size=100, deviation=1)' 'algebraic(decay=0.98)' 'algebraic(group=grid:2, decay=0.98)'; do
    grep -q "^$scheme" compared || fail "compare without '$scheme': $(cat compared)"
done

# Data that are not there, cut, mislabelled, too few: a line, and neither a row nor a folder.
no_run() {
    pattern=$1
    shift
    # shellcheck disable=SC2086
    refuses 1 "$pattern" "$locus" train --task cifar10 --encoding sinusoidal $small --store none/locus.db --name bad "$@"
    [ "$("$locus" runs --store none/locus.db)" = "no runs" ] || fail "a row is left: $pattern"
    [ ! -e none/bad ] || fail "a folder is left: $pattern"
}
no_run "locus data get cifar10" --data nowhere
no_run "31 training images were asked for" --train-samples 31
no_run "tree:2" --encoding 'algebraic(group=tree:2)'
mkdir damaged
cp data/* damaged
head -c 10000 data/data_batch_3.bin >damaged/data_batch_3.bin
no_run "damaged/data_batch_3.bin' is truncated" --data damaged
{ record 0 A; record 10 B; } >damaged/data_batch_3.bin
no_run "label 10 in record 1" --data damaged
refuses 1 "locus data get cifar10" "$locus" compare --task copy,cifar10 --encodings rope,none --seeds 2 --steps 1 \
    --store none/locus.db
chmod 000 damaged
[ -r damaged ] || no_run "cannot read 'damaged': .*--data" --data damaged
chmod 755 damaged

# Options of other kinds.
"$locus" compare --task cifar10 --encodings none --seeds 1 --budget quick --dropout 0 --list --format csv | grep -q ',custom$' ||
    fail "--dropout 0 changes the attention of a budget and keeps its name"
refuses 2 "depth needs a task of trees; cifar10 is a task of images" "$locus" train --task cifar10 --encoding rope --depth 3
refuses 2 "dev-samples needs a task of words, trees, problems, text, expressions, labelled sequences, own pairs or own pictures; cifar10 has --test-samples" "$locus" train --task cifar10 --encoding rope --dev-samples 3
refuses 2 "greedy-samples" "$locus" train --task cifar10 --encoding rope --greedy-samples 3
refuses 2 "embedding-init" "$locus" train --task cifar10 --encoding rope --embedding-init unit
refuses 2 "augment needs a task of images" "$locus" train --task copy --encoding rope --augment none
refuses 2 "lengths needs a task of words" "$locus" eval first --lengths 3
echo "ok ($killed kills)"
