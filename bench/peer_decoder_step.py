# SPDX-License-Identifier: MIT
"""One training step of RoPER's large decoder in PyTorch, for docs/performance.md: dimension 512, 6 layers, 8 heads, feed-forward 2048,
LayerNorm after each block, an output projection of its own, 32 sequences of 641 characters of which 640 are read, no dropout (with it,
scaled_dot_product_attention leaves its fused kernel on a CPU), AdamW (fused). Queries, keys and values are one product, positions are
turned by rotate-half in place of pairs, causal attention is scaled_dot_product_attention(is_causal=True).

  none     no positions
  rope     queries and keys turned
  roper    values too, and the output back

Usage: python3 bench/peer_decoder_step.py [--threads 2] [--steps 3] [--cases none,rope,roper] [--batch 32] [--length 641]
[--vocabulary 20] [--ways float32,bf16,…]; each case in each way of peer_ways.py; prints JSON lines."""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

import peer_ways

DIM, HEADS, HIDDEN, LAYERS = 512, 8, 2048, 6
HEAD = DIM // HEADS


def angles(length):
    """cos and sin, [length, HEAD], of rotate-half."""
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    return tuple(torch.cat([f(angle), f(angle)], -1) for f in (torch.cos, torch.sin))


def turn(x, cos, sin):
    """x [batch, heads, length, HEAD]."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.output = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)

    def heads(self, x, case, cos, sin):
        """Queries, keys and values, [batch, heads, length, HEAD], turned as the case says."""
        shape = (*x.shape[:2], HEADS, HEAD)
        q, k, v = (z.view(shape).transpose(1, 2) for z in self.project(x).chunk(3, -1))
        if case != "none":
            q, k = turn(q, cos, sin), turn(k, cos, sin)
        return q, k, turn(v, cos, sin) if case == "roper" else v

    def finish(self, x, out, case, cos, sin):
        """What attention gave goes back into the stream; then the feed-forward block."""
        out = turn(out, cos, -sin) if case == "roper" else out
        x = self.norm1(x + self.output(out.transpose(1, 2).flatten(2)))
        return self.norm2(x + self.down(F.relu(self.up(x))))

    def forward(self, x, case, cos, sin):
        q, k, v = self.heads(x, case, cos, sin)
        return self.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=True), case, cos, sin)


class Model(nn.Module):
    def __init__(self, case, vocabulary):
        super().__init__()
        self.case = case
        self.embedding = nn.Parameter(torch.randn(vocabulary, DIM) / math.sqrt(DIM))
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last = nn.Linear(DIM, vocabulary, bias=False)

    def forward(self, tokens):
        cos, sin = angles(tokens.shape[1])
        x = self.embedding[tokens] * math.sqrt(DIM)
        for layer in self.layers:
            x = layer(x, self.case, cos, sin)
        return self.last(x)


def measure(case, options):
    chance = math.log(options.vocabulary)

    def subject():
        model, generator = Model(case, options.vocabulary), torch.Generator().manual_seed(1)

        def batches():
            tokens = torch.randint(options.vocabulary, (options.batch, options.length), generator=generator)
            return (tokens,), options.batch * (options.length - 1)

        def loss(tokens):
            return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
        return optimizer, batches, loss, "tokens"

    for row in peer_ways.measure_steps(f"sdpa-{case}", {"encoding": case, "depth": 0}, options, subject):
        if "first_loss" in row and not 0.8 * chance < row["first_loss"] < 1.6 * chance:
            raise SystemExit(f"peer_decoder_step: the first loss is {row['first_loss']:.3f}, chance {chance:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    peer_ways.add_options(parser, "none,rope,roper", 3)
    for size, value in (("batch", 32), ("length", 641), ("vocabulary", 20)):
        parser.add_argument(f"--{size}", type=int, default=value)
    options = parser.parse_args()
    peer_ways.begin(options)
    for name in options.cases:
        measure(name, options)
