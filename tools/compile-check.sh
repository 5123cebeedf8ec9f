#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file of liblocus compiles without a warning for another system: its syntax and types alone, which takes seconds.
# usage: sh tools/compile-check.sh 'INSTRUCTION SETS' COMPILER [FLAG…]     as in src/kernels/simd.h: 'AVX2 AVX512', …
set -eu
isas=$1
shift
files=$(sh tools/lint-files.sh 'src/*.c')
doubles=$(sh tools/lint-files.sh 'src/*_typed.c')
kernels='src/kernels/kernels_level.c src/kernels/half_level.c'
[ -n "$files" ] && [ -n "$doubles" ] || { echo "no source files found"; exit 1; }
# -O1: without it some intrinsics are macros. Sizes are constants of nameless enumerations (cmake/LocusFlags.cmake).
check() {
    "$@" -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wno-enum-float-conversion -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math -O1 \
        -fsyntax-only
}
# shellcheck disable=SC2086
check "$@" $files
# shellcheck disable=SC2086
check "$@" -DLOCUS_REAL_BITS=64 $doubles src/kernels/kernels_level.c
for isa in $isas; do
    # shellcheck disable=SC2086
    check "$@" -DLOCUS_SIMD="LOCUS_SIMD_$isa" $kernels
    check "$@" -DLOCUS_SIMD="LOCUS_SIMD_$isa" -DLOCUS_REAL_BITS=64 src/kernels/kernels_level.c
done
# Products of bfloat16, as cmake/LocusFlags.cmake builds them: those of tiles for Linux alone.
case $isas in
*AVX512*)
    level="$* -mavx512bf16 -DLOCUS_SIMD=LOCUS_SIMD_AVX512 -DLOCUS_WITH_AVX512_BF16"
    files='src/kernels/bfloat16_level.c src/kernels/dispatch.c'
    # shellcheck disable=SC2086
    check $level -DLOCUS_BFLOAT16_LEVEL=1 $files
    if echo __linux__ | "$1" -E - | grep -qx 1; then
        # shellcheck disable=SC2086
        check $level -mamx-tile -mamx-bf16 -DLOCUS_WITH_AMX -DLOCUS_BFLOAT16_LEVEL=2 $files
    fi
    ;;
esac
