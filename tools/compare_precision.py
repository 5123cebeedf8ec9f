# SPDX-License-Identifier: MIT
"""Whether trainings with bfloat16 products learn as those in float32 do: the same tasks, seeds and settings in both, development
losses compared along the whole training.

    python3 tools/compare_precision.py build/release/locus --budget quick --store build/precision/locus.db [-- OPTION …]

The rule, written before the first run: at ten looks of each task, those development losses that are nearest to 1/10, 2/10 … 10/10 of
the steps, the mean losses over seeds of both precisions are compared by Welch's interval. All intervals of all tasks together hold at
95 % (Bonferroni). The curves of a task separate if at one look or more the interval does not contain 0. With three seeds intervals are
wide: that curves do not separate says that the difference is smaller than what a seed makes, not that there is none, so the largest
difference is printed too, in deviations of the float32 seeds at that look.

What stands behind -- goes to `locus compare` as it is, such as --steps 300. Trainings that are done are not repeated. Compared are the
runs that these options name and no others, whatever else the store holds. Exit status 0: no task separates; 1: one does; 2: nothing was
compared."""
import argparse
import contextlib
import json
import math
import pathlib
import sqlite3
import statistics
import subprocess
import sys

TASKS = {"copy": "rope", "reverse": "rope", "tree-copy": "algebraic(group=tree:2, decay=0.98)", "addition": "rope"}
PRECISIONS = ("float32", "bf16")
LOOKS, MISS = 10, 0.05


# ---- Student's distribution ----

def tail(t, freedom):
    """P(T > t), by Simpson's rule over the angle that makes the density a power of a cosine."""
    power, bins = freedom - 1, 2000
    whole = math.sqrt(math.pi) * math.gamma(freedom / 2) / math.gamma((freedom + 1) / 2)
    first, width = math.atan(t / math.sqrt(freedom)), (math.pi / 2 - math.atan(t / math.sqrt(freedom))) / bins
    heights = [max(0.0, math.cos(first + i * width)) ** power for i in range(bins + 1)]
    return width / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])) / whole


def quantile(miss, freedom):
    """t with P(|T| > t) = miss."""
    low, high = 0.0, 1.0
    while 2 * tail(high, freedom) > miss:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * tail(middle, freedom) > miss else (low, middle)
    return high


def separates(a, b, miss):
    """Whether Welch's interval of the difference of two means leaves out 0 (Welch 1947)."""
    shares = [statistics.variance(side) / len(side) for side in (a, b)]
    difference, error = abs(statistics.mean(a) - statistics.mean(b)), sum(shares)
    if error == 0:
        return difference > 0
    freedom = error**2 / sum(share**2 / (len(side) - 1) for share, side in zip(shares, (a, b)))
    return difference > quantile(miss, freedom) * math.sqrt(error)


# ---- trainings ----

def command_of(options, task):
    return [options.locus, "compare", "--task", task, "--encodings", TASKS[task], "--seeds", str(options.seeds), "--budget",
            options.budget, "--vary", "precision=" + ",".join(PRECISIONS), "--store", options.store, *options.more]


def curves_of(options, task):
    """Trains what is not there yet; {precision: {seed: {step: development loss}}} of the runs that the command names."""
    command = command_of(options, task)
    subprocess.run([*command, "--no-page", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    listed = json.loads(subprocess.run([*command, "--list", "--json"], check=True, capture_output=True, text=True).stdout)
    curves = {precision: {} for precision in PRECISIONS}
    with contextlib.closing(sqlite3.connect(options.store)) as store:
        for run in listed["trainings"]:
            points = store.execute("""SELECT step, value FROM run JOIN curves ON curves.run = run.id
                                      WHERE run.name = ? AND run.state = 1 AND curve = 'dev.loss'""", (run["name"],)).fetchall()
            if points:
                curves[run["config"].get("precision", "float32")][run["seed"]] = dict(points)
    return curves


def looks_of(steps):
    """Steps with a development loss that are nearest to tenths of the training."""
    return sorted({min(steps, key=lambda step: abs(step - share * max(steps) / LOOKS)) for share in range(1, LOOKS + 1)})


def judge(task, sides, miss):
    """The looks at which the curves separate, and the largest difference."""
    common = set.intersection(*(set(curve) for side in sides for curve in side.values()))
    looks, apart, largest = looks_of(common), [], (0.0, 0, 0.0)
    for look in looks:
        float32, bf16 = ([curve[look] for curve in side.values()] for side in sides)
        difference = statistics.mean(bf16) - statistics.mean(float32)
        in_deviations = abs(difference) / max(statistics.stdev(float32), 1e-12)
        largest = max(largest, (in_deviations, look, difference))
        if separates(float32, bf16, miss):
            apart.append(look)
    words = f"separate at step {', '.join(map(str, apart))}" if apart else "do not separate"
    print(f"{task}: {words}; {len(looks)} looks; largest difference {largest[2]:+.2g} at step {largest[1]}, {largest[0]:.2g} deviations "
          f"of {len(sides[0])} float32 seeds; last losses {mean_last(sides[0]):.4g} float32, {mean_last(sides[1]):.4g} bf16")
    return bool(apart)


def mean_last(side):
    return statistics.mean(curve[max(curve)] for curve in side.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("locus")
    parser.add_argument("--budget", default="quick")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", default="build/precision/locus.db")
    parser.add_argument("--tasks", default=",".join(TASKS))
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.more = arguments[end + 1:]
    tasks = options.tasks.split(",")
    pathlib.Path(options.store).parent.mkdir(parents=True, exist_ok=True)
    pairs = {task: list(curves_of(options, task).values()) for task in tasks}
    if any(len(side) < 2 for sides in pairs.values() for side in sides):
        print("compare_precision: a task has fewer than two seeds that are done: nothing is compared", file=sys.stderr)
        return 2
    return int(any([judge(task, sides, MISS / (LOOKS * len(tasks))) for task, sides in pairs.items()]))


if __name__ == "__main__":
    sys.exit(main())
