# SPDX-License-Identifier: MIT
"""A run store of many finished runs, for what bench/import.sh times: a small training's row with another seed each time,
and as many evaluations as asked for, of five numbers each, as every training records them.

    import_store.py STORE RUNS EVALUATIONS      STORE has one finished run, and gets the others
"""

import json
import sqlite3
import sys


def main():
    path, runs, evaluations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    store = sqlite3.connect(path)
    store.execute("PRAGMA synchronous = OFF")
    names = [row[1] for row in store.execute("PRAGMA table_info(run)") if row[1] != "id"]
    first = dict(zip(names, store.execute(f"SELECT {', '.join(names)} FROM run").fetchone()))
    config = json.loads(first["config"])
    scores = store.execute('SELECT "set", name, value FROM final').fetchall()
    metrics = [row[0] for row in store.execute("SELECT DISTINCT name FROM metric ORDER BY name")]
    store.execute("DELETE FROM run")
    store.execute("DELETE FROM metric")
    store.execute("DELETE FROM final")
    for seed in range(runs):
        row = dict(first, name=f"run-{seed}", seed=seed, config=json.dumps(dict(config, seed=type(config["seed"])(seed)), separators=(",", ":")))
        run = store.execute(
            f"INSERT INTO run({', '.join(names)}) VALUES({', '.join('?' * len(names))})", [row[n] for n in names]
        ).lastrowid
        for metric in metrics:
            store.execute(
                "WITH RECURSIVE e(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM e WHERE i < ?) "
                "INSERT INTO metric SELECT ?, ?, 100 * i, 1.0 / (i + ?) FROM e",
                [evaluations, run, metric, seed],
            )
        store.executemany("INSERT INTO final VALUES(?, ?, ?, ?)", [(run, *score) for score in scores])
    store.commit()
    store.close()


if __name__ == "__main__":
    main()
