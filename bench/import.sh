#!/bin/sh
# SPDX-License-Identifier: MIT
# How long `locus runs import` takes for a store of many runs: into a new store, once more when all of it is there, and
# into a store that has a run already, which looks at each point of the curves. What docs/sweeps.md quotes.
# usage: bench/import.sh [RUNS [EVALUATIONS]]     (1,000 runs of 1,000 evaluations, of five numbers each, unless told)
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
locus=$source/build/release/locus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
tiny='--encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --threads 1 --length 5 --symbols 6 --train-samples 60
    --dev-samples 10 --test-samples 10 --greedy-samples 4 --batch 10 --steps 24 --evaluate-every 8 --quiet'
# shellcheck disable=SC2086 # options, to be split
"$locus" train --task copy $tiny --name one --store part.db
# shellcheck disable=SC2086
"$locus" train --task reverse $tiny --name other --store used/locus.db
python3 "$source/bench/import_store.py" part.db "${1:-1000}" "${2:-1000}"

# took WHAT COMMAND…: seconds by the clock and of processor time.
took() {
    what=$1
    shift
    python3 - "$what" "$@" <<'END'
import json, os, resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[2:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"import": sys.argv[1], "seconds": round(time.monotonic() - began, 2),
                  "processor": round(used.ru_utime + used.ru_stime, 2), "bytes": os.path.getsize("part.db")}))
END
}
took "into a new store" "$locus" runs import part.db --store new/locus.db --quiet
took "the same again" "$locus" runs import part.db --store new/locus.db --quiet
took "into a store with a run" "$locus" runs import part.db --store used/locus.db --quiet
