#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data get and inspect, with images: what goes wrong is said in one line and loses nothing. What works needs the real
# files: LOCUS_CIFAR10 names a folder or an archive that has them; without it that half is left out, and said so.
. "$(dirname "$0")/transcript.inc"

# ---- without the real files ----

# records FILE COUNT LABEL: records of zeros, labels given as a printf escape
records() {
    : >"$1"
    count=$2
    while [ "$count" -gt 0 ]; do
        # shellcheck disable=SC2059
        printf "$3" >>"$1"
        dd if=/dev/zero bs=3072 count=1 2>/dev/null >>"$1"
        count=$((count - 1))
    done
}

mkdir -p small/cifar-10-batches-bin
for i in 1 2 3 4 5; do
    records small/cifar-10-batches-bin/data_batch_$i.bin $i '\004'
done
records small/cifar-10-batches-bin/test_batch.bin 2 '\011'
(cd small && tar cf ../small.tar cifar-10-batches-bin)
gzip -c small.tar >cifar-10-binary.tar.gz

works data get tree-ops
prints 'nothing to download'
refuses 2 "no set 'mnist' to download; there is cifar10" data get mnist
refuses 2 'to' data get cifar10 --to ''

# A set of other files is no set: nothing of it stays.
refuses 1 '_batch.*bin. is truncated: it has [0-9]* bytes, and 30730000 as published' data get cifar10 --from small.tar
refuses 1 'data_batch_1.bin. is truncated' data get cifar10 --from small --to there
refuses 1 "cannot read 'nothing.tar'" data get cifar10 --from nothing.tar
mkdir empty
refuses 1 "'empty' holds no data_batch_1.bin" data get cifar10 --from empty
refuses 1 'no tar archive' data get cifar10 --from "$0" --to there
absent there data/cifar10

# Downloads: the sum expected and the sum found, no network, a half-finished file.
refuses 1 'its MD5 is [0-9a-f]\{32\}, and c32a1d4ab5d03f1284b67883e8d87530 as published' \
    data get cifar10 --from "file://$PWD/cifar-10-binary.tar.gz" --to there
head -c 700 cifar-10-binary.tar.gz >there.part
refuses 1 'thrown away' data get cifar10 --from "file://$PWD/cifar-10-binary.tar.gz" --to there
refuses 1 'is not cifar10 and was thrown away.*is truncated' data get cifar10 --from "file://$PWD/small.tar" --to there
refuses 1 'cannot download file:///nowhere.*--from FILE' data get cifar10 --from file:///nowhere --to there
absent there
refuses 1 'cannot download http://127.0.0.1:9/x.*--from FILE' data get cifar10 --from http://127.0.0.1:9/x --to there
absent there
mkdir there.part
refuses 1 "cannot write 'there.part': Is a directory\$" data get cifar10 --from file:///nowhere --to there
rmdir there.part
printf x >plain
refuses 1 "cannot write 'plain': Not a directory\$" data get cifar10 --from "file://$PWD/small.tar" --to plain
absent plain.part
rm plain
printf h >there.part
refuses 1 'cannot download.*1 B are kept in there.part and the same command goes on' \
    data get cifar10 --from http://127.0.0.1:9/x --to there
[ "$(cat there.part)" = h ] || complain "a half-finished download was lost"
rm there.part

# What cannot be written is told with the reason; what a server sends from its beginning replaces what is there.
checks=$((checks + 1))
(
    trap '' XFSZ
    ulimit -f 1
    exec "$LOCUS" data get cifar10 --from "file://$PWD/small.tar" --to there >.out/stdout 2>.out/stderr
) && status=0 || status=$?
[ "$status" -eq 1 ] && grep -q "cannot write 'there.part': File too large" .out/stderr || complain "a full disk (exit $status)"
rm -f there.part
if command -v python3 >/dev/null; then
    python3 -u -m http.server 0 --bind 127.0.0.1 >served 2>/dev/null &
    server=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' served)
        [ -n "$port" ] && break
        sleep 0.2
    done
    head -c 700 /dev/zero >there.part
    sum=$(md5sum <cifar-10-binary.tar.gz | cut -d ' ' -f 1)
    refuses 1 "its MD5 is $sum, and c32a1d4ab5d03f1284b67883e8d87530 as published" \
        data get cifar10 --from "http://127.0.0.1:$port/cifar-10-binary.tar.gz" --to there
    refuses 1 "cannot download http://127.0.0.1:$port/none.tar: the server answers 404" \
        data get cifar10 --from "http://127.0.0.1:$port/none.tar" --to there
    kill "$server"
    wait "$server" 2>/dev/null || true
    absent there
fi

