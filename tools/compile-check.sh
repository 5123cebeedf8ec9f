#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file of liblocus compiles without a warning for another system: its syntax and types alone, which takes seconds.
# usage: sh tools/compile-check.sh 'INSTRUCTION SETS' COMPILER [FLAG…]     kernels of other instruction sets are left out
set -eu
isas=$1
shift
files=
for file in $(sh tools/lint-files.sh 'src/*.c'); do
    case $file in
    *_avx2.c | *_avx512.c | *_neon.c)
        isa=${file##*_}
        case " $isas " in *" ${isa%.c} "*) ;; *) continue ;; esac
        ;;
    esac
    files="$files $file"
done
[ -n "$files" ] || { echo "no source files found"; exit 1; }
# -O1: without it some intrinsics are macros.
# shellcheck disable=SC2086 # names
"$@" -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
    -Wmissing-prototypes -Werror -ffp-contract=off -fno-math-errno -O1 -fsyntax-only $files
