# SPDX-License-Identifier: MIT
"""Makes what tests/golden/test_golden_report.c compares reports with.

    tests/golden/report_runs.json     runs of every kind of task, as a run store holds them: final scores and curves
                                      that no two places share, finished, failed, stopped and begun ones
    tests/golden/report_summary.json  the summary of them, as `locus report --json` prints it
    tests/golden/report_tables.txt    their tables, as `locus compare` prints them

Means, deviations, intervals, weights of bins, best and last epochs, steps to 99 %, pairs that are not separated: all of
them are computed here from the runs by their definitions, with NumPy and SciPy, nothing by locus. Published numbers are
those of the paper. report_page.txt, the page, is what locus writes; every number computed here is looked for in its
tables and in the data of its figures. So it is with reproduction_*.json:
the planted scores head reproduction_*.txt.

Usage: python3 tools/golden_report.py (needs numpy, scipy)."""
import json
import pathlib
import random
import re
import sys

import numpy as np
import scipy.stats

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
SEQ = "algebraic(group=seq, decay=0.98)"
TREE = "algebraic(group=tree:2)"

# Published accuracy and deviation (None: not printed), in per cent; of images also up to half of the epochs.
PUBLISHED = {
    ("copy", None): {"sinusoidal": (13.80, 3.5), "relative(window=16)": (100.0, None), "rope": (99.99, 0.0),
                     SEQ: (100.0, 0.0)},
    ("repeat", None): {"rope": (99.76, 0.3), SEQ: (99.90, 0.0)},
    ("tree-copy", "depth"): {"sinusoidal": (26.51, 0.4), "rope": (85.46, 2.0), TREE: (99.70, 0.2)},
    ("cifar10", None): {"sinusoidal": (92.79, 0.1), "algebraic(group=grid:2)": (94.42, 0.1)},
}
PUBLISHED_HALF = {("cifar10", None): {"sinusoidal": (91.57, 0.0), "algebraic(group=grid:2)": (92.95, 0.0)}}
SOURCE = "Algebraic Positional Encodings (Kogkalidis, Bernardy, Garg 2024), Table %d"

# A section: what its runs share, the words that describe its data, its rows with a level of accuracy, and seeds.
SECTIONS = [
    {"task": "copy", "budget": "smoke", "setup": "paper", "init": "scaled", "kind": "words",
     "title": "copy", "data": "words of length N(16, 1.5) over 20 symbols", "sets": [32, 8, 200],
     "config": {"length_mean": 16, "length_deviation": 1.5, "symbols": 20, "dim": 48, "heads": 3, "feed_forward": 96,
                "encoder_layers": 2, "decoder_layers": 3, "norm": "before", "dropout": 0.15, "attention_dropout": 0.11,
                "attention_dropout_on": "weights", "train_samples": 6001, "dev_samples": 130, "test_samples": 260,
                "data_seed": "7", "batch": 33, "steps": 1500, "epochs": 0, "rate_initial": 1e-7, "rate_peak": 0.002,
                "rate_final": 1e-9, "warmup_share": 0.05, "weight_decay": 0.01, "clip": 1.25},
     "rows": [("sinusoidal", 0.31, 3), ("rope", 0.972, 3), ("relative(window=16)", 0.969, 2), (SEQ, 0.991, 3)]},
    {"task": "copy", "budget": "paper", "setup": "code", "init": "unit", "kind": "words", "title": "copy",
     "data": "words of length N(30, 3) over 18 symbols, attention linear, 2 key-value heads", "sets": [],
     "config": {"length_mean": 30, "length_deviation": 3, "symbols": 18, "dim": 52, "heads": 4, "attention": "linear",
                "kv_heads": 2, "norm": "after", "data_seed": "9", "batch": 17, "steps": 0, "epochs": 400,
                "rate_peak": 0.0007, "schedule": "steps", "rate_factor": 0.5, "rate_epochs": 3, "patience": 6,
                "optimizer_decay": "coupled", "weight_decay": 0.02},
     "rows": [("rope", 0.61, 1), (SEQ, 0.93, 1)]},
    {"task": "tree-copy", "budget": "quick", "setup": "paper", "init": "scaled", "kind": "trees", "order": "depth",
     "title": "tree-copy, depth first", "data": "binary trees of depth N(5, 1.25), 21 symbols", "sets": [7],
     "config": {"depth_mean": 5, "depth_deviation": 1.25, "symbols": 21, "order": "depth", "dim": 40, "heads": 5,
                "encoder_layers": 4, "decoder_layers": 1, "norm": "before", "batch": 12, "steps": 700,
                "train_samples": 900, "dev_samples": 90, "test_samples": 80, "data_seed": "3"},
     "rows": [("rope", 0.77, 2), (TREE, 0.985, 3), ("sinusoidal", 0.23, 2)],
     "bins": {"depth": [(3, 3), (5, 5), (6, 6)], "nodes": [(1, 16), (17, 32), (65, None)]}},
    {"task": "tree-copy", "budget": "quick", "setup": "paper", "init": "scaled", "kind": "trees", "order": "breadth",
     "title": "tree-copy, breadth first", "data": "trees with 3 children to a node, of depth N(4, 1), 19 symbols",
     "sets": [], "other_trees": True,
     "config": {"depth_mean": 4, "depth_deviation": 1, "symbols": 19, "arity": 3, "dim": 44, "batch": 13, "steps": 710},
     "rows": [("rope", 0.57, 2)], "bins": {}},
    {"task": "cifar10", "budget": "quick", "setup": "paper", "init": "scaled", "kind": "images", "title": "cifar10",
     "data": "CIFAR-10, 50,000 training images", "sets": [],
     "config": {"train_samples": 50000, "test_samples": 10000, "batch": 128, "epochs": 4, "steps": 0, "dim": 256,
                "heads": 4, "feed_forward": 512, "encoder_layers": 7, "activation": "gelu", "norm": "before",
                "stochastic_depth": 0.1, "survivors": "as-they-are", "label_smoothing": 0.12, "weight_decay": 0.03,
                "augment": "autoaugment", "classes": 10, "dropout": 0, "attention_dropout": 0.13,
                "attention_dropout_on": "logits"},
     "rows": [("sinusoidal", 0.71, 2), ("algebraic(group=grid:2)", 0.79, 2), ("none", 0.66, 1)]},
    {"task": "addition", "budget": "quick", "setup": "paper", "init": "scaled", "kind": "problems", "title": "addition",
     "data": "numbers of up to 6 digits, sequences of 321 characters", "sets": [],
     "config": {"digits": 6, "sequence": 321, "train_samples": 0, "dev_samples": 33, "test_samples": 127,
                "greedy_samples": 126, "dim": 56, "heads": 7, "decoder_layers": 3, "output": "own", "batch": 15,
                "steps": 1600},
     "rows": [("rope", 0.83, 2), ("rope(values=on)", 0.88, 3)]},
    {"task": "substring-search", "budget": "smoke", "setup": "paper", "init": "scaled", "kind": "problems",
     "title": "substring-search", "data": "pieces of length N(6, 0.5) over 5 letters, sequences of 129 characters",
     "sets": [], "search": True,
     "config": {"length_mean": 6, "length_deviation": 0.5, "symbols": 5, "sequence": 129, "dim": 60, "steps": 1400},
     "rows": [("rope", 0.41, 2), ("none", 0.35, 2), ("sinusoidal", 0.38, 1), ("alibi", 0.44, 1), ("cope", 0.46, 1),
              ("t5", 0.48, 1), ("relative(window=8)", 0.5, 1), ("string", 0.52, 1), ("alibi + rope", 0.54, 1)]},
    {"task": "text", "budget": "quick", "setup": "paper", "init": "plain", "kind": "text", "title": "text",
     "data": "a vocabulary of 8,192 tokens, windows of 257", "sets": [],
     "config": {"symbols": 8192, "sequence": 257, "train_samples": 0, "dev_samples": 64, "test_samples": 0, "dim": 192,
                "heads": 6, "decoder_layers": 4, "batch": 16, "steps": 1000},
     "rows": [("rope", 0.34, 2), ("none", 0.29, 3), ("cope", 0.36, 1)]},
    {"task": "listops", "budget": "smoke", "setup": "paper", "init": "scaled", "kind": "expressions",
     "title": "listops, parity",
     "data": "expressions of 10 to 40 tokens, at most 4 deep, with up to 5 arguments", "sets": [],
     "config": {"shortest": 9, "longest": 41, "expression_depth": 4, "arity": 5, "asked": "parity", "dim": 64,
                "heads": 2, "encoder_layers": 2, "pool": "mean", "train_samples": 16000, "dev_samples": 256,
                "test_samples": 512, "data_seed": "5", "batch": 31, "steps": 3000},
     "rows": [("none", 0.55, 2), ("algebraic(group=tree:4)", 0.74, 3)],
     "bins": {"depth": [(2, 2), (4, 4)], "length": [(9, 16), (17, 32)]}},
    {"task": "repeat", "budget": "smoke", "setup": "paper", "init": "scaled", "kind": "words", "title": "repeat",
     "data": "", "sets": [], "config": {"dim": 33}, "rows": []},
]
MACHINE = "a machine, 2 threads, avx2"
chosen = random.Random(20241)


