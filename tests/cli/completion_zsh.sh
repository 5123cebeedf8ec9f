#!/bin/sh
# SPDX-License-Identifier: MIT
# Completion in zsh, by the script that is installed; what the program offers is tested in encodings.sh.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

command -v zsh >/dev/null || { echo 'there is no zsh'; exit 77; }
PATH=$(dirname "$LOCUS"):$PATH
checks=$((checks + 1))
cat >try.zsh <<'SCRIPT'
fpath=($1/completions $fpath)
_files() { print files }
_describe() { print -l -- $whole $open }
words=(locus attend rope --mask ca) CURRENT=5
[[ $(. $1/completions/_locus) == causal: ]] || exit 1
words=(locus check "'rope(pai") CURRENT=3
[[ $(. $1/completions/_locus) == 'rope(pairs=:'* ]] || exit 2
words=(locus apply rope --input x) CURRENT=5
[[ $(. $1/completions/_locus) == files ]] || exit 3
SCRIPT
zsh -f try.zsh "$LOCUS_SOURCE" || complain "zsh completion, case $?"
finish
