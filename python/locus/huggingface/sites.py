# SPDX-License-Identifier: MIT
"""What `use` puts into a model: a `Site` in each attention module, and hooks that keep the model's own rotary functions
from turning anything there.

Models compute cosines and sines once and hand them to their attention modules, which turn queries and keys by them. A
hook marks these tensors with the positions they are of; another one, ahead of each attention module, puts tensors in
their place by which nothing turns (cos = 1, sin = 0). So the model's own functions run, queries and keys reach
attention as they were, and locus turns them. Modules inside of attention that look at positions for themselves
(indexers of sparse attention) get the model's own tensors back."""
from __future__ import annotations

import inspect
import weakref
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from ..encodings import Encoding
from ..torch.modules import _Learns
from .specs import axes_of, terms_of

_ROTARY_ARGUMENTS = ("position_embeddings", "cos", "freqs_cis")


# ---- cosines and sines ----


def _idle(output: Any) -> Any:
    """Like what a rotary module gives, but nothing turns by it."""
    if isinstance(output, Tensor):
        return torch.ones_like(output) if output.is_complex() else None
    if isinstance(output, (tuple, list)) and len(output) == 2 and all(isinstance(x, Tensor) for x in output):
        return torch.ones_like(output[0]), torch.zeros_like(output[1])
    return None


def is_rotary(module: nn.Module) -> bool:
    name = type(module).__name__.lower()
    return ("rotary" in name or "rope" in name) and "attention" not in name


def _positions_of(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[Tensor]:
    found = kwargs.get("position_ids", args[1] if len(args) > 1 else None)
    return found if isinstance(found, Tensor) and not found.is_floating_point() else None


class Rotary:
    """The forward hook of a rotary module. `idle`: what it gives turns nothing, anywhere; else its tensors are marked
    for the attention modules that they reach."""

    def __init__(self, used: Used, idle: bool) -> None:
        self.used, self.idle = used, idle

    def __call__(self, module: nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any], output: Any) -> Any:
        still = _idle(output)
        if still is None:
            return None
        positions = _positions_of(args, kwargs)
        if self.idle:
            self.used.positions = positions
            return still
        for own, other in zip((output,), (still,)) if isinstance(output, Tensor) else zip(output, still):
            own.locus_turn = other, positions
            other.locus_real = weakref.ref(own)
        return None


def turned_by(value: Any) -> Any:
    """(what to put in place of tensors that a rotary module gave, their positions), or None where there are none."""
    if isinstance(value, Tensor):
        return getattr(value, "locus_turn", None)
    if isinstance(value, (tuple, list)) and len(value) == 2:
        both = [turned_by(x) for x in value]
        if all(x is not None for x in both):
            return (both[0][0], both[1][0]), both[0][1]
    return None


def _real(value: Any) -> Any:
    if isinstance(value, Tensor):
        own = getattr(value, "locus_real", None)
        return value if own is None or own() is None else own()
    return tuple(_real(x) for x in value) if isinstance(value, (tuple, list)) and len(value) == 2 else value


def give_back(module: nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Any, Any]:
    """The hook ahead of a module inside of attention: the model's own cosines and sines."""
    return tuple(_real(x) for x in args), {key: _real(x) for key, x in kwargs.items()}


def looks_at_positions(module: nn.Module) -> bool:
    return any(name in _ROTARY_ARGUMENTS for name in inspect.signature(module.forward).parameters)


def is_cache(value: Any) -> bool:
    return hasattr(value, "get_seq_length") and hasattr(value, "update")


# ---- sites ----


class Used:
    """What is the same for all sites of a model: `positions` where rotary modules do not say them to their
    attention, and what `undo` puts back."""

    def __init__(self) -> None:
        self.positions: Optional[Tensor] = None
        self.sites: List[Site] = []
        self.modules: List[nn.Module] = []  # that the sites are in
        self.site_handles: List[Any] = []
        self.handles: List[Any] = []
        self.implementations: List[Tuple[Any, Any]] = []
        self.notes: Tuple[str, ...] = ()


class Site(nn.Module):
    """One attention module's encoding: its spec, what it learns (parameters of this module), and what the call that
    runs now was told before it came to attention."""

    def __init__(self, used: Used, spec: str, layer: int, behind: int, shape: Tuple[int, int, int, int], direct: bool,
                 like: Tensor) -> None:
        super().__init__()
        self.used, self.layer, self.behind, self.direct = used, layer, behind, direct
        self.heads, self.kv_heads, self.head_dim, self.value_dim = shape
        self.encoding = Encoding(spec)
        self.spec = self.encoding.spec
        self.learns: Optional[_Learns] = None
        if self.encoding.parameters(self.heads, self.head_dim, value_dim=self.value_dim, kv_heads=self.kv_heads):
            self.learns = _Learns(spec, self.heads, self.head_dim, self.kv_heads, self.value_dim, None, layer,
                                  like.device, like.dtype)
        self.axes = axes_of(self.spec)
        self.settings = frozenset(key for name, said in terms_of(self.spec) if name == "scores" for key in said)
        self.positions: Optional[Tensor] = None
        self.mark: Optional[Tensor] = None  # one of the tensors of this pass
        self.cache: Any = None
        self.past: Optional[int] = None  # tokens that the cache keeps of this layer

    def learned(self) -> Dict[str, Tensor]:
        return {} if self.learns is None else self.learns.learned()

    def before(self, module: nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Any, Any]:
        """The hook ahead of the attention module."""
        self.positions, self.mark, self.cache, self.past = _positions_of((), kwargs), None, None, None
        said = tuple(self._take(x) for x in args), {key: self._take(x) for key, x in kwargs.items()}
        if self.cache is not None:
            try:
                self.past = int(self.cache.get_seq_length(self.layer))
            except (AttributeError, IndexError, TypeError, ValueError):
                self.past = None  # a layer that shares another's keys
        return said

    def after(self, module: nn.Module, args: Tuple[Any, ...], output: Any) -> None:
        """The hook behind it: what the call was told is let go of."""
        self.positions = self.mark = self.cache = self.past = None

    def _take(self, value: Any) -> Any:
        if is_cache(value):
            self.cache = value
            return value
        found = turned_by(value)
        if found is None:
            return value
        if found[1] is not None:
            self.positions = found[1]
        self.mark = found[0] if isinstance(found[0], Tensor) else found[0][0]
        return found[0]

    def extra_repr(self) -> str:
        return f"{self.spec!r}, heads={self.heads}, head_dim={self.head_dim}"
