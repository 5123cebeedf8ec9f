#!/bin/sh
# SPDX-License-Identifier: MIT
# locus data make text, data inspect text: token files of bytes and of pieces, texts and vocabularies that are no good, nothing
# half-written.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# A text of 200 lines in which words come again.
i=0
while [ $i -lt 200 ]; do
    echo "line $i: the house by the water, and the walker who walks slowly by the mountain house"
    i=$((i + 1))
done >text
bytes=$(wc -c <text)

# Bytes: as many tokens as bytes, parted into the three sets; the header is 48 bytes.
"$locus" data make text --train-text text -o bytes >out
grep -q 'bytes, a vocabulary of 256' out || fail "summary: $(cat out)"
sum=0
for set in train dev test; do
    size=$(wc -c <bytes/$set.tokens)
    sum=$((sum + size - 48))
    tail -c +49 bytes/$set.tokens >>joined
done
[ "$sum" = "$bytes" ] || fail "$sum bytes in the sets, $bytes in the text"
cmp joined text || fail "the sets are not the text"
[ ! -e bytes/tokenizer.model ] || fail "bytes have no model"
"$locus" data make text --train-text text --dev-text text --test-text text -o whole --json >json
[ "$(grep -c "\"tokens\":[[:space:]]*$bytes" json)" = 3 ] || fail "json: $(cat json)"
"$locus" data inspect text --data whole --set dev --show 1 | grep -q '^line 0: the house' || fail "inspect"
"$locus" data inspect text --data whole --json | grep -q '"bytes_per_token":[[:space:]]*1' || fail "inspect --json"

# Every number of a small text: sets of 4, 7 and 2 bytes, of which all but the first token are predicted.
printf 'abc\n' >four
printf 'a\303\251o\n\n\n' >seven
printf 'x' >one
printf 'xy' >two
"$locus" data make text --train-text four --dev-text seven --test-text two -o tiny >out || fail "tiny"
cat >wanted <<'END'
tiny: bytes, a vocabulary of 256

set    tokens  bytes  bytes/token
train       4      4        1.000
dev         7      7        1.000
test        2      2        1.000
END
diff wanted out || fail "the table of a small text"
"$locus" data make text --train-text four --dev-text seven --test-text two -o tiny --json | tr -d '\t\n' >json
wanted='{"data":"tiny","tokenizer":"bytes","vocabulary":256,"train":{"tokens":4,"bytes":4,"bytes_per_token":1}'
wanted=$wanted',"dev":{"tokens":7,"bytes":7,"bytes_per_token":1},"test":{"tokens":2,"bytes":2,"bytes_per_token":1}}'
[ "$(cat json)" = "$wanted" ] || fail "the JSON of a small text: $(cat json)"
# What a killed process left in the folder goes.
mkdir -p quiet/.making.tmp-0123456789abcdef
: >quiet/.making.tmp-0123456789abcdef/dev.tokens
: >quiet/.making.tmp-0123456789abcdef/.train.tokens.tmp-0123456789abcdef
"$locus" data make text --train-text text -o quiet --quiet >out 2>err
[ ! -e quiet/.making.tmp-0123456789abcdef ] || fail "a killed process's files stay: $(ls -AR quiet)"
[ ! -s out ] && [ ! -s err ] || fail "--quiet spoke"

# What is no text, and what cannot be asked for.
: >empty
printf 'good\nca\377f\n' >latin
printf 'one line' >line
refuses 2 "give --train-text" "$locus" data make text -o no
refuses 2 "leave out --vocabulary" "$locus" data make text --train-text text --vocabulary 300 --model m.model -o no
refuses 2 "vocabulary" "$locus" data make text --train-text text --vocabulary 12 -o no
refuses 2 "folder" "$locus" data make text --train-text text -o -
refuses 2 "train-text" "$locus" data make copy --train-text text -o no
refuses 1 "'empty' is empty" "$locus" data make text --train-text empty -o no
refuses 1 "'empty' is empty" "$locus" data make text --train-text text --dev-text empty -o no
refuses 1 "'latin' is no UTF-8: byte 0xff at offset 7, in line 2" "$locus" data make text --train-text latin -o no
refuses 1 "dev set: 1 tokens are too few: one to read and one to predict are needed; give a longer text" \
    "$locus" data make text --train-text text --dev-text one -o no
