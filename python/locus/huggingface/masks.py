# SPDX-License-Identifier: MIT
"""What a mask of transformers lets queries see, in the library's terms.

Masks come as tensors ``[batch, 1 or heads, queries, keys]``: True where a key is seen, or numbers that are added to
scores. Most of them say something simple, which costs nothing to compute with: causal, a window, padding at either end,
several texts in a row. These are found here; what is none of them becomes a bias of 0 and −∞."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Sequences of a padded batch, laid end to end: `tokens` numbers those of ``[batch · length]`` that are kept."""

    tokens: Tensor
    offsets: Tensor


@dataclass(frozen=True)
class Seen:
    """Query i of m stands at index t = i + n − m of n keys; `causal`: it sees keys j ≤ t, `window`: those with
    |t − j| < window, `bias`: those where it is not −∞, `packing`: those of its own sequence."""

    causal: bool
    window: Optional[int] = None
    bias: Optional[Tensor] = None
    packing: Optional[Packing] = None


def read(mask: Optional[Tensor], m: int, n: int, causal: bool) -> Seen:
    """What m queries see of n keys; `causal` is meant where there is no mask."""
    if mask is None:
        return Seen(causal)
    said = m, n, 0 if mask.is_inference() else mask._version
    kept = getattr(mask, "locus_seen", None)
    if kept is None or kept[0] != said:
        kept = said, _found(mask[..., :n])
        mask.locus_seen = kept  # one mask serves all layers
    found: Seen = kept[1]
    return found


def as_bias(mask: Tensor, seen: Seen, n: int) -> Seen:
    """A mask that was read as `seen`, as what it adds to scores."""
    mask = mask[..., :n]
    visible = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    plain = mask.dtype == torch.bool or bool(((mask == 0) | ~visible).all())
    return Seen(seen.causal, bias=_bias(visible, None if plain else mask))


def _found(mask: Tensor) -> Seen:
    if mask.dtype != torch.bool:
        if not bool(((mask == 0) | (mask <= torch.finfo(mask.dtype).min / 2)).all()):
            return Seen(False, bias=_bias(mask > torch.finfo(mask.dtype).min / 2, mask))
        mask = mask == 0
    if mask.shape[1] != 1:
        return Seen(False, bias=_bias(mask))
    return _simple(mask[:, 0]) or Seen(False, bias=_bias(mask))


def _bias(seen: Tensor, values: Optional[Tensor] = None) -> Tensor:
    dtype = torch.float32 if values is None else values.dtype
    zero = torch.zeros((), dtype=dtype, device=seen.device)
    return torch.where(seen, zero if values is None else values, -torch.inf)


def _simple(seen: Tensor) -> Optional[Seen]:
    """`seen` [batch, m, n] as a rule, or None. Queries of padding may differ from the rule: nothing reads them."""
    m, n = seen.shape[1:]
    apart = torch.arange(m, device=seen.device)[:, None] + (n - m) - torch.arange(n, device=seen.device)  # t − j
    causal = not bool((seen & (apart < 0)).any())
    valid = seen.any(1)
    widest = int(torch.where(seen, apart.abs(), -1).max()) + 1
    window = widest if 0 < widest < (n if causal else max(m, n)) else None
    rule = (apart >= 0) if causal else torch.ones_like(apart, dtype=torch.bool)
    if window is not None:
        rule = rule & (apart.abs() < window)
    queries = valid[:, n - m:] if m <= n else valid.new_ones(valid.shape[0], m)
    if bool(((seen == (rule & valid[:, None])) | ~queries[..., None]).all()):
        if bool(valid.all()):
            return Seen(causal, window)
        packing = _without_padding(valid) if m == n else None
        return None if packing is None else Seen(causal, window, packing=packing)
    return _documents(seen, queries) if causal and m == n else None


def _without_padding(valid: Tensor) -> Optional[Packing]:
    """Sequences whose tokens lie side by side; None where padding is between them."""
    inside = valid.int()
    if bool((torch.diff(inside, dim=1) == 1).sum(1).add(inside[:, 0]).gt(1).any()):
        return None
    return Packing(valid.flatten().nonzero()[:, 0], _offsets(valid.sum(1)))


def _offsets(lengths: Tensor) -> Tensor:
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0))


def _documents(seen: Tensor, queries: Tensor) -> Optional[Seen]:
    """Several texts in a row, each causal: query t sees the keys from its text's first one on."""
    batch, n = seen.shape[:2]
    t = torch.arange(n, device=seen.device)
    first = torch.where(queries, seen.int().argmax(-1), t)
    rule = (t[None, None, :] >= first[..., None]) & (t[None, None, :] <= t[None, :, None])
    if not bool(((seen == rule) | ~queries[..., None]).all()) or not bool((first.gather(1, first) == first).all()):
        return None
    tokens = queries.flatten().nonzero()[:, 0]
    number = (first + n * torch.arange(batch, device=seen.device)[:, None]).flatten()[tokens]
    lengths = torch.unique_consecutive(number, return_counts=True)[1]
    return Seen(True, packing=Packing(tokens, _offsets(lengths)))


def narrowed(mask: Optional[Tensor], indices: Tensor, n: int) -> Tensor:
    """A mask that also hides all keys but those that an indexer chose, ``[batch, queries, keys chosen]``."""
    chosen = torch.zeros((*indices.shape[:2], n), dtype=torch.bool, device=indices.device)
    chosen = chosen.scatter(-1, indices.long(), True)[:, None]
    if mask is None:
        return chosen
    if mask.dtype == torch.bool:
        return mask & chosen
    return mask.masked_fill(~chosen, torch.finfo(mask.dtype).min)


def shown(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask of truth values as the numbers that models' own code adds to scores."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, torch.finfo(dtype).min)
