# SPDX-License-Identifier: MIT
"""Tree encodings in PyTorch beside bench_trees.c, with the structure that was published (Kogkalidis, Bernardy and Garg 2024, section
3.2.3): every unique position of the batch is a word of branches, padded on the right; its matrix starts as the identity; for each depth
and each branch, all words that take this branch at this depth are found by a mask over all positions and their matrices multiplied by the
branch's generator from the right; then a dense matrix is gathered for every token and head and multiplied with its query and key.
Autograd goes back through all of it, and through the matrix exponential to the generators.

Written for speed within that structure: no padding between trees, words prepared outside the timing, only masked rows are multiplied, one
gather for queries and keys, float32, autograd off where only values are timed.

In each way of peer_ways.py; bfloat16 is autocast.

Usage: python3 bench/peer_trees.py [--threads 2] [--ways float32,bf16,…] [--trees 64] [--depth 7] [--nodes N] [--read FILE]
[--write FILE]
A batch is a text file: a line for each tree, its nodes' paths in the order of tokens, "0 1 2 2+1 2+2". --nodes: one random tree of N
nodes instead of a batch. --write only writes. Prints JSON lines."""
import argparse
import random

import torch

import peer_rows
import peer_ways

HEADS, DIM, BRANCHES = 8, 64, 2


# ---- batches ----


def draw_tree(depth, draw, path=()):
    """The paths of a random binary tree of the given depth: one child has depth u, the other depth − 1 or anything below."""
    if depth == 0:
        return [path]
    one = draw.randrange(depth)
    other = depth - 1 if one < depth - 1 else draw.randrange(depth)
    children = [one, other]
    draw.shuffle(children)
    return [path] + draw_tree(children[0], draw, path + (1,)) + draw_tree(children[1], draw, path + (2,))


def draw_batch(trees, mean, draw):
    return [sorted(draw_tree(max(0, int(draw.gauss(mean, 1) // 1)), draw), key=lambda path: (len(path), path)) for _ in range(trees)]


def draw_bushy(nodes, draw):
    """One tree: each new node takes a free place, all equally likely."""
    free, paths = [(branch,) for branch in range(1, BRANCHES + 1)], [()]
    while len(paths) < nodes:
        index = draw.randrange(len(free))
        free[index], free[-1] = free[-1], free[index]
        path = free.pop()
        paths.append(path)
        free += [path + (branch,) for branch in range(1, BRANCHES + 1)]
    return [paths]


def write_batch(name, batch):
    with open(name, "w", encoding="ascii") as file:
        for tree in batch:
            file.write(" ".join("+".join(map(str, path)) or "0" for path in tree) + "\n")


def read_batch(name):
    with open(name, encoding="ascii") as file:
        return [[() if text == "0" else tuple(map(int, text.split("+"))) for text in line.split()] for line in file if line.strip()]


# ---- the published algorithm ----


class Published:
    def __init__(self, batch):
        self.batch = batch
        tokens = [path for tree in batch for path in tree]
        unique = sorted(set(tokens), key=lambda path: (len(path), path))
        number = {path: index for index, path in enumerate(unique)}
        depth = max(len(path) for path in unique)
        self.words = torch.tensor([list(path) + [0] * (depth - len(path)) for path in unique]).reshape(len(unique), depth)
        self.tokens = torch.tensor([number[path] for path in tokens])
        self.free = (0.05 * torch.randn(BRANCHES, HEADS, DIM, DIM)).requires_grad_()
        self.query, self.key = (torch.randn(len(tokens), HEADS, DIM).requires_grad_() for _ in range(2))
        self.upstream = [torch.randn(len(tokens), HEADS, DIM) for _ in range(2)]

    def matrices(self):
        """[unique positions, heads, d, d]"""
        generators = torch.matrix_exp(self.free - self.free.transpose(-1, -2))
        maps = torch.eye(DIM).expand(len(self.words), HEADS, -1, -1).contiguous()
        for step in range(self.words.shape[1]):
            for branch in range(1, BRANCHES + 1):
                mask = self.words[:, step] == branch
                maps[mask] = (maps[mask] @ generators[branch - 1]).to(maps.dtype)
        return maps

    def apply(self, maps):
        dense = maps[self.tokens]
        return [torch.einsum("thij,thj->thi", dense, x) for x in (self.query, self.key)]

    def step(self):
        """Everything: matrices, queries and keys, all gradients."""
        for leaf in (self.free, self.query, self.key):
            leaf.grad = None
        torch.autograd.backward(self.apply(self.matrices()), self.upstream)


def measure(peer, options):
    size = {"trees": len(peer.batch), "tokens": len(peer.tokens), "positions": len(peer.words), "depth": peer.words.shape[1]}
    maps = peer.matrices().detach()
    cases = {"plan": peer.matrices, "forward": lambda: peer.apply(maps), "plan + forward + backward": peer.step}
    for case, call in cases.items():
        def timed(way):
            program = torch.compile(call) if peer_ways.is_compiled(way) else call
            with torch.autocast("cpu", torch.bfloat16, enabled=way.startswith("bf16")), torch.set_grad_enabled(call == peer.step):
                return peer_rows.fastest(program, 1000, options.budget)

        for way in options.ways:
            peer_ways.row_of("published", way, {"case": case}, lambda way=way: timed(way), size)


def main():
    parser = argparse.ArgumentParser()
    peer_ways.add_ways(parser)
    parser.add_argument("--trees", type=int, default=64)
    parser.add_argument("--depth", type=float, default=7)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=5, help="seconds for each measurement")
    parser.add_argument("--read")
    parser.add_argument("--write")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    draw = random.Random(arguments.seed)
    if arguments.read:
        batch = read_batch(arguments.read)
    else:
        batch = draw_bushy(arguments.nodes, draw) if arguments.nodes else draw_batch(arguments.trees, arguments.depth, draw)
    if arguments.write:
        write_batch(arguments.write, batch)
        return
    peer_ways.begin(arguments)
    measure(Published(batch), arguments)


if __name__ == "__main__":
    main()