refuses 1 "too few lines" "$locus" data make text --train-text line -o no
refuses 1 "'nothing': No such file" "$locus" data make text --train-text nothing -o no
refuses 1 "nothing.model': No such file" "$locus" data make text --train-text text --model nothing.model -o no
refuses 1 "is no SentencePiece model" "$locus" data make text --train-text text --model text -o no
refuses 1 "Not a directory" "$locus" data make text --train-text text -o text/no
refuses 1 "locus data make text --train-text.* --data" "$locus" data inspect text --data no
refuses 1 "'./bytes' is a folder: locus data inspect TASK --data ./bytes" "$locus" data inspect ./bytes
"$locus" data inspect text --data bytes --show 0 >out
awk '/^(train|dev|test) / { n++; bad += $2 != $3 } END { exit bad > 0 || n != 3 }' out || fail "bytes are not tokens: $(cat out)"
[ ! -e no ] || fail "a refused command left a folder"
cp -r bytes damaged
printf 'x' | dd of=damaged/dev.tokens bs=1 seek=60 conv=notrunc 2>/dev/null
refuses 1 "dev.tokens' is damaged" "$locus" data inspect text --data damaged
head -c 100 bytes/test.tokens >damaged/test.tokens
cp bytes/dev.tokens damaged/dev.tokens
refuses 1 "test.tokens' is cut" "$locus" data inspect text --data damaged

# Pieces, where SentencePiece is installed.
if ! command -v spm_train >found || ! command -v spm_encode >found; then
    refuses 1 "spm_train is not on the PATH" "$locus" data make text --train-text text --vocabulary 300 -o no
    echo "no spm_train: only bytes were tested"
    exit 0
fi
"$locus" data make text --train-text text --vocabulary 320 -o pieces >out
grep -q 'SentencePiece vocabulary of 320' out || fail "summary: $(cat out)"
[ -s pieces/tokenizer.model ] || fail "no model"
[ "$(wc -c <pieces/train.tokens)" -lt "$(wc -c <bytes/train.tokens)" ] || fail "pieces are not shorter than bytes"
"$locus" data inspect text --data pieces --show 0 | diff - out || fail "inspect counts otherwise than make"
"$locus" data inspect text --data pieces --show 1 | tr -d '│' | grep -q '^line 0: the house by the water' || fail "inspect"
"$locus" data inspect text --data pieces --json | grep -q '"tokenizer":[[:space:]]*"sentencepiece"' || fail "--json of pieces"
# Bytes a token are of all tokens but the first: without its bytes, of which a blank that the model adds is none.
# counts_bytes MODEL: `out` has the table of the text as that model's pieces
counts_bytes() {
    start=1
    for set in train dev test; do
        size=$(awk -v set=$set '$1 == set { print $3 }' out)
        tail -c +$start text | head -c "$size" >part
        spm_encode --model="$1" --output_format=piece <part | tr -s ' ' '\n' >written
        first=$(head -n 1 written | sed 's/^▁//' | tr -d '\n' | wc -c)
        awk -v set=$set -v first="$first" '$1 == set { exit !(sprintf("%.3f", ($3 - first) / ($2 - 1)) == $4) }' out ||
            fail "bytes a token of $set, whose first token has $first: $(cat out)"
        start=$((start + size))
    done
    [ $start = $((bytes + 1)) ] || fail "the sets have $start bytes"
}
counts_bytes pieces/tokenizer.model
head -n 1 written | grep -q '^▁' && fail "this model adds a blank"
spm_train --input=text --model_prefix=blank --vocab_size=320 --model_type=bpe --byte_fallback=true \
    --normalization_rule_name=identity --add_dummy_prefix=true --remove_extra_whitespaces=false \
    --allow_whitespace_only_pieces=true --minloglevel=3 >found 2>&1 || fail "spm_train: $(cat found)"
"$locus" data make text --train-text text --model blank.model -o blanks >out || fail "a model that adds a blank"
counts_bytes blank.model
head -n 1 written | grep -q '^▁' || fail "this model adds no blank"
"$locus" data make text --train-text text --vocabulary 320 -o again >out
cmp pieces/train.tokens again/train.tokens || fail "the same text gives another vocabulary"
"$locus" data make text --train-text text --model pieces/tokenizer.model -o third >out
cmp pieces/test.tokens third/test.tokens || fail "a model that is there is not applied as it is"
"$locus" data make text --train-text text -o again >out
[ ! -e again/tokenizer.model ] || fail "the model of another vocabulary stayed"
refuses 1 "Vocabulary size too high" "$locus" data make text --train-text text --vocabulary 99999 -o no
printf 'the house\nthe \342\230\203 water\n' >snow
spm_train --input=text --model_prefix=plain --vocab_size=60 --model_type=bpe --minloglevel=1 2>log || fail "$(cat log)"
refuses 1 "train set: the vocabulary of 'plain.model' lacks" "$locus" data make text --train-text snow --dev-text text \
    --test-text text --model plain.model -o no
refuses 1 "spm_encode is not on the PATH: install it (Debian: sentencepiece)" \
    env PATH="$work" "$locus" data make text --train-text text --model pieces/tokenizer.model -o no
[ ! -e no ] || fail "a refused command left a folder"
