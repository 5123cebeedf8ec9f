# SPDX-License-Identifier: MIT
"""The library's kernels on PyTorch's tensors in the CPU's memory, read where they lie."""
from __future__ import annotations

from importlib.util import find_spec
from typing import Any, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from ..plans import Plan

_HAS_BFLOAT16 = find_spec("ml_dtypes") is not None


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
    made = torch.from_numpy(array)
    return made if made.dtype == dtype else made.to(dtype)


def sums_type(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def forward(plan: Plan, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], causal: bool, scale: float,
            dropout: float, seed: int, with_sums: bool) -> Tuple[Tensor, Optional[Tensor]]:
    found = plan.attention(lent(q), lent(k), lent(v), causal, scale=scale or None, dropout=dropout, seed=seed,
                           return_lse=with_sums, bias=None if bias is None else lent(bias))
    if not with_sums:
        return taken(found, q.dtype), None
    return taken(found[0], q.dtype), taken(found[1], sums_type(q.dtype))


def backward(plan: Plan, gradient: Tensor, of_sums: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor, output: Tensor,
             sums: Tensor, bias: Optional[Tensor], with_bias: bool, causal: bool, scale: float, dropout: float,
             seed: int, names: Tuple[str, ...], parameters: List[Tensor]) -> List[Optional[Tensor]]:
    """dq, dk, dv, the bias' (None unless wanted), and gradients of the parameters in their order."""
    dq, dk, dv, learned, *of_bias = plan.attention_backward(
        lent(q), lent(k), lent(v), lent(gradient.to(q.dtype)), lent(output), lent(sums), causal, scale=scale or None,
        dropout=dropout, seed=seed, lse_gradient=None if of_sums is None else lent(of_sums),
        bias=None if bias is None else lent(bias), bias_gradient=with_bias)
    found: List[Optional[Tensor]] = [taken(own, x.dtype) for own, x in zip((dq, dk, dv), (q, k, v))]
    found.append(taken(of_bias[0], bias.dtype) if bias is not None and with_bias else None)
    return found + [taken(learned[name], x.dtype) for name, x in zip(names, parameters)]


def apply(plan: Plan, x: Tensor, role: str, inverse: bool) -> Tensor:
    return taken(plan.apply(lent(x), role, inverse), x.dtype)


def apply_backward(plan: Plan, x: Tensor, gradient: Tensor, role: str, inverse: bool, names: Tuple[str, ...],
                   parameters: List[Tensor]) -> List[Tensor]:
    dx, learned = plan.apply_backward(lent(x), lent(gradient.to(x.dtype)), role, inverse)
    return [taken(dx, x.dtype)] + [taken(learned[name], own.dtype) for name, own in zip(names, parameters)]
