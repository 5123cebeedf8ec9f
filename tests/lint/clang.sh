#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file compiles with clang, without a warning. Warnings come from reading a file, so no code is generated.
# LOCUS_CLANG names another clang.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
clang=${LOCUS_CLANG:-clang}
command -v "$clang" >/dev/null || { echo "there is no $clang"; exit 77; }
command -v python3 >/dev/null || { echo "there is no python3, which reads the commands"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -G Ninja -S . -B "$work" -DCMAKE_C_COMPILER="$clang" -DCMAKE_BUILD_TYPE=Debug -DLOCUS_WERROR=ON \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
ninja -C "$work" page_texts.c >"$work/log" || { cat "$work/log"; exit 1; } # which a program writes
exec python3 tests/lint/read_all.py "$work/compile_commands.json"
