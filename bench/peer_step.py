# SPDX-License-Identifier: MIT
"""One training step of the published sequence set-up in PyTorch, for docs/performance.md: an encoder–decoder of dimension 512, 2+2
layers, 8 heads, feed-forward 2048, batch 64 of copies of words of length N(100, 10), AdamW, dropout 0.1, padded batches.

  einsum   as published code does it: attention by einsum with scores and weights stored; positions by a dense matrix for each
           head and position (powers of exp(A - Aᵀ)), scores times 0.98^distance; or rotate-half for `rope`
  sdpa     as a good user would write it: scaled_dot_product_attention, rotate-half

Usage: python3 bench/peer_step.py [--threads 2] [--steps 4] [--cases einsum-algebraic,einsum-rope,sdpa-rope]
[--ways float32,bf16,…]; each case in each way of peer_ways.py; prints JSON lines."""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

import peer_ways

DIM, HEADS, HIDDEN, LAYERS, VOCABULARY, BATCH, DROPOUT = 512, 8, 2048, 2, 22, 64, 0.1
HEAD = DIM // HEADS


class Positions(nn.Module):
    """Turns queries and keys [batch, length, heads, head]."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.frequency = 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
        if kind == "algebraic":
            self.free = nn.Parameter(0.1 * torch.randn(HEADS, HEAD, HEAD))

    def prepare(self, length):
        if self.kind == "rope":
            angle = torch.arange(length)[:, None] * self.frequency
            self.cos, self.sin = (torch.cat([f(angle), f(angle)], -1)[:, None] for f in (torch.cos, torch.sin))
        else:
            generator = torch.matrix_exp(self.free - self.free.transpose(1, 2))
            powers = [torch.eye(HEAD).expand(HEADS, -1, -1)[None], generator[None]]
            maps = torch.cat(powers)
            while len(maps) < length:  # log2(length) products, as published
                maps = torch.cat([maps, maps[1:] @ maps[-1]])
            self.maps = maps[:length]
        distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
        self.decay = 0.98 ** distance if self.kind == "algebraic" else None

    def turn(self, x):
        if self.kind == "rope":
            a, b = x.chunk(2, -1)
            return x * self.cos[: x.shape[1]] + torch.cat([-b, a], -1) * self.sin[: x.shape[1]]
        return torch.einsum("bphd,phed->bphe", x, self.maps[: x.shape[1]])


class Attention(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(DIM, DIM) for _ in range(4))
        self.fused = fused

    def forward(self, x, y, mask, positions):
        q, k, v = (f(z).view(*z.shape[:2], HEADS, HEAD) for f, z in ((self.query, x), (self.key, y), (self.value, y)))
        q, k = positions.turn(q), positions.turn(k)
        if self.fused:
            out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask[:, None], DROPOUT)
            return self.output(out.transpose(1, 2).flatten(2))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(HEAD)
        if positions.decay is not None:
            scores = scores * positions.decay[: x.shape[1], : y.shape[1]]
        weights = F.dropout(scores.masked_fill(~mask[:, None], -1e10).softmax(-1), DROPOUT)
        return self.output(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


class Layer(nn.Module):
    def __init__(self, fused, cross):
        super().__init__()
        self.own, self.cross = Attention(fused), Attention(fused) if cross else None
        self.norms = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(3 if cross else 2))
        self.up, self.down, self.drop = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM), nn.Dropout(DROPOUT)

    def forward(self, x, mask, positions, memory=None, memory_mask=None):
        y = self.norms[0](x)
        x = x + self.drop(self.own(y, y, mask, positions))
        if self.cross is not None:
            x = x + self.drop(self.cross(self.norms[1](x), memory, memory_mask, positions))
        y = self.norms[-1](x)
        return x + self.drop(self.down(self.drop(F.relu(self.up(y)))))


class Model(nn.Module):
    def __init__(self, kind, fused):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(VOCABULARY + 1, DIM) / math.sqrt(DIM))
        self.encoder = nn.ModuleList(Layer(fused, False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Layer(fused, True) for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(2))
        self.positions, self.drop = Positions(kind), nn.Dropout(DROPOUT)

    def forward(self, source, target):
        self.positions.prepare(max(source.shape[1], target.shape[1]))
        seen = (source != VOCABULARY)[:, None]
        x = self.drop(self.embedding[source] * math.sqrt(DIM))
        for layer in self.encoder:
            x = layer(x, seen.expand(-1, source.shape[1], -1), self.positions)
        memory = self.norms[0](x)
        n = target.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool).tril().expand(len(target), -1, -1)
        x = self.drop(self.embedding[target] * math.sqrt(DIM))
        for layer in self.decoder:
            x = layer(x, causal, self.positions, memory, seen.expand(-1, n, -1))
        return self.norms[1](x) @ self.embedding.T


SPECS = {"rope": "rope", "algebraic": "algebraic(group=seq, decay=0.98)"}  # what a case computes, as bench_step calls it


def batch(generator):
    lengths = [max(1, int(100 + 10 * torch.randn((), generator=generator))) for _ in range(BATCH)]
    words = [torch.randint(1, 21, (n,), generator=generator) for n in lengths]
    pad = lambda rows: nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=VOCABULARY)
    source = pad(words)
    target = pad([torch.cat([torch.tensor([0]), word]) for word in words])
    wanted = pad([torch.cat([word, torch.tensor([21])]) for word in words])
    return source, target, wanted, sum(2 * n + 1 for n in lengths)


def measure(case, options):
    style, kind = case.split("-")

    def subject():
        model, generator = Model(kind, style == "sdpa"), torch.Generator().manual_seed(1)

        def batches():
            source, target, wanted, tokens = batch(generator)
            return (source, target, wanted), tokens

        def loss(source, target, wanted):
            return F.cross_entropy(model(source, target).flatten(0, 1), wanted.flatten(), ignore_index=VOCABULARY)

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
