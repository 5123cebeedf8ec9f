#!/bin/sh
# SPDX-License-Identifier: MIT
# One sentence to a line in what people read, so that a change of one sentence is a change of one line, and none of more than
# 55 words. Recorded results are written by the program; docs/performance.md still has longer ones.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }
pages=$(sh tools/lint-files.sh 'docs/*.md' | grep -v -e '^docs/results/' -e '^docs/performance.md$')
# shellcheck disable=SC2086 # a list of names
python3 tools/sentences.py --check 55 README.md CONTRIBUTING.md SECURITY.md docs/results/README.md $pages
python3 tools/sentences.py --check docs/performance.md

# The cutter itself: sentences, abbreviations, brackets, code, heads in bold, lists, and lines that are no prose.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/joined.md" <<'END'
# A head. Not cut

**A head.** One (in brackets. Not cut), two et al. 2024. Three `code. Here`
and four? Five.
- an item. Its second
  sentence.

| a. B | c |

    code. Code

```
code. Code
```
END
cat >"$work/wanted.md" <<'END'
# A head. Not cut

**A head.** One (in brackets. Not cut), two et al. 2024.
Three `code. Here` and four?
Five.
- an item.
  Its second sentence.

| a. B | c |

    code. Code

```
code. Code
```
END
cp "$work/joined.md" "$work/cut.md"
! python3 tools/sentences.py --check "$work/joined.md" >/dev/null || { echo "two sentences in a line were let pass"; exit 1; }
! python3 tools/sentences.py --check 10 "$work/wanted.md" >/dev/null || { echo "a sentence of many words was let pass"; exit 1; }
python3 tools/sentences.py --check 11 "$work/wanted.md"
python3 tools/sentences.py "$work/cut.md"
diff "$work/wanted.md" "$work/cut.md"
python3 tools/sentences.py --words "$work/joined.md" "$work/cut.md"
! python3 tools/sentences.py --words "$work/joined.md" tools/sentences.py
