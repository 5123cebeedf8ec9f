#!/bin/sh
# SPDX-License-Identifier: MIT
# liblocus compiles for AArch64, NEON kernels included: with a cross compiler if there is one, else clang checks the sources
# against this machine's C headers.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror"

lapacke=$(echo '#include <lapacke.h>' | cc -E - | sed -n 's|^# [0-9]* "\(.*\)/lapacke\.h".*|\1|p' | head -n 1)
mkdir "$work/lapacke"
cp "$lapacke"/lapack*.h "$work/lapacke"

if command -v aarch64-linux-gnu-gcc >/dev/null; then
    compile="aarch64-linux-gnu-gcc"
elif command -v clang >/dev/null; then
    # Where glibc's headers ask for the processor: the size of a word, and a calling convention that 32-bit x86 has.
    mkdir -p "$work/libc/bits" "$work/libc/gnu"
    printf '#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 0\n' >"$work/libc/bits/wordsize.h"
    : >"$work/libc/gnu/stubs.h"
    echo '#define __regparm__(count)' >"$work/libc/attributes.h"
    host=$(cc -print-multiarch 2>/dev/null || true)
    compile="clang --target=aarch64-linux-gnu -include $work/libc/attributes.h -isystem $work/libc -isystem /usr/include/$host -isystem /usr/include"
else
    echo "neither a cross compiler nor clang is installed"
    exit 77
fi

status=0
checked=0
for file in src/*/*.c; do
    case $file in
    *_avx2.c | *_avx512.c) continue ;;
    esac
    checked=$((checked + 1))
    # shellcheck disable=SC2086 # a command and its flags
    $compile -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -isystem "$work/lapacke" $warnings -O1 -fsyntax-only "$file" ||
        status=1
done
[ "$checked" -gt 0 ] || { echo "no source files found"; exit 1; }
exit $status
