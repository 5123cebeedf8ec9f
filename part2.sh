#!/bin/sh
# SPDX-License-Identifier: MIT
# locus generate of decoders: prompts from the option, a file and standard input, problems of the test set, sampling, what is
# refused, Ctrl-C. What words and trees get is in train.sh and train_trees.sh.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "${LOCUS_SOURCE:?}/tests/cli/scored.inc"

small="--dim 32 --heads 2 --layers 2 --feed-forward 64 --batch 4 --steps 6 --threads 1 --quiet"

# ---- problems ----

# shellcheck disable=SC2086
"$locus" train --task addition --encoding rope $small --name add || fail "train"
"$locus" generate add -n 2 --json >json
"$locus" generate add -n 2 >out
samples json out
[ "$(grep -c '^input  ?d=' out)" = 2 ] && grep -q '^output .*  (wrong)$' out && grep -q '^target .*#$' out ||
    fail "problems: $(cat out)"

prompt='?d=12+30; '
"$locus" generate add --prompt "$prompt" --tokens 9 >whole
"$locus" generate add --prompt "$prompt" --tokens 9 --quiet >rest
[ "$(cat whole)" = "$prompt$(cat rest)" ] || fail "--quiet: $(cat rest), not quiet: $(cat whole)"
[ "$(wc -l <whole)" = 1 ] || fail "lines: $(cat whole)"
printf '%s\n' "$prompt" | "$locus" generate add --prompt - --tokens 9 | cmp - whole || fail "standard input"
printf '%s\r\n' "$prompt" | "$locus" generate add --prompt - --tokens 9 | cmp - whole || fail "standard input with CRLF"
printf '%s\n?d=7+8; \n%s' "$prompt" "$prompt" >prompts
"$locus" generate add --prompts prompts --tokens 9 >many
[ "$(wc -l <many)" = 3 ] && sed -n 1p many | cmp - whole && sed -n 3p many | cmp - whole || fail "--prompts: $(cat many)"

began=$(date +%s)
echo ok
