# SPDX-License-Identifier: MIT
"""Rotary application in PyTorch beside bench_apply.c: rotate-half as most models write it, on [tokens, 8, 64], and the algebraic
encoding as published: a dense matrix for each head and position. Both write new tensors, where locus writes in place.
Usage: python3 bench/peer_apply.py [--threads 2] [--tokens 64,1024,4096,65536] [--ways float32,bf16,…]; each case in each way of
peer_ways.py; prints JSON lines."""
import argparse

import torch

import peer_rows
import peer_ways

HEADS, DIM = 8, 64
MOST_DENSE = 4096  # tokens · 8 · 64 · 64 floats of more would be above a gigabyte


def rotary(tokens, dtype):
    x = torch.randn(tokens, HEADS, DIM).to(dtype)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] * 10000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
    cos, sin = (torch.cat([f(angle), f(angle)], -1).to(dtype)[:, None] for f in (torch.cos, torch.sin))

    def turn():
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    return turn


def dense(tokens, dtype):
    x, free = torch.randn(tokens, HEADS, DIM).to(dtype), 0.1 * torch.randn(HEADS, DIM, DIM)

    def turn():
        generator = torch.matrix_exp(free - free.transpose(1, 2)).to(dtype)
        maps = torch.stack([torch.eye(DIM, dtype=dtype).expand(HEADS, -1, -1), generator])
        while len(maps) < tokens:
            maps = torch.cat([maps, maps[1:] @ maps[-1]])
        return torch.einsum("bhd,bhed->bhe", x, maps[:tokens])

    return turn


CASES = {"rotate-half": ("rope", rotary), "dense algebraic": ("algebraic", dense)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    peer_ways.add_ways(parser)
    parser.add_argument("--tokens", type=peer_rows.numbers_of, default=[64, 1024, 4096, 65536])
    options = parser.parse_args()
    peer_ways.begin(options)
    with torch.no_grad():
        for tokens in options.tokens:
            for name, (spec, make) in CASES.items():
                if spec == "rope" or tokens <= MOST_DENSE:
                    peer_ways.measure_calls(name, {"encoding": spec, "positions": tokens, "pass": "forward"},
                                            lambda dtype: make(tokens, dtype), options, 20 if tokens < 65536 else 7)
