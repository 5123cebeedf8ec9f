# SPDX-License-Identifier: MIT
"""Decoding: keys and values of one attention, kept as the encoding's operators leave them."""
from __future__ import annotations

import operator
from typing import Any, Optional
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import whole
from .encodings import Encoding, encoding_of
from .errors import DtypeError
from .parameters import Parameters, listed, shape_of
from .places import path, positions
from .plans import rest_of, scale_of

_DTYPES = {"float32": 1, "float64": 2, "float16": 3, "bfloat16": 4}

# Caches whose bindings are equal share one, since tokens can be moved between caches of one binding only.
_bindings: WeakValueDictionary[int, _core.Binding] = WeakValueDictionary()


def _dtype_of(dtype: Any) -> int:
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in _DTYPES:
        raise DtypeError(f"a cache cannot keep {name}; expected one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def _binding_of(encoding: Encoding, parameters: Optional[Parameters], shape: _core.Shape) -> _core.Binding:
    described = encoding._own.parameters(shape)
    if parameters is None and described:
        arrays = {name: np.empty(sizes) for name, sizes, _ in described}
        encoding._own.initialise(shape, 0, list(arrays.values()))
        parameters = arrays
    binding = encoding._own.bind(shape, listed(described, parameters))
    known = _bindings.setdefault(binding.hash(), binding)
    return known if known.equal(binding) else binding


class Cache:
    """Keys and values of `sequences` sequences, `capacity` tokens each.

    A key is turned once, when it is appended, at its own position. `parameters` None: initial ones of seed 0.
    `length`: to encodings whose frequencies depend on it, fixed for the cache's life (None: the capacity). One thread
    at a time."""

    def __init__(self, encoding: Any, heads: int, head_dim: int, parameters: Optional[Parameters] = None, *,
                 capacity: int = 4096, sequences: int = 1, kv_heads: Optional[int] = None,
                 value_dim: Optional[int] = None, dtype: Any = "float32", length: Optional[int] = None) -> None:
        self.encoding = encoding_of(encoding)
        shape = shape_of(heads, head_dim, value_dim, None, kv_heads)
        self._value_dim = value_dim or head_dim
        self._sequences = whole("sequences", sequences)
        self._binding = _binding_of(self.encoding, parameters, shape)
        self._own = _core.Cache(self._binding, self._sequences, whole("capacity", capacity), _dtype_of(dtype),
                                whole("length", length or 0))

    def append(self, k: Any, v: Any, x: Any = None) -> None:
        """New tokens behind those of each sequence: ``[tokens, KV, dim]`` packed by sequence, or ``[sequences, KV,
        length, dim]``. `x`: their positions; None: one token for each sequence, behind its last one."""
        self._own.append(k, v, self._positions(x))

    def queries(self, x: Any = None) -> None:
        """Where the next queries stand that are no kept tokens (cross-attention)."""
        self._own.queries(self._positions(x))

    def attend(self, q: Any, causal: bool = True, scale: Optional[float] = None, bias: Any = None, *,
               cap: Optional[float] = None, window: Optional[int] = None, keep: int = 0) -> NDArray[Any]:
        """Softmax attention of the tokens appended last over everything kept; `q` is packed as they were."""
        return self._own.attend(q, self._value_dim, bool(causal), scale_of(scale), bias,
                                rest_of(0.0, 0, cap, window, keep, None))

    def truncate(self, length: int, sequence: int = 0) -> None:
        """Keeps the first `length` tokens of a sequence."""
        self._check(sequence)
        self._own.truncate(sequence, whole("length", length))

    def evict(self, first: int, count: int, sequence: int = 0, shift: Any = None) -> None:
        """Takes `count` tokens out of a sequence, from number `first` on. `shift`, a path or a number of steps, moves
        the positions of those behind; None: they keep them."""
        self._check(sequence)
        self._own.evict(sequence, whole("first", first), whole("count", count), self._path(shift))

    def insert(self, source: Cache, first: int, count: int, sequence: int = 0, source_sequence: int = 0,
               shift: Any = None) -> None:
        """Appends tokens `first` … `first + count − 1` that `source` keeps, moved by `shift`."""
        self._check(sequence)
        source._check(source_sequence)
        self._own.insert(sequence, source._own, source_sequence, whole("first", first), whole("count", count),
                         self._path(shift))

    def shift(self, steps: Any, sequence: int = 0) -> None:
        """Moves all positions of a sequence by a path or a number of steps, composed on the left."""
        self._check(sequence)
        self._own.evict(sequence, 0, 0, self._path(steps))  # none goes, and all stand behind

    def length(self, sequence: int = 0) -> int:
        """Tokens kept now."""
        self._check(sequence)
        return self._own.length(sequence)

    def keys(self, sequence: int = 0) -> NDArray[Any]:
        """A copy of the keys as they are kept, turned: ``[tokens, KV, head_dim]``."""
        self._check(sequence)
        return self._own.kept(sequence, True)

    def values(self, sequence: int = 0) -> NDArray[Any]:
        """A copy of the values as they are kept: ``[tokens, KV, value_dim]``."""
        self._check(sequence)
        return self._own.kept(sequence, False)

    @property
    def bytes(self) -> int:
        """Bytes that the cache holds."""
        return self._own.bytes()

    def _check(self, sequence: int) -> None:
        if not 0 <= operator.index(sequence) < self._sequences:
            raise IndexError(f"there is no sequence {sequence} of {self._sequences}")

    def _positions(self, x: Any) -> Any:
        return None if x is None else positions.of(x, self.encoding.group)._own

    def _path(self, steps: Any) -> Any:
        if steps is None:
            return None
        return (steps if isinstance(steps, path) else path(self.encoding.group or "seq", str(steps)))._own


def shift_keys(encoding: Any, keys: NDArray[Any], steps: Any, heads: int, head_dim: int,
               parameters: Optional[Parameters] = None, *, kv_heads: Optional[int] = None,
               value_dim: Optional[int] = None, role: str = "key", length: Optional[int] = None) -> None:
    """Re-basing: turned `keys` ``[tokens, KV, dim]`` (or values) move in place from position p to steps + p."""
    own = encoding_of(encoding)
    binding = _binding_of(own, parameters, shape_of(heads, head_dim, value_dim, None, kv_heads))
    place = steps if isinstance(steps, path) else path(own.group or "seq", str(steps))
    if role not in ("key", "value"):
        raise ValueError(f"keys and values can be moved, not role '{role}'")
    _core.shift_keys(binding, place._own, keys, 3 if role == "key" else 4, length or 0)
