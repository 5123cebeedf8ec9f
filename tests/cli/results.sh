#!/bin/sh
# SPDX-License-Identifier: MIT
# Each page of docs/results follows from the runs beside it (what was written by hand below: results_written.sh).
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

results=$LOCUS_SOURCE/docs/results
status=0
complain() {
    echo "FAILED: $*" >&2
    status=1
}

held=0
for page in "$results"/*.md; do
    name=$(basename "$page" .md)
    [ "$name" != README ] || continue
    held=$((held + 1))
    if [ -e "$results/$name.json" ]; then
        "$locus" reproduce --from "$results/$name.json" --check || complain "$name.md is not what its runs give"
    else
        complain "$name.md has no $name.json"
    fi
done
for json in "$results"/*.json; do
    [ ! -e "$json" ] || [ -e "${json%.json}.md" ] || complain "$json has no page"
done

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

echo "$held pages are what their runs give"
exit $status
