# SPDX-License-Identifier: MIT
"""What a training costs on 1 to 1,024 ranks, from pieces that bench/shared_steps.sh has measured, and what the published tables cost.

    sh bench/shared_steps.sh >ranks.jsonl && python3 tools/rank_costs.py ranks.jsonl [--locus build/release/locus] [--bandwidth GBIT]

A rank is one processor with one thread. Of a training of P parameters in batches of n samples, R ranks take for a step

    step(R)     = compute(n / R) + exchange(R) + update / R
    compute(m)  = a + b m           forward and backward of m samples, fitted to what shards of one rank took ("1/8"), or,
                                    without such lines, to the processor time of 1, 2, 4 ranks: a is what a shard costs
                                    however small it is
    exchange(R) = 2 log2(R) latency + 8 P (R - 1) / R (1 / wire + 1 / memory)
                                    bytes sent there and back again, and, at the speed of memory, what is copied and added
    update      the optimiser on all parameters

and beside steps, for each of them

    evaluation  development batches / R, rounded up, every so many steps; each takes `evaluate`
    checkpoint  each minute: written by rank 0, after 3 slices of P are gathered, while others wait

Waiting for the slowest rank is what the measured `shard` is longer than its mean by. What is measured on more ranks than the
machine has processors counts by processor time. Left out: that a network is shared, that nodes differ,
and what ranks lend and zero of memory where the pieces are of one rank, which does neither."""
import argparse
import csv
import io
import json
import math
import statistics
import subprocess
import sys

LATENCY = 30e-6
# Which measured task stands for which: the same model, the same batches or nearly so.
STANDS_FOR = {
    "copy": "reverse", "repeat": "reverse", "reverse": "reverse",
    "tree-copy": "tree-ops", "tree-reorder": "tree-ops", "tree-ops": "tree-ops", "tree-c3": "tree-ops",
    "addition": "addition", "substring-index": "addition", "substring-search": "addition",
}  # fmt: skip
TABLES = ("table1", "table2", "table3", "roper", "listops")


