#!/bin/sh
# SPDX-License-Identifier: MIT
# Labelled pictures of one's own from end to end: folders of any sizes are inspected, shown as the model reads them,
# trained on, scored with and without the training data, named one by one, compared and reported; a run that is killed
# goes on to the same bits, and not with other pictures; what is wrong is told in one line with its place.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

tiny="--dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 16 --epochs 4 --rate 3e-3 --threads 1 --side 11"

# A class is a colour; sizes differ, and each picture is a little darker than the one before.
mkdir -p all/red all/green all/blue
for class in red green blue; do
    for i in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19; do
        awk -v class=$class -v i=$i 'BEGIN {
            w = 9 + i % 7; h = 12 + i % 5
            print "P3", w, h, 255
            for (p = 0; p < w * h; p++)
                print (class == "red") * (150 + i), (class == "green") * (150 + i), (class == "blue") * (150 + i) + p % 3
        }' >all/$class/$i.ppm
    done
done
# One of each of the other kinds: what the program writes, and a small grey JPEG.
cp "$LOCUS_SOURCE"/tests/fuzz/corpus/jpeg/jpeg-grey all/red/20.jpg
"$locus" data make images --data all --side 16 --set train --image 5 -o all/green/21.png 2>err || fail "data make: $(cat err)"
"$locus" data inspect images --data all --side 11 >said 2>err || fail "inspect: $(cat err)"
grep -q '^all: 50 training, 6 development and 6 test pictures in 3 classes, brought to 11×11 pixels' said || fail "inspect: $(cat said)"
mkdir few few/red few/green few/blue
for class in red green blue; do cp all/$class/03.ppm few/$class; done
"$locus" data inspect images --data all --test few --side 8 >other 2>err || fail "inspect: $(cat err)"
head -1 other | grep -q '^all: 56 training, 6 development and 3 test pictures in 3 classes, brought to 8×8 pixels$' ||
    fail "inspect with a test set: $(cat other)"
grep -q '^green ' said || fail "no classes: $(cat said)"
grep -q '^all/blue/' said || fail "no files: $(cat said)"
awk '/^all\// { bad += shown ? before !~ /^all\// : before != ""; shown += 1 } { before = $0 } END { exit bad || shown < 2 }' said ||
    fail "the files are not apart from the table, or not together: $(cat said)"
"$locus" data inspect images --data all --json | grep -q '"in_training_set":' || fail "inspect --json"

# shellcheck disable=SC2086
"$locus" train --task images --data all --encoding 'algebraic(group=grid:2)' $tiny --name own --json >own.json 2>err ||
    fail "train: $(cat err)"
grep -q '"classes":\["blue","green","red"\]' runs/own/vocabulary.json || fail "the names of classes are not kept"
"$locus" eval own --data all --json >eval.json 2>err || fail "eval: $(cat err)"
trained=$(sed -n '/"test":/,/}/s/.*"accuracy":[[:space:]]*\([0-9.]*\).*/\1/p' own.json | head -1)
[ -n "$trained" ] && grep -q "\"accuracy\":[[:space:]]*$trained,\{0,1\}\$" eval.json || fail "eval says something else than '$trained': $(cat eval.json)"
"$locus" eval own --test all | grep -q '^test *62 ' || fail "eval of another folder"
"$locus" eval own all/red/03.ppm all/green/21.png >said 2>err || fail "eval of pictures: $(cat err)"
grep -qE '^all/red/03.ppm +(red|green|blue) [0-9.]+ %' said || fail "eval of pictures: $(cat said)"
# Of two classes there is no third.
mkdir two && cp -R all/red all/blue two
# shellcheck disable=SC2086
"$locus" train --task images --data two --encoding none $tiny --epochs 1 --name two --store two.db --quiet || fail "two classes"
"$locus" eval two all/red/03.ppm --store two.db >said || fail "a picture of two classes"
grep -qE '^all/red/03.ppm +(red [0-9.]+ %  +blue|blue [0-9.]+ %  +red) [0-9.]+ %  +–$' said || fail "a picture of two classes: $(cat said)"
"$locus" eval two all/red/03.ppm --store two.db --json >said && [ "$(grep -c '"probability"' said)" = 2 ] || fail "two classes: $(cat said)"
# Other sides: the trained one scores as the test set does; the larger one has more places, which a table may not have.
"$locus" eval own --data all --sides 11,20 >sides 2>err || fail "sides: $(cat err)"
"$locus" eval own --data all >test
[ "$(sed -n 's/^test:11 *//p' sides)" = "$(sed -n 's/^test *//p' test)" ] || fail "side 11 is another test set: $(cat sides test)"
grep -q '^test:20 ' sides && "$locus" runs show own | grep -q '"test:20":{[^}]*"accuracy":' || fail "side 20 is not kept: $(cat sides)"
# A side's scores are those of the run's own parameters: two trainings that differ in nothing but their seeds have others.
# shellcheck disable=SC2086
"$locus" train --task images --data all --encoding 'algebraic(group=grid:2)' $tiny --seed 1 --name reseeded --store seeds.db --quiet ||
    fail "train: another seed"
"$locus" eval reseeded --data all --sides 20 --store seeds.db >others || fail "sides of another run"
[ "$(grep '^test:20 ' sides)" != "$(grep '^test:20 ' others)" ] || fail "side 20 of two runs is the same: $(cat sides others)"
"$locus" plot lengths own -o sides.svg && grep -q '>trained<' sides.svg && grep -q '>side of the test pictures, pixels<' sides.svg ||
    fail "sides are not drawn"
