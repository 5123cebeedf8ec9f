# SPDX-License-Identifier: MIT
"""One training step of the published tree set-up in PyTorch, for docs/performance.md: the model of peer_step.py on copies of 64
binary trees of depth N(7, 1), breadth first, padded batches.

  einsum-algebraic  as published: the operator of every distinct path of the batch as a matrix for each head, level by level from
                    the parents'; gathered for each token; scores times 0.98^distance (distances are data, not timed)
  einsum-rope       the flat baseline, attention by einsum
  sdpa-rope         the flat baseline as a good user would write it

Usage: python3 bench/peer_tree_step.py [--threads 2] [--steps 4] [--cases …] [--ways float32,bf16,…]; each case in each way of
peer_ways.py; prints JSON lines."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

import peer_step
import peer_ways

BATCH, ARITY = 64, 2
SPECS = {"rope": "rope", "algebraic": "algebraic(group=tree:2, decay=0.98)"}  # as bench_step calls them


def random_tree(depth, path, nodes, draw):
    """The definition in docs/tasks.md: children of depth u and depth - 1, or a fresh number if u is depth - 1."""
    nodes.append(path)
    if depth == 0:
        return
    first = draw(depth)
    other = depth - 1 if first < depth - 1 else draw(depth)
    children = [first, other] if draw(2) else [other, first]
    for branch, child in enumerate(children):
        random_tree(child, path + (branch,), nodes, draw)


def distance(a, b):
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    return len(a) + len(b) - 2 * common


class TreePositions(peer_step.Positions):
    """Matrices of paths; `rope` is as on sequences."""

    def __init__(self, kind):
        super().__init__(kind)
        if kind == "algebraic":
            self.free = nn.Parameter(0.1 * torch.randn(ARITY, peer_step.HEADS, peer_step.HEAD, peer_step.HEAD))

    def place(self, levels, sides, distances):
        self.levels, self.sides, self.distances = levels, sides, distances

    def prepare(self, length):
        if self.kind == "rope":
            super().prepare(length)
            return
        generators = torch.matrix_exp(self.free - self.free.transpose(2, 3))
        maps = [torch.eye(peer_step.HEAD).expand(1, peer_step.HEADS, -1, -1)]
        for parents, branches in self.levels:
            maps.append(maps[-1][parents] @ generators[branches])
        self.maps = torch.cat(maps)
        self.decays = [0.98 ** d for d in self.distances]


class TreeAttention(peer_step.Attention):
    """which: (queries' side, keys' side), 0 encoder, 1 decoder."""

    def forward(self, x, y, mask, positions, which):
        if positions.kind == "rope":
            return super().forward(x, y, mask, positions)
        shape = (peer_step.HEADS, peer_step.HEAD)
        q, k, v = (f(z).view(*z.shape[:2], *shape) for f, z in ((self.query, x), (self.key, y), (self.value, y)))
        q = torch.einsum("bphd,bphed->bphe", q, positions.maps[positions.sides[which[0]]])
        k = torch.einsum("bphd,bphed->bphe", k, positions.maps[positions.sides[which[1]]])
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / peer_step.HEAD**0.5
        scores = scores * positions.decays[which[0] + which[1]][:, None]
        weights = F.dropout(scores.masked_fill(~mask[:, None], -1e10).softmax(-1), peer_step.DROPOUT)
        return self.output(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


class TreeLayer(peer_step.Layer):
    def __init__(self, fused, cross):
        super().__init__(fused, cross)
        self.own = TreeAttention(fused)
        self.cross = TreeAttention(fused) if cross else None
        self.side = 1 if cross else 0

    def forward(self, x, mask, positions, memory=None, memory_mask=None):
        y = self.norms[0](x)
        x = x + self.drop(self.own(y, y, mask, positions, (self.side, self.side)))
        if self.cross is not None:
            x = x + self.drop(self.cross(self.norms[1](x), memory, memory_mask, positions, (1, 0)))
        y = self.norms[-1](x)
        return x + self.drop(self.down(self.drop(F.relu(self.up(y)))))


class TreeModel(peer_step.Model):
    def __init__(self, kind, fused):
        super().__init__(kind, fused)
        self.encoder = nn.ModuleList(TreeLayer(fused, False) for _ in range(peer_step.LAYERS))
        self.decoder = nn.ModuleList(TreeLayer(fused, True) for _ in range(peer_step.LAYERS))
        self.positions = TreePositions(kind)


def pad(rows, value):
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)


def batch(generator):
    draw = lambda n: int(torch.randint(n, (), generator=generator))
    trees = []
    for _ in range(BATCH):
        nodes = []
        random_tree(max(0, int(torch.floor(7 + torch.randn((), generator=generator)))), (), nodes, draw)
        trees.append(sorted(nodes, key=lambda path: (len(path), path)))
    words = [torch.randint(1, 21, (len(nodes),), generator=generator) for nodes in trees]
    none = peer_step.VOCABULARY
    source, wanted = pad(words, none), pad(words, none)
    target = pad([torch.cat([torch.tensor([0]), word[:-1]]) for word in words], none)
    read = [[()] + nodes[:-1] for nodes in trees]  # the decoder stands at the tokens it reads
    paths = sorted({path for nodes in trees for path in nodes}, key=lambda path: (len(path), path))
    number = {path: i for i, path in enumerate(paths)}
    levels, first = [], 0
    for depth in range(1, len(paths[-1]) + 1):
        level = [path for path in paths if len(path) == depth]
        parents = torch.tensor([number[path[:-1]] - first for path in level])
        levels.append((parents, torch.tensor([path[-1] for path in level])))
        first = number[level[0]]
    sides = [pad([torch.tensor([number[p] for p in nodes]) for nodes in side], 0) for side in (trees, read)]
    table = lambda a, b: pad([F.pad(torch.tensor([[distance(p, q) for q in kb] for p in ka]), (0, width(b) - len(kb)))
                              for ka, kb in zip(a, b)], 0)
    width = lambda side: max(len(nodes) for nodes in side)
    distances = [table(trees, trees), table(read, trees), table(read, read)]
    return source, target, wanted, 2 * sum(len(nodes) for nodes in trees), (levels, sides, distances)


def measure(case, options):
    style, kind = case.split("-")

    def subject():
        model, generator = TreeModel(kind, style == "sdpa"), torch.Generator().manual_seed(1)
        if kind == "rope":
            model.encoder = nn.ModuleList(peer_step.Layer(style == "sdpa", False) for _ in range(peer_step.LAYERS))
            model.decoder = nn.ModuleList(peer_step.Layer(style == "sdpa", True) for _ in range(peer_step.LAYERS))

        def batches():
            source, target, wanted, tokens, places = batch(generator)
            model.positions.place(*places)
            return (source, target, wanted), tokens

        def loss(source, target, wanted):
            return F.cross_entropy(model(source, target).flatten(0, 1), wanted.flatten(),
                                   ignore_index=peer_step.VOCABULARY)

        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
        return optimizer, batches, loss, "real_tokens"

    peer_ways.measure_steps(case, {"encoding": SPECS[kind], "depth": 0}, options, subject)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    peer_ways.add_options(parser, "sdpa-rope,einsum-rope,einsum-algebraic", 4)
    options = parser.parse_args()
    peer_ways.begin(options)
    for name in options.cases:
        measure(name, options)
