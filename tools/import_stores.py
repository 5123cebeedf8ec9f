#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures `locus runs import` on stores of many runs: python3 tools/import_stores.py LOCUS [--runs N] [--evaluations N]
[--files N]. Makes one small training, plants its row with other seeds and longer curves in as many stores as are asked
for, merges them, merges them once more (all is known then), and prints both processor times. Five curves have a point
for each evaluation, as trainings write them. Needs 80 bytes of disk for each point, twice."""
import argparse
import json
import math
import os
import resource
import sqlite3
import subprocess
import tempfile
import time

CURVES = ("dev.accuracy", "dev.loss", "train.gradient_norm", "train.loss", "train.rate")
TRAINING = (
    "train --task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 4 --evaluate-every 2"
    " --train-samples 8 --dev-samples 4 --test-samples 4 --greedy-samples 0 --batch 4 --threads 1 --quiet"
)


def measured(seed: int, step: int) -> str:
    """Five values as trainings have them, each of all its digits."""
    values = {curve: math.sqrt((seed * 31 + step) / (7 + i)) for i, curve in enumerate(CURVES)}
    return json.dumps(values, separators=(",", ":"))


def plant(path: str, locus: str, seeds: range, evaluations: int) -> None:
    """A store with a run for each seed, whose configuration says so."""
    subprocess.run([locus, *TRAINING.split(), "--store", path], check=True)
    store = sqlite3.connect(path, isolation_level=None)
    columns = [row[1] for row in store.execute("PRAGMA table_info(run)") if row[1] != "id"]
    row = dict(zip(columns, store.execute(f"SELECT {', '.join(columns)} FROM run").fetchone()))
    finals = store.execute('SELECT "set", name, value FROM final').fetchall()
    store.execute("BEGIN")
    store.execute("DELETE FROM evaluation")
    store.execute("DELETE FROM final")
    store.execute("DELETE FROM run")
    for seed in seeds:
        row["seed"] = seed
        row["name"] = f"planted-{seed}"
        row["config"] = json.dumps({**json.loads(row["config"]), "seed": str(seed)}, separators=(",", ":"))
        marks = ", ".join("?" * len(columns))
        run = store.execute(f"INSERT INTO run({', '.join(columns)}) VALUES({marks})", list(row.values())).lastrowid
        store.executemany("INSERT INTO final VALUES(?, ?, ?, ?)", [(run, *final) for final in finals])
        store.executemany(
            "INSERT INTO evaluation VALUES(?, ?, ?)",
            ((run, step, measured(seed, step)) for step in range(1, evaluations + 1)),
        )
    store.execute("COMMIT")
    store.close()


def merge(locus: str, parts: list[str], store: str) -> tuple[float, float, str]:
    """Processor seconds and seconds by the clock of one import, and its last line."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    told = subprocess.run([locus, "runs", "import", *parts, "--store", store], check=True, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.monotonic() - began, told.stderr.splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locus")
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--folder", help="where stores are kept; those that are there are taken (default: made and removed)")
    asked = parser.parse_args()
    locus = os.path.abspath(asked.locus)
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or scratch
        parts = [os.path.join(folder, f"{i}", f"part-{i}.db") for i in range(asked.files)]
        for i, part in enumerate(parts):
            seeds = range(asked.runs * i // asked.files, asked.runs * (i + 1) // asked.files)
            if not os.path.exists(part):
                plant(part, locus, seeds, asked.evaluations)
        store = os.path.join(scratch, "merged.db")
        for what in ("import", "again"):
            spent, took, told = merge(locus, parts, store)
            print(f"{what}: {spent:.1f} s of processor time, {took:.1f} s by the clock; {told}", flush=True)
        rows = sqlite3.connect(store).execute("SELECT count(*) FROM run").fetchone()[0]
        assert rows == asked.runs, rows


main()
