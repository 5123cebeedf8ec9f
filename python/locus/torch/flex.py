# SPDX-License-Identifier: MIT
"""FlexAttention, PyTorch's kernel that is compiled with what happens to a score: half types are multiplied as such, and
what positions add or multiply is looked up inside of it, in float32."""
from __future__ import annotations

import warnings
from types import FunctionType
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
# It is compiled for each size by itself (PyTorch 2.11 fails where sizes may vary), and for no more than this; what
# comes later is done without it.
MOST = 16
_programs: Dict[Any, Any] = {}
_failed: Set[Any] = set()  # sizes
_done: Set[Any] = set()    # sizes; where three failed before any was done, it is not tried again
# float32 as three products of TF32, within the tests' tolerance of float32's own and three times as fast.
_EXACT = {"FLOAT32_PRECISION": "'tf32x3'"}
# Where numbers in float32 are looked up by i − j, Triton fetches them ahead as it does keys: with the three stages that
# it would take, a kernel of an H100 has too little memory.
SHORT = {"num_stages": 2}


def serves(q: Tensor, v: Tensor, keys: int, dtype: torch.dtype) -> bool:
    """Whether it takes tensors of these sizes, [sequences, heads, length, dim], as `dtype`."""
    sizes = (16, 32, 64, 128, 256)
    return (flex_attention is not None and (len(_failed) < 3 or bool(_done)) and q.device.type in DEVICES
            and min(q.shape[2], keys) >= LEAST and q.shape[3] in sizes and v.shape[3] in sizes
            and (dtype in (torch.bfloat16, torch.float16) or dtype == torch.float32 and _multiplies_exactly(q.device)))


def _multiplies_exactly(device: torch.device) -> bool:
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= (8, 0)


def wrapped(cells: Tensor, sequences: int) -> Tensor:
    """Cells, of which sums of two count modulo 2³², as int32, which wrap by themselves: [sequences, length]."""
    return ((cells + 2**31) % 2**32 - 2**31).to(torch.int32).expand(sequences, -1).contiguous()


def block_mask(hides: Callable[[Tensor, Tensor], Tensor], queries: int, keys: int, device: torch.device) -> Any:
    """`hides`: of the numbers of queries and keys, whether a query sees a key."""
    return create_block_mask(lambda b, h, i, j: hides(i, j), None, None, queries, keys, device=str(device))


def modifier(tables: List[Tuple[Tensor, Any, Optional[Tensor], bool]], cap: float) -> Optional[Callable[..., Tensor]]:
    """What happens to a score: a cap, then each table's values [heads, cells] in float32, of cells of queries and of
    keys (`wrapped`), or, with a number in the place of the first and without the second, of i − j + that; and
    whether values multiply."""
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


def sloped(slopes: Tensor, zero: int, behind: bool) -> Callable[..., Tensor]:
    """Scores less slopes [heads] times |i − j − zero|; `behind`: this is never below 0 where keys are seen."""
    def modified(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score - slopes[h] * (i - j - zero if behind else (i - j - zero).abs())

    return modified


def clipped(products: Tensor, window: int, apart: int) -> Callable[..., Tensor]:
    """Scores and products [sequences, heads, queries, 2·window + 1] of j − i + apart, or the nearest that there is."""
    def modified(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score + products[b, h, i, torch.clamp(j - i + apart, -window, window) + window]

    return modified


def _attend(q: Tensor, k: Tensor, v: Tensor, modified: Any, mask: Any, scale: float, options: Any) -> Any:
    return flex_attention(q, k, v, score_mod=modified, block_mask=mask, scale=scale, kernel_options=options)


def _program(device: torch.device) -> Callable[..., Any]:
    """With code of its own, since PyTorch keeps few programs of one function, and looks through all of them."""
    if device.type == "cpu":
        return _attend
    return torch.compile(FunctionType(_attend.__code__.replace(), globals()), dynamic=False)


def attention(q: Tensor, k: Tensor, v: Tensor, modified: Any, mask: Any, key: Any, scale: float,
              options: Optional[Dict[str, Any]] = None) -> Optional[Tensor]:
    """`modified`: what happens to scores; `key`: what tells it and the mask from others. None where PyTorch cannot
    compile it here, which is said once, or for one more size."""
    learns = tuple(torch.is_grad_enabled() and x.requires_grad for x in (q, k, v))
    size = (q.device, q.dtype, *(y for x in (q, k, v) for y in (x.shape, x.stride())), learns, scale, key)
    if size in _failed or size not in _programs and len(_programs) == MOST:
        return None
    if size not in _programs:
        _programs[size] = _program(q.device)
    try:
        own = {**(options or {}), **_EXACT} if q.dtype == torch.float32 else options
        output = _programs[size](q, k, v, modified, mask, scale, own)
        _done.add(size)
        return output
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # no compiler on the machine, or one that does not know the device, or too little memory
        if not _failed:
            warnings.warn("locus.torch: PyTorch cannot compile FlexAttention here, so that scores are made as a whole: "
                          f"{type(error).__name__}: {error}".splitlines()[0], stacklevel=2)
        _failed.add(size)
        return None
