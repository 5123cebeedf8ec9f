# SPDX-License-Identifier: MIT
"""Where tokens stand: position ids of transformers as locus takes them, and those of everything that a cache keeps."""
from __future__ import annotations

from typing import Optional

import numpy as np
import torch
from torch import Tensor

from ..encodings import Encoding
from ..errors import UnsupportedError
from ..places import positions


def row_of_places(ids: Optional[Tensor], m: int, past: int, axes: int, device: torch.device) -> Tensor:
    """Positions of m new tokens, ``[rows, m]`` or ``[rows, m, axes]``; one row is for all sequences. `ids` are
    ``[rows, m]`` or, with several numbers for each token, ``[numbers, rows, m]``."""
    if ids is None:
        ids = torch.arange(past, past + m, device=device)
    if ids.dim() == 1:
        ids = ids[None]
    if ids.dim() == 2:
        ids = ids[None]
    if ids.shape[-1] != m:
        raise UnsupportedError(f"position ids are {list(ids.shape)}, but there are {m} tokens")
    if axes == 1:
        return ids[0]
    if ids.shape[0] not in (1, axes):
        raise UnsupportedError(f"position ids are {list(ids.shape)}; expected {axes} numbers for each token")
    return ids.expand(axes, -1, -1).movedim(0, -1)


def places_of(rows: Tensor, encoding: Encoding, batch: int) -> positions:
    """Rows of positions as `locus.positions` of `batch` sequences, end to end."""
    length = rows.shape[1]
    values = rows.expand(batch, *rows.shape[1:]).flatten(0, 1).cpu().numpy()
    group = encoding.group or ("seq" if values.ndim == 1 else f"grid:{values.shape[-1]}")
    return positions(values, group, np.arange(batch + 1) * length)


def packed(x: Tensor, tokens: Tensor) -> Tensor:
    """[batch, heads, length, dim] as [tokens, heads, dim], without those that are left out."""
    return x.transpose(1, 2).flatten(0, 1)[tokens]


class Track:
    """Positions of all tokens that a cache keeps, [rows, length] or [rows, length, axes]."""

    def __init__(self) -> None:
        self.rows: Optional[Tensor] = None
        self.mark: Optional[Tensor] = None  # of the pass that said the newest ones

    @property
    def length(self) -> int:
        return 0 if self.rows is None else self.rows.shape[1]

    def place(self, past: int, own: Tensor, mark: Optional[Tensor]) -> None:
        """New tokens behind the first `past` ones; said by each layer, and so mostly known already."""
        if mark is not None and mark is self.mark:
            return
        self.mark = mark
        if past > self.length:
            raise UnsupportedError(f"the cache keeps {past} tokens of which locus has seen {self.length}: begin with "
                                   "an empty cache once locus is in use")
        if past == 0:
            self.rows = own
            return
        assert self.rows is not None
        if self.length == past + own.shape[1] and self.rows[:, past:].shape == own.shape and torch.equal(
                self.rows[:, past:], own):
            return
        before = self.rows[:, :past]
        rows = max(before.shape[0], own.shape[0])
        self.rows = torch.cat([before.expand(rows, *before.shape[1:]), own.expand(rows, *own.shape[1:])], 1)

    def columns(self, first: int, last: int) -> Tensor:
        if self.rows is None:
            raise UnsupportedError("keys come from a cache of which locus has seen no token: where they stand is not "
                                   "known")
        return self.rows[:, first:last]

    def last(self, n: int) -> Tensor:
        return self.columns(self.length - n, self.length)

    def select(self, sequences: Tensor) -> None:
        """The sequences with these numbers, in this order."""
        if self.rows is not None and self.rows.shape[0] > 1:
            self.rows = self.rows[sequences.to(self.rows.device)]

    def repeat(self, repeats: int) -> None:
        if self.rows is not None and self.rows.shape[0] > 1:
            self.rows = self.rows.repeat_interleave(repeats, 0)

    def crop(self, length: int) -> None:
        if self.rows is not None:
            self.rows = self.rows[:, :length]

    def reset(self) -> None:
        self.rows = None
