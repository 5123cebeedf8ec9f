#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header compiles alone, without a warning, as C11 and as C++11. Each public struct is listed in version.h,
# and those that begin with their size are tried with sizes of other versions (unit.border_structs).
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
status=0
checked=0

# check LANGUAGE COMPILER STANDARD
check() {
    command -v "$2" >/dev/null || return 0
    for header in include/locus/*.h; do
        checked=$((checked + 1))
        echo "#include <locus/${header##*/}>" |
            "$2" -x "$1" "-std=$3" -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror -Iinclude - ||
            { echo "$header does not compile alone with $2 -std=$3"; status=1; }
    done
}

check c gcc c11
check c clang c11
check c++ g++ c++11
check c++ clang++ c++17

# "NAME sized|plain" of every struct with fields.
structs() {
    awk '/^typedef struct [a-z_]+ \{/ { name = $3; getline; print name, ($0 ~ /^    size_t size;/ ? "sized" : "plain") }' \
        include/locus/*.h
}

# What version.h lists: "_word" and the like begin as the name before them in their line does.
listed=$(sed -n '/Structs that callers fill in/,/\*\//p' include/locus/version.h | grep -oE '\b(locus)?_[a-z_]+' |
    awk '/^locus_/ { stem = $0; sub(/_[a-z]+$/, "", stem); print; next } { print stem $0 }' | sort -u)
findings=$(structs | while read -r name kind; do
    echo "$listed" | grep -qx "$name" || echo "$name is not in the list of structs of include/locus/version.h"
    [ "$kind" = plain ] || [ "$name" = locus_extension_batch ] || grep -q "sizeof($name)" tests/unit/test_border_structs.c ||
        echo "$name begins with its size, but tests/unit/test_border_structs.c does not try others"
done)
[ -z "$findings" ] || { echo "$findings"; status=1; }
[ "$(structs | wc -l)" -gt 30 ] || { echo "the public structs were not found"; status=1; }
[ "$checked" -gt 0 ] || { echo "no compiler found"; exit 77; }
exit $status
