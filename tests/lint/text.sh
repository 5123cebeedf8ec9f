#!/bin/sh
# SPDX-License-Identifier: MIT
# What every file must have and must not have.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() {
    echo "$*"
    status=1
}

c_files=$(sh tools/lint-files.sh '*.c' '*.h' '*.cpp' '*.hpp')
code_files=$(sh tools/lint-files.sh '*.c' '*.h' '*.cpp' '*.hpp' '*.py' '*.sh' '*.awk' '*.js' '*.css' '*.cmake' '*CMakeLists.txt' dev .ci/run)
[ -n "$c_files" ] || { echo "no source files found"; exit 1; }

# The licence stands in the first line (the second, after a script's interpreter).
# shellcheck disable=SC2086 # lists of names, here and below
awk 'function close_file() { if (name != "" && !found) print name ": no SPDX line at its head" }
    FNR == 1 { close_file(); name = FILENAME; found = 0 }
    FNR <= 2 && /SPDX-License-Identifier: MIT/ { found = 1 }
    FNR > 2 { nextfile }
    END { close_file() }' $code_files >"$work/unlicensed"
[ ! -s "$work/unlicensed" ] || complain "$(cat "$work/unlicensed")"

# Behind it a file of C opens with what it does.
# shellcheck disable=SC2046
awk 'FNR == 2 { if (!/^\/\*/) print FILENAME ": does not open with what it does"; nextfile }' $(sh tools/lint-files.sh '*.c') >"$work/headless"
[ ! -s "$work/headless" ] || complain "$(cat "$work/headless")"

# shellcheck disable=SC2086
! grep -nE '^[[:space:]]*#[[:space:]]*if[[:space:]]+0([^-9a-zA-Z.]|$)' $c_files || complain "code that is switched off with #if 0"

# The words are put together here so that this file does not find itself.
words='TO''DO|FIX''ME|XX''X'
# shellcheck disable=SC2086
! grep -nE "\\b($words)\\b" $code_files || complain "unfinished work is an issue, not a comment"

# shellcheck disable=SC2086
! grep -nE '[[:space:]]+$' $code_files || complain "white space at the end of a line"
# shellcheck disable=SC2086
! grep -nE '^ *'"$(printf '\t')" $code_files || complain "tabs in indentation"

# 120 columns; combining marks (the hat of x̂) take none. Code is cut by the formatter, comments by their authors.
mark=$(printf '\314[\200-\277]')
# shellcheck disable=SC2086
LC_ALL=C.UTF-8 grep -HnE '^.{121}' $c_files | LC_ALL=C sed "s/$mark//g" | LC_ALL=C.UTF-8 grep -E '^[^:]*:[0-9]+:.{121}' |
    cut -d: -f1,2 | sed 's/$/: longer than 120 columns/' >"$work/long" || :
[ ! -s "$work/long" ] || complain "$(cat "$work/long")"

# What the program says goes through cli/output.h, which lets nothing pass that a terminal would obey; help, completions
# and machine-written lines have no text of others.
# shellcheck disable=SC2046
! grep -nE '(^|[^_a-z])(printf|puts)\(' $(sh tools/lint-files.sh 'cli/*.c' |
    grep -vE '/(output|usage|main|completion_[a-z]+)\.c$') ||
    complain "use cli_print, cli_write or a table: a store, a file's name or a spec may hold escape sequences"

# A script or data beside README is what somebody tried and forgot, and so is a file without a byte.
sh tools/lint-files.sh '*.sh' '*.py' '*.c' '*.h' '*.json' '*.txt' '*.db' '*.log' | grep -vE '/|^CMake(Lists[.]txt|Presets[.]json)$' \
    >"$work/stray" || :
sh tools/lint-files.sh | grep -vE '^tests/fuzz/corpus/|/py[.]typed$' | while IFS= read -r file; do [ -s "$file" ] || echo "$file"; done >>"$work/stray"
[ ! -s "$work/stray" ] || complain "stray files: $(sort -u "$work/stray" | tr "\n" " ")"

# What a merge left.
# shellcheck disable=SC2046
! LC_ALL=C grep -nIE '^(<<<<<<<|>>>>>>>) ' $(sh tools/lint-files.sh) || complain "a merge was not brought to its end"

# A file name says where a thing is only if there is one of that name.
sh tools/lint-files.sh >"$work/all"
sed 's|.*/||' "$work/all" | grep -vxE 'README\.md|index\.md|__init__\.py|\.gitkeep' | sort | uniq -d >"$work/double"
while read -r name; do
    complain "more than one file is called $name:" "$(grep -E "(^|/)$name\$" "$work/all" | tr '\n' ' ')"
done <"$work/double"

! grep -E '(^|/)(utils?|misc|old|helpers?|common)(/|\.[^/]*$)' "$work/all" || complain "a name that does not say what is inside"

exit $status