def read(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines += [json.loads(line) for line in file if line.startswith("{")]
    return lines


def fit(points):
    """y = a + b x by least squares of what y is off by, as a part of it; with one point a is 0, and a is never below 0."""
    if len({x for x, _ in points}) < 2:
        return 0.0, points[0][1] / points[0][0]
    n, sx, sxx = sum(y**-2 for _, y in points), sum(x / y**2 for x, y in points), sum(x * x / y**2 for x, y in points)
    sy, sxy = sum(1 / y for _, y in points), sum(x / y for x, y in points)
    b = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    a = (sy - b * sx) / n
    return (a, b) if a >= 0.0 else (0.0, sxy / sxx)


class Training:
    """One task's pieces."""

    def __init__(self, lines, memory):
        self.lines = {}
        wholes = [line["step"] for line in lines if (line["ranks"], line["shards"]) == (1, 0)]
        twos = [line["step"] for line in lines if (line["ranks"], line["shards"]) == (2, 2)]
        self.ratios = sorted(two / whole for whole, two in zip(wholes, twos))  # by the clock, as they were taken in turn
        for line in lines:  # of several measurements the fastest
            key = (line["ranks"], line["shards"])
            if key not in self.lines or line["processor_best"] < self.lines[key]["processor_best"]:
                self.lines[key] = line
        shared = [line for line in self.lines.values() if line["shards"] > 0 and line["ranks"] == line["shards"]]
        any_line = next(iter(self.lines.values()))
        self.task, self.parameters, self.batch = any_line["task"], any_line["parameters"], any_line["batch"]
        self.steps, self.every, self.dev = any_line["steps_total"], any_line["evaluate_every"], any_line["dev_samples"]
        self.update = max([line["update_best"] * line["ranks"] for line in shared if "update_best" in line] or [0.0])
        self.evaluate = min(line["evaluate_best"] * line["threads"] for line in self.lines.values())
        self.checkpoint = min(line["checkpoint_best"] for line in self.lines.values())
        self.memory = memory
        self.points = [(self.batch / line["ranks"], self.own(line)) for line in shared]
        whole = self.lines.get((1, 0))
        if whole is not None and not any(line["ranks"] == 1 for line in shared):
            self.points.append((self.batch, whole["processor_best"] - self.update))
        alone = [line for line in self.lines.values() if line["ranks"] == 1 and line["shards"] > 0]
        if len(alone) > 1:  # nobody beside them
            self.points = [(self.batch / line["shards"], line["shard_best"] / line["shards"]) for line in alone]
        self.a, self.b = fit(self.points)
        self.shared = shared

    def own(self, line):
        """Processor time of a rank's forward and backward: a step's, less what else it does."""
        ranks = line["ranks"]
        return line["processor_best"] / ranks - self.exchange(ranks, None) - self.update / ranks

    def exchange(self, ranks, wire):
        if ranks == 1:
            return 0.0
        sent = 8.0 * self.parameters * (ranks - 1) / ranks
        return 2.0 * math.log2(ranks) * LATENCY + sent * ((1.0 / wire if wire else 0.0) + 1.0 / self.memory)

    def step(self, ranks, samples, wire):
        return self.a + self.b * samples / ranks + self.exchange(ranks, wire) + self.update / ranks

    def whole(self, ranks, samples, wire):
        """Seconds for each step, evaluations and a checkpoint a minute included."""
        step = self.step(ranks, samples, wire)
        batches = math.ceil(math.ceil(self.dev / self.batch) / ranks)
        step += batches * self.evaluate / self.every
        gathered = 12.0 * self.parameters * (ranks - 1) / ranks / wire if wire else 0.0
        return step * (1.0 + (self.checkpoint + gathered) / 60.0)


def print_measured(training):
    print(f"{training.task}: {training.parameters:,} parameters, batches of {training.batch}")
    print("  ranks  shards   step s   processor s   exchange s   sent MB   bound MB   peak MB")
    for (ranks, shards), line in sorted(training.lines.items()):
        print(
            f"  {ranks:5d}  {shards:6d}  {line['step_best']:7.3f}  {line['processor_best']:12.3f}  "
            f"{line.get('exchange_best', 0.0):11.3f}  {line['sent'] / 1e6:8.1f}  {line['bound'] / 1e6:9.1f}  "
            f"{line['largest_peak'] / 1e6:8.0f}"
        )
    whole, pair = training.lines.get((1, 0)), training.lines.get((2, 2))
    if whole and pair:
        ratio = pair["processor_best"] / whole["processor_best"]
        print(f"  two ranks of one thread beside one process of two: {ratio:.3f} times the processor time,", end=" ")
        print(f"{pair['largest_peak'] / whole['largest_peak']:.2f} of the memory")
        low, middle, high = training.ratios[0], statistics.median(training.ratios), training.ratios[-1]
        print(f"  by the clock, median steps of {len(training.ratios)} pairs: {middle:.3f} times in the middle, {low:.3f} to {high:.3f}")


def print_check(training):
    print("  the model beside what was measured, processor time of a rank and step:")
    worst = 0.0
    for line in sorted(training.shared, key=lambda line: line["ranks"]):
        ranks = line["ranks"]
        said = training.step(ranks, training.batch, None)
        found = line["processor_best"] / ranks
        worst = max(worst, abs(said / found - 1.0))
        print(f"    {ranks} ranks: {said:.3f} s said, {found:.3f} s found ({100 * (said / found - 1):+.1f} %)")
    return worst


def print_scaling(training, wires):
    print("  seconds a step, and what part of it one rank would take as often; first the table's batch, evaluations and")
    print("  checkpoints included, then steps alone of batches that grow with the ranks, 8 samples for each")
    print("    ranks" + "".join(f"   {name:>16}" for name in wires) + "".join(f"   8 each, {name:>10}" for name in wires))
    for power in range(11):
        ranks, row = 2**power, ""
        for wire in wires.values():
            if ranks > training.batch:
                row += f"   {'fewer samples':>16}"
                continue
            step = training.whole(ranks, training.batch, wire)
            alone = training.whole(1, training.batch, wire)
            row += f"   {step:9.3f} {alone / step / ranks * 100:4.0f} %"
        for wire in wires.values():
            step, alone = training.step(ranks, 8 * ranks, wire), training.step(1, 8, wire)
            row += f"   {step:11.3f} {alone / step * 100:4.0f} %"
        print(f"    {ranks:5d}{row}")


def cells_of(locus, table):
    """How many trainings of each task the table has."""
    command = [locus, "reproduce", table, "--budget", "paper", "--list", "--format", "csv"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = {}
    for row in csv.DictReader(io.StringIO(text)):
        counts[row["task"]] = counts.get(row["task"], 0) + 1
    return counts


def best_share(training, nodes, cells, wire):
    """Hours on so many nodes: trainings side by side, each on the power of two of ranks that lets all end first."""
    found = None
    for power in range(11):
        ranks = 2**power
        if ranks > min(nodes, training.batch):
            break
        rounds = math.ceil(cells / (nodes // ranks))
        hours = rounds * training.steps * training.whole(ranks, training.batch, wire) / 3600.0
        if found is None or hours < found[0]:
            found = (hours, ranks)
    return found


def print_tables(trainings, locus, wire):
    print("hours of the published tables at budget paper; a node is one of the measured processors, ranks a training behind it")
    print("  table     trainings        1 node          8 nodes          64 nodes")
    for table in TABLES:
        hours, counted, left = {1: 0.0, 8: 0.0, 64: 0.0}, {}, 0
        ranks = {nodes: 1 for nodes in hours}
        for task, count in cells_of(locus, table).items():
            name = STANDS_FOR.get(task)
            if name in trainings:
                counted[name] = counted.get(name, 0) + count
            else:
                left += count
        for name, count in counted.items():
            for nodes in hours:
                found = best_share(trainings[name], nodes, count, wire)
                hours[nodes] += found[0]
                ranks[nodes] = max(ranks[nodes], found[1])
        row = "".join(f"   {hours[nodes]:9.1f} h ({ranks[nodes]:2d})" for nodes in hours) if counted else "   not measured"
        note = f"   and {left} that were not measured" if left and counted else ""
        print(f"  {table:8}  {sum(counted.values()):9d}{row}{note}")


def print_wires(lines):
    if not lines:
        return
    print("exchange of the published model's parameters between two ranks, best and median seconds")
    for line in lines:
        who = line.get("peer", "locus")
        print(f"  {line['rate']:7}  {who:32}  {line['exchange_best']:.3f}  {line['exchange']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="what bench/shared_steps.sh printed")
    parser.add_argument("--locus", help="the program: counts the trainings of tables")
    parser.add_argument("--bandwidth", type=float, default=10.0, help="Gbit/s between nodes, for tables (default: 10)")
    arguments = parser.parse_args()
    lines = read(arguments.files)
    wires = [line for line in lines if "rate" in line]
    steps = {}
    for line in lines:
        if "processor_best" in line:
            steps.setdefault(line["task"], []).append(line)
    if not steps:
        sys.exit("rank_costs: there is no step in these files: bench/shared_steps.sh words trees decoder")
    pairs = [line for group in steps.values() for line in group if line["ranks"] == 2 and "exchange_best" in line]
    near = [line for line in wires if line["rate"] == "memory" and "peer" not in line] + pairs
    memory = max([4.0 * line["parameters"] / line["exchange_best"] for line in near] or [1e9])
    print_wires(wires)
    for line in lines:
        if "memory" in line:
            print(f"locus train, {line['task']}, {line['ranks']} ranks: peak {line['memory'] / 1e6:.0f} MB")
    print(f"exchange in memory: {memory / 1e9:.2f} GB/s, copies and additions included")
    trainings = {task: Training(group, memory) for task, group in sorted(steps.items())}
    for training in trainings.values():
        print()
        print_measured(training)
        if len(training.shared) > 1:
            print_check(training)
        print_scaling(training, {"1 Gbit/s": 0.125e9, "10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9})
    if arguments.locus:
        print()
        print_tables(trainings, arguments.locus, 1e9 * arguments.bandwidth / 8.0)


if __name__ == "__main__":
    main()
