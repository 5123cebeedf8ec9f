#!/bin/sh
# SPDX-License-Identifier: MIT
# Static analysis by clang-tidy, by the checks of .clang-tidy: every finding is printed, and counted in the last line.
# usage: tools/analyze.sh BUILD [FILE…]     BUILD has compile_commands.json; without FILE every C file of src/, lab/ and
# cli/ that this machine compiles; LOCUS_JOBS run at once; status 1: there is a finding, or nothing was analysed
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What compiles here: kernels of other processors do not.
sed -n "s|^ *\"file\": \"$(pwd -P)/\(.*\)\",*\$|\1|p" "$build/compile_commands.json" | sort -u >"$work/known"
if [ $# = 0 ]; then
    grep -E '^(src|lab|cli)/' "$work/known" >"$work/files" || true
else
    for file in "$@"; do
        file=${file#./}
        case $file in
        *.h) echo "analyze: $file: headers are analysed with the files that include them" >&2; continue ;;
        *.c) ;;
        *) continue ;;
        esac
        grep -qxF "$file" "$work/known" || { echo "analyze: '$file' is not compiled here" >&2; exit 2; }
        echo "$file"
    done >"$work/files"
fi
count=$(wc -l <"$work/files")
[ "$count" -gt 0 ] || { echo "analyze: there is no C file to analyse" >&2; exit 1; }

# One file. tools/analyzer.h tells what the analyzer cannot see; the files that define what it names do without, and so
# do those that choose the C library's features, which must come first.
without="^#define _[A-Z]|^[a-z_]+ ($(sed -n 's/^#define \([a-z_]*\)(.*/\1/p' tools/analyzer.h | paste -sd '|' -))\\("
# shellcheck disable=SC2016 # for the inner shell
one='
    told=--extra-arg-before=-include$3/tools/analyzer.h
    ! grep -qE "$WITHOUT" "$4" || told=
    log=$2/$(echo "$4" | tr / .)
    clang-tidy --quiet -p "$1" $told "$4" >"$log.log" 2>"$log.errors" || echo "$4" >"$log.failed"'
WITHOUT=$without xargs -n 1 -P "${LOCUS_JOBS:-1}" sh -c "$one" analyze "$build" "$work" "$(pwd -P)" <"$work/files"

# A header's finding is reported by every file that includes it.
cat "$work"/*.log | grep -E '^[^ ].*: (warning|error): ' | sort -u >"$work/findings" || true
for failed in "$work"/*.failed; do
    [ -e "$failed" ] || continue
    cat "${failed%.failed}.log"
    grep -qE ': (warning|error): ' "${failed%.failed}.log" || { cat "${failed%.failed}.errors"; cat "$failed" >>"$work/findings"; }
done
findings=$(wc -l <"$work/findings")
echo "$((count)) files analysed, $((findings)) findings"
[ "$findings" = 0 ]
