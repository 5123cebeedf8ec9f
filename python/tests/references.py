# SPDX-License-Identifier: MIT
"""Specs that reach every encoding, positions for them, and plain NumPy to compare with."""
import numpy as np

import locus

# One for each encoding of the registry, more where an option changes what is learned or how it acts.
SPECS = [
    "none", "rope", "rope(learned=on)", "rope(scaling=yarn, factor=4, original=16)", "rope(xpos=512)", "roper",
    "alibi", "decay", "temperature", "t5", "kerple", "fire", "cope", "relative", "relative(values=on)",
    "scores(cap=5)", "algebraic", "algebraic(group=tree:2, decay=0.98, values=on)", "algebraic(group=cycle:5)",
    "algebraic(group=seq*tree:2)", "mixed", "string", "liere", "sinusoidal", "learned", "chebyshev",
    "shiv-quirk(depth=3)", "rope + alibi",
]


def tree_rows(tokens, depth=3, arity=2, seed=1):
    """Branch rows of random nodes."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, arity, (tokens, depth))
    rows[np.arange(depth) >= draw.integers(0, depth + 1, tokens)[:, None]] = -1
    return rows


def places(group, tokens, offsets=None):
    """Positions on any of the groups above."""
    if group == "seq*tree:2":
        return locus.positions([f"({i},{'1+2' if i % 2 else '-1'})" for i in range(tokens)], group, offsets)
    if group == "tree:2":
        return locus.positions(tree_rows(tokens), group, offsets)
    if group == "grid:2":
        return locus.positions(np.stack([np.arange(tokens) // 3, np.arange(tokens) % 3], 1), group, offsets)
    return locus.positions(tokens, group, offsets)


def rotated(x, base=10000.0, sign=1):
    """Rotary turns of x [tokens, heads, dim] at 0, 1, 2, …: pairs (2i, 2i + 1)."""
    pairs = x.shape[-1] // 2
    angle = sign * np.arange(len(x))[:, None, None] * base ** (-np.arange(pairs) / pairs)
    y = np.empty_like(x)
    y[..., ::2] = x[..., ::2] * np.cos(angle) - x[..., 1::2] * np.sin(angle)
    y[..., 1::2] = x[..., ::2] * np.sin(angle) + x[..., 1::2] * np.cos(angle)
    return y


def attended(q, k, v, causal=False, bias=0.0, scale=None):
    """Softmax attention of [tokens, heads, dim]: output, log-sum-exp [tokens, heads], weights [heads, m, n]."""
    scores = np.einsum("mhd,nhd->hmn", q, k) * (scale or q.shape[-1] ** -0.5) + bias
    if causal:
        m, n = scores.shape[1:]
        scores = np.where(np.arange(n) <= np.arange(m)[:, None] + n - m, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    sums = np.exp(scores - most).sum(-1, keepdims=True)
    weights = np.exp(scores - most) / sums
    return np.einsum("hmn,nhd->mhd", weights, v), (most + np.log(sums))[..., 0].T, weights


def apart(x):
    """[tokens, heads, dim] as [1, heads, tokens, dim]."""
    return x.transpose(1, 0, 2)[None]
