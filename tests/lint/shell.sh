#!/bin/sh
# SPDX-License-Identifier: MIT
# Shell scripts are POSIX shell (those that say bash, bash): at least they parse; with shellcheck installed, it finds no error.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
status=0

for script in dev .ci/run $(sh tools/lint-files.sh '*.sh'); do
    case $(head -n 1 "$script") in
    *bash*) shell=bash ;;
    '#!/bin/sh'*) shell=$(command -v dash || echo sh) ;;
    *) echo "$script: its first line names no shell"; status=1; continue ;;
    esac
    "$shell" -n "$script" || status=1
    if command -v shellcheck >/dev/null; then
        shellcheck --severity=error "$script" || status=1
    fi
done
for script in dev .ci/run; do
    [ -x "$script" ] || { echo "$script is not executable"; status=1; }
done
exit $status
