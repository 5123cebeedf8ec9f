# SPDX-License-Identifier: MIT
"""Makes tests/golden/bias.safetensors: attention with an additive bias, its gradient included, by PyTorch's
scaled_dot_product_attention(attn_mask=bias) in float64, for every way in which a bias may serve several sequences, heads,
queries or keys, with and without −∞ in it. Usage: python3 tools/golden_bias.py (needs torch, numpy)."""
import itertools
import pathlib

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(20250611)
SEQUENCES, HEADS, QUERIES, KEYS, DIM, VALUE_DIM = 2, 2, 9, 34, 4, 3
SHAPES = list(itertools.product([1, SEQUENCES], [1, HEADS], [1, QUERIES], [1, KEYS])) + [
    (HEADS, QUERIES, KEYS), (1, QUERIES, KEYS), (QUERIES, KEYS), (1, KEYS)]


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def packed(x):
    """[sequences, heads, length, dim] as [tokens, heads, dim]."""
    return x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3]).contiguous()


def case(arrays, number, shape, queries, hidden, kv_heads):
    shape = [queries if extent == QUERIES else extent for extent in shape]
    q, k = normal(SEQUENCES, HEADS, queries, DIM), normal(SEQUENCES, kv_heads, KEYS, DIM)
    v, go = normal(SEQUENCES, kv_heads, KEYS, VALUE_DIM), normal(SEQUENCES, HEADS, queries, VALUE_DIM)
    bias = normal(*shape)
    if hidden and shape[-1] > 1:
        bias[torch.rand(*shape, generator=GENERATOR, dtype=torch.float64) < 0.3] = float("-inf")
        bias[..., 5] = 0.5  # each query sees a key: PyTorch has NaN for one that sees none
    for x in (q, k, v, bias):
        x.requires_grad_()
    o = scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(SEQUENCES, HEADS, queries, KEYS), enable_gqa=True)
    o.backward(go)
    values = {"q": packed(q), "k": packed(k), "v": packed(v), "go": packed(go), "o": packed(o), "dq": packed(q.grad),
              "dk": packed(k.grad), "dv": packed(v.grad), "bias": bias, "dbias": bias.grad}
    for name, value in values.items():
        arrays[f"{number}.{name}"] = np.ascontiguousarray(value.detach().numpy())


def main():
    arrays, count = {}, 0
    for i, shape in enumerate(SHAPES):
        case(arrays, count, shape, 3 if i % 3 == 2 else QUERIES, i % 4 < 3, 1 if i % 2 else HEADS)
        count += 1
    golden_format.write(GOLDEN / "bias.safetensors", arrays, {"count": count})


if __name__ == "__main__":
    main()
