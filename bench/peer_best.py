# SPDX-License-Identifier: MIT
"""locus beside PyTorch, or another peer, at its best: every row, and for each work that both did the ratio of the fastest row of a
peer, of whatever way, to locus. Works are compared by what peers say that they computed ("work"), and must be equal in all of it: a
row whose work nobody else did gets none, and that is said.

Usage: python3 bench/peer_best.py step|attention|encodings|trees|generation|apply|torch LOCUS-FILE … PEER-FILE
Files are what the programs printed: bench_step, bench_trees and bench_apply with --json, and peers, whose name is in each row."""
import json
import sys


# ---- what locus's programs print: (work, precision, seconds) ----

def of_step(rows):
    for file in rows:
        for step in file["steps"]:
            yield {"encoding": step["encoding"], "depth": step["stochastic_depth"]}, file["precision"], step["best_seconds"]


def of_attention(rows):
    for row in rows:
        for name in ("forward", "both"):
            if name in row:
                work = {key: row[key] for key in ("encoding", "batch", "length", "ragged", "causal")}
                yield {**work, "pass": name}, row["type"], row[name]["best_ms"] / 1e3


def of_encodings(rows):
    for row in rows:
        yield {"spec": row["spec"], "what": row["what"]}, "float32", row["best_ms"] / 1e3


def of_trees(rows):
    """A plan of the peer begins where positions do."""
    seconds = {row["case"]: row["best_ms"] / 1e3 for row in rows if "tokens" in row and "best_ms" in row}
    if seconds:
        yield {"case": "plan"}, "float32", seconds["positions"] + seconds["plan"]
        yield {"case": "forward"}, "float32", seconds["forward"]
        yield {"case": "plan + forward + backward"}, "float32", seconds["positions to backward"]


def of_generation(rows):
    for row in rows:
        if "step_us" in row:
            yield {key: row[key] for key in ("encoding", "batch", "length")}, "float32", row["step_us"] / 1e6


def of_apply(rows):
    for row in rows:
        for spec in ("rope", "algebraic"):
            yield {"encoding": spec, "positions": row["positions"], "pass": "forward"}, "float32", row[spec]["forward_s"]


READERS = {"step": of_step, "attention": of_attention, "encodings": of_encodings, "trees": of_trees,
           "generation": of_generation, "apply": of_apply,
           "torch": lambda rows: ()}  # locus.torch is timed in its peers' process and prints rows like theirs


# ---- rows ----

def rows_of(path):
    """A file's objects: one a line, or one document, which may be a list of them; lines that are no object are left out."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return whole if isinstance(whole, list) else [whole]


def key_of(work):
    return tuple(sorted(work.items()))


def ratios(locus, peers):
    """locus: (work, precision, seconds); the ratio to the fastest of all ways, and to the fastest in the same precision."""
    timed = [row for row in peers if "best_s" in row]
    for work, precision, seconds in locus:
        same = sorted((row for row in timed if key_of(row["work"]) == key_of(work)), key=lambda row: row["best_s"])
        if not same:
            yield {"work": work, "locus": precision, "locus_s": seconds, "no_ratio": "no peer did this work"}
            continue
        row = {"work": work, "locus": precision, "locus_s": seconds, "peer_s": same[0]["best_s"], "peer": name_of(same[0]),
               "ratio": round(same[0]["best_s"] / seconds, 2)}
        own = next((each for each in same if each["way"].split()[0] == precision), None)
        if own is not None and own is not same[0]:
            row.update(peer_in_this_precision=name_of(own), ratio_in_this_precision=round(own["best_s"] / seconds, 2))
        yield row
    done = {key_of(work) for work, _, _ in locus}
    for key in dict.fromkeys(key_of(row["work"]) for row in timed):
        if key not in done:
            yield {"work": dict(key), "no_ratio": "locus was not timed with this"}


def name_of(row):
    return f"{row['peer']}, {row['case']}, {row['way']}" + (f", MKL {row['mkl']}" if "mkl" in row else "")


def main(part, *paths):
    rows = [row for path in paths for row in rows_of(path)]
    own = [row for row in rows if row.get("peer", "locus") == "locus"]
    times = [*READERS[part](row for row in own if "work" not in row)]
    times += [(row["work"], row["way"], row["best_s"]) for row in own if "work" in row and "best_s" in row]
    best = {}
    for work, precision, seconds in times:
        kept = best.setdefault((key_of(work), precision), (work, precision, seconds))
        best[key_of(work), precision] = min(kept, (work, precision, seconds), key=lambda each: each[2])
    for row in [*rows, *ratios([*best.values()], [row for row in rows if row not in own])]:
        print(json.dumps(row))


main(*sys.argv[1:])
