#!/bin/sh
# SPDX-License-Identifier: MIT
# locus train --pretrained: a folder whose weights, configuration or vocabulary are no good is refused in one line before
# anything is written or an earlier run is thrown away.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

golden=$LOCUS_SOURCE/tests/golden
small="--task listops --encoding none --expression-depth 3 --arguments 2 --shortest 3 --longest 6 --epochs 1 --threads 1 --quiet"

# encoder FOLDER: the golden encoder of 37 pieces, with a vocabulary for expressions
encoder() {
    mkdir "$1"
    cp "$golden/bert_plain.safetensors" "$1/model.safetensors"
    cp "$golden/bert_plain.json" "$1/config.json"
    for word in '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' 0 1 2 3 4 5 6 7 8 9 '[' ']' '(' ')' min max med sm; do
        echo "$word"
    done >"$1/vocab.txt"
}

# refused FOLDER PATTERN: and no run is made
refused() {
    # shellcheck disable=SC2086
    refuses 1 "$2" "$locus" train $small --pretrained "$1" --name bad
    [ ! -e runs/bad ] || fail "$1: a folder was left"
    [ -z "$("$locus" runs 2>&1 | grep ' bad$')" ] || fail "$1: a run was left: $("$locus" runs)"
}

encoder good
# shellcheck disable=SC2086
"$locus" train $small --pretrained good --name good || fail "fine-tuning"
"$locus" eval good >before

# The pieces of an expression, drawn of a sample of the test set and of its text.
"$locus" plot attention good --input '[MAX 1 [MIN 3 4 ] ]' -o pieces.svg || fail "plot attention"
grep -q '>\[CLS\]</text>' pieces.svg && grep -q '>max</text>' pieces.svg || fail "no pieces are drawn: $(grep -o '<text[^>]*>[^<]*<' pieces.svg | tail -9)"

encoder lacks
grep -v '^7$' good/vocab.txt >lacks/vocab.txt
refused lacks "'lacks' has a vocabulary that lacks the characters of '7'"
encoder brackets
grep -v '^($' good/vocab.txt >brackets/vocab.txt
refused brackets "lacks the characters of '('"
encoder none
rm none/vocab.txt
refused none "'none' has no vocab.txt"
encoder heads
sed 's/"num_attention_heads": 4/"num_attention_heads": 5/' good/config.json >heads/config.json
refused heads "config.json' has a hidden_size of 32, which 5 heads do not divide"
sed 's/"num_attention_heads": 4/"num_attention_heads": 0/' good/config.json >heads/config.json
refused heads "which 0 heads do not divide"
encoder layers
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 3/' good/config.json >layers/config.json
refused layers "has no tensor 'encoder.layer.2."
encoder cut
head -c 20000 good/model.safetensors >cut/model.safetensors
refused cut "'cut/model.safetensors' is cut"

# What there was stays, though --restart would have thrown it away.
# shellcheck disable=SC2086
refuses 1 "'cut/model.safetensors' is cut" "$locus" train $small --pretrained cut --name good --restart
"$locus" eval good | cmp - before || fail "the earlier run has changed"

# A table with the encoder's row is no table without it: their reports have names of their own.
"$locus" reproduce listops --columns digit --rows pretrained --seeds 1 --pretrained good --no-page >out 2>err ||
    fail "reproduce: $(cat err)"
grep -q '^chebyshev (output), pretrained ' out || fail "no row of the encoder: $(cat out)"
[ -e runs/reproduce-listops-smoke-pretrained-digit-pretrained.md ] || fail "no report of its own: $(ls runs)"
echo "ok"
