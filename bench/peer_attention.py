# SPDX-License-Identifier: MIT
"""Times PyTorch's scaled_dot_product_attention on the shapes of bench_attention and prints one JSON object to a line.
Usage: python3 bench/peer_attention.py [--threads 2] [--lengths 128,256,…] [--tokens 8192] [--repeats 10]
[--types float32,bf16]

Tensors are laid out as after a projection: [batch, length, heads, dim], seen as [batch, heads, length,
dim]. Ragged batches are padded, as PyTorch needs them on a CPU: its time is divided by the real pairs."""
import argparse
import json
import math
import statistics
import time

import torch

import peer_ways

TYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
HEADS, DIM = 8, 64
RAGGED = [173, 512, 64, 301, 128, 480, 33, 256, 399, 77, 210, 350, 145, 500, 92, 288]


def timed(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {"best_ms": min(times) * 1e3, "median_ms": statistics.median(times) * 1e3}


def leaf(batch, length, dtype):
    data = torch.randn(batch, length, HEADS, DIM).to(dtype)
    return data.transpose(1, 2).requires_grad_()


def measure(batch, length, causal, lengths, options):
    query, key, value, gradient = (leaf(batch, length, TYPES[options.type]) for _ in range(4))
    gradient = gradient.detach()
    mask = None
    if lengths:
        index = torch.arange(length)
        seen = index[None, :] < torch.tensor(lengths)[:, None]
        mask = seen[:, None, None, :].expand(batch, 1, length, length)
        if causal:
            mask = mask & (index[None, :] <= index[:, None])
        mask = torch.where(mask, 0.0, -math.inf)
        mask = mask.to(TYPES[options.type])
        mask[:, :, :, 0] = 0.0  # padded rows see something, so that nothing is NaN

    def attend():
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=causal and mask is None)

    def forward():
        with torch.no_grad():
            attend()

    def both():
        query.grad = key.grad = value.grad = None
        attend().backward(gradient)

    pairs = sum(n * (n + 1) / 2 if causal else n * n for n in lengths or [length] * batch) * HEADS
    result = {"program": "torch " + torch.__version__, "type": options.type, "mkl": peer_ways.MKL, "threads": torch.get_num_threads(), "batch": batch,
              "length": length, "ragged": bool(lengths), "causal": causal}
    for name, call, flops in [("forward", forward, 4), ("both", both, 14)]:
        result[name] = timed(call, options.rounds)
        result[name]["gflops"] = pairs * flops * DIM / result[name]["best_ms"] / 1e6
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", default="128,256,512,1024,2048,4096,8192,16384")
    parser.add_argument("--tokens", type=int, default=8192, help="tokens of a packed batch")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--types", type=peer_ways.list_of, default=list(TYPES))
    options = parser.parse_args()
    peer_ways.begin(options)
    for options.type in options.types:
        for length in [int(text) for text in options.lengths.split(",")]:
            options.rounds = max(2, min(options.repeats, options.repeats * 4096 // length))
            for causal in (False, True):
                batch = max(1, options.tokens // length) if length <= 1024 else 1
                print(json.dumps(measure(batch, length, causal, None, options)), flush=True)
        options.rounds = options.repeats
        for causal in (False, True):
            print(json.dumps(measure(len(RAGGED), max(RAGGED), causal, RAGGED, options)), flush=True)


main()
