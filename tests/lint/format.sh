#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file is formatted as .clang-format says (`./dev format` does it). The formatter's major version is fixed, because
# versions differ in details.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"

command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
case $(clang-format --version) in
*"version 14."*) ;;
*) echo "formatting is checked with clang-format 14 only"; exit 77 ;;
esac

# One line for each file is enough to know; the formatter itself would print every place.
places=$(sh tools/lint-files.sh '*.c' '*.h' | xargs clang-format --dry-run 2>&1) || { echo "$places"; exit 1; }
[ -z "$places" ] || {
    echo "$places" | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning.*/\1: not formatted, .\/dev format does it/p' | uniq -c
    exit 1
}
