# SPDX-License-Identifier: MIT
"""A training step of locus beside PyTorch at its best, from what bench_step --json and a peer printed: every row, and for each
encoding that both have the ratio of the fastest PyTorch row, of whatever way, to locus in either precision.

Usage: python3 bench/peer_best.py LOCUS.json … PEER.jsonl"""
import json
import sys


def locus_rows(paths):
    for path in paths:
        with open(path) as file:
            measured = json.load(file)
        yield {"locus": measured["precision"], "product_gflops": measured["product_gflops"]}
        for step in measured["steps"]:
            if not step["stochastic_depth"]:
                yield {"locus": measured["precision"], "encoding": step["encoding"], "best_s": step["best_seconds"],
                       "median_s": step["median_seconds"], "gflops": step["gflops"]}


def kind_of(case):
    """The encoding of a peer's case ("sdpa-rope") or of a spec ("algebraic(group=seq)")."""
    return case.split("(")[0].split("-")[-1]


def ratios(locus, peers):
    for kind in dict.fromkeys(kind_of(row["case"]) for row in peers if "best_s" in row):
        best = min((row for row in peers if "best_s" in row and kind_of(row["case"]) == kind), key=lambda row: row["best_s"])
        for own in locus:
            if "encoding" in own and kind_of(own["encoding"]) == kind:
                yield {"encoding": own["encoding"], "locus": own["locus"], "locus_s": own["best_s"], "peer_s": best["best_s"],
                       "peer": f"{best['case']}, {best['way']}, MKL {best['mkl']}",
                       "ratio": round(best["best_s"] / own["best_s"], 2)}


def main(*paths):
    locus = list(locus_rows(paths[:-1]))
    with open(paths[-1]) as file:
        peers = [json.loads(line) for line in file]
    for row in [*locus, *peers, *ratios(locus, [row for row in peers if "case" in row])]:
        print(json.dumps(row))


main(*sys.argv[1:])
