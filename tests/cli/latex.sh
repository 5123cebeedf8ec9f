#!/bin/sh
# SPDX-License-Identifier: MIT
# Tables for LaTeX: what marks of a stranger's name become, and that pdflatex compiles the tables of every command.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

tiny="--task copy --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 4 --evaluate-every 2 --train-samples 8
    --dev-samples 4 --test-samples 4 --greedy-samples 2 --batch 4 --threads 1 --quiet"
locus() {
    "$locus" "$@" --format latex
}
{
    printf '%s\n' '\documentclass{article}\usepackage[utf8]{inputenc}\usepackage{booktabs,siunitx}\begin{document}\tiny'
    # shellcheck disable=SC2086
    locus compare $tiny --encodings rope,alibi --seeds 2 --no-page
    "$locus" runs rename 1 'odd_{%}~#$^&\name' --quiet
    locus runs
    locus report
    locus eval 2
    locus runs diff 1 2
    locus check rope
    locus encodings
    locus encodings algebraic
    locus data inspect copy
    locus bench apply --tokens 64
    printf '%s\n' '\end{document}'
} >tables.tex
grep -q 'odd\\_\\{\\%\\}\\textasciitilde{}\\#\\$\\textasciicircum{}\\&\\textbackslash{}name' tables.tex ||
    fail "LaTeX: $(grep odd tables.tex)"
[ "$(grep -c '^\\toprule' tables.tex)" -ge 10 ] || fail "there are too few tables: $(cat tables.tex)"
if ! command -v pdflatex >/dev/null || ! kpsewhich siunitx.sty booktabs.sty >kpse || [ "$(wc -l <kpse)" != 2 ]; then
    echo "there is no pdflatex with booktabs and siunitx: the tables are written, and not compiled"
    exit 77
fi
pdflatex -halt-on-error -interaction=nonstopmode tables.tex >tex.log 2>&1 || fail "pdflatex: $(tail -n 20 tex.log)"
[ -s tables.pdf ] || fail "there is no PDF: $(tail -n 20 tex.log)"
echo "ok"
