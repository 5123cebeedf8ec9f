# SPDX-License-Identifier: MIT
"""Encodings: how positions act on a Transformer, as text."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import text, whole
from .errors import SpecError, with_text
from .parameters import Arrays, Parameters, listed, shape_of
from .places import positions
from .plans import Plan

_SITES = {1: "embedding", 2: "query-key", 4: "value", 8: "score", 16: "encoded"}
_LAWS = {1: "homomorphism", 2: "orthogonal", 4: "relativity"}
_LEARNS, _REALS, _LENGTH, _CAUSAL, _CACHED = 1, 2, 4, 8, 16


def _names(mask: int, names: Dict[int, str]) -> Tuple[str, ...]:
    return tuple(name for bit, name in names.items() if mask & bit)


def encodings() -> Dict[str, Dict[str, Any]]:
    """All encodings by name: ``description``, ``sites``, ``learns`` (what is learned, in words), ``source`` and
    ``options``, by name: ``type``, ``values`` (in words), ``range``, ``choices``, ``default`` and ``meaning``."""
    found: Dict[str, Dict[str, Any]] = {}
    for entry in _core.registry():
        for option in entry["options"].values():
            numbers = "number" in option["type"] or "integer" in option["type"] or option["type"] in (
                "list", "rotate", "decay")
            option["range"] = option["range"] if numbers else None
            option["choices"] = tuple(option["values"].split("|")) if option["type"] == "choice" else None
        entry["sites"] = _names(entry["sites"], _SITES)
        found[entry.pop("name")] = entry
    return found


class Encoding:
    """A parsed spec, ``"rope(base=500000) + alibi"``: immutable, hashable, equal to others that mean the same.

    SpecError says where a text cannot be parsed."""

    __slots__ = ("_own",)

    def __init__(self, spec: str) -> None:
        try:
            self._own = _core.parse(text("the spec", spec))
        except SpecError as error:
            raise with_text(error, spec) from None

    @property
    def spec(self) -> str:
        """The canonical text: only options that differ from their defaults."""
        return self._own.text()

    @property
    def sites(self) -> Tuple[str, ...]:
        """Where it acts, of "embedding", "query-key", "value", "score", "encoded"."""
        return _names(self._own.sites(), _SITES)

    @property
    def group(self) -> Optional[str]:
        """The group that positions must be of; None: any will do."""
        return self._own.group()

    @property
    def laws(self) -> Tuple[str, ...]:
        """What it promises whatever its parameters, of "homomorphism", "orthogonal", "relativity"; `locus.check`
        measures them."""
        return _names(self._own.laws(), _LAWS)

    @property
    def learns(self) -> bool:
        """Whether it has parameters, for shapes that it can take."""
        return bool(self._own.traits() & _LEARNS)

    @property
    def real(self) -> bool:
        """Whether real-valued positions will do."""
        return bool(self._own.traits() & _REALS)

    @property
    def causal(self) -> bool:
        """Whether attention must have the causal mask."""
        return bool(self._own.traits() & _CAUSAL)

    @property
    def cached(self) -> bool:
        """Whether `locus.Cache` can keep its keys and values."""
        return bool(self._own.traits() & _CACHED)

    @property
    def needs_length(self) -> bool:
        """Whether it depends on the length that a plan is made for."""
        return bool(self._own.traits() & _LENGTH)

    def parameters(self, heads: int = 0, head_dim: int = 0, *, value_dim: Optional[int] = None,
                   model_dim: Optional[int] = None, kv_heads: Optional[int] = None) -> Dict[str, Tuple[int, ...]]:
        """Shapes of what it learns, by name; in sums of terms names begin with the term's number, "0.", "1.", …"""
        shape = shape_of(heads, head_dim, value_dim, model_dim, kv_heads)
        return {name: sizes for name, sizes, _ in self._own.parameters(shape)}

    def initialise(self, heads: int = 0, head_dim: int = 0, *, seed: int = 0, value_dim: Optional[int] = None,
                   model_dim: Optional[int] = None, kv_heads: Optional[int] = None,
                   dtype: Any = np.float64) -> Arrays:
        """Initial values of what it learns, drawn from `seed`."""
        shape = shape_of(heads, head_dim, value_dim, model_dim, kv_heads)
        arrays = {name: np.empty(sizes, dtype) for name, sizes, _ in self._own.parameters(shape)}
        self._own.initialise(shape, whole("seed", seed), list(arrays.values()))
        return arrays

    def plan(self, x: Any, heads: int = 0, head_dim: int = 0, parameters: Optional[Parameters] = None, *,
             keys: Any = None, kv_heads: Optional[int] = None, value_dim: Optional[int] = None,
             model_dim: Optional[int] = None, length: Optional[int] = None) -> Plan:
        """Prepares the encoding for positions.

        `x`: where queries stand, `locus.positions` or what makes them; `keys`: where keys stand, if elsewhere.
        `parameters`: values by name; None: initial ones of seed 0. `kv_heads`: heads of keys and values, which divides
        `heads`. `model_dim` is for vectors added to tokens. `length`: of the sequences, to encodings whose frequencies
        depend on it."""
        shape = shape_of(heads, head_dim, value_dim, model_dim, kv_heads)
        described = self._own.parameters(shape)
        if parameters is None and described:
            parameters = self.initialise(heads, head_dim, value_dim=value_dim, model_dim=model_dim, kv_heads=kv_heads)
        binding = self._own.bind(shape, listed(described, parameters))
        queries = positions.of(x, self.group)
        others = None if keys is None else positions.of(keys, self.group)
        own = _core.plan(binding, queries._own, None if others is None else others._own,
                         whole("length", length or 0))
        sizes = {"heads": heads, "head_dim": head_dim, "kv_heads": kv_heads or heads,
                 "value_dim": value_dim or head_dim, "model_dim": model_dim or 0}
        return Plan(own, self, binding, described, dict(parameters or {}), queries, others or queries, sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self._own.equal(other._own)

    def __hash__(self) -> int:
        return self._own.hash()

    def __str__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"locus.Encoding({self.spec!r})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return Encoding, (self.spec,)


def reals_of(place: positions) -> NDArray[np.float64]:
    """Real-valued positions, which are no paths, as ``[tokens, axes]``: from a plan's forms."""
    axes = len(_core.coordinates(place.group))
    spec = "rope" if axes == 1 else f"mixed(axes={axes})"
    form = Encoding(spec).plan(place, heads=1, head_dim=2 * axes).forms()[0]
    return np.stack([form.arrays[f"query_position.{axis}"] for axis in range(axes)], -1).astype(np.float64)


def encoding_of(encoding: Any) -> Encoding:
    """An encoding, or the one that a text says."""
    return encoding if isinstance(encoding, Encoding) else Encoding(encoding)
