#!/bin/sh
# SPDX-License-Identifier: MIT
# Includes between rooms obey the dependency law; the algebra knows no floating-point numbers, but for positions, which may
# store them.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"

files=$(sh tools/lint-files.sh 'include/*.h' 'src/*.[ch]' 'lab/*.[ch]' 'cli/*.[ch]')
[ -n "$files" ] || { echo "no source files found"; exit 1; }
# shellcheck disable=SC2086 # a list of names
awk -f tools/lint-includes.awk $files

# shellcheck disable=SC2046
if grep -nEw '^[^/*]*\b(float|double)\b|<math\.h>' $(sh tools/lint-files.sh 'src/algebra/*.[ch]') /dev/null |
    grep -vE '^src/algebra/(positions|positions_real|positions_access)\.[ch]:[0-9]*:.*\bdouble\b'; then
    echo "src/algebra is integers only"
    exit 1
fi
