#!/bin/sh
# SPDX-License-Identifier: MIT
# The binary interface is the recorded one: functions, their types, the layouts of public structs (abigail-tools).
#
#   sh tests/lint/abi.sh          compares with tests/lint/liblocus.abi
#   sh tests/lint/abi.sh record   writes that file: after a change that was meant, with a line in CHANGELOG
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
build=${LOCUS_BUILD:-build/release}
recorded=tests/lint/liblocus.abi

for tool in abidw abidiff nm; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "the recorded interface is of x86_64"; exit 77; }
[ -f "$build/liblocus.a" ] || { echo "there is no liblocus.a in $build"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What defines a public function, compiled with debug information: types are read from that.
nm -D --defined-only "$build/liblocus.so" | awk '{ print $NF }' | sed 's/@.*//' | sort -u >"$work/public"
nm -A -g --defined-only "$build/liblocus.a" 2>/dev/null | awk '{ sub(/.*liblocus\.a:/, ""); print }' |
    awk 'NR == FNR { public[$1]; next } $NF in public { sub(/\.c\.o:.*/, ".c"); print }' "$work/public" - | sort -u >"$work/names"
while read -r name; do
    find src -name "$name"
done <"$work/names" >"$work/sources"
# shellcheck disable=SC2046 # names of files, to be split
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -g -O0 -fPIC -fvisibility=hidden -Iinclude -Isrc -shared -o "$work/liblocus.so" \
    $(cat "$work/sources")
abidw --headers-dir include/locus --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
    --out-file "$work/now.abi" "$work/liblocus.so"

if [ "${1:-}" = record ]; then
    cp "$work/now.abi" "$recorded"
    echo "recorded $(wc -l <"$recorded") lines in $recorded"
    exit
fi
abidiff --no-added-syms "$recorded" "$work/now.abi" >"$work/broken" 2>&1 || {
    cat "$work/broken"
    echo "programs that were built with the recorded interface would break: if that is meant, 'sh tests/lint/abi.sh record'"
    exit 1
}
abidiff "$recorded" "$work/now.abi" >"$work/grown" 2>&1 || {
    cat "$work/grown"
    echo "the interface has grown: 'sh tests/lint/abi.sh record'"
    exit 1
}
