# SPDX-License-Identifier: MIT
"""Times PyTorch's scaled_dot_product_attention on the shapes of bench_attention, in each way of peer_ways.py.
Usage: python3 bench/peer_attention.py [--threads 2] [--lengths 128,256,…] [--tokens 8192] [--repeats 10]
[--ways float32,bf16,…]; prints JSON lines.

Tensors are laid out as after a projection: [batch, length, heads, dim], seen as [batch, heads, length,
dim]. Ragged batches are padded, as PyTorch needs them on a CPU; `gflops` counts the real pairs alone."""
import argparse
import math

import torch

import peer_rows
import peer_ways

HEADS, DIM = 8, 64
RAGGED = [173, 512, 64, 301, 128, 480, 33, 256, 399, 77, 210, 350, 145, 500, 92, 288]


def leaf(batch, length, dtype):
    data = torch.randn(batch, length, HEADS, DIM).to(dtype)
    return data.transpose(1, 2).requires_grad_()


def padding_mask(length, lengths, causal, dtype):
    index = torch.arange(length)
    seen = (index[None, :] < torch.tensor(lengths)[:, None])[:, None, None, :].expand(len(lengths), 1, length, length)
    if causal:
        seen = seen & (index[None, :] <= index[:, None])
    mask = torch.where(seen, 0.0, -math.inf).to(dtype)
    mask[:, :, :, 0] = 0.0  # padded rows see something, so that nothing is NaN
    return mask


def calls(batch, length, causal, lengths, dtype, attend):
    """Forward, and forward with backward, on tensors of a type."""
    query, key, value, gradient = (leaf(batch, length, dtype) for _ in range(4))
    gradient = gradient.detach()
    mask = padding_mask(length, lengths, causal, dtype) if lengths else None

    def forward():
        with torch.no_grad():
            attend(query, key, value, mask, causal and mask is None)

    def both():
        query.grad = key.grad = value.grad = None
        attend(query, key, value, mask, causal and mask is None).backward(gradient)

    return {"forward": forward, "both": both}


def sdpa(query, key, value, mask, causal):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)


def measure(batch, length, causal, lengths, repeats, options):
    pairs = sum(n * (n + 1) / 2 if causal else n * n for n in lengths or [length] * batch) * HEADS
    for name, flops in (("forward", 4), ("both", 14)):
        work = {"encoding": "none", "batch": batch, "length": length, "ragged": bool(lengths), "causal": causal, "pass": name}

        def timed(way):
            attend = torch.compile(sdpa, dynamic=False) if peer_ways.is_compiled(way) else sdpa
            run = calls(batch, length, causal, lengths, peer_ways.type_of(way), attend)[name]
            times = peer_rows.fastest(run, repeats)
            return {**times, "gflops": pairs * flops * DIM / times["best_s"] / 1e9}

        for way in options.ways:
            peer_ways.row_of("sdpa, padded" if lengths else "sdpa", way, work, lambda way=way: timed(way))


def main():
    parser = argparse.ArgumentParser()
    peer_ways.add_ways(parser)
    parser.add_argument("--lengths", type=peer_rows.numbers_of, default=[128, 256, 512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--tokens", type=int, default=8192, help="tokens of a packed batch")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    peer_ways.begin(options)
    for length in options.lengths:
        batch = max(1, options.tokens // length) if length <= 1024 else 1
        repeats = max(2, min(options.repeats, options.repeats * 4096 // length))
        for causal in (False, True):
            measure(batch, length, causal, None, repeats, options)
    for causal in (False, True):
        measure(len(RAGGED), max(RAGGED), causal, RAGGED, options.repeats, options)


main()
