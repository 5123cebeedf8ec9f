#!/bin/sh
# SPDX-License-Identifier: MIT
# Every command of docs/algebra.md runs, in the order of the page, with nothing on standard error; the pictures that the
# page shows are made by its commands and are the ones that are kept in docs/pictures/.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

page=$LOCUS_SOURCE/docs/algebra.md
mkdir .bin
ln -s "$LOCUS" .bin/locus
PATH=$PWD/.bin:$PATH
export PATH

awk '/^```/ { inside = $0 == "```sh"; next } inside' "$page" >.out/commands
lines=0
while IFS= read -r line; do
    lines=$((lines + 1))
    checks=$((checks + 1))
    sh -c "$line" >.out/stdout 2>.out/stderr </dev/null
    status=$?
    [ "$status" -eq 0 ] && [ ! -s .out/stderr ] || complain "$line (exit $status)"
done <.out/commands
[ "$lines" -ge 40 ] || complain "only $lines commands found in $page"

sed -n 's/.*](pictures\/\([^)]*\)).*/\1/p' "$page" >.out/pictures
while IFS= read -r picture; do
    checks=$((checks + 1))
    if [ ! -s "$picture" ]; then
        complain "$picture is shown on the page, but no command there makes it"
    elif [ ! -s "$LOCUS_SOURCE/docs/pictures/$picture" ]; then
        complain "docs/pictures/$picture is missing"
    elif ! alike "$picture" "$LOCUS_SOURCE/docs/pictures/$picture"; then
        complain "docs/pictures/$picture is not what its command makes: make it again"
    fi
done <.out/pictures
finish
