#!/bin/sh
# SPDX-License-Identifier: MIT
# Small trainings under valgrind: memory that is read before it was written, used after it was freed, or lost for good, in
# libraries too, and small commands. The short form trains one model for two steps; the other one a model of each family of
# tasks, reports and goes on with a training. Ends with 1 if valgrind found anything, with 77 where there is no valgrind.
# usage: [LOCUS=PROGRAM] tools/memcheck.sh [short]
set -eu
cd "$(dirname "$0")/.."
source=$PWD
locus=${LOCUS:-$PWD/build/release/locus}
if ! command -v valgrind >/dev/null 2>&1; then
    echo 'skipped: there is no valgrind'
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# valgrind knows no AVX-512.
export LOCUS_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=1
case $(uname -m) in x86_64 | amd64) ;; *) unset LOCUS_ISA ONEDNN_MAX_CPU_ISA ;; esac

found=0
# ends STATUS COMMAND…: with that status, 99 where valgrind found something
ends() {
    wanted=$1 ended=0
    shift
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --num-callers=30 \
        "$locus" "$@" >out 2>&1 || ended=$?
    if [ $ended != "$wanted" ]; then
        echo "FOUND locus $*"
        tail -n 80 out
        found=1
    fi
}
check() {
    ends 0 "$@"
}

# What small commands leave: of a group drawn, of an option misspelt, of a script of trainings.
small() {
    check plot group tree:2 --from 2 --to 1+2 -o tree.svg
    ends 2 compare --task copy --encodings rope --vary ratee=1
    check reproduce table1 --columns copy --rows rope --parallel
}

# train TASK ENCODING [OPTIONS]: at dimension 16, one layer.
train() {
    task=$1 encoding=$2
    shift 2
    check train --task "$task" --encoding "$encoding" --dim 16 --heads 2 --layers 1 --feed-forward 16 --threads 1 --quiet \
        --store "$task/runs.db" --name one --checkpoint-seconds 0 "$@"
}

words='--length 5 --symbols 6 --train-samples 20 --dev-samples 4 --test-samples 4 --greedy-samples 2 --batch 10'
few='--dev-samples 4 --test-samples 4 --batch 4 --steps 4 --evaluate-every 2'
# shellcheck disable=SC2086 # lists of options
if [ "${1:-}" = short ]; then
    train copy 'algebraic(group=seq, decay=0.98)' $words --steps 2
    small
    exit $found
fi

record() {
    # shellcheck disable=SC2059 # the byte is the format
    printf "\\$(printf %03o "$1")"
    head -c 3072 /dev/zero | tr '\0' "$2"
}
mkdir images
for i in 1 2 3 4 5; do
    { record 0 A; record 1 P; record 2 c; record 3 n; } >images/data_batch_$i.bin
done
{ record 0 B; record 1 Q; record 2 d; record 3 m; } >images/test_batch.bin
awk 'BEGIN { for (i = 0; i < 300; i++) printf "the %d of a %s;\n", i * i % 97, i % 3 ? "cat" : "dog" }' >plain.txt
awk 'BEGIN { for (i = 0; i < 40; i++) printf "w%d v%d\t%s\n", i % 7, i % 5, (i % 7 > 2 ? "up" : "down") }' >labelled.tsv
awk 'BEGIN { for (i = 0; i < 40; i++) printf "{\"input_text\": \"a%dé\", \"target_text\": \"%db\"}\n", i, i % 7 }' >pairs.jsonl
for class in red green; do
    mkdir -p pictures/$class
    for i in 0 1 2 3 4 5 6 7 8 9; do
        awk -v i=$i 'BEGIN { print "P3 6 5 255"; for (p = 0; p < 90; p++) print 9 * i + p }' >pictures/$class/$i.ppm
    done
done
mkdir encoder
cp "$source"/tests/golden/bert_plain.safetensors encoder/model.safetensors
cp "$source"/tests/golden/bert_plain.json encoder/config.json
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' 0 1 2 3 4 5 6 7 8 9 '[' ']' '(' ')' min max med sm >encoder/vocab.txt

# shellcheck disable=SC2086 # lists of options
{
    train copy 'algebraic(group=seq, decay=0.98)' $words --steps 4 --evaluate-every 2
    train copy 'algebraic(group=seq, decay=0.98)' $words --steps 6 --evaluate-every 2 --name two
    train tree-ops 'algebraic(group=tree:2)' --depth 2 --train-samples 20 --greedy-samples 2 $few
    train cifar10 'rope(axes=2)' --train-samples 8 --test-samples 4 --batch 4 --epochs 2 --data images
    train addition 'rope + t5' --sequence 40 --digits 2 --greedy-samples 2 $few
    check data make text --train-text plain.txt -o tokens --quiet
    train text 'cope' --sequence 24 --data tokens $few
    train listops 'learned(size=64)' --expression-depth 3 --shortest 2 --longest 20 --train-samples 20 $few
    check train --task listops --encoding rope --pretrained encoder --expression-depth 3 --arguments 2 --shortest 3 \
        --longest 7 --train-samples 20 $few --threads 1 --store listops/runs.db --name tuned --quiet
    train classify rope --data labelled.tsv --batch 4 --steps 4 --evaluate-every 2
    train pairs 'algebraic(group=seq)' --data pairs.jsonl --tokens characters --greedy-samples 2 --batch 4 --steps 4 \
        --evaluate-every 2
    train images 'rope(axes=2)' --data pictures --side 5 --batch 4 --epochs 2
    train reverse rope $words --steps 4 --evaluate-every 2
    train copy rope $words --steps 4 --evaluate-every 2 --store reverse/runs.db --name begun --init-from one
}
check generate one --store copy/runs.db --input '1 2 3' --threads 1
check eval one --store tree-ops/runs.db --threads 1
check compare --store compare.db --task copy --encodings rope,none --jobs 2 --threads 1 --dim 16 --heads 2 --layers 1 \
    --feed-forward 16 --length 5 --symbols 6 --train-samples 20 --dev-samples 4 --test-samples 4 --greedy-samples 2 \
    --batch 10 --steps 2 --no-page --quiet
check report --store copy/runs.db -o page.html --quiet
small
echo "memcheck: $([ $found = 0 ] && echo 'nothing found' || echo 'something was found')"
exit $found
