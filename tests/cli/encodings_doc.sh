#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/encodings.md tells the truth: every encoding has its section and every option its row there, with the values and
# the default of the registry, and there are no others; what the table at the top says in a word is so; commands run
# without a word on standard error, and pictures are those that they make, and no others.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

page=$LOCUS_SOURCE/docs/encodings.md
: >.out/stdout
: >.out/stderr
mkdir .bin
ln -s "$LOCUS" .bin/locus
PATH=$PWD/.bin:$PATH
export PATH

# One line for each option of the registry, written as the page writes its row:
# encoding <TAB> | `option` | values | `default` |, choices one by one, and a dash for no default.
locus encodings --json >.out/registry
awk -F'"' '
    $2 == "name" { name = $4 }
    $2 == "summary" { encoding = name }
    $2 == "values" {
        values = $4
        if (values ~ /^[a-z0-9_|-]+$/ && values ~ /[|]/) {
            gsub(/[|]/, "`, `", values)
            values = "`" values "`"
        }
    }
    $2 == "default" { initial = $4 == "" ? "–" : "`" $4 "`" }
    $2 == "meaning" { printf "%s\t| `%s` | %s | %s | %s |\n", encoding, name, values, initial, $4 }
' .out/registry | sort >.out/written
sed 's/\(.* |\) [^|]* |$/\1/' .out/written | sort >.out/options
awk -F'"' '$2 == "name" { name = $4 } $2 == "summary" { print name }' .out/registry >.out/names
[ "$(wc -l <.out/options)" -ge 100 ] || complain "only $(wc -l <.out/options) options found in the registry"

# The same from the page: rows of option tables below their encoding's heading. "The options of [`rope`](#rope), but
# for `values`" stands for rows of that section.
awk '
    /^## / { encoding = "" }
    /^### / { encoding = substr($0, 5); order[++count] = encoding }
    /^\| option / { inside = 1 }
    !/^\|/ { inside = 0 }
    encoding != "" && inside && /^\| `/ {
        split($0, cells, / \| /)
        rows[encoding] = rows[encoding] encoding "\t" cells[1] " | " cells[2] " | " cells[3] " |\n"
    }
    encoding != "" && /^The options of \[`/ {
        split($0, words, "`")
        from[encoding] = words[2]
        without[encoding] = /but for/ ? words[4] : ""
    }
    END {
        for (i = 1; i <= count; i++) {
            encoding = order[i]
            printf "%s", rows[encoding]
            lines = split(from[encoding] in rows ? rows[from[encoding]] : "", given, "\n")
            for (j = 1; j < lines; j++) {
                row = given[j]
                sub(/^[^\t]*/, encoding, row)
                if (without[encoding] == "" || !index(row, "| `" without[encoding] "` |"))
                    print row
            }
        }
    }
' "$page" | sort >.out/rows
checks=$((checks + $(wc -l <.out/options)))
diff .out/options .out/rows >.out/difference || {
    sed -n 's/^> /not in the registry: /p' .out/difference
    sed -n 's/^< //p' .out/difference >.out/missing
    # Whole rows, as they can be put in: what an option means is the registry's word, too.
    grep -Ff .out/missing .out/written | sed 's/^/missing on the page: /'
    complain "docs/encodings.md and the registry have different options"
}

# Headings; and at the top what is learned, and whether scores are relative, which `locus check` measures.
sed -n 's/^### //p' "$page" | grep -vxFf .out/names >.out/strangers &&
    complain "sections of no encoding: $(cat .out/strangers)"
while IFS= read -r name; do
    checks=$((checks + 3))
    grep -qxF "### $name" "$page" || complain "docs/encodings.md has no section '$name'"
    row=$(grep -F "| [\`$name\`](#$name) |" "$page") || complain "'$name' is not in the table at the top"
    holds=$(locus check "$name" --json |
        awk -F'[:,\t]+' '/"relativity"/ { inside = 1 } inside && /"holds"/ { print $3; exit }')
    says=$(printf '%s\n' "$row" | awk -F' *[|] *' '{ print $7 ~ /^yes/ ? "true" : "false" }')
    [ "$holds" = "$says" ] || complain "the table at the top about '$name': relative: $says, measured: $holds"
    learned=$(awk -F'"' -v n="$name" '$2 == "name" { name = $4 }
        $2 == "learned" && name == n { print $4 != ""; exit }' .out/registry)
    says=$(printf '%s\n' "$row" | awk -F' *[|] *' '{ print $4 != "–" }')
    [ "$learned" = "$says" ] || complain "the table at the top about '$name': learned: $says, in the registry: $learned"
done <.out/names

awk '/^```/ { inside = $0 == "```sh"; next } inside' "$page" >.out/commands
lines=0
while IFS= read -r line; do
    lines=$((lines + 1))
    checks=$((checks + 1))
    sh -c "$line" >.out/stdout 2>.out/stderr </dev/null
    status=$?
    [ "$status" -eq 0 ] && [ ! -s .out/stderr ] || complain "$line (exit $status)"
done <.out/commands
[ "$lines" -ge 16 ] || complain "only $lines commands found in $page"

# Every picture of the page, of this folder and of docs/pictures/encoding-*.
{
    sed -n 's/.*](pictures\/\([^)]*\)).*/\1/p' "$page"
    for file in *.svg "$LOCUS_SOURCE"/docs/pictures/encoding-*.svg; do
        printf '%s\n' "${file##*/}"
    done
} | sort -u >.out/pictures
while IFS= read -r picture; do
    checks=$((checks + 1))
    kept=$LOCUS_SOURCE/docs/pictures/$picture
    if ! grep -qF "](pictures/$picture)" "$page"; then
        complain "$picture is made, or kept in docs/pictures, but not shown on the page"
    elif [ ! -s "$picture" ]; then
        complain "$picture is shown on the page, but no command there makes it"
    elif [ ! -s "$kept" ]; then
        complain "docs/pictures/$picture is missing"
    elif ! alike "$picture" "$kept"; then
        complain "docs/pictures/$picture is not what its command makes: make it again"
    elif [ "$(wc -c <"$kept")" -gt 120000 ]; then
        complain "docs/pictures/$picture is larger than 120 kB"
    fi
done <.out/pictures
finish
