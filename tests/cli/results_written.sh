#!/bin/sh
# SPDX-License-Identifier: MIT
# What was written by hand in docs/results says what the runs there give, and runs of one name are the same on all pages
# (tools/check_written.py, whose own test is docs.written).
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

command -v python3 >/dev/null || {
    echo "python3 is not there"
    exit 77
}
written() {
    python3 "$LOCUS_SOURCE/tools/check_written.py" "$locus" "$@"
}
written "$LOCUS_SOURCE"/docs/results/*.json "$LOCUS_SOURCE/docs/results/README.md" || fail "this is not what the runs give"

# The test itself, in a copy: another digit on each page and in README.md, and runs that are named wrongly.
mkdir docs
cp "$LOCUS_SOURCE"/docs/*.md docs
cp "$LOCUS_SOURCE/CHANGELOG.md" .
altered() { # SCRIPT WHAT
    rm -rf docs/results
    cp -r "$LOCUS_SOURCE/docs/results" docs
    changed=
    for json in docs/results/*.json docs/results/README.json; do
        page=${json%.json}.md
        sed "$1" "$page" >page.md
        cmp -s page.md "$page" || changed="$changed $page"
        mv page.md "$page"
    done
    ! written docs/results/*.json docs/results/README.md 2>err || fail "'$1' is not noticed"
    ! grep 'there is no file' err || fail "the copy lacks a file that a page leads to"
    for page in $changed; do
        grep -q "^$page: line [0-9]" err || fail "$page: '$1' is not noticed: $(cat err)"
    done
    grep -q "$2" err || fail "'$1': nobody says '$2': $(cat err)"
}
altered '/^## [CR]/,$s/[0-4]\([^]0-9]*\](.*json#\)/9\1/; /^| `reverse-/d' 's1-cc3d3578 has other scores'
altered '/^## [CR]/,$s/[5-9]\([^]0-9]*\](.*json#\)/0\1/; s/^| `reverse-[^`]*s2-/&00000000` `copy-rope-quick-s0-1ff55459` `/' \
    'copy-rope-quick-s0-1ff55459 is named, and differs nowhere'
altered '/^## [CR]/,$s/\.\([0-9]\)/.7\1/' 'line'