def near(level, spread):
    return round(min(max(chosen.gauss(level, spread), 0.0007), 0.9993), 4)


# ---- the runs ----

def finals_of(section, level, samples):
    """Final scores of a finished run."""
    spread = 0.004
    kind, made = section["kind"], {"test": {"accuracy": near(level, spread)}}
    test = made["test"]
    if kind in ("words", "trees"):
        test["exact"] = near(level * 0.8, spread)
        test["greedy_exact"] = near(level * 0.7, spread)
        test["loss"] = round(chosen.uniform(0.1, 2), 4)
        for n in section["sets"]:
            made[f"test:{n}"] = {"accuracy": near(level * 0.6 * 9 / (9 + abs(n - 16)), spread),
                                 "greedy_exact": near(level * 0.4, spread)}
    elif kind == "problems":
        test["loss"] = round(chosen.gauss(1.3 - level, 0.004), 4)
        if not section.get("search"):
            test["greedy_exact"] = near(level - 0.3, spread)
    elif kind == "text":
        test["loss"] = round(chosen.gauss(5 - level, 0.01), 4)
        test["perplexity"] = round(float(np.exp(test["loss"])), 4)
        test["bits_per_byte"] = round(test["loss"] / 2.9, 4)
    elif kind == "expressions":
        test["loss"] = round(chosen.gauss(1.9 - level, 0.01), 4)
        test["chance"], test["majority"] = 0.5, 0.5312
    for name, bins in section.get("bins", {}).items():
        for low, high in bins:
            text = f"{name}:{low}" + ("" if high == low else f"-{high or ''}")
            made[text] = {"accuracy": near(level, 0.05), "samples": samples + low}
            if kind == "trees":
                made[text]["exact"] = near(level * 0.9, 0.05)
                made[text]["greedy_exact"] = near(level * 0.85, 0.05)
    return made


