# SPDX-License-Identifier: MIT
"""Rotary application in PyTorch beside bench_apply.c: rotate-half as most models write it, on [tokens, 8, 64] float32, and the algebraic
encoding as published: a dense matrix for each head and position. Usage: python3 bench/peer_apply.py [--threads 2]; prints JSON lines."""
import argparse
import json
import time

import torch

HEADS, DIM = 8, 64


def best(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times), sorted(times)[len(times) // 2]


def rotary(tokens):
    x = torch.randn(tokens, HEADS, DIM)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] * 10000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
    cos, sin = (torch.cat([f(angle), f(angle)], -1).float()[:, None] for f in (torch.cos, torch.sin))

    def turn():
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    return turn, 2 * x.nbytes


def dense(tokens):
    x, free = torch.randn(tokens, HEADS, DIM), 0.1 * torch.randn(HEADS, DIM, DIM)

    def turn():
        generator = torch.matrix_exp(free - free.transpose(1, 2))
        maps = torch.stack([torch.eye(DIM).expand(HEADS, -1, -1), generator])
        while len(maps) < tokens:
            maps = torch.cat([maps, maps[1:] @ maps[-1]])
        return torch.einsum("bhd,bhed->bhe", x, maps[:tokens])

    return turn, 2 * x.nbytes


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    with torch.no_grad():
        for tokens in (64, 1024, 4096, 65536):
            for name, make in (("rotate-half", rotary), ("dense algebraic", dense)):
                if name == "dense algebraic" and tokens > 4096:
                    continue  # tokens · 8 · 64 · 64 floats would be more than a gigabyte
                function, moved = make(tokens)
                function()
                fastest, median = best(function, 20 if tokens < 65536 else 7)
                print(json.dumps({"peer": f"PyTorch {torch.__version__}", "case": name, "tokens": tokens, "best_us": 1e6 * fastest,
                                  "median_us": 1e6 * median, "in_place_equivalent_GB_per_s": moved / fastest / 1e9}), flush=True)
