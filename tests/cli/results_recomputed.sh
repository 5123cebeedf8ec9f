#!/bin/sh
# SPDX-License-Identifier: MIT
# The pages of docs/results whose runs were not kept say what follows from the means that they print, by today's rules.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

command -v python3 >/dev/null || {
    echo "python3 is not there"
    exit 77
}
results=$LOCUS_SOURCE/docs/results
recompute() {
    python3 "$LOCUS_SOURCE/tools/recompute_results.py" "$@"
}

held=0
for name in $(sed -n 's/^| \[\([^]]*\)\]([^)]*) | .* | `locus reproduce .*` |$/\1/p' "$results/README.md"); do
    recompute --check "$locus" "$results/$name.md" || fail "$name.md: run tools/recompute_results.py and read what it says"
    held=$((held + 1))

    # The test itself: another verdict, another mean.
    sed 's/^- \*\*OPEN at/- **SUPPORTED at/' "$results/$name.md" >altered.md
    ! recompute --check "$locus" altered.md >out 2>&1 || fail "$name.md: another verdict is not noticed"
    sed '/^| \(sinusoidal\|rope\) |/s/\(| \**\)\([0-9]\)/\17\2/' "$results/$name.md" >altered.md
    ! recompute --check "$locus" altered.md >out 2>&1 || fail "$name.md: another mean is not noticed"
done
echo "$held pages say what follows from their means"
