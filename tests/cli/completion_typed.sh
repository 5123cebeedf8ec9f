#!/bin/sh
# SPDX-License-Identifier: MIT
# Completion as it is typed, in every shell that is there: what the program offers comes back as it was, or not at all, and is
# never run. encodings.sh tests what is offered.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

command -v python3 >/dev/null || { echo 'there is no python3'; exit 77; }
for shell in bash zsh fish; do
    command -v $shell >/dev/null || { echo "there is no $shell"; continue; }
    checks=$((checks + 1))
    python3 "$LOCUS_SOURCE/tests/cli/type_completions.py" $shell "$LOCUS_SOURCE/completions" >.out/stdout 2>.out/stderr ||
        complain "completion in $shell"
    cat .out/stdout
done
[ "$checks" -gt 0 ] || exit 77
finish
