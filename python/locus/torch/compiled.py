# SPDX-License-Identifier: MIT
"""Attention in programs that PyTorch compiles, where positions only turn queries and keys: PyTorch's own operations,
which its compiler joins with what stands around them. Tables come from an operator, since they are made on the host."""
from __future__ import annotations

from typing import Tuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import forms, turning
from .planning import encoding_named, plan_for, sizes_of

# PyTorch's compiler follows a choice of kernels, which CUDA wants (programs.py says why), from 2.6 on.
_CHOOSES = tuple(int(x) for x in torch.__version__.split(".")[:2]) >= (2, 6)
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def serves(spec: str, on_cuda: bool) -> bool:
    """Whether that is all that an encoding does, with tables that all heads share, and can be compiled there."""
    return (_CHOOSES or not on_cuda) and _only_turns(spec)


@torch.compiler.assume_constant_result
def _only_turns(spec: str) -> bool:
    sizes = {"heads": 2, "head_dim": 64, "kv_heads": 2, "value_dim": 64, "model_dim": None}
    try:
        own = encoding_named(spec)
        found = [] if own.learns or own.causal else plan_for(spec, sizes, (None, None), (1, 2, 2), None, (), []).forms()
    except (ValueError, NotImplementedError):  # not of heads of this size, or not of sequences
        return False
    return bool(found) and all(
        form.kind == "turn" and set(form.roles) == {"query", "key"} and not form.parameters
        and "basis" not in form.arrays and len(form.arrays["coarse.0"]) == 1 for form in found)


@torch.library.custom_op("locus::turn_tables", mutates_args=())
def tables(q: Tensor, k: Tensor, encoding: str) -> Tuple[Tensor, Tensor, Tensor]:
    """c and s of queries and of keys [length, 1, 2, dim], and partners [dim] (turning.py), of the tokens 0 … of one
    sequence; q and k [batch, heads, length, dim]."""
    sizes, (_, m, n), _ = sizes_of(q, k, k, None, encoding)
    plan = plan_for(encoding, sizes, (None, None), (1, m, n), None, (), [])
    own = [forms.table(plan, role, x) for role, x in (("query", q), ("key", k))]
    # Copies: a compiled program may write over what it was given when it is done with it.
    return own[0].both.clone(), own[1].both.clone(), own[0].partner.clone()


@tables.register_fake
def _(q: Tensor, k: Tensor, encoding: str) -> Tuple[Tensor, Tensor, Tensor]:
    dtype, dim = torch.float64 if q.dtype == torch.float64 else torch.float32, q.shape[3]
    return (q.new_empty((q.shape[2], 1, 2, dim), dtype=dtype), q.new_empty((k.shape[2], 1, 2, dim), dtype=dtype),
            q.new_empty((dim,), dtype=torch.int32))


def attention(q: Tensor, k: Tensor, v: Tensor, spec: str, causal: bool, scale: float) -> Tensor:
    """Of the tokens 0 … of each sequence, [batch, heads, length, dim]."""
    with torch.no_grad():
        of_q, of_k, partner = tables(q.detach(), k.detach(), spec)
    with torch.autocast(q.device.type, enabled=False):
        q, k = turning.plain(q, of_q, partner), turning.plain(k, of_k, partner)
        if q.shape[1] != k.shape[1]:
            k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
        if not q.is_cuda:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale or None)
        with sdpa_kernel(_KERNELS):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale or None)
