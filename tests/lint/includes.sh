#!/bin/sh
# SPDX-License-Identifier: MIT
# The dependency law, file by file (tools/lint_includes.py), in this tree and in one that breaks it; the algebra knows no
# floating-point numbers, but for positions, which may store them.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"

command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
files=$(sh tools/lint-files.sh 'include/*.h' 'src/*.[ch]' 'lab/*.[ch]' 'cli/*.[ch]')
[ -n "$files" ] || { echo "no source files found"; exit 1; }
# shellcheck disable=SC2086 # a list of names
python3 tools/lint_includes.py --build "${LOCUS_BUILD:-build/release}" $files

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/src/core" "$work/src/spec" "$work/src/encodings" "$work/cli"
cp tools/lint_includes.py "$work/tools"
echo '#include "core/second.h"' >"$work/src/core/first.h"
echo '#include "spec/high.h"' >"$work/src/core/second.h"
echo '#include "core/first.h"' >"$work/src/core/first.c"
echo '#include "core/first.h"' >"$work/src/core/second.c"
: >"$work/src/spec/high.h"
: >"$work/src/encodings/helper.c"
seq 5001 >"$work/cli/first.c"
seq 5000 >"$work/cli/second.c"
if (cd "$work" && python3 tools/lint_includes.py src/*/*.[ch] cli/*.c) >"$work/said"; then
    echo "a tree that breaks the law passes"
    exit 1
fi
for fault in "room 'core' must not include" 'a circle by include: src/core/first src/core/second' \
    'src/encodings/helper.c: not an encoding' 'cli: 10001 lines, 10000 at most'; do
    grep -qF "$fault" "$work/said" || { echo "not noticed: $fault"; cat "$work/said"; exit 1; }
done

# shellcheck disable=SC2046
if grep -nEw '^[^/*]*\b(float|double)\b|<math\.h>' $(sh tools/lint-files.sh 'src/algebra/*.[ch]') /dev/null |
    grep -vE '^src/algebra/(positions|positions_real|positions_access|positions_inside)\.[ch]:[0-9]*:.*\bdouble\b'; then
    echo "src/algebra is integers only"
    exit 1
fi
