#!/bin/sh
# SPDX-License-Identifier: MIT
# The pages of docs/results follow from the runs beside them (what was written by hand below: results_written.sh). A
# page without its runs is in the list of docs/results/README.md, and says so itself.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

results=$LOCUS_SOURCE/docs/results
status=0
complain() {
    echo "FAILED: $*" >&2
    status=1
}

# name, reason and command of the pages without data
sed -n 's/^| \[\([^]]*\)\]([^)]*) | \(.*\) | `\(.*\)` |$/\1\t\2\t\3/p' "$results/README.md" >list
listed() {
    cut -f1 list | grep -qx "$1"
}

held=0
without=0
for page in "$results"/*.md; do
    name=$(basename "$page" .md)
    [ "$name" != README ] || continue
    if [ -e "$results/$name.json" ]; then
        held=$((held + 1))
        "$locus" reproduce --from "$results/$name.json" --check || complain "$name.md is not what its runs give"
        ! listed "$name" || complain "$name has its runs: strike it from the list of pages without data"
        ! grep -q '^The data of this page was not kept' "$page" || complain "$name has its runs and says that it has not"
    else
        without=$((without + 1))
        listed "$name" || complain "$name.md has no $name.json, and is not in the list of pages without data"
        head -n 5 "$page" | grep -q '^The data of this page was not kept' || complain "$name.md does not say that it has no data"
    fi
done
for json in "$results"/*.json; do
    [ ! -e "$json" ] || [ -e "${json%.json}.md" ] || complain "$json has no page"
done
while IFS="$(printf '\t')" read -r name reason command; do
    [ -e "$results/$name.md" ] || complain "the list of pages without data has $name, which is none"
    [ -n "$reason" ] && [ -n "$command" ] || complain "the list says neither why $name has no data nor what makes it again"
done <list

# The test itself: another digit in a table, a line that is missing.
for json in "$results"/*.json; do
    [ -e "$json" ] || continue
    name=$(basename "$json" .json)
    cp "$json" .
    alters() {
        sed "$1" "$results/$name.md" >"$name.md"
        cmp -s "$results/$name.md" "$name.md" && return
        if "$locus" reproduce --from "$name.json" --check 2>err || ! grep -q ': line [0-9]' err; then
            complain "$name: '$1' is not noticed: $(cat err)"
        fi
    }
    alters 's/^\(| [a-z].* | \**[0-9]*\.[0-9]\)[0-4]/\19/'
    alters 's/^\(| [a-z].* | \**[0-9]*\.[0-9]\)[5-9]/\10/'
    alters 's/\*\*SUPPORTED/**CONTRADICTED/'
    alters 's/\*\*OPEN/**SUPPORTED/'
    alters '1,/^## Conditions/{/^- \*\*/d;}'
done
# The interactive page of the same runs, and nothing else.
mkdir pages
for json in "$results"/*.json; do
    [ -e "$json" ] || continue
    name=$(basename "$json" .json)
    "$locus" reproduce --quiet --from "$json" -o "pages/$name.html" >out 2>&1 && [ ! -s out ] || complain "$name: no page: $(cat out)"
    grep -q 'id="data">{"format":"locus-page","version":1,"sections":\[{' "pages/$name.html" || complain "$name: its page has no data"
done
[ "$(find pages -type f | wc -l)" = "$held" ] || complain "-o wrote other files: $(ls pages)"
refused() {
    got=0
    "$locus" reproduce "$@" >out 2>err || got=$?
    [ "$got" = 2 ] && [ "$(wc -l <err)" = 1 ] || complain "reproduce $*: $got, $(cat err)"
}
refused --from "$json" -o page.html --check
refused --from "$json" -o page.html --json
refused table1 -o page.html
got=0
"$locus" reproduce --from "$json" -o nowhere/page.html >out 2>err || got=$?
[ "$got" = 1 ] && grep -q nowhere err || complain "a page in no folder: $got, $(cat err)"

echo "$held pages are what their runs give; $without have no data"
exit $status
