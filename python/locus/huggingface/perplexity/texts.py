# SPDX-License-Identifier: MIT
"""What is scored: runs of `stride` tokens, the same ones at every length, each at the end of a window of as many tokens
as the length says.

A run's first token so has length − stride tokens before it, its last one length − 1. That is sliding-window evaluation
(Press, Smith and Lewis 2022), as the papers on longer contexts report it, without the first window's tokens, which have less
before them: what differs between two lengths is what the model sees, not what it is asked."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Union

import torch
from torch import Tensor

Text = Union[str, Sequence[int], Tensor]


@dataclass(frozen=True)
class Runs:
    """`ids` of the text; `ends`: behind each run; `start`: a token that every window begins with, as the tokenizer
    begins a text, or none."""

    ids: Tensor
    ends: List[int]
    stride: int
    start: Optional[int]

    def windows(self, numbers: Sequence[int], length: int) -> Tensor:
        """The windows of these runs, [runs, length]."""
        found = torch.stack([self.ids[self.ends[i] - length:self.ends[i]] for i in numbers])
        if self.start is not None:
            found[:, 0] = self.start
        return found

    def digest(self) -> str:
        told = f"{self.ends} {self.stride} {self.start} ".encode()
        return hashlib.sha256(told + self.ids.numpy().tobytes()).hexdigest()[:16]


def _start_of(tokenizer: Any) -> Optional[int]:
    """The token that a tokenizer puts ahead of every text, if it does."""
    first = list(tokenizer("")["input_ids"])[:1]
    return int(first[0]) if first and first[0] == tokenizer.bos_token_id else None


def _tokens(text: Text, tokenizer: Any) -> Tensor:
    if isinstance(text, str):
        if tokenizer is None:
            raise TypeError("a text needs the model's tokenizer; without one give the numbers of its tokens")
        text = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    ids = torch.as_tensor(text).cpu()
    if ids.dim() != 1 or ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"tokens are {list(ids.shape)} of {ids.dtype}; expected a list of whole numbers")
    return ids.long()


def read_runs(text: Text, tokenizer: Any, lengths: Sequence[int], stride: int, most: int, size: int) -> Runs:
    """At most `most` tokens in runs, spread evenly over the text; `size`: how many different tokens a model has."""
    ids, longest = _tokens(text, tokenizer), max(lengths)
    if most < 1:
        raise ValueError(f"tokens is {most}; expected at least 1")
    outside = ids[(ids < 0) | (ids >= size)]
    if len(outside):
        raise ValueError(f"the text has the token {int(outside[0])}, the model knows 0 to {size - 1}: is it its tokenizer?")
    if len(ids) < longest:
        raise ValueError(f"the text has {len(ids)} tokens, but a window {longest}: give a longer text, or shorter lengths")
    there = 1 + (len(ids) - longest) // stride
    count = max(1, min(there, most // stride))
    ends = [longest + stride * (i * there // count) for i in range(count)]
    return Runs(ids, ends, stride, None if tokenizer is None else _start_of(tokenizer))


def check_lengths(lengths: Sequence[int], stride: Optional[int]) -> "tuple[List[int], int]":
    """Lengths in their order, each once, and the stride: 256 tokens, or half of the shortest length, unless said."""
    found = sorted({int(length) for length in lengths})
    if not found or found[0] < 2:
        raise ValueError(f"lengths are {list(lengths)}; expected whole numbers of at least 2")
    used = min(256, found[0] // 2) if stride is None else int(stride)
    if not 1 <= used < found[0]:
        raise ValueError(f"stride is {used}; expected 1 to {found[0] - 1}, so that the shortest window has tokens ahead "
                         "of those that are scored")
    return found, used
