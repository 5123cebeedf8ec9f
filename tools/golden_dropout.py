# SPDX-License-Identifier: MIT
"""locus's dropout once more, in NumPy, for golden_training.py: Philox4x32-10 (Salmon et al. 2011) keyed by seed, place and step, as
include/locus/random.h, lab/nn/dropout.h and lab/model/pass.c define it.

A place is a stream of its own: in a stack (the decoder's are 2^15 after the encoder's) 4 j for what join j adds, join 0 being what
the stack reads; 4 s + 1 for the hidden units of sublayer s, 4 s + 2 for its attention. Element j of packed row r takes 16-bit
word j % 8 of block r · ⌈columns / 8⌉ + j / 8; key j of query row r and head h that of block (r · heads + h) · 2^28 + j / 8."""
import numpy as np
import torch

PURPOSE = 0x10000 + 0x20000
LOW = np.uint64(0xFFFFFFFF)


def blocks(seed, purpose, step, index):
    """Four 32-bit words of each block: [..., 4]."""
    index = np.asarray(index, np.uint64)
    count = [index & LOW, index >> np.uint64(32), np.full_like(index, step), np.full_like(index, purpose)]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = count[0] * np.uint64(0xD2511F53), count[2] * np.uint64(0xCD9E8D57)
        count = [(b >> np.uint64(32)) ^ count[1] ^ np.uint64(keys[0]), b & LOW,
                 (a >> np.uint64(32)) ^ count[3] ^ np.uint64(keys[1]), a & LOW]
        keys = [(key + weyl) & 0xFFFFFFFF for key, weyl in zip(keys, (0x9E3779B9, 0xBB67AE85))]
    return np.stack(count, -1)


def place_of(name):
    """The name of a stack, norm, attention or feed-forward block → number of its stream. Norm k of a layer names the join behind
    sublayer k of it."""
    stack, *rest = name.split(".")
    start = PURPOSE + (0x8000 if stack == "decoder" else 0)
    if not rest:
        return start
    sublayers = ["self_attention", "cross_attention", "feed_forward"] if stack == "decoder" else ["self_attention", "feed_forward"]
    first = len(sublayers) * int(rest[0])
    if rest[1].startswith("norm"):
        return start + 4 * (first + int(rest[1][4:]))
    return start + 4 * (first + sublayers.index(rest[1])) + (1 if rest[1] == "feed_forward" else 2)


class NoDropout:
    def begin(self, step, first):
        pass

    def rows(self, name, x):
        return x

    def attention(self, name, queries, keys, heads):
        return None, None


class Dropout:
    """`on`: weights or logits."""

    def __init__(self, p, seed, on):
        self.p, self.seed, self.on, self.threshold = p, seed, on, round(65536 * p)

    def begin(self, step, first):
        """A sample; its first packed row in each stack."""
        self.step, self.first = step, first

    def kept(self, name, index):
        words = blocks(self.seed, place_of(name), self.step, index)
        halves = np.stack([words & np.uint64(0xFFFF), words >> np.uint64(16)], -1)
        return torch.from_numpy(halves.reshape(*words.shape[:-2], -1) >= self.threshold)

    def numbers(self, name, rows):
        return self.first[name.split(".")[0]] + np.arange(rows)[:, None]

    def rows(self, name, x):
        rows, columns = x.shape
        index = self.numbers(name, rows) * (columns // 8) + np.arange(columns // 8)
        return x * self.kept(name, index) / (1 - self.threshold / 65536)

    def attention(self, name, queries, keys, heads):
        """(which scores are lost, factors of the weights): [queries, keys, heads], one of them None."""
        row = self.numbers(name, queries) * heads + np.arange(heads)
        kept = self.kept(name, row[..., None] * 2**28 + np.arange((keys + 7) // 8))[..., :keys].transpose(1, 2)
        return (~kept, None) if self.on == "logits" else (None, kept / (1 - self.p))