# Ctrl-C while bytes come slowly: what has come is kept. (The pipe's writer ends with its reader.)
if mkfifo slow 2>/dev/null; then
    checks=$((checks + 1))
    (
        trap '' PIPE
        i=0
        while [ $i -lt 300 ] && echo "some bytes" 2>/dev/null; do
            i=$((i + 1))
            sleep 0.1
        done >slow
    ) &
    writer=$!
    "$LOCUS" data get cifar10 --from "file://$PWD/slow" --to there >.out/stdout 2>.out/stderr &
    process=$!
    sleep 1
    kill -TERM "$process"
    status=0
    wait "$process" || status=$?
    kill "$writer" 2>/dev/null || true
    wait "$writer" 2>/dev/null || true
    [ "$status" -eq 1 ] && grep -q 'cifar10: stopped; [0-9]* B are kept in there.part' .out/stderr && [ -s there.part ] ||
        complain "a stopped download (exit $status)"
    rm -f there.part
fi

# Inspect reads what is there, and says that it is not what was published.
checks=$((checks + 1))
run data inspect cifar10 --data small --json
[ "$status" -eq 1 ] || complain "altered files: exit $status"
prints '"published":[[:space:]]*false'
prints '"train":[[:space:]]*15'
grep -q '^locus: .*is truncated' .out/stderr || complain "altered files are not named"
run data inspect cifar10 --data small.tar
prints '^deer *15 *0$'
prints '^truck *0 *2$'
prints '^red  *0.00000  *0.00000$'
refuses 1 "no CIFAR-10 at 'data/cifar10'.*locus data get cifar10.*--data" data inspect cifar10
refuses 2 'length' data inspect cifar10 --data small --length 3
printf x >>small/cifar-10-batches-bin/test_batch.bin
refuses 1 'test_batch.bin. is truncated: 6147 bytes' data inspect cifar10 --data small
records small/cifar-10-batches-bin/test_batch.bin 2 '\012'
refuses 1 'test_batch.bin. has the label 10 in record 0' data inspect cifar10 --data small

# One image as a picture.
run data make cifar10 --data small --set train --image 14 -o deer.png
[ "$status" -eq 0 ] && grep -q 'image 14 of the training set, class deer, in deer.png' .out/stderr || complain "no picture"
[ "$(head -c 4 deer.png | tr -d '\211')" = PNG ] || complain "deer.png is no PNG"
refuses 2 'images 0 to 14' data make cifar10 --data small --image 15 -o no.png
refuses 2 'output' data make cifar10 --data small
refuses 2 "'no.jpg' is no .png or .ppm" data make cifar10 --data small -o no.jpg
refuses 2 "'-' is no .png or .ppm" data make cifar10 --data small -o -
refuses 1 'no/such' data make cifar10 --data small -o no/such/x.png
absent no.png

# ---- with the real files ----

if [ -z "${LOCUS_CIFAR10:-}" ]; then
    echo "LOCUS_CIFAR10 is not set: taking and inspecting the real files is left out"
    finish
fi

works data get cifar10 --from "$LOCUS_CIFAR10" --quiet
prints 'cifar10: 6 files in data/cifar10, all as published'
works data get cifar10
prints 'already in data/cifar10, all 6 files as published'
works data inspect cifar10
prints '50000 training and 10000 test images'
prints '^red  *0.49140  *0.24703$'
prints '^green  *0.48216  *0.24349$'
prints '^blue  *0.44653  *0.26159$'
prints '^frog  *5000  *1000$'

# An altered file is named, and replaced.
printf x | dd of=data/cifar10/data_batch_3.bin bs=1 seek=5000 conv=notrunc 2>/dev/null
run data inspect cifar10
[ "$status" -eq 1 ] && grep -q 'data_batch_3.bin. is altered: its SHA-256 is .*bbe8596564' .out/stderr ||
    complain "an altered file (exit $status)"
tar cf real.tar -C data/cifar10 test_batch.bin data_batch_1.bin data_batch_2.bin data_batch_4.bin data_batch_5.bin
refuses 1 'holds no data_batch_3.bin' data inspect cifar10 --data real.tar
run data get cifar10 --from "$LOCUS_CIFAR10"
[ "$status" -eq 0 ] && grep -q 'is altered.*it is fetched again' .out/stderr || complain "not replaced (exit $status)"
works data get cifar10

# A half-finished download is continued; killed at any moment, the same command ends well.
tar cf real.tar -C data/cifar10 test_batch.bin data_batch_1.bin data_batch_2.bin data_batch_3.bin data_batch_4.bin \
    data_batch_5.bin
head -c 100000000 real.tar >mirror.part
for wait in 0.05 0.15 0.4 0.7; do
    "$LOCUS" data get cifar10 --from "file://$PWD/real.tar" --to mirror >/dev/null 2>&1 &
    process=$!
    sleep "$wait"
    kill -KILL "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
done
works data get cifar10 --from "file://$PWD/real.tar" --to mirror --quiet
for name in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
    cmp -s "mirror/$name.bin" "data/cifar10/$name.bin" || complain "$name.bin differs"
done
[ ! -e mirror.part ] && [ -z "$(ls -d mirror.tmp-* 2>/dev/null)" ] || complain "left behind: $(ls)"
finish
