#!/bin/sh
# SPDX-License-Identifier: MIT
# Lists the files of the tree, one to a line, that match any of the patterns given (all files without a pattern): what
# git knows or would add, or, without git, everything outside build/ and runs/.
# usage: tools/lint-files.sh [PATTERN…]     patterns as in '*.c', matched against the whole path
set -eu
cd "$(dirname "$0")/.."

list() {
    if [ -e .git ] && git ls-files >/dev/null 2>&1; then
        # Files that were deleted but not committed are still listed by git.
        git ls-files --cached --others --exclude-standard | while IFS= read -r file; do
            [ ! -f "$file" ] || printf '%s\n' "$file"
        done
    else
        find . \( -name .git -o -path ./build -o -path ./runs -o -name __pycache__ \) -prune -o -type f -print | sed 's|^\./||'
    fi
}

[ $# -gt 0 ] || set -- '*'
list | sort | while IFS= read -r file; do
    for pattern in "$@"; do
        # shellcheck disable=SC2254 # the pattern is meant to be one
        case $file in
        $pattern)
            printf '%s\n' "$file"
            break
            ;;
        esac
    done
done