refuses 1 "image_side is 4: it must be between 5" "$locus" eval own --data all --sides 4
refuses 2 "with pictures, leave it out" "$locus" eval own all/red/03.ppm --sides 20
refuses 2 "sides" "$locus" eval own --data all --lengths 20
# Places of the grid look at each other: 3 × 3 of them at side 11.
"$locus" plot attention own --input all/red/03.ppm -o places.svg || fail "plot attention of a picture"
[ "$(grep -c 'layer 1, head [12]</title>' places.svg)" = 2 ] && [ "$(grep -o '>3,3</text>' places.svg | wc -l)" = 3 ] ||
    fail "not 3 × 3 places in two heads: $(grep -o '>[^<]*</text>' places.svg | head -30)"
"$locus" plot attention own --data all --sample 6 -o sample.svg && [ -s sample.svg ] || fail "plot attention of a sample"
refuses 1 "sample 7 is asked for, the set has 6" "$locus" plot attention own --data all --sample 7 -o no.svg
refuses 1 "cannot be read\|cannot open\|No such file" "$locus" plot attention own --input nothing.png -o no.svg
"$locus" data make images --data all --side 11 --image 0 -o shown.ppm --quiet || fail "data make"
head -c 9 shown.ppm | grep -q '11 11' || fail "it is not of the model's size"

# Files that sets share are told, and rows that the convolution leaves out.
mkdir -p shared/blue && cp all/blue/0[0-2].ppm shared/blue
noted() { # OPTIONS NOTE: what is told of the data, in one line or none
    # shellcheck disable=SC2086
    "$locus" compare --task images --data all --encodings rope $1 --list >said 2>err || fail "compare $1: $(cat err)"
    if [ -n "$2" ]; then echo "locus: images: $2"; fi | cmp -s - err || fail "what is told of $1: $(cat err)"
}
share="development and 3 of 3 test samples stand in the training set, too: their scores say less"
leave="the convolution's windows leave out the last"
noted "--side 11" ""
noted "--side 12" "$leave row and column of side 12, and nothing of side 11"
noted "--side 13" "$leave two rows and columns of side 13, and nothing of side 11"
noted "--side 11 --test shared" "0 of 6 $share"
noted "--side 13 --test shared" "0 of 6 $share; $leave two rows and columns of side 13, and nothing of side 11"
noted "--side 14 --test shared --dev shared" "3 of 3 $share"
# shellcheck disable=SC2086
"$locus" train --task images --data all --test shared --encoding rope $tiny --side 12 --augment none --name shared --quiet 2>err ||
    fail "shared: $(cat err)"
# shellcheck disable=SC2086
"$locus" train --task images --data all --test shared --encoding rope $tiny --side 12 --augment none --name shared >said 2>err ||
    fail "shared, again: $(cat err)"
grep -qE '[1-3] of 3 test samples stand in the training set, too' err || fail "what sets share is not told: $(cat err)"
grep -q 'leave out the last row and column of side 12, and nothing of side 11' err || fail "what is left out is not told: $(cat err)"

long() { # NAME
    # shellcheck disable=SC2086
    exec "$locus" train --task images --data all --encoding rope $tiny --augment autoaugment --epochs 8 --name "$1" \
        --checkpoint-seconds 0 --quiet
}
(long straight) || fail "the long run"
killed_through long parted
same_results runs/locus.db straight runs/locus.db parted
again() { (long parted); }
mv all/red/05.ppm all/red/5.ppm
refuses 1 "was made with other data" again
refuses 1 "holds other samples" "$locus" eval parted --data all
mv all/red/5.ppm all/red/05.ppm

# shellcheck disable=SC2086
"$locus" compare --task images --data all --encodings rope,none --seeds 1 $tiny --page page.html --quiet 2>err || fail "compare: $(cat err)"
grep -q '50 training pictures of own data in 3 classes, side 11' page.html || fail "the page does not say what the data are"
"$locus" runs | grep -q '^ *[0-9]* *images ' || fail "not among the runs"

mkdir -p bad/red bad/green one/red empty
cp all/red/0[0-3].ppm bad/red && cp all/red/00.ppm one/red && echo text >bad/green/a.png
train_on() { "$locus" train --task images --encoding rope --name bad "$@"; }
refuses 1 "'bad/green/a.png' is neither a PNG, JPEG nor PPM or PGM picture" train_on --data bad
head -c 100 all/red/20.jpg >bad/green/a.png
refuses 1 "'bad/green/a.png' is cut or damaged" train_on --data bad
refuses 1 "'one' has one class alone, 'red'" train_on --data one
refuses 1 "'empty' has no folders with pictures" train_on --data empty
refuses 1 "'all/red/00.ppm' is no folder" train_on --data all/red/00.ppm
refuses 1 "'nowhere'" train_on --data nowhere
refuses 1 "'bad/green/a.png' is cut or damaged" "$locus" eval own --test bad
refuses 2 "side" train_on --data all --side 2000
refuses 2 "side" train_on --data all --side 4
refuses 2 "--tokens needs a task of labelled sequences or own pairs" train_on --data all --tokens bytes
refuses 2 "image: 99; the test set has images 0 to 5" "$locus" data make images --data all --set test --image 99 -o x.png
refuses 1 "generates nothing" "$locus" generate own
[ ! -e runs/bad ] || fail "what can't be read leaves a folder"
