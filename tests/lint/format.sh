#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C and C++ file is formatted as .clang-format says (`./dev format` does it).
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"

formatter=$(sh tools/formatter.sh) || { echo "there is no clang-format 14"; exit 77; }

# One line for each file is enough to know; the formatter itself would print every place.
places=$(sh tools/lint-files.sh '*.c' '*.h' '*.cpp' '*.hpp' | xargs "$formatter" --dry-run 2>&1) || { echo "$places"; exit 1; }
[ -z "$places" ] || {
    echo "$places" | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning.*/\1: not formatted, .\/dev format does it/p' | uniq -c
    exit 1
}
