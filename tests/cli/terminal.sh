#!/bin/sh
# SPDX-License-Identifier: MIT
# Progress on a terminal: bars that fit its width, that are wiped before anything else is written, and that --quiet and pipes
# do without. `script` lends the terminal.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

command -v script >/dev/null && command -v stty >/dev/null || { echo "script is not installed"; exit 77; }
LC_ALL=C.UTF-8
export LC_ALL
escape=$(printf '\033')
return=$(printf '\r')

# on COLUMNS COMMAND: runs it on a terminal; what it wrote there, carriage returns at line ends apart, is in .out/stdout
on() {
    checks=$((checks + 1))
    script -qefc "stty cols $1 rows 24; $2" .out/typescript >/dev/null 2>&1 </dev/null
    status=$?
    sed -e '/^Script started/d' -e '/^Script done/d' -e "s/$return\$//" .out/typescript >.out/stdout
    : >.out/stderr
}

# Frames of a line that is written anew: from each carriage return to the end of the line.
frames() { tr '\r' '\n' <.out/stdout | sed -n "s/$escape\\[K.*//p" | sed '/^$/d'; }
widest() { frames | sed 's/[^ -~]/x/g' | awk '{ n = length($0); if (n > most) most = n } END { print most + 0 }'; }

small="--dim 16 --heads 2 --layers 1 --feed-forward 16 --length 6 --train-samples 64 --dev-samples 16 --test-samples 16
    --greedy-samples 4 --batch 8 --threads 1"
small=$(echo $small) # one line
train() { echo "'$LOCUS' train --task copy --encoding rope $small --store t/locus.db --name $1 --steps 120"; }

on 100 "$(train wide)"
[ "$status" -eq 0 ] || complain "a training on a terminal ended with $status"
prints 'train [0-9]*/120'
prints '▕[█▉▊▋▌▍▎▏ ]\{16\}▏'
prints 'tokens/s'
[ "$(widest)" -lt 100 ] || complain "a frame has $(widest) columns of 100"
# The last frame is wiped, and the scores follow on a line of their own.
tr '\r' '\n' <.out/stdout | grep -q "^$escape\\[K" || complain 'the bar is not wiped'
! tr '\r' '\n' <.out/stdout | grep -q '▏.*test ' || complain 'the scores stand behind a bar'
prints '^test '

# Where the bar does not fit, its words stay.
on 24 "$(train narrow)"
prints 'train [0-9]*/120'
[ "$(widest)" -lt 24 ] || complain "a frame has $(widest) columns of 24"
! frames | grep -q '▕' || complain 'a bar on a terminal of 24 columns'

on 100 "$(train quiet) --quiet"
[ "$(frames | wc -l)" -eq 0 ] || complain "--quiet shows $(frames | head -n 1)"

# Several trainings: a line for each that runs, below how many are done; the cursor goes up over them, and all go.
on 100 "'$LOCUS' compare --task copy --encodings rope,alibi --seeds 1 --jobs 2 $small --steps 600 --store c/locus.db --no-page"
[ "$status" -eq 0 ] || complain "compare on a terminal ended with $status"
prints 'of 2 cells done'
prints 'rope.*▏ train [0-9]*/600'
prints "$escape\\[[23]A"
! grep -q "$escape\\[\\([04-9]\\|[0-9][0-9]\\)A" .out/stdout || complain 'the cursor goes up over more or fewer lines than stand there'
prints "$escape\\[J"
prints "$escape\\[[1-3]A$return$escape\\[J" # before each line that stays
prints '\[2/2\]'
[ "$(widest)" -lt 100 ] || complain "a frame has $(widest) columns of 100"

# A download: bytes of all bytes, wiped before what was wrong with it is told.
head -c 3000000 /dev/zero >set.bin
on 80 "'$LOCUS' data get cifar10 --from 'file://$PWD/set.bin' --to there"
[ "$status" -eq 1 ] || complain "a download of zeros ended with $status"
prints '^.*locus: '
[ "$(widest)" -lt 80 ] || complain "a frame has $(widest) columns of 80"

finish