def curves_of(section, level, seed):
    """Development and training curves; other seeds lack a point or have one more."""
    total = 2000 if section["kind"] != "images" else 4 * 391
    steps = [total // 4, total // 2, 3 * total // 4, total]
    made = {"dev.accuracy": [], "dev.loss": [], "train.loss": []}
    for i, step in enumerate(steps):
        share = (i + 1) / 4
        if not (seed == 1 and i == 1 and section["kind"] != "images"):
            top = level * (0.4 + 0.6 * share) + (0.003 if level > 0.98 else 0)
            top = level * 0.8 if section["kind"] == "images" and i == 3 else top
            value = near(top, 0.002)
            made["dev.accuracy"].append([step, 0.99 if level > 0.98 and seed == 1 and i == 2 else value])
        made["dev.loss"].append([step, round(3.1 - level - share + chosen.uniform(0, 0.1), 4)])
        made["train.loss"].append([step, round(3.4 - level - share + chosen.uniform(0, 0.1), 4)])
    return made


def make_runs():
    runs = []
    for number, section in enumerate(SECTIONS):
        most = max([seeds for _, _, seeds in section["rows"]], default=0)
        for seed in range(most):
            for encoding, level, seeds in section["rows"]:
                if seed < seeds:
                    runs.append(make_run(number, section, encoding, level, seed, len(runs)))
    copy = SECTIONS[0]
    failed = make_run(0, copy, "rope", 0.97, 3, len(runs) + 300)
    failed.update(state=3, steps_done=41, message="the loss was not finite: <nan> & \"worse\"", finals={}, curves={})
    stopped = make_run(9, SECTIONS[9], "rope", 0.5, 0, len(runs) + 301)
    stopped.update(state=2, steps_done=77, finals={}, message="")
    begun = make_run(9, SECTIONS[9], SEQ, 0.5, 1, len(runs) + 302)
    begun.update(state=0, steps_done=3, finals={}, curves={}, ended="", message="", peak_bytes=0)
    runs[1]["message"] = "3 paths were cut"
    return runs + [failed, stopped, begun]


def make_run(number, section, encoding, level, seed, index):
    together = section["task"] == "text"  # these ran two at a time
    minute = 5000 + 4 * index if together else 10 * number + 2 * index
    started, ended = stamp(minute), stamp(minute + (9 if together else 1))
    config = dict(section["config"], task=section["task"], encoding=encoding, seed=str(seed),
                  checkpoint_seconds=60 + seed)
    slow = 30 if section["task"] == "cifar10" else 1
    total = 2000 if section["kind"] != "images" else 4 * 391
    run = {"name": f"{section['task']}-{number}-{index}-s{seed}", "task": section["task"], "encoding": encoding,
           "setup": section["setup"], "embedding_init": section["init"], "budget": section["budget"], "config": config,
           "command": f"locus train --task {section['task']} --encoding '{encoding}' --seed {seed}",
           "version": "0.0.9+abc", "machine": MACHINE, "message": "", "seed": seed, "data_seed": 5, "state": 1,
           "steps_total": total, "steps_done": total, "tokens_seen": 100003 + 17 * index,
           "wall_seconds": round(slow * 9.5 * 1.31 ** number * (1 + 0.4 * chosen.random()), 3),
           "tokens_per_second": round(2345.6 * 1.9 ** number * (1 + 0.3 * chosen.random()), 2),
           "peak_bytes": int(61e6 * 1.6 ** number * (1 + 0.3 * chosen.random())),
           "parameters": 9000 + 70001 * number + 1370 * index,
           "started": started, "ended": ended, "finals": finals_of(section, level, 11 * (seed + 1)),
           "curves": curves_of(section, level, seed)}
    if section["kind"] in ("words", "trees") and level > 0.98 and seed == 0:
        run["finals"]["dev"] = {"steps_to_99": 612 + number}
    if section["kind"] == "images":
        run["finals"]["test"] = {} if seed == 1 else {
            "accuracy": near(level, 0.004), "accuracy_half": near(level - 0.05, 0.004),
            "accuracy_last": near(level - 0.02, 0.004)}
    return run


def stamp(minute):
    return f"2024-03-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:07Z"


# ---- statistics, by their definitions ----

def student(n):
    return float(scipy.stats.t.ppf(0.975, n - 1))


def statistic(values, weights=None):
    n = len(values)
    if n == 0:
        return None
    x, w = np.array(values, float), np.ones(n) if weights is None else np.array(weights, float)
    mean = float(np.average(x, weights=w))
    deviation = float(np.sqrt(np.average((x - mean) ** 2, weights=w) * n / (n - 1))) if n > 1 else 0.0
    return {"mean": mean, "deviation": deviation, "seeds": n,
            "half_width_95": float(student(n) * deviation / np.sqrt(n)) if n > 1 else None}


def contrast(fields, weights, miss):
    """Weighted sum of means and half of Welch's interval that misses with `miss`."""
    difference = sum(w * one["mean"] for one, w in zip(fields, weights))
    if min(one["seeds"] for one in fields) < 2:
        return difference, None
    parts = [w * w * one["deviation"] ** 2 / one["seeds"] for one, w in zip(fields, weights)]
    if sum(parts) == 0:
        return difference, 0.0
    degrees = sum(parts) ** 2 / sum(part ** 2 / (one["seeds"] - 1) for part, one in zip(parts, fields))
    return difference, float(scipy.stats.t.isf(miss / 2, degrees)) * float(np.sqrt(sum(parts)))


def told_apart(rows):
    """Of all pairs of rows, looked at together (Holm), those that are told apart."""
    pairs = []
    for i, a in enumerate(rows):
        for j in range(i + 1, len(rows)):
            fields, weights = (a, rows[j]), (1, -1)
            known = all(fields) and min(one["seeds"] for one in fields) > 1
            pairs.append((p_of("above", fields, weights, a["mean"] - rows[j]["mean"], 0) if known else 1, i, j))
    told = set()
    for k, (p, i, j) in enumerate(sorted(pairs)):
        if p >= 0.05 / (len(pairs) - k):
            break
        told.add((i, j))
    return told


# ---- the summary ----

def rank_of(runs):
    ranks = []
    for run in runs:
        if run["encoding"] not in ranks:
            ranks.append(run["encoding"])
    return ranks


def over(done, set_name, name):
    found = [run["finals"].get(set_name, {}).get(name) for run in done]
    return statistic([x for x in found if x is not None])


def steps_to_99(done):
    found = []
    for run in done:
        told = run["finals"].get("dev", {}).get("steps_to_99")
        reached = [step for step, value in run["curves"]["dev.accuracy"] if value >= 0.99]
        if told is not None or reached:
            found.append(told if told is not None else reached[0])
    return statistic(found)


def image_scores(done):
    scores = {"accuracy": [], "accuracy_half": [], "accuracy_last": []}
    for run in done:
        test, curve = run["finals"]["test"], run["curves"]["dev.accuracy"]
        scores["accuracy"].append(test.get("accuracy", max(value for _, value in curve)))
        scores["accuracy_half"].append(
            test.get("accuracy_half", max(value for step, value in curve if step <= run["steps_total"] / 2)))
        scores["accuracy_last"].append(test.get("accuracy_last", curve[-1][1]))
    return {name: statistic(values) for name, values in scores.items()}


def bin_list(section, name, done):
    made = []
    for low, high in section.get("bins", {}).get(name, []):
        text = f"{name}:{low}" + ("" if high == low else f"-{high or ''}")
        sets = [run["finals"][text] for run in done]
        weights = [one["samples"] for one in sets]
        entry = {"low": low, "high": high, "samples": None}
        for score in ("accuracy", "exact", "greedy_exact"):
            has = score in sets[0]
            entry[score] = statistic([one[score] for one in sets], weights) if has else None
        made.append(entry)
    return made


def published(table, section, encoding):
    order = section.get("order")
    order = None if order == "breadth" or section["kind"] != "trees" else order
    found = None if section.get("other_trees") else table.get((section["task"], order), {}).get(encoding)
    return found and {"budget": "paper", "mean": found[0] / 100,
                      "deviation": None if found[1] is None else found[1] / 100}


def summarise_row(section, encoding, runs, samples):
    done = [run for run in runs if run["state"] == 1]
    row = {"encoding": encoding}
    for name in ("accuracy", "exact", "greedy_exact", "loss"):
        row[name] = over(done, "test", name)
    images = image_scores(done) if section["kind"] == "images" else {}
    row["accuracy"] = images.get("accuracy", row["accuracy"])
    row["steps_to_99"] = steps_to_99(done)
    for name in ("tokens_per_second", "wall_seconds", "peak_bytes", "parameters"):
        row[name] = statistic([run[name] for run in done])
    any_done = samples["any"]
    row["lengths"] = [{"length": n, "accuracy": over(done, f"test:{n}", "accuracy"),
                       "greedy_exact": over(done, f"test:{n}", "greedy_exact")}
                      for n in (sorted(section["sets"]) if any_done else [])]
    if section["kind"] in ("trees", "expressions"):
        size = "nodes" if section["kind"] == "trees" else "length"
        row["depths"] = bin_list(section, "depth", done)
        row["nodes" if size == "nodes" else "token_lengths"] = bin_list(section, size, done)
        for entry in row["depths"]:
            entry["samples"] = samples["most"] + entry["low"]
        for entry in row["nodes" if size == "nodes" else "token_lengths"]:
            entry["samples"] = samples["most"] + entry["low"]
    elif section["kind"] == "text":
        row["perplexity"], row["bits_per_byte"] = over(done, "test", "perplexity"), over(done, "test", "bits_per_byte")
    elif section["kind"] == "images":
        row["accuracy_half"], row["accuracy_last"] = images["accuracy_half"], images["accuracy_last"]
        row["published_half"] = published(PUBLISHED_HALF, section, encoding)
    row["published"] = published(PUBLISHED, section, encoding)
    states = ["started", "done", "stopped", "failed"]
    row["runs"] = [{"name": run["name"], "seed": run["seed"], "state": states[run["state"]],
                    "wall_seconds": run["wall_seconds"], "peak_bytes": run["peak_bytes"]} for run in runs]
    return row


def summarise(runs):
    ranks, sections = rank_of(runs), []
    for number, section in enumerate(SECTIONS):
        own = [run for run in runs if run["name"].startswith(f"{section['task']}-{number}-")]
        encodings = sorted({run["encoding"] for run in own}, key=ranks.index)
        done = [run for run in own if run["state"] == 1]
        kinds = {"problems": "loss" if section.get("search") else "solved", "text": "loss"}
        measure = kinds.get(section["kind"], "accuracy")
        entry = {"task": section["task"], "budget": section["budget"], "setup": section["setup"],
                 "embedding_init": section["init"], "data": section["data"], "measure": measure}
        if section["kind"] == "trees":
            entry["order"] = section["order"]
        if section["kind"] == "expressions":
            entry["chance"], entry["majority"] = 0.5, 0.5312
        entry["shared_machine"] = section["task"] == "text"
        samples = {"any": bool(done), "most": 11 * max([run["seed"] + 1 for run in done], default=0)}
        entry["rows"] = [summarise_row(section, encoding, [run for run in own if run["encoding"] == encoding], samples)
                         for encoding in encodings]
        score = {"solved": "greedy_exact"}.get(measure, measure)
        told = told_apart([row[score] for row in entry["rows"]])
        entry["not_separated"] = [[a["encoding"], b["encoding"]] for i, a in enumerate(entry["rows"])
                                  for j, b in enumerate(entry["rows"]) if i < j and a[score] and b[score]
                                  and (i, j) not in told]
        sections.append(entry)
    return {"sections": sections}


# ---- the tables ----

def cell(s, scale=100, digits=2):
    if not s:
        return "–"
    text = f"{scale * s['mean']:.{digits}f}"
    return text if s["seeds"] == 1 else text + f" ±{scale * s['deviation']:.{digits}f}"


def cell_published(found):
    if not found:
        return "–"
    text = f"{100 * found['mean']:.2f}"
    return text if found["deviation"] is None else text + f" ±{100 * found['deviation']:.1f}"


def cell_seeds(row):
    done = sum(run["state"] == "done" for run in row["runs"])
    return str(done) if done == len(row["runs"]) else f"{done} of {len(row['runs'])}"


def cell_steps(row):
    s, done = row["steps_to_99"], sum(run["state"] == "done" for run in row["runs"])
    if not s:
        return "never" if done else "–"
    if s["seeds"] < done:
        return f"{s['mean']:.0f} ({s['seeds']} of {done})"
    return f"{s['mean']:.0f}" + (f" ±{s['deviation']:.0f}" if s["seeds"] > 1 else "")


def count_text(value):
    """Three digits and a unit."""
    for unit, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= 0.9995 * unit:
            scaled = value / unit
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{name}"
    return f"{value:.1f}"


def seconds_text(value):
    if value < 10:
        return f"{value:.1f} s"
    if value < 99.5:
        return f"{value:.0f} s"
    if value < 5970:
        return f"{round(value) // 60} min {round(value) % 60:02d} s"
    return f"{round(value / 60) // 60} h {round(value / 60) % 60:02d} min"


def bytes_text(value):
    for name in ("B", "KiB", "MiB", "GiB"):
        if value < 1023.5:
            return f"{value:.{1 if value < 9.95 else 0}f} {name}"
        value /= 1024
    raise ValueError(value)


def layout(heads, rows):
    """The first column to the left, the others to the right, two blanks between them."""
    table = [heads] + rows
    widths = [max(len(line[i]) for line in table) for i in range(len(heads))]
    return "\n".join("  ".join([line[0].ljust(widths[0])] + [line[i].rjust(widths[i]) for i in range(1, len(heads))])
                     for line in table) + "\n"


def score_table(section, entry):
    rows, kind = entry["rows"], section["kind"]
    heads, lines = ["encoding", "seeds"], [[row["encoding"], cell_seeds(row)] for row in rows]

    def add(head, texts):
        heads.append(head)
        for line, text in zip(lines, texts):
            line.append(text)

    any_published = any(row["published"] for row in rows)
    if kind == "images":
        add("best to half", [cell(row["accuracy_half"]) for row in rows])
        add("best of all", [cell(row["accuracy"]) for row in rows])
        add("at the end", [cell(row["accuracy_last"]) for row in rows])
        add("published @150*", [cell_published(row["published_half"]) for row in rows])
        add("published @300*", [cell_published(row["published"]) for row in rows])
    elif kind == "text":
        add("loss", [cell(row["loss"], 1, 4) for row in rows])
        add("perplexity", [cell(row["perplexity"], 1) for row in rows])
        add("bits per byte", [cell(row["bits_per_byte"], 1, 4) for row in rows])
        add("accuracy", [cell(row["accuracy"]) for row in rows])
    elif kind == "problems":
        if not section.get("search"):
            add("solved", [cell(row["greedy_exact"]) for row in rows])
        add("loss", [cell(row["loss"], 1, 4) for row in rows])
        add("accuracy", [cell(row["accuracy"]) for row in rows])
    elif kind == "expressions":
        add("accuracy", [cell(row["accuracy"]) for row in rows])
        add("loss", [cell(row["loss"], 1, 4) for row in rows])
    else:
        add("accuracy", [cell(row["accuracy"]) for row in rows])
        add("exact", [cell(row["exact"]) for row in rows])
        add("greedy exact", [cell(row["greedy_exact"]) for row in rows])
        for i, n in enumerate(sorted(section["sets"])):
            size = "depth" if kind == "trees" else "length"
            add(f"{size} {n}", [cell(row["lengths"][i]["accuracy"]) for row in rows])
            add(f"greedy {n}", [cell(row["lengths"][i]["greedy_exact"]) for row in rows])
        if any_published:
            add("published*", [cell_published(row["published"]) for row in rows])
    return layout(heads, lines)


def notes(section, entry):
    kind, trees = section["kind"], section["kind"] == "trees"
    text, what = "", "nodes" if trees else "tokens"
    if kind == "images":
        text = "Shares of the test images in %: the best epoch up to half of them, of all, and the last of 4.\n"
        what = "up to epoch 150 and 300"
    elif kind == "problems":
        text = ("Characters right in % and nats a character, teacher-forced"
                + ("" if section.get("search") else "; problems solved to the letter by greedy decoding in %") + ".\n")
    elif kind == "text":
        text = "Perplexity is exp(loss), loss in nats a token; bits per byte of the text; next tokens right in %.\n"
    elif kind == "expressions":
        text = "Expressions right in %: chance is 50.00, always the most common class 53.12.\n"
    else:
        whole, words = ("trees", "trees") if trees else ("outputs", "words")
        text = (f"Shares in %: {what} right and whole {whole} right under teacher forcing, "
                f"whole {whole} right by greedy decoding")
        size = "depth" if trees else "length"
        if section["sets"] or not trees:
            text += f";\n\"{size} N\", \"greedy N\": {what}, and greedy, on {words} of mean {size} N.\n"
        else:
            text += ".\n"
    if any(row["published"] for row in entry["rows"]):
        other = "" if section["budget"] == "paper" else " (not the budget measured here)"
        table = {"trees": 2, "images": 3}.get(kind, 1)
        text += f"* {what}, at budget paper{other}: {SOURCE % table}.\n"
    return text


def cost_table(section, entry):
    steps = section["kind"] in ("words", "trees")
    lines = []
    for row in entry["rows"]:
        line = [row["encoding"]] + ([cell_steps(row)] if steps else [])
        if row["tokens_per_second"]:
            line += [count_text(row["tokens_per_second"]["mean"]), seconds_text(row["wall_seconds"]["mean"]),
                     count_text(row["parameters"]["mean"]), bytes_text(row["peak_bytes"]["mean"])]
        else:
            line += ["–"] * 4
        lines.append(line)
    heads = ["encoding"] + (["steps to 99 %"] if steps else []) + ["tokens/s", "time", "parameters", "peak memory"]
    text = layout(heads, lines)
    if entry["shared_machine"]:
        text += "Runs were trained at the same time, on one machine or several of a kind: speeds and times may not be those of a run that has it alone.\n"
    return text


def tables(summary):
    parts = []
    for section, entry in zip(SECTIONS, summary["sections"]):
        head = f"{section['title']} · budget {section['budget']} · set-up {section['setup']}"
        head += "" if section["kind"] == "images" else f" · embeddings {section['init']}"
        head += f" · {section['data']}" if section["data"] else ""
        parts.append(f"{head}\n\n{score_table(section, entry)}{notes(section, entry)}\n{cost_table(section, entry)}")
    return "\n".join(parts)


# ---- the page ----

def score_cells(section, row):
    """What stands in the page's row of scores, in order."""
    def html(s, scale=100, digits=2):
        if not s:
            return "—"
        text = f"{scale * s['mean']:.{digits}f}"
        return text if s["seeds"] == 1 else text + f" <small>±{scale * s['deviation']:.{digits}f}</small>"

    kind = section["kind"]
    if kind == "images":
        return [html(row[name]) for name in ("accuracy_half", "accuracy", "accuracy_last")]
    if kind == "problems":
        solved = [] if section.get("search") else [html(row["greedy_exact"])]
        return solved + [html(row["loss"], 1, 4), html(row["accuracy"])]
    if kind == "text":
        return [html(row["loss"], 1, 4), html(row["perplexity"], 1), html(row["bits_per_byte"], 1, 4),
                html(row["accuracy"])]
    if kind == "expressions":
        return [html(row["accuracy"]), html(row["loss"], 1, 4)]
    return ([html(row[name]) for name in ("accuracy", "exact", "greedy_exact")]
            + [html(one["accuracy"]) for one in row["lengths"]])


def bin_cells(row, bins, score):
    return [f"{100 * one[score]['mean']:.2f} <small>±{100 * one[score]['deviation']:.2f}</small>" for one in row[bins]]


def point(x, y, low, high):
    """As the data of a figure have it."""
    return tuple(float(text) for text in (f"{x:.9g}", f"{y:.5g}", f"{low:.4g}", f"{high:.4g}"))


def curve_points(runs, metric, factor, steps):
    """Mean, lowest and highest over the seeds that have the step; steps are those of the first seed."""
    curves = [dict(map(tuple, run["curves"][metric])) for run in runs]
    made = []
    for step in curves[0]:
        values = [factor * curve[step] for curve in curves if step in curve]
        made.append(point(step / steps, sum(values) / len(values), min(values), max(values)))
    return made


def bar_points(scores, places):
    """Bars of one deviation, no longer than from 0 to 100 %."""
    return [point(x, 100 * s["mean"], 100 * max(s["mean"] - s["deviation"], 0),
                  100 * min(s["mean"] + s["deviation"], 1)) for x, s in zip(places, scores) if s]


def length_points(section, row, name, lengths):
    scored = sorted([(section["config"].get("length_mean", section["config"].get("depth_mean")), row[name])]
                    + [(one["length"], one[lengths]) for one in row["lengths"]], key=lambda one: one[0])
    return bar_points([s for _, s in scored], [x for x, _ in scored])


def drawn(part):
    """Points of every series of a section's figures, by encoding; without a band they are their own lowest and highest."""
    found = {}
    for text in re.findall(r'class="data">(.*?)</script>', part, re.S):
        x = []
        for series in json.loads(text)["series"]:
            x, y = series.get("x", x), series["y"]
            found.setdefault(series["name"], []).append(
                list(zip(x, y, series["low"], series["high"])) if "low" in series else list(zip(x, y)))
    return found


def cost_cells(entry, row):
    """Values, deviations, and bars unless runs shared the machine."""
    for name in ("tokens_per_second", "wall_seconds", "peak_bytes", "parameters"):
        most = max(one[name]["mean"] for one in entry["rows"] if one[name])
        share = 100 * row[name]["deviation"] / row[name]["mean"]
        yield f"<td data-value=\"{row[name]['mean']:.9g}\">"
        if row[name]["seeds"] > 1 and share > 0.05:
            yield f" <small>±{share:.1f}&thinsp;%</small>"
        if not entry["shared_machine"]:
            yield f"<rect width=\"{100 * row[name]['mean'] / most:.1f}\""


def expected_on_page(section, entry, runs):
    """What the section's part of the page has of each encoding: texts in their order, or points of a series."""
    for row in entry["rows"]:
        own = [run for run in runs if run["encoding"] == row["encoding"] and run["state"] == 1
               and run["name"].startswith(f"{section['task']}-{SECTIONS.index(section)}-")]
        if not own:
            continue
        name = f"<code>{row['encoding']}</code>"
        yield name, [name] + [f">{text}</td>" for text in score_cells(section, row)]
        steps = 391 if section["kind"] == "images" else 1
        sequences = section["kind"] in ("problems", "text")
        yield row["encoding"], curve_points(own, "dev.loss" if sequences else "dev.accuracy", 1 if sequences else 100, steps)
        yield row["encoding"], curve_points(own, "train.loss", 1, steps)
        if section["sets"]:
            yield row["encoding"], length_points(section, row, "accuracy", "accuracy")
            yield row["encoding"], length_points(section, row, "greedy_exact", "greedy_exact")
        for bins in [name for name in ("depths", "nodes", "token_lengths") if row.get(name)]:
            for score in ("accuracy", "exact", "greedy_exact"):
                if row[bins][0][score]:
                    yield name, [f">{text}</td>" for text in bin_cells(row, bins, score)]
                    if score != "exact":
                        yield row["encoding"], bar_points([one[score] for one in row[bins]], range(len(row[bins])))
        yield name, [name] + list(cost_cells(entry, row))


def check_page(runs, summary):
    page = (GOLDEN / "report_page.txt").read_text(encoding="utf-8")
    parts = page.split("<section id=")[1:]
    assert len(parts) == len(SECTIONS), "the page has other sections"
    checked = 0
    for section, entry, part in zip(SECTIONS, summary["sections"], parts):
        series = drawn(part)
        for name, wanted in expected_on_page(section, entry, runs):
            if name in series:
                there = any(points == [one[:len(points[0])] for one in wanted] for points in series[name] if points)
            else:
                there = re.search(r"[^\n]*?".join(re.escape(text) for text in wanted), part)
            assert there, f"the page's part on {section['title']} lacks {wanted} of {name}"
            checked += len(wanted)
    print(f"{checked} numbers of the page are as computed")


# ---- measured tables ----

def training_of(column):
    """Columns of images, and of text, are scores of the same trainings."""
    return column.split("-")[0] if column.split("-")[0] in ("cifar10", "text") else column


def read_planted(name):
    """{(column, row): [scores of each finished seed]} of the list at the head of a file; seeds asked for."""
    runs = {}
    for line in (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").split("==== terminal")[0].splitlines():
        column, row, _, state, *scores = line.split()
        if state == "done":
            made = {key: value for key, value in (score.split("=") for score in scores)}
            made = {key: float(value) if key != "curve" else [float(x) for x in value.split(",") if x]
                    for key, value in made.items()}
            runs.setdefault((training_of(column), row), []).append(made)
    return runs


def field_statistics(column, scores, drop):
    """Of the finished seeds of a field, the worst by the column's measure left out."""
    measure, name = column["measure"], column["name"]
    key = {"accuracy": "accuracy", "solved": "greedy_exact"}.get(measure, "loss")
    kept = sorted(scores, key=lambda one: one[key], reverse=measure in ("accuracy", "solved"))
    kept = [one for one in scores if one is not kept[-1]] if drop else scores
    if name.endswith("-half"):
        return {"accuracy": statistic([one["accuracy_half"] for one in kept])}
    names = ("accuracy", "exact", "greedy_exact", "loss")
    made = {key: statistic([one[key] for one in kept if key in one]) for key in names}
    made["perplexity"] = statistic([float(np.exp(one["loss"])) for one in kept if "loss" in one])
    return made


def same(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, dict):
        return all(same(a[key], b[key]) for key in a)
    return abs(a - b) < 1e-9


# ---- verdicts, by docs/reproduction.md ----

MARGINS = {"accuracy": 0.01, "solved": 0.01, "loss": 0.02, "perplexity": 0.02}


def learning(measure, span_half, seeds, score, chance):
    """Whether a field is still learning, from the curves of its finished trainings, and what it gained."""
    gains = []
    for one in seeds:
        curve = one["curve"][:6] if span_half else one["curve"]
        n = len(curve)  # scores at equal distances: the last sixth less the one that begins at half of the steps
        late, early = [[x for i, x in enumerate(curve, 1) if low * n < 6 * i <= high * n] for low, high in ((5, 6), (3, 4))]
        if measure != "solved" and late and early:
            gains.append(float(np.mean(late) - np.mean(early)))
    gain = float(np.mean(gains)) if gains else None
    if score is None:
        return None, gain, len(gains)
    share = measure in ("accuracy", "solved")
    if share and score["mean"] >= 0.99:
        return "converged", gain, len(gains)
    if (measure == "solved" and score["mean"] <= 0) or (measure == "accuracy" and chance > 0
                                                       and score["mean"] < chance + 0.1 * (1 - chance)):
        return "at chance", gain, len(gains)
    if not gains or len(gains) < len(seeds):
        return "unknown", gain, len(gains)
    return ("still learning" if gain > MARGINS[measure] else "converged"), gain, len(gains)


def verdict(kind, lead, half_width, margin):
    low, high = lead - half_width, lead + half_width
    if kind in ("best", "harmless"):
        held, broken = low > -margin, high < -margin
    elif kind == "similar":
        held, broken = low > -margin and high < margin, high < -margin or low > margin
    else:
        held, broken = low > 0, high < 0
    return "SUPPORTED" if held else "CONTRADICTED" if broken else "OPEN"


def overturning(kind, said, lead, weight):
    """Whether a field that the lead grows with (weight 1), or shrinks with (-1), could overturn what is said."""
    if kind == "similar" and said == "SUPPORTED":
        return True
    against = -1 if (said == "SUPPORTED" or (kind == "similar" and lead > 0)) else 1
    return weight == against


def check_item(claim, item, columns, scores, states, bounds):
    """Difference, interval, verdict and reason of a comparison; how many numbers were compared."""
    column, kind = columns[item["column"]], claim["kind"]
    sign = 1 if column["better"] == "higher" else -1
    places, weights = [(item["subject"], item["column"])], [1]
    if item["rival"] != "chance":
        places, weights = places + [(item["rival"], item["column"])], [1, -1]
    if kind == "less":
        other = item["column"].replace("depth", "breadth")
        places, weights = places + [(item["subject"], other), (item["rival"], other)], [1, -1, -1, 1]
    fields = [scores.get(place) for place in places]
    if not all(fields):
        assert item["difference"] is None and item["half_width"] is None
        assert (item["verdict"], item.get("reason")) == ("OPEN", "missing"), item
        return 0
    difference, half_width = contrast(fields, weights, 1 - item["level"])
    if item["rival"] == "chance":
        difference -= bounds[item["column"]]
        sign, weights = -1, [1]
    assert same(difference, item["difference"]) and same(half_width, item["half_width"]), item
    margin = MARGINS[column["measure"]] if kind in ("best", "similar", "harmless") else 0
    assert same(item.get("margin", 0), margin), item
    decidable = False
    low = [one is not None and one["mean"] < bounds.get(place[1], 0) for one, place in zip(fields, places)]
    if min(one["seeds"] for one in fields) < 3:
        said, reason, learners = "OPEN", "seeds", []
    elif any(low[i] and low[i + 1] for i in range(0, len(low) - 1, 2)):
        said, reason, learners = "OPEN", "chance", []
    else:
        decidable = True
        said = verdict(kind, sign * difference, half_width, margin)
        reason = "interval" if said == "OPEN" else None
        learners = [] if claim["after_the_same_steps"] or said == "OPEN" else [
            place for place, weight in zip(places, weights)
            if states[kind == "chance"][place] != "converged" and overturning(kind, said, sign * difference, sign * weight)]
        if learners:
            names = {"still learning": "learning", "at chance": "at chance", "unknown": "no curve"}
            said, reason = "OPEN", names[states[kind == "chance"][learners[0]]]
            assert (item["learner"], item["learner_column"]) == learners[0], item
    assert (item["verdict"], item.get("reason")) == (said, reason), (item, said, reason)
    assert same(p_of(kind, fields, weights, sign * difference, margin) if decidable else 1, item["p"]), item
    if "half_width_95_of_test_samples" in item or "half_width_95_of_test_images" in item:
        p, q = (one["mean"] for one in fields)
        n = {"cifar10": 10000, "listops": 2000}[column["task"]]
        alone = 1.959964 * np.sqrt((p * (1 - p) + q * (1 - q)) / n)
        assert same(alone, item.get("half_width_95_of_test_samples", item.get("half_width_95_of_test_images")))
    return 5


def p_of(kind, fields, weights, lead, margin):
    """Two-sided, of the nearest value that the lead is compared with."""
    values = (-margin, margin) if kind == "similar" else (-margin,)
    parts = [w * w * one["deviation"] ** 2 / one["seeds"] for one, w in zip(fields, weights)]
    distance = min(abs(lead - value) for value in values)
    if sum(parts) == 0:
        return float(distance == 0)
    degrees = sum(parts) ** 2 / sum(part ** 2 / (one["seeds"] - 1) for part, one in zip(parts, fields))
    return float(2 * scipy.stats.t.sf(distance / np.sqrt(sum(parts)), degrees))


def check_holm(claim, items):
    """Each one's level, from the p of all; of the best of a column only the deciding comparison is there."""
    m, level = claim["m"], None
    for k, item in enumerate(sorted(items, key=lambda one: one["p"])):
        if claim["kind"] == "best":
            assert 0.05 / m <= 1 - item["level"] + 1e-12 and 1 - item["level"] <= 0.05 + 1e-12
            continue
        stopped = level is not None and last["p"] >= 1 - level
        level = level if stopped else 1 - 0.05 / (m - k)
        last = last if stopped else item
        assert same(level, item["level"]), (claim["id"], item)


def check_claims(name, made, columns, scores, states):
    bounds = {key: one.get("majority", one["chance"]) * 0.9 + 0.1 for key, one in columns.items()
              if one["measure"] == "accuracy"}
    checked, counts = 0, {}
    for claim in made["claims"]:
        items = claim["comparisons"]
        assert claim["m"] >= len(items)
        check_holm(claim, items)
        assert made["part"] or claim["kind"] == "best" or claim["m"] == len(items), claim["id"]
        said = [item["verdict"] for item in items]
        assert claim["verdict"] == ("CONTRADICTED" if "CONTRADICTED" in said else "OPEN" if "OPEN" in said else "SUPPORTED")
        for item in items:
            checked += check_item(claim, item, columns, scores, states, bounds)
            key = item.get("reason", item["verdict"])
            counts[key] = counts.get(key, 0) + 1
    print(f"{name}: " + ", ".join(f"{count} {key}" for key, count in sorted(counts.items())))
    return checked


def check_pairs(name, made, columns, scores):
    open_pairs = []
    for column in columns:
        own = [row["name"] for row in made["rows"] if any(field["column"] == column for field in row["fields"])]
        told = told_apart([scores.get((row, column)) for row in own])
        open_pairs += [[column, a, b] for i, a in enumerate(own) for j, b in enumerate(own)
                       if i < j and scores.get((a, column)) and scores.get((b, column)) and (i, j) not in told]
    assert open_pairs == made["not_separated"], f"{name}: pairs"


def check_reproduction(name):
    planted = read_planted(name)
    made = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    columns, scores, checked = {one["name"]: one for one in made["columns"]}, {}, 0
    states = {False: {}, True: {}}  # True: of claims about chance, where being there is no reason
    measured = {"accuracy": "accuracy", "solved": "greedy_exact", "loss": "loss", "perplexity": "perplexity"}
    for row in made["rows"]:
        for field in row["fields"]:
            column = columns[field["column"]]
            place = row["name"], column["name"]
            seeds = planted.get((training_of(column["name"]), row["name"]), [])
            drop = made["drop_worst"] and len(seeds) == made["seeds"]
            expected = field_statistics(column, seeds, drop) if seeds else {}
            for key in ("accuracy", "exact", "greedy_exact", "loss", "perplexity"):
                assert same(expected.get(key), field[key]), f"{name}: {row['name']}, {field['column']}: {key}"
            scores[place] = expected.get(measured[column["measure"]])
            assert same(scores[place], field["score"]) and field["done"] == len(seeds)
            asked = expected.get("loss") if column["measure"] == "perplexity" else scores[place]
            chance = column.get("majority", column["chance"])
            half = column["name"].endswith("-half")
            state, gain, curves = learning(column["measure"], half, seeds, asked, chance)
            if state:
                found = field["learning"]
                assert found["state"] == state and same(gain, found["gain"]) and found["curves"] == curves, (place, found)
                states[False][place] = state
                states[True][place] = learning(column["measure"], half, seeds, asked, 0)[0]
            checked += 9
    checked += check_claims(name, made, columns, scores, states)
    check_pairs(name, made, columns, scores)
    print(f"{checked} numbers of {name}.json are as computed")


def main():
    runs = make_runs()
    summary = summarise(runs)
    (GOLDEN / "report_runs.json").write_text(
        "[\n" + ",\n".join(json.dumps(run, ensure_ascii=False) for run in runs) + "\n]\n", encoding="utf-8")
    text = json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
    (GOLDEN / "report_summary.json").write_text(text, encoding="utf-8")
    (GOLDEN / "report_tables.txt").write_text(tables(summary), encoding="utf-8")
    check_page(runs, summary)
    for table in ("words", "trees", "images", "sequences", "expressions"):
        check_reproduction(f"reproduction_{table}")


if __name__ == "__main__":
    main()
