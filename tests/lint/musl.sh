#!/bin/sh
# SPDX-License-Identifier: MIT
# liblocus compiles against another C library, musl.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
command -v musl-gcc >/dev/null || { echo "musl-gcc is not installed"; exit 77; }
case $(uname -m) in
x86_64 | amd64)
    sh tools/compile-check.sh 'AVX2 AVX512' musl-gcc -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
    ;;
*) sh tools/compile-check.sh NEON musl-gcc ;;
esac
