#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data make cifar10, data inspect cifar10: pictures pixel by pixel, and every number of the summary, against the
# records that they come from. A record is a label and 3 planes of 32 × 32 bytes.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# record LABEL NUMBER: no two of its bytes in a row are alike, no two planes or records either
record() {
    # shellcheck disable=SC2059
    printf "$(awk -v label="$1" -v n="$2" 'BEGIN {
        printf "\\%03o", label
        for (c = 0; c < 3; c++)
            for (p = 0; p < 1024; p++)
                printf "\\%03o", (37 * n + 83 * c + 11 * p + int(p * p / 29)) % (250 - 40 * c) }')"
}

folder=images/cifar-10-batches-bin
mkdir -p $folder
printf 'airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n' >$folder/batches.meta.txt
n=0
for batch in 1 2 3 4 5; do
    for label in $batch 3 $((2 * batch % 10)); do
        record "$label" $n
        n=$((n + 1))
    done >$folder/data_batch_$batch.bin
done
for label in 9 3 7 3; do
    record $label $n
    n=$((n + 1))
done >$folder/test_batch.bin

# pixels FILE START COUNT: bytes as numbers, one to a line
pixels() {
    od -An -v -t u1 -w1 -j "$2" -N "$3" "$1" | tr -d ' '
}

# is_record PICTURE FILE INDEX: a .ppm has the record's planes, pixel by pixel
is_record() {
    checks=$((checks + 1))
    [ "$(head -c 13 "$1")" = "$(printf 'P6\n32 32\n255')" ] || complain "$1: another head: $(head -c 13 "$1")"
    [ "$(wc -c <"$1")" -eq $((13 + 3072)) ] || complain "$1: another size"
    pixels "$1" 13 3072 >made
    pixels "$2" $((3073 * $3 + 1)) 3072 |
        awk '{ v[NR - 1] = $1 } END { for (p = 0; p < 1024; p++) for (c = 0; c < 3; c++) print v[1024 * c + p] }' >wanted
    cmp -s made wanted || complain "$1 is not record $3 of $2"
}

run data make cifar10 --data images --set train --image 7 -o seven.ppm
[ "$status" -eq 0 ] && grep -q 'image 7 of the training set, class cat, in seven.ppm' .out/stderr || complain "no picture"
is_record seven.ppm $folder/data_batch_3.bin 1
run data make cifar10 --data images --set test --image 2 -o two.ppm
grep -q 'image 2 of the test set, class horse, in two.ppm' .out/stderr || complain "no picture"
is_record two.ppm $folder/test_batch.bin 2
run data make cifar10 --data images --set dev --image 0 -o first.ppm
grep -q 'image 0 of the development set, class truck, in first.ppm' .out/stderr || complain "no picture"
is_record first.ppm $folder/test_batch.bin 0
works data make cifar10 --data images --set train --image 7 -o seven.png --quiet

# Means and deviations are of all training pixels, channel by channel, from 0 to 1.
for c in 0 1 2; do
    for batch in 1 2 3 4 5; do
        for i in 0 1 2; do
            pixels $folder/data_batch_$batch.bin $((3073 * i + 1 + 1024 * c)) 1024
        done
    done | awk '{ s += $1; q += $1 * $1 } END { m = s / NR; printf "%.5f %.5f %.9f %.9f\n", m / 255, sqrt(q / NR - m * m) / 255,
        m / 255, sqrt(q / NR - m * m) / 255 }'
done >channels
{
    printf 'cifar10 in images: 15 training and 4 test images (also the development set) of 32×32 pixels\n\n'
    # Labels: 1 3 2, 2 3 4, 3 3 6, 4 3 8, 5 3 0; 9 3 7 3.
    printf 'class train test\nairplane 1 0\nautomobile 1 0\nbird 2 0\ncat 6 2\ndeer 2 0\ndog 1 0\nfrog 1 0\nhorse 0 1\n'
    printf 'ship 1 0\ntruck 0 1\n\nchannel mean deviation\n'
    paste -d ' ' - channels <<'END' | cut -d ' ' -f 1-3
red
green
blue
END
    printf '\nchance 50.00 %% of test images are of the most common class\n\n'
    printf 'first training images: automobile, cat, bird, bird, cat\n'
} >wanted
run data inspect cifar10 --data images --set train --show 5
sed 's/  */ /g' .out/stdout >made
checks=$((checks + 1))
[ "$status" -eq 1 ] && diff wanted made >&2 || complain "inspect (exit $status)"
run data inspect cifar10 --data images --set test --show 99
checks=$((checks + 1))
[ "$(tail -n 1 .out/stdout)" = 'first test images: truck, cat, horse, cat' ] || complain "the first test images"
run data inspect cifar10 --data images --show 0
checks=$((checks + 1))
case $(tail -n 1 .out/stdout) in chance*) ;; *) complain "--show 0 shows something" ;; esac

# As CSV nothing but its tables, with an empty line between.
run data inspect cifar10 --data images --format csv
{
    printf 'class,train,test\nairplane,1,0\nautomobile,1,0\nbird,2,0\ncat,6,2\ndeer,2,0\ndog,1,0\nfrog,1,0\nhorse,0,1\n'
    printf 'ship,1,0\ntruck,0,1\n\nchannel,mean,deviation\n'
} >wanted
head -n 13 .out/stdout >made
checks=$((checks + 1))
diff wanted made >&2 && [ "$(wc -l <.out/stdout)" -eq 16 ] || complain "inspect as CSV"

run data inspect cifar10 --data images --json
checks=$((checks + 1))
tr -d '\t\n' <.out/stdout | sed 's/"mean".*//' >made
{
    printf '{"subject":"cifar10","data":"images","published":false,"train":15,"test":4,"side":32,"channels":3,"classes":['
    separator=
    for class in 'airplane 1 0' 'automobile 1 0' 'bird 2 0' 'cat 6 2' 'deer 2 0' 'dog 1 0' 'frog 1 0' 'horse 0 1' 'ship 1 0' \
        'truck 0 1'; do
        # shellcheck disable=SC2086
        set -- $class
        printf '%s{"name":"%s","train":%d,"test":%d}' "$separator" "$1" "$2" "$3"
        separator=', '
    done
    printf '],'
} >wanted
cmp -s made wanted || complain "inspect --json: $(cat made)"
tr -d '\t\n' <.out/stdout | sed 's/.*"mean":\[\([^]]*\)\],"deviation":\[\([^]]*\)\],"chance":0.5}$/\1 \2/; s/,//g' | tr -s ' ' '\n' >made
{
    cut -d ' ' -f 3 channels
    cut -d ' ' -f 4 channels
} >wanted
near 1e-8 made wanted
finish
