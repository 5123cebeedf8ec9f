#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/compare_precision.py: it compares the runs that were asked for, whatever else their store holds, and tells curves that
# separate from such as do not.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }

# compared STORE SEEDS OPTION…: what the tool says, in ./said; its exit status in $status
compared() {
    store=$1 seeds=$2 status=0
    shift 2
    python3 "$LOCUS_SOURCE/tools/compare_precision.py" "$locus" --tasks copy --budget smoke --store "$store" --seeds "$seeds" -- \
        --dim 16 --heads 2 --feed-forward 16 --layers 1 --length 4 --train-samples 16 --dev-samples 8 --test-samples 4 \
        --greedy-samples 0 --batch 4 --evaluate-every 2 --threads 1 "$@" >said 2>err || status=$?
    [ "$status" -lt 2 ] || fail "compare_precision: $(cat err)"
}

compared alone/locus.db 2 --steps 8
cp said alone.said
grep -q '^copy: do not separate; 4 looks; largest difference .* last losses ' said || fail "it said: $(cat said)"

# The same after others of more seeds, another length have gone into one store.
compared mixed/locus.db 3 --steps 8
compared mixed/locus.db 2 --steps 12
[ "$("$locus" runs --store mixed/locus.db --format csv | wc -l)" = 11 ] || fail "not 10 runs in the store"
compared mixed/locus.db 2 --steps 8
cmp -s said alone.said || fail "other runs of the store were compared: $(diff alone.said said)"

# Losses of bfloat16 that are higher by 100 from step 4 on are seen there, and not before.
python3 - alone/locus.db <<'END'
import json
import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as store:
    rows = store.execute("""SELECT run, step, metrics FROM evaluation JOIN run ON run.id = run
                            WHERE step >= 4 AND json_extract(config, '$.precision') = 'bf16'""").fetchall()
    for run, step, metrics in rows:
        higher = {name: value + 100 * (name == "dev.loss") for name, value in json.loads(metrics).items()}
        store.execute("UPDATE evaluation SET metrics = ? WHERE run = ? AND step = ?", (json.dumps(higher), run, step))
END
compared alone/locus.db 2 --steps 8
[ "$status" = 1 ] && grep -q '^copy: separate at step 4, 6, 8; ' said || fail "curves that are apart: $status, $(cat said)"
