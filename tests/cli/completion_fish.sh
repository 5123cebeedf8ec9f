#!/bin/sh
# SPDX-License-Identifier: MIT
# Completion in fish, by the script that is installed; what the program offers is tested in encodings.sh.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

command -v fish >/dev/null || { echo 'there is no fish'; exit 77; }
PATH=$(dirname "$LOCUS"):$PATH
checks=$((checks + 1))
cat >try.fish <<'SCRIPT'
source $argv[1]/completions/locus.fish
test (complete -C 'locus enc' | string split -f1 \t | string join ' ') = 'encode encodings'; or exit 1
test (complete -C 'locus attend rope --mask ca' | string split -f1 \t) = causal; or exit 2
test (complete -C 'locus train --task copy,rev' | string split -f1 \t) = copy,reverse; or exit 3
test (complete -C "locus check 'rope(base=500, pairs=h" | string split -f1 \t) = 'rope(base=500, pairs=half'; or exit 4
test (complete -C 'locus apply rope --input try.f' | string split -f1 \t) = try.fish; or exit 5
SCRIPT
HOME=$PWD fish --no-config try.fish "$LOCUS_SOURCE" || complain "fish completion, case $?"
finish
