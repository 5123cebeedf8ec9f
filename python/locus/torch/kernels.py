# SPDX-License-Identifier: MIT
"""The library's kernels on PyTorch's tensors in the CPU's memory, read where they lie."""
from __future__ import annotations

from importlib.util import find_spec
from typing import Any, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from .. import _core
from ..plans import Plan, rest_of

_HAS_BFLOAT16 = find_spec("ml_dtypes") is not None

# Element types as the library numbers them.
CODES = {torch.float32: 1, torch.float64: 2, torch.float16: 3, torch.bfloat16: 4}


# ---- tensors as memory ----


def at(x: Tensor) -> Tuple[Any, ...]:
    """A tensor as the extension module reads it; only one whose last dimension is not contiguous is copied."""
    shape, stride = x.shape, x.stride()
    if stride[-1] != 1 and shape[-1] != 1:
        x = x.contiguous()
        stride = x.stride()
    return x.data_ptr(), CODES[x.dtype], shape, stride, x


def made(shape: Any, like: Tensor, length: int, in_order: bool) -> Tensor:
    """A new tensor, of zeros where the library leaves alone what is beyond the end of a sequence: with sequences apart,
    [batch, heads, length, …], that are not all as long as this. `in_order`: its dimensions lie in memory in the order of
    the other's, as what PyTorch's own functions return, so that a model's transposes stay views."""
    if like.dim() == 4 and shape[2] != length:
        return like.new_zeros(shape)
    if in_order and shape == like.shape:
        own = torch.empty_like(like)
        if own.stride(-1) == 1 or shape[-1] == 1:
            return own
    return like.new_empty(shape)


def sums_type(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _made_sums(q: Tensor, length: int) -> Tensor:
    shape = q.shape[:-1]
    full = q.dim() != 4 or shape[2] == length
    return (q.new_empty if full else q.new_zeros)(shape, dtype=sums_type(q.dtype))


# ---- attention ----


def _exchange() -> bool:
    """Whether the extension module reads tensors by itself: PyTorch from 2.10 on."""
    capsule = getattr(Tensor, "__dlpack_c_exchange_api__", None)
    return capsule is not None and _core.exchange_open(capsule)


EXCHANGES = _exchange()


def is_plain(plan: Plan, q: Tensor, v: Tensor) -> bool:
    """Whether calls of tensors of these shapes, [batch, heads, length, dim], can be plain (tensor_calls.cpp): nothing is
    left alone of what is made, which has the shapes of q, k and v."""
    return EXCHANGES and plan._lengths() == (q.shape[2], v.shape[2]) and q.shape[3] == v.shape[3]


def forward(plan: Plan, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], causal: bool, scale: float,
            dropout: float, seed: int, with_sums: bool, in_order: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    length, shape, value_dim = plan._lengths()[0], q.shape, v.shape[-1]
    output = made(shape if shape[-1] == value_dim else (*shape[:-1], value_dim), q, length, in_order)
    sums = _made_sums(q, length) if with_sums else None
    _core.attention_at(plan._own, (at(q), at(k), at(v), at(output), None if sums is None else at(sums)), causal, scale,
                       None if bias is None else at(bias), () if dropout == 0 else rest_of(dropout, seed))
    return output, sums


def backward(plan: Plan, gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, output: Tensor, sums: Tensor,
             bias: Optional[Tensor], wanted: Tuple[bool, ...], causal: bool, scale: float, dropout: float, seed: int,
             names: Tuple[str, ...], parameters: List[Tensor], in_order: bool = False) -> List[Optional[Tensor]]:
    """dq, dk, dv and the bias' (None unless `wanted`), and gradients of the parameters in their order."""
    lengths = plan._lengths()
    inputs = ((q, lengths[0]), (k, lengths[1]), (v, lengths[1]))
    found: List[Optional[Tensor]] = [made(x.shape, x, length, in_order) if asked else None
                                     for (x, length), asked in zip(inputs, wanted)]
    found.append(bias.new_empty(bias.shape) if bias is not None and wanted[3] else None)
    gradient = gradient if gradient.dtype is q.dtype else gradient.to(q.dtype)
    learned = plan._zeros() if names else {}
    _core.attention_backward_at(
        plan._own, (at(q), at(k), at(v), at(output), at(sums)), (at(gradient), None), causal, scale,
        None if bias is None else at(bias), () if dropout == 0 else rest_of(dropout, seed),
        tuple(None if x is None else at(x) for x in found), list(learned.values()))
    return found + [torch.from_numpy(learned[name]).to(x.dtype) for name, x in zip(names, parameters)]


# ---- one site ----


def lent(x: Tensor) -> Any:
    """What the extension module reads without a copy (bfloat16 through DLPack; without ml_dtypes as float32)."""
    own = x.detach() if x.requires_grad else x
    if own.dtype is not torch.bfloat16:
        return own.numpy()
    if not _HAS_BFLOAT16:
        return own.float().numpy()
    return own if own.stride(-1) == 1 else own.contiguous()


def taken(array: Any, dtype: torch.dtype) -> Tensor:
    """A tensor over the memory of an array that a call returned."""
    if dtype is torch.bfloat16 and array.itemsize == 2:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    own = torch.from_numpy(array)
    return own if own.dtype == dtype else own.to(dtype)


def apply(plan: Plan, x: Tensor, role: str, inverse: bool) -> Tensor:
    return taken(plan.apply(lent(x), role, inverse), x.dtype)


def apply_backward(plan: Plan, x: Tensor, gradient: Tensor, role: str, inverse: bool, names: Tuple[str, ...],
                   parameters: List[Tensor]) -> List[Tensor]:
    dx, learned = plan.apply_backward(lent(x), lent(gradient.to(x.dtype)), role, inverse)
    return [taken(dx, x.dtype)] + [taken(learned[name], own.dtype) for name, own in zip(names, parameters)]
