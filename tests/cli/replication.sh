#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/replication.md has the table that its runs and those of table1-quick give, and no other.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

python3 -c 'import numpy, scipy, torch' 2>/dev/null || {
    echo "numpy, scipy or torch is not there"
    exit 77
}
docs=$LOCUS_SOURCE/docs

held() {
    grep '^| \(copy\|reverse\), ' "$1" | cmp -s - rows
}

# 1: something is apart, which the page says, too
python3 "$LOCUS_SOURCE/tools/replicate.py" compare "$docs/replication-quick.json" "$docs/results/table1-quick.json" >table ||
    [ $? -eq 1 ] || fail "the runs can't be compared"
sed 1,2d table >rows
[ "$(wc -l <rows)" -ge 12 ] || fail "fewer rows than four cells have"
held "$docs/replication.md" || fail "docs/replication.md has other rows than its runs give: $(cat rows)"

# The test itself: another verdict, another digit.
sed '/^| reverse, /s/agree/APART/' "$docs/replication.md" >altered
! held altered || fail "another verdict is not noticed"
sed '/^| reverse, rope | test/s/99/98/' "$docs/replication.md" >altered
! held altered || fail "another number is not noticed"
echo "$(wc -l <rows) rows are what the runs give"
