#!/bin/sh
# SPDX-License-Identifier: MIT
# locus runs: names that several runs begin with, deleting with what killed processes left, runs as JSON and back.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

for name in a-one a-two a-three a-four b-one; do
    "$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 1 \
        --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
        --store s/locus.db --name "$name" || fail "train: $?"
done

# The first three that were made are named, and that there are more.
says() {
    expected=$1
    shift
    got=0
    "$locus" runs "$@" --store s/locus.db >out 2>err || got=$?
    [ "$got" = 1 ] || fail "runs $*: $got"
    [ "$(cat err)" = "locus: $expected" ] || fail "runs $* says: $(cat err)"
}
tail="give more of the name, or a number of 'locus runs'"
says "4 runs begin with 'a-': a-one, a-two, a-three, …; $tail" show a-
says "2 runs begin with 'a-t': a-two, a-three; $tail" show a-t
"$locus" runs delete a-two --store s/locus.db --quiet
says "3 runs begin with 'a': a-one, a-three, a-four; $tail" show a
says "no run 'c' in the store 's/locus.db': \`locus runs\` lists them" show c
"$locus" runs show b --store s/locus.db | grep -q '^name  *b-one$' || fail "a beginning that is unique"

# A run goes with everything that was made for it; what somebody else put there stays, with the folder.
touch s/a-one/.last.safetensors.tmp-0123456789abcdef s/a-one/.best.safetensors.tmp-fedcba9876543210
"$locus" runs delete a-one --store s/locus.db --quiet
[ ! -e s/a-one ] || fail "left over: $(ls -A s/a-one)"
echo mine >s/a-four/notes
"$locus" runs delete a-four --store s/locus.db --quiet
[ "$(ls -A s/a-four)" = notes ] || fail "left over: $(ls -A s/a-four)"

# A resumed training removes them before it goes on.
touch s/b-one/.last.safetensors.tmp-0123456789abcdef
"$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 1 \
    --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet \
    --store s/locus.db --name b-one
[ ! -e s/b-one/.last.safetensors.tmp-0123456789abcdef ] || fail "a resume leaves what a killed process left"

# As JSON and back: the same bytes, and a run that says what it lacks.
train() {
    "$locus" train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 1 \
        --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet "$@"
}
train --store s/locus.db --name b-two --seed 9007199254740991
"$locus" runs export --store s/locus.db -o one.json 2>err || fail "export: $(cat err)"
[ "$(cat err)" = "locus: exported 3 runs to one.json" ] || fail "export says: $(cat err)"
"$locus" runs import one.json --store other/locus.db 2>err || fail "import: $(cat err)"
[ "$(cat err)" = "locus: one.json: imported 3 runs" ] || fail "import says: $(cat err)"
"$locus" runs export --store other/locus.db -o two.json --quiet
cmp one.json two.json || fail "a store that was imported is written as another file"
"$locus" runs --store other/locus.db | grep -q '9007199254740991 .*imported .*b-two$' || fail "not marked: $("$locus" runs --store other/locus.db)"
"$locus" runs import one.json --store other/locus.db 2>err || fail "import again: $(cat err)"
[ "$(cat err)" = "locus: one.json: imported 0 runs; the others were there already" ] || fail "import again says: $(cat err)"
# Such runs have no files: what is called like them belongs to somebody else.
mkdir other/b-two other/renamed.too && echo "not yours" >other/b-two/best.safetensors
"$locus" runs rename b-two b-other --store other/locus.db --quiet
"$locus" runs rename b-other b-two --store other/locus.db --quiet
[ "$(ls other/b-two)" = best.safetensors ] && [ ! -e other/b-other ] || fail "rename of an imported run moved files: $(ls other/b-two)"
cp -R other kept
"$locus" runs delete b-two --store kept/locus.db --quiet
[ -e kept/b-two/best.safetensors ] || fail "delete of an imported run took files of another one"
rm -r other/b-two other/renamed.too
for store in '' ':memory:'; do
    refuses 2 "--store '$store' is no file" "$locus" runs --store "$store"
    refuses 2 "--store '$store' is no file" "$locus" train --task copy --encoding none --store "$store"
done
"$locus" runs export b-two b-one --store s/locus.db -o part.json --quiet
[ "$(grep -c '^"name"' part.json)" = 2 ] || fail "export of two: $(grep '^"name"' part.json)"

refuses() {
    code=$1
    expected=$2
    shift 2
    got=0
    "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] && [ "$(cat err)" = "locus: $expected" ] || fail "$* ended with $got and says: $(cat err)"
}
without="the run 'b-two' was imported: it has scores and curves here, but no checkpoint; train it with --restart to have one"
refuses 1 "$without" "$locus" eval b-two --store other/locus.db
refuses 1 "$without" "$locus" generate b-two --input '1 2 3' --store other/locus.db
refuses 1 "$without" train --store other/locus.db --name b-two --seed 9007199254740991 --test-lengths 8
train --store other/locus.db --name b-two --seed 9007199254740991 # it is done
train --store other/locus.db --name b-two --seed 9007199254740991 --restart
"$locus" eval b-two --store other/locus.db >out || fail "trained again, it has a checkpoint"

# Of a file that is wrong somewhere nothing is taken.
sed 's/"seed": 9007199254740991,/"seed": -1,/' one.json >bad.json
refuses 1 "'bad.json' cannot be imported: run 3: \"seed\" is no integer from 0 to 2^53" \
    "$locus" runs import bad.json --store bad/locus.db
[ "$("$locus" runs --store bad/locus.db)" = "no runs" ] || fail "a part of a bad file was taken"
refuses 1 "cannot read 'none.json': No such file or directory" "$locus" runs import none.json --store bad/locus.db
head -n 12 one.json | head -c -4 >bad.json # in the middle of a line, however long numbers are
refuses 1 "'bad.json' is no JSON: line 12 cannot be read" "$locus" runs import bad.json --store bad/locus.db
refuses 2 "runs export: where to? -o FILE is missing" "$locus" runs export --store s/locus.db
refuses 1 "there is no finished run to export" "$locus" runs export --store bad/locus.db -o x.json
refuses 2 "runs import: which file? Run stores, or what 'locus runs export' and 'locus reproduce' write" "$locus" runs import
refuses 2 "runs: 'send' is none of 'show', 'diff', 'rename', 'note', 'delete', 'export', 'import'" "$locus" runs send --store s/locus.db
refuses 1 "no run 'c' in the store 's/locus.db': \`locus runs\` lists them" "$locus" runs export c -o x.json --store s/locus.db
[ ! -e x.json ] || fail "an export that failed left a file"

# The list tells runs apart that differ in their scales alone.
train --store t/locus.db --name plain --embedding-init unit
train --store t/locus.db --name both --embedding-init unit --encoding sinusoidal --position-scale sqrt-dim \
    --logit-scale inverse-sqrt-dim
"$locus" runs --store t/locus.db >out
grep -q ' unit  *0 .*plain$' out && grep -q ' unit, positions ×√D, logits /√D  *0 .*both$' out ||
    fail "scales in the list: $(cat out)"
echo "ok"
