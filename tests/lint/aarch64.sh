#!/bin/sh
# SPDX-License-Identifier: MIT
# liblocus compiles for AArch64, NEON kernels included: with a cross compiler if there is one, else clang checks the sources
# against the C library's headers of that processor.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
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

# shellcheck disable=SC2086 # a command and its flags
sh tools/compile-check.sh NEON $compile
