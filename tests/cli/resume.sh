#!/bin/sh
# SPDX-License-Identifier: MIT
# A training that is killed, and one that is stopped by Ctrl-C, go on and end with the bits of one that was left alone.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"

# For a subshell: the process that is killed must be the program itself.
train() {
    exec "$locus" train --task reverse --encoding 'algebraic(group=seq, decay=0.98)' --dim 32 --heads 2 --layers 2 \
        --feed-forward 64 --length 12 --train-samples 300 --dev-samples 30 --test-samples 30 --greedy-samples 10 --batch 16 \
        --steps 160 --evaluate-every 20 --checkpoint-seconds 0 --threads 1 --quiet "$@"
}

(train --store whole/locus.db --name run)

# Killed again and again, at moments that no checkpoint expects.
killed_through train --store killed/locus.db --name run
same_results whole/locus.db run killed/locus.db run
cmp whole/run/best.safetensors killed/run/best.safetensors || fail "another configuration after $killed kills"

# Killed when it was recorded as done and its last checkpoint not yet removed: the same command removes it.
cp whole/run/best.safetensors whole/run/last.safetensors
(train --store whole/locus.db --name run)
[ ! -e whole/run/last.safetensors ] || fail "a training that is done keeps its checkpoint"

# Ctrl-C: exit 1, a line that says how to go on, a checkpoint, a row that says stopped.
"$locus" train --task copy --encoding rope --store stopped/locus.db --steps 100000 --threads 1 2>err &
process=$!
until_so "it does not start" started 1 stopped/locus.db
kill -INT "$process"
got=0
wait "$process" || got=$?
[ "$got" = 1 ] || fail "Ctrl-C ended with $got: $(cat err)"
grep -q '^locus: stopped after step [0-9]* of 100000' err || fail "Ctrl-C said: $(cat err)"
grep -q '^locus: to go on: locus train --task copy --encoding rope --store stopped/locus.db --steps 100000' err ||
    fail "Ctrl-C does not say how to go on: $(cat err)"
"$locus" runs --store stopped/locus.db | grep -q 'stopped' || fail "the row does not say stopped"
[ -n "$(find stopped -name last.safetensors)" ] || fail "there is no checkpoint"

# A scheduler's signals: the same, and exit 75, which asks to be queued again.
for signal in TERM USR1; do
    (train --store term/locus.db --name run --steps 100000) 2>err &
    process=$!
    until_so "it does not start" started 1 term/locus.db
    sleep 0.3
    kill -$signal "$process"
    got=0
    wait "$process" || got=$?
    [ "$got" = 75 ] || fail "SIG$signal ended with $got: $(cat err)"
    grep -q '^locus: stopped after step [0-9]* of 100000' err || fail "SIG$signal said: $(cat err)"
    [ -n "$(find term -name last.safetensors)" ] || fail "SIG$signal left no checkpoint"
done

# Stopped again and again by both signals, at moments of which many lie inside a matrix product: always cleanly, and with the
# same bits in the end.
stops=0
while [ "$stops" -lt 8 ]; do
    (train --store asked/locus.db --name run) 2>err &
    process=$!
    while kill -0 "$process" 2>/dev/null && ! started 1 asked/locus.db; do sleep 0.02; done
    sleep "0.$((stops % 3))"
    if [ $((stops % 2)) = 0 ]; then kill -INT "$process" 2>/dev/null || break; else kill -TERM "$process" 2>/dev/null || break; fi
    got=0
    wait "$process" || got=$?
    [ "$got" != 0 ] || break
    case $got in 1 | 75) ;; *) fail "a signal ended it with $got: $(cat err)" ;; esac
    stops=$((stops + 1))
done
[ "$stops" -gt 0 ] || fail "the training was over before it could be stopped"
(train --store asked/locus.db --name run)
same_results whole/locus.db run asked/locus.db run

# A checkpoint that was cut: one line that names it, and nothing else is touched.
checkpoint=$(find stopped -name last.safetensors)
head -c 1000 "$checkpoint" >cut && cp cut "$checkpoint"
got=0
"$locus" train --task copy --encoding rope --store stopped/locus.db --steps 100000 --threads 1 2>err || got=$?
[ "$got" = 1 ] && grep -q "^locus: .*last.safetensors" err && [ "$(wc -l <err)" = 1 ] || fail "a cut checkpoint: $(cat err)"
cmp cut "$checkpoint" || fail "the cut checkpoint was overwritten"
echo "ok ($killed kills, $stops stops)"
