#!/bin/sh
# SPDX-License-Identifier: MIT
# liblocus compiles for Windows: MinGW with winpthreads. Its isfinite and signbit are macros that convert.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
compiler=x86_64-w64-mingw32-gcc-posix
command -v $compiler >/dev/null || { echo "$compiler is not installed"; exit 77; }
sh tools/compile-check.sh 'AVX2 AVX512' $compiler -Wno-float-conversion \
    -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
