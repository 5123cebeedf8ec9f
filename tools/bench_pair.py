#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two builds beside each other: one program of bench/ of both at the same time, each on one processor.

    python3 tools/bench_pair.py [--turns N] [--above RATIO] OLD NEW PROGRAM [ARGUMENT …]
    python3 tools/bench_pair.py ../before/build/release build/release bench_decode --encodings none --lengths 128

What else the machine does, and how fast it is just now, then slows both alike; between turns the two change places, so
that no processor favours one. Each entry's ratio is new over old time, the middle one of the turns, and that of the best
times of all turns. An entry that is above in both is printed: one alone may be chance. Exit status: 1 if any is, 2 usage.

Read are the JSON objects that a program prints, one to a line or in a list, and else its tables in Markdown."""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys

TIMES = re.compile(r"(_s|_ms|_us|_ns|^ms|^us|^ns|seconds|append|step)$")
COLUMNS = re.compile(r", ?(ms|µs|ns|s)$")


def leaves(value, path=()):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, str(number)))
    else:
        yield path, value


def measured(path, unit):
    """1: a time, -1: a rate, 0: neither. Lists have the name that they stand under."""
    name = next(part for part in reversed(path) if not part.isdigit())
    if name == "best" and unit:
        return -1 if "/s" in unit else 1
    if any("median" in part for part in path):
        return 0
    return -1 if "per_s" in name else 1 if TIMES.search(name) else 0


def of_object(found):
    """Measurements, each with what the object says beside them."""
    unit = str(found.get("unit", ""))
    parts = list(leaves(found))
    told = {".".join(p): str(v) for p, v in parts if isinstance(v, (str, bool)) or
            isinstance(v, int) and len(p) == 1 and not measured(p, unit)}
    for path, value in parts:
        kind = measured(path, unit)
        if kind and isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            yield told, ".".join(path), value if kind > 0 else 1 / value


def of_tables(text):
    heads = None
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|") or all(re.fullmatch(r"-+:?|:?-+:?", c) for c in cells):
            continue
        if heads is None or len(heads) != len(cells) or not any(re.search(r"\d", c) for c in cells):
            heads = cells
            continue
        told = {head: cell for cell, head in zip(cells, heads)
                if head == heads[0] or not re.fullmatch(r"[-+0-9.,e×%]*", cell)}
        for cell, head in zip(cells, heads):
            if COLUMNS.search(head) and re.fullmatch(r"[0-9.]+", cell) and float(cell) > 0:
                yield told, head, float(cell)


def listed(text):
    objects = []
    try:
        whole = json.loads(text)
        objects = whole if isinstance(whole, list) else [whole]
    except ValueError:
        for line in text.splitlines():
            if line.strip().startswith("{"):
                objects.append(json.loads(line.strip().rstrip(",")))
    return [e for o in objects for e in of_object(o)] if objects else list(of_tables(text))


def entries(found, names):
    """{entry: time}; an entry is a measurement's name and what is said beside it, as far as both say such things."""
    least = {}
    for told, name, value in found:
        entry = tuple((n, told[n]) for n in sorted(told) if n in names), name
        least[entry] = min(value, least.get(entry, value))
    return least


def run(build, processor, command):
    program = os.path.join(build, "bench", command[0])
    return subprocess.Popen(["taskset", "-c", str(processor), program, *command[1:]], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "LOCUS_THREADS": "1"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--above", type=float, default=1.03)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT …]")
    asked = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    if not asked.command or len(processors) < 2 or asked.turns < 1:
        parser.error("a program of bench/, at least one turn and two processors are needed")
    ratios, best = {}, {}
    for turn in range(asked.turns):
        both = [run(build, processors[(turn + i) % 2], asked.command) for i, build in enumerate((asked.old, asked.new))]
        found = [listed(process.communicate()[0]) for process in both]
        if any(process.returncode for process in both):
            sys.exit("bench_pair: a program failed")
        names = set.intersection(*({n for told, _, _ in one for n in told} for one in found))
        old, new = (entries(one, names) for one in found)
        for entry in old.keys() & new.keys():
            ratios.setdefault(entry, []).append(new[entry] / old[entry])
            least = best.setdefault(entry, [math.inf, math.inf])
            least[:] = min(least[0], old[entry]), min(least[1], new[entry])
    if not ratios:
        sys.exit("bench_pair: the two print no entry alike")
    rows = [(statistics.median(r), best[e][1] / best[e][0], min(r), max(r), e) for e, r in ratios.items()]
    means = [math.exp(statistics.fmean(math.log(row[i]) for row in rows)) for i in (0, 1)]
    above = sorted((r for r in rows if min(r[:2]) > asked.above), key=lambda r: -min(r[:2]))
    print(f"{' '.join(asked.command)}: {asked.turns} turns, {len(rows)} entries; geometric means: of medians "
          f"{means[0]:.3f}, of bests {means[1]:.3f}; above {asked.above} in both: {len(above)}")
    for median, bests, least, most, (told, name) in above:
        words = " ".join("=".join(pair) for pair in told)
        print(f"  median {median:.3f} ({least:.2f} to {most:.2f}), bests {bests:.3f}  {name}  {words}")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
