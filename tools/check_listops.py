#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds files of listops expressions against a reader and evaluator of its own (Python 3 and NumPy alone), and their
lengths against the exact distribution of the generator's.

    check_listops.py seed FILE.tsv …     sizes as in the seed
    check_listops.py lra FILE.tsv …      sizes as in Long Range Arena

Every expression is read as nested pairs, as the generator builds them: (((MAX, 2), 9), END). Its value must be its
Target, its depth, arguments and length as the sizes allow; all samples must differ. Then means, class shares and the
share of random trees that pass, computed by convolutions. Exit status 1 if anything differs."""
import csv
import sys

import numpy as np

SIZES = {"seed": (7, 7, 250, 1000), "lra": (10, 10, 500, 2000)}


def pairs(words):
    """The nested tuples of an expression with its round brackets."""
    stack = [[]]
    for word in words:
        if word == "(":
            stack.append([])
        elif word == ")":
            left, right = stack.pop()
            stack[-1].append((left, right))
        else:
            stack[-1].append(int(word) if word.isdigit() else word)
    (tree,), = stack
    return tree


def value(tree, depth, seen):
    """The number that a pair with its end, or a digit, comes to. `seen` collects depths and numbers of arguments."""
    if isinstance(tree, int):
        seen["depth"] = max(seen["depth"], depth)
        return tree
    left, right = tree
    if right == "]":
        operator, arguments = unsaturated(left, depth, seen)
        seen["arguments"] = max(seen["arguments"], len(arguments))
        seen["least"] = min(seen["least"], len(arguments))
        return {"[MIN": min, "[MAX": max, "[MED": lambda a: int(np.median(a)), "[SM": lambda a: sum(a) % 10}[operator](
            arguments)
    raise ValueError("an operator that is not closed")


def unsaturated(tree, depth, seen):
    if isinstance(tree, str):
        return tree, []
    operator, arguments = unsaturated(tree[0], depth, seen)
    return operator, arguments + [value(tree[1], depth + 1, seen)]


def exact(depth, arguments, shortest, longest):
    """Share of trees that pass, mean and deviation of their lengths."""
    chances = np.zeros(longest)
    chances[1] = 1
    for _ in range(depth - 1):
        power, total = chances.copy(), np.zeros(longest)
        for _ in range(2, arguments + 1):
            power = np.convolve(power, chances)[:longest]
            total += power / (arguments - 1)
        chances = np.zeros(longest)
        chances[1] = 0.75
        chances[2:] += 0.25 * total[:-2]
    lengths = np.arange(longest)
    chances[: shortest + 1] = 0
    share = chances.sum()
    mean = (chances * lengths).sum() / share
    return share, mean, np.sqrt((chances * lengths**2).sum() / share - mean**2)


def check(path, sizes):
    depth, arguments, shortest, longest = sizes
    lengths, classes, texts = [], np.zeros(10, int), set()
    with open(path, newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        assert next(rows) == ["Source", "Target"]
        for source, target in rows:
            words = source.split()
            seen = {"depth": 0, "arguments": 0, "least": arguments}
            assert value(pairs(words), 1, seen) == int(target), f"{path}, line {rows.line_num}"
            lengths.append(sum(word not in "()" for word in words))
            assert seen["depth"] <= depth and 2 <= seen["least"] and seen["arguments"] <= arguments
            assert shortest < lengths[-1] < longest
            classes[int(target)] += 1
            texts.add(source)
    assert len(texts) == len(lengths), f"{path}: {len(lengths) - len(texts)} samples stand there twice"
    share, mean, deviation = exact(*sizes)
    off = (np.mean(lengths) - mean) / (deviation / np.sqrt(len(lengths)))
    print(f"{path}: {len(lengths)} samples, lengths {min(lengths)} … {max(lengths)}, mean {np.mean(lengths):.1f} "
          f"(exactly {mean:.1f}, {off:+.1f} standard errors), {100 * share:.3f} % of random trees pass")
    print("  classes " + " ".join(f"{100 * c / len(lengths):.1f}" for c in classes) + " %")
    assert abs(off) < 5


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in SIZES:
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        check(name, SIZES[sys.argv[1]])
