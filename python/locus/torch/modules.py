# SPDX-License-Identifier: MIT
"""Modules whose parameters are an encoding's."""
from __future__ import annotations

from typing import Any, Dict, List, Optional

import torch
from torch import Tensor, nn

from ..encodings import Encoding as _Encoding
from ..encodings import encoding_of
from . import eager, operators
from .calls import as_place, attention, backend_of, placed
from .planning import model_dim_of

_ROLES = ("query", "key", "value", "output", "token", "encoded")


class _Learns(nn.Module):
    """Parameters by the encoding's names, with _ for a dot; `learned()` has the names as the encoding says them."""

    def __init__(self, spec: Any, heads: int, head_dim: int, kv_heads: Optional[int], value_dim: Optional[int],
                 model_dim: Optional[int], seed: int, device: Any, dtype: Any) -> None:
        super().__init__()
        self.encoding: _Encoding = encoding_of(spec)
        self.spec = self.encoding.spec
        self.heads, self.head_dim = heads, head_dim
        self.kv_heads, self.value_dim = kv_heads or heads, value_dim or head_dim
        self.model_dim = model_dim or model_dim_of(self.spec, heads * head_dim)
        initial = self.encoding.initialise(heads, head_dim, seed=seed, value_dim=self.value_dim,
                                           model_dim=self.model_dim, kv_heads=self.kv_heads)
        self._names: List[str] = list(initial)
        self._attributes: List[str] = [name.replace(".", "_") for name in initial]
        own = torch.get_default_dtype() if dtype is None else dtype
        for attribute, value in zip(self._attributes, initial.values()):
            self.register_parameter(attribute, nn.Parameter(torch.as_tensor(value).to(device, own)))

    def learned(self) -> Dict[str, Tensor]:
        """What the encoding learns, by its names."""
        return {name: getattr(self, attribute) for name, attribute in zip(self._names, self._attributes)}

    def extra_repr(self) -> str:
        return f"{self.spec!r}, heads={self.heads}, head_dim={self.head_dim}"


class Attention(_Learns):
    """`locus.torch.attention` with one encoding: ``module(q, k, v, positions=None, is_causal=False, …)``.

    `spec`: a text or a `locus.Encoding`. Initial values are drawn from `seed`."""

    def __init__(self, spec: Any, heads: int, head_dim: int, *, kv_heads: Optional[int] = None,
                 value_dim: Optional[int] = None, seed: int = 0, device: Any = None, dtype: Any = None) -> None:
        super().__init__(spec, heads, head_dim, kv_heads, value_dim, None, seed, device, dtype)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, positions: Any = None, is_causal: bool = False,
                key_positions: Any = None, offsets: Any = None, scale: Optional[float] = None, dropout_p: float = 0.0,
                backend: str = "auto", bias: Optional[Tensor] = None) -> Tensor:
        return attention(q, k, v, self.spec, positions, self.learned(), is_causal, key_positions, offsets, scale,
                         dropout_p, self.kv_heads != self.heads, backend, bias)


class Encoding(_Learns):
    """What an encoding does to a tensor at one site: ``module(x, positions, role="query")``.

    Roles query, output: ``[batch, heads, length, dim]``; key, value: heads of keys and values; token, encoded:
    ``[batch, length, model_dim]``. With `offsets` packed, ``[tokens, …]``. A role that the encoding does not act on
    gives a copy. `model_dim` is heads·head_dim unless it is said."""

    def __init__(self, spec: Any, heads: int, head_dim: int, *, kv_heads: Optional[int] = None,
                 value_dim: Optional[int] = None, model_dim: Optional[int] = None, seed: int = 0, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(spec, heads, head_dim, kv_heads, value_dim, model_dim, seed, device, dtype)

    def forward(self, x: Tensor, positions: Any = None, role: str = "query", offsets: Any = None,
                backend: str = "auto") -> Tensor:
        if role not in _ROLES:
            raise ValueError(f"there is no role '{role}'; expected one of {', '.join(_ROLES)}")
        learned, chosen = self.learned(), backend_of(backend, x)
        packing = None if offsets is None else torch.as_tensor(offsets)
        sizes = [self.heads, self.head_dim, self.kv_heads, self.value_dim, self.model_dim or 0]
        if not eager.traced(x):
            return eager.apply(x, learned, as_place(positions), packing, self.spec, sizes, role, chosen)
        own, place = placed(positions, x.device)
        return operators.apply(x, list(learned.values()), own, packing, self.spec, ",".join(learned), place, sizes, role,
                               chosen)
