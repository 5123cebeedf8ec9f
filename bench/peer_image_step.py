# SPDX-License-Identifier: MIT
"""One training step of the published image set-up in PyTorch, for docs/performance.md: the compact convolutional Transformer (3×3
convolution to 256 channels, ReLU, 3×3 max-pool, 7 pre-norm layers, 4 heads, feed-forward 512, GELU, sequence pooling) on a batch
of 128 random images of 32×32; attention dropout 0.1, label smoothing 0.1, AdamW.

  sdpa-none         as a good user would write it: scaled_dot_product_attention, nothing turned
  sdpa-rope         rotate-half over the flat order
  einsum-algebraic  as published: matrices of both axes' powers for each head, 100 positions, scores times 0.98^distance

--depth 0.1 adds stochastic depth by sample and branch, as DropPath does it (everything is computed, then dropped).

Usage: python3 bench/peer_image_step.py [--threads 2] [--steps 3] [--depth 0.1] [--cases …] [--ways float32,bf16,…];
each case in each way of peer_ways.py; prints JSON lines."""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

import peer_ways

DIM, HEADS, HIDDEN, LAYERS, BATCH, GRID, CLASSES, DROPOUT = 256, 4, 512, 7, 128, 10, 10, 0.1
HEAD = DIM // HEADS
SPECS = {"none": "none", "rope": "rope", "algebraic": "algebraic(group=grid:2, decay=0.98)"}  # as bench_step calls them


class Positions(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        if kind == "algebraic":
            self.free = nn.Parameter(0.1 * torch.randn(2, HEADS, HEAD // 2, HEAD // 2))
        self.frequency = 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)

    def prepare(self):
        if self.kind == "rope":
            angle = torch.arange(GRID * GRID)[:, None] * self.frequency
            self.cos, self.sin = (torch.cat([f(angle), f(angle)], -1)[:, None] for f in (torch.cos, torch.sin))
        elif self.kind == "algebraic":
            generators = torch.matrix_exp(self.free - self.free.transpose(2, 3))
            powers = [torch.eye(HEAD // 2).expand(2, HEADS, -1, -1)]
            for _ in range(GRID - 1):
                powers.append(powers[-1] @ generators)
            rows = torch.arange(GRID * GRID) // GRID
            columns = torch.arange(GRID * GRID) % GRID
            powers = torch.stack(powers)
            self.maps = powers[rows, 0], powers[columns, 1]
            apart = ((rows[:, None] - rows) ** 2 + (columns[:, None] - columns) ** 2).sqrt().floor()
            self.decay = 0.98**apart

    def turn(self, x):
        if self.kind == "none":
            return x
        a, b = x.chunk(2, -1)
        if self.kind == "rope":
            return x * self.cos + torch.cat([-b, a], -1) * self.sin
        return torch.cat([torch.einsum("bphd,phed->bphe", h, m) for h, m in zip((a, b), self.maps)], -1)


class Layer(nn.Module):
    def __init__(self, fused, drop):
        super().__init__()
        self.projection, self.output = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.norms = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(2))
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)
        self.fused, self.drop = fused, drop

    def attend(self, x, positions):
        q, k, v = self.projection(x).view(*x.shape[:2], 3, HEADS, HEAD).unbind(2)
        q, k = positions.turn(q), positions.turn(k)
        if self.fused:
            out = F.scaled_dot_product_attention(*(z.transpose(1, 2) for z in (q, k, v)), dropout_p=DROPOUT)
            return self.output(out.transpose(1, 2).flatten(2))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(HEAD) * positions.decay
        return self.output(torch.einsum("bhqk,bkhd->bqhd", F.dropout(scores.softmax(-1), DROPOUT), v).flatten(2))

    def keep(self, branch):
        if self.drop == 0:
            return branch
        return branch * (torch.rand(len(branch), 1, 1) >= self.drop) / (1 - self.drop)

    def forward(self, x, positions):
        x = x + self.keep(self.attend(self.norms[0](x), positions))
        return x + self.keep(self.down(F.gelu(self.up(self.norms[1](x)))))


class Model(nn.Module):
    def __init__(self, kind, fused, depth):
        super().__init__()
        self.convolution = nn.Conv2d(3, DIM, 3, bias=False)
        self.layers = nn.ModuleList(Layer(fused, depth * i) for i in range(LAYERS))
        self.norm, self.pool, self.classifier = nn.LayerNorm(DIM), nn.Linear(DIM, 1), nn.Linear(DIM, CLASSES)
        self.positions = Positions(kind)

    def forward(self, images):
        self.positions.prepare()
        x = F.max_pool2d(F.relu(self.convolution(images)), 3).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x, self.positions)
        x = self.norm(x)
        return self.classifier((self.pool(x).softmax(1) * x).sum(1))


def measure(case, options):
    style, kind = case.split("-")

    def subject():
        model = Model(kind, style == "sdpa", options.depth)
        images, labels = torch.randn(BATCH, 3, 32, 32), torch.randint(CLASSES, (BATCH,))

        def loss(images, labels):
            return F.cross_entropy(model(images), labels, label_smoothing=0.1)

        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.03, fused=True)
        return optimizer, lambda: ((images, labels), BATCH), loss, "images"

    peer_ways.measure_steps(case, {"encoding": SPECS[kind], "depth": options.depth}, options, subject)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    peer_ways.add_options(parser, "sdpa-none,sdpa-rope,einsum-algebraic", 3)
    parser.add_argument("--depth", type=float, default=0.0)
    options = parser.parse_args()
    peer_ways.begin(options)
    for name in options.cases:
        measure(name, options)
