# SPDX-License-Identifier: MIT
"""What every peer prints, whatever it computes with: first what its own matrix products reach in this process, then a row for each
case and way of doing it; what a way cannot do is a row that says why. "work" says what was done in the words of locus's own
programs: peer_best.py compares rows of equal work and no others."""
import json
import os
import time

MKL = os.environ.get("LOCUS_PEER_MKL", "as installed")
ROWS, COLUMNS, DEPTH = 6400, 2048, 512  # the largest product of the published step


def list_of(text):
    return [word for word in text.split(",") if word]


def numbers_of(text):
    return [int(word) for word in list_of(text)]


def fastest(call, repeats, seconds=30.0):
    """Of so many runs, after one that is not timed; fewer if they take longer than that."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < repeats and (not times or time.perf_counter() < end):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {"best_s": min(times), "median_s": sorted(times)[len(times) // 2], "runs": len(times)}


def say_products(peer, threads, products, said=None):
    """GFLOP/s of each product(), of ROWS × DEPTH by DEPTH × COLUMNS numbers; the best of several calls."""
    reached = {name: round(2e-9 * ROWS * COLUMNS * DEPTH / fastest(product, 12)["best_s"], 1) for name, product in products.items()}
    print(json.dumps({"peer": peer, **(said or {}), "threads": threads, "product_gflops": reached}), flush=True)


def row_of(peer, case, way, work, measure, said=None):
    """Prints and returns the row of a case: what measure() gives, or why there is nothing."""
    row = {"peer": peer, "case": case, "way": way, "work": work, **(said or {})}
    try:
        row.update(measure())
    except Exception as error:  # a way that a peer cannot go is no fault of this program
        row["left_out"] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
    print(json.dumps(row), flush=True)
    return row
