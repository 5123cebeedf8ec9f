#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/encodings.md tells the truth: every encoding and every option of the registry stands in it, its commands run without a
# word on standard error, and its pictures are those that the commands make.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

page=$LOCUS_SOURCE/docs/encodings.md
mkdir .bin
ln -s "$LOCUS" .bin/locus
PATH=$PWD/.bin:$PATH
export PATH

# One line for each option, "encoding option", from the registry.
locus encodings --json | tr '{' '\n' | awk -F'"' '
    { for (i = 1; i < NF; i++) if ($i == "name") { if (index($0, "\"summary\"")) encoding = $(i + 2); else print encoding, $(i + 2) } }' >.out/options
locus encodings --json | tr '{' '\n' | awk -F'"' 'index($0, "\"summary\"") { for (i = 1; i < NF; i++) if ($i == "name") print $(i + 2) }' >.out/names
[ "$(wc -l <.out/options)" -ge 40 ] || complain "only $(wc -l <.out/options) options found in the registry"
while IFS= read -r name; do
    checks=$((checks + 1))
    grep -q "^### .*$name" "$page" || complain "docs/encodings.md has no section about '$name'"
done <.out/names
while read -r name option; do
    checks=$((checks + 1))
    grep -q "\`[^\`]*$option" "$page" || complain "docs/encodings.md does not mention option '$option' of '$name'"
done <.out/options

awk '/^```/ { inside = $0 == "```sh"; next } inside' "$page" >.out/commands
lines=0
while IFS= read -r line; do
    lines=$((lines + 1))
    checks=$((checks + 1))
    sh -c "$line" >.out/stdout 2>.out/stderr </dev/null
    status=$?
    [ "$status" -eq 0 ] && [ ! -s .out/stderr ] || complain "$line (exit $status)"
done <.out/commands
[ "$lines" -ge 12 ] || complain "only $lines commands found in $page"

# Coordinates may differ in their last digit from one machine to the next: pictures are compared by their size in lines.
sed -n 's/.*](pictures\/\([^)]*\)).*/\1/p' "$page" >.out/pictures
while IFS= read -r picture; do
    checks=$((checks + 1))
    if [ ! -s "$picture" ]; then
        complain "$picture is shown on the page, but no command there makes it"
    elif [ ! -s "$LOCUS_SOURCE/docs/pictures/$picture" ]; then
        complain "docs/pictures/$picture is missing"
    elif [ "$(wc -l <"$picture")" -ne "$(wc -l <"$LOCUS_SOURCE/docs/pictures/$picture")" ]; then
        complain "docs/pictures/$picture is not what its command makes: make it again"
    fi
done <.out/pictures
finish
