#!/bin/sh
# SPDX-License-Identifier: MIT
# liblocus compiles for AArch64, NEON kernels included: with a cross compiler if there is one, else clang checks the sources
# against the C library's headers of that processor.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror"

lapacke=$(echo '#include <lapacke.h>' | cc -E - | sed -n 's|^# [0-9]* "\(.*\)/lapacke\.h".*|\1|p' | head -n 1)
mkdir "$work/lapacke"
cp "$lapacke"/lapack*.h "$work/lapacke"

headers=/usr/aarch64-linux-gnu/include
if [ "$(uname -m)" = aarch64 ]; then
    compile=cc
elif command -v aarch64-linux-gnu-gcc >/dev/null; then
    compile=aarch64-linux-gnu-gcc
elif command -v clang >/dev/null && [ -d "$headers" ]; then
    compile="clang --target=aarch64-linux-gnu -isystem $headers"
else
    echo "there is neither a cross compiler nor clang with the C library's headers for AArch64"
    exit 77
fi

files=
for file in src/*/*.c; do
    case $file in
    *_avx2.c | *_avx512.c) ;;
    *) files="$files $file" ;;
    esac
done
[ -n "$files" ] || { echo "no source files found"; exit 1; }
# shellcheck disable=SC2086 # a command, flags and names
$compile -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -isystem "$work/lapacke" $warnings -O1 -fsyntax-only $files
