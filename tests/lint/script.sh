#!/bin/sh
# SPDX-License-Identifier: MIT
# The page's script is a script; it makes no markup of texts, evaluates none, fetches nothing and keeps nothing.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
scripts=$(sh tools/lint-files.sh '*.js')
[ -n "$scripts" ] || { echo "there is no script"; exit 1; }

# shellcheck disable=SC2086 # a list of names
if grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|XMLHttpRequest|import\(|localStorage' \
    $scripts; then
    echo "a page must do without"
    exit 1
fi
# shellcheck disable=SC2086
LC_ALL=C.UTF-8 grep -HnE '^.{121}' $scripts && { echo "longer than 120 columns"; exit 1; }

# pages.browser parses it, too.
command -v node >/dev/null || { echo "node is not installed: the script is not parsed"; exit 0; }
for script in $scripts; do node --check "$script"; done
