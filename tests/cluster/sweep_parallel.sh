#!/bin/sh
# SPDX-License-Identifier: MIT
# The line that `reproduce --parallel` prints, run by GNU parallel: a store for each training, merged, the table of one
# machine.
. "${LOCUS_SOURCE:?}/tests/cluster/cells.inc"
[ "${LOCUS_CLUSTER:-}" = long ] || { echo "a minute long: ./dev test cluster runs it"; exit 77; }
command -v parallel >/dev/null || { echo "there is no GNU parallel here"; exit 77; }
PATH=$(dirname "$locus"):$PATH

train_one
split_one
# shellcheck disable=SC2086
"$locus" $table --jobs 2 --threads 1 --parallel >line || fail "--parallel: $?"
sh -e line >table 2>err || fail "GNU parallel: $(cat err)"
for cell in 1 2 3; do
    [ "$("$locus" runs --store "$parts/$cell/part-$cell.db" --format csv | wc -l)" = 2 ] || fail "store $cell: $(ls "$parts")"
done
compare_with_one "$parts" table
sh -e line >again 2>err || fail "once more: $(cat err)" # what is done is not trained again
cmp table again || fail "once more, another table: $(diff table again)"
echo "ok"
