# SPDX-License-Identifier: MIT
"""FlexAttention, PyTorch's kernel that is compiled with what happens to a score: half types are multiplied as such, and
what positions add or multiply is looked up inside of it, in float32."""
from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch
from torch import Tensor

try:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:  # before PyTorch 2.5
    flex_attention = None

# Kinds of devices where it is compiled. Others would make all scores as a whole.
DEVICES = {"cuda"}
LEAST = 128  # tokens: a block of its kernel
# It is compiled for each size (PyTorch 2.11 fails where sizes may vary), for no more than PyTorch keeps programs of one
# function; what comes later has its scores made as a whole.
MOST = 8
_sizes: Set[Any] = set()
_state: Dict[str, Any] = {}


def serves(q: Tensor, v: Tensor, keys: int, dtype: torch.dtype) -> bool:
    """Whether it takes tensors of these sizes, [sequences, heads, length, dim], as `dtype`."""
    sizes = (16, 32, 64, 128, 256)
    return (flex_attention is not None and "failed" not in _state and q.device.type in DEVICES
            and dtype in (torch.bfloat16, torch.float16) and min(q.shape[2], keys) >= LEAST
            and q.shape[3] in sizes and v.shape[3] in sizes)


def wrapped(cells: Tensor, sequences: int) -> Tensor:
    """Cells, of which sums of two count modulo 2³², as int32, which wrap by themselves: [sequences, length]."""
    return ((cells + 2**31) % 2**32 - 2**31).to(torch.int32).expand(sequences, -1).contiguous()


def block_mask(hides: Callable[[Tensor, Tensor], Tensor], queries: int, keys: int, device: torch.device) -> Any:
    """`hides`: of the numbers of queries and keys, whether a query sees a key."""
    return create_block_mask(lambda b, h, i, j: hides(i, j), None, None, queries, keys, device=str(device))


def modifier(tables: List[Tuple[Tensor, Any, Optional[Tensor], bool]], cap: float) -> Optional[Callable[..., Tensor]]:
    """What happens to a score: a cap, then each table's values [heads, cells] in float32, of cells of queries and of keys
    (`wrapped`), or, with a number in the place of the first and without the second, of i − j + that; and whether
    values multiply."""
    if not tables and not cap:
        return None

    def modified(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        if cap:
            score = cap * torch.tanh(score / cap)
        for values, of_query, of_key, multiplies in tables:
            own = values[h, i - j + of_query] if of_key is None else values[h, of_query[b, i] + of_key[b, j]]
            score = score * own if multiplies else score + own
        return score

    return modified


def sloped(slopes: Tensor, zero: int) -> Callable[..., Tensor]:
    """Scores less slopes [heads] times |i − j − zero|."""
    def modified(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score - slopes[h] * (i - j - zero).abs()

    return modified


def _compiled(device: torch.device) -> Callable[..., Tensor]:
    if device.type == "cpu":
        return flex_attention
    if "compiled" not in _state:
        _state["compiled"] = torch.compile(flex_attention, dynamic=False)
    return _state["compiled"]


def attention(q: Tensor, k: Tensor, v: Tensor, modified: Any, mask: Any, key: Any, scale: float, options: Any = None
              ) -> Optional[Tensor]:
    """`modified`: a `modifier`; `key`: what tells it and the mask from others. None where PyTorch cannot compile it here,
    which is said once, or for one more size."""
    learns = tuple(torch.is_grad_enabled() and x.requires_grad for x in (q, k, v))
    size = (q.device, q.dtype, *(y for x in (q, k, v) for y in (x.shape, x.stride())), learns, scale, key)
    if size not in _sizes and len(_sizes) == MOST:
        return None
    _sizes.add(size)
    try:
        return _compiled(q.device)(q, k, v, score_mod=modified, block_mask=mask, scale=scale, kernel_options=options)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # no compiler on the machine, or one that does not know the device
        _state["failed"] = True
        warnings.warn("locus.torch: PyTorch cannot compile FlexAttention here, so that scores are made as a whole: "
                      f"{type(error).__name__}: {error}".splitlines()[0], stacklevel=2)
        return None
