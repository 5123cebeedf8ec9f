#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header compiles alone, without a warning, as C11 and as C++11.
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
[ "$checked" -gt 0 ] || { echo "no compiler found"; exit 77; }
exit $status
