# SPDX-License-Identifier: MIT
"""Positions from what a caller says: as arrays, which XLA hands to the library with each call, and, for forms, as
`locus.positions`, which must be known when a function is traced."""
from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Optional, Set, Tuple

import jax
import jax.numpy as jnp
import numpy as np

from .. import _core
from ..encodings import Encoding, reals_of
from ..errors import PositionError, ShapeError, UnsupportedError
from ..places import positions

_TREE = 3


class Place(NamedTuple):
    """Where tokens stand. `kind` says how the library reads `values`: count (none: 0, 1, 2, …), whole and real
    [rows, coordinates], words [rows, depth] on a tree, texts (bytes). Rows are those of all tokens, or of one of
    several sequences (or batches) that stand alike. `offsets`: cumulative lengths that `source` has of its own.
    `source`: what `values` say, for `standing`: None for count, `locus.positions`, or rows of JAX or NumPy."""

    kind: str
    values: Any
    offsets: Optional[Tuple[int, ...]]
    source: Any


@lru_cache(maxsize=256)
def encoding_named(spec: str) -> Encoding:
    return Encoding(spec)


@lru_cache(maxsize=256)
def _kinds(group: str) -> Tuple[int, ...]:
    return tuple(kind for kind, _ in _core.coordinates(group))


# ---- numbers as operands ----


def _halves(values: Any) -> Any:
    """Numbers of 64 bits as pairs of 32, for JAX without these: the library puts them together again."""
    return np.ascontiguousarray(values).view(np.uint32).reshape(*values.shape, 2)


def _lossless(values: Any) -> Any:
    """An array that JAX hands over as it is, whether it has 64 bits or not."""
    narrow = np.int32 if values.dtype.kind in "iu" else np.float32
    if values.dtype.kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise PositionError(f"position {int(values.max())} is beyond 64 bits")
    with np.errstate(over="ignore", invalid="ignore"):
        short = values.astype(narrow)
    if np.array_equal(short, values):
        return short
    wide = values.astype(np.int64 if narrow is np.int32 else np.float64)
    return wide if jax.config.jax_enable_x64 else _halves(wide)


def _numbers(values: Any) -> Any:
    """An array, of NumPy's unless it is JAX's."""
    own = values if isinstance(values, jax.Array) else np.asarray(values)
    if not (jnp.issubdtype(own.dtype, jnp.integer) or jnp.issubdtype(own.dtype, jnp.floating)):
        raise TypeError(f"positions must be whole or real numbers, or texts, not {own.dtype}")
    return own


def _operand(values: Any) -> Any:
    if not isinstance(values, jax.Array):
        return _lossless(values)
    if jnp.issubdtype(values.dtype, jnp.integer):
        return values if values.dtype in (jnp.int32, jnp.int64) else values.astype(
            jnp.int64 if jax.config.jax_enable_x64 else jnp.int32)
    return jax.lax.stop_gradient(values if values.dtype in (jnp.float32, jnp.float64) else values.astype(jnp.float32))


# ---- positions of the package ----


def _read(place: positions) -> Tuple[str, Any]:
    """Kind and values of `locus.positions`."""
    return _read_for(place, bool(jax.config.jax_enable_x64))


@lru_cache(maxsize=64)
def _read_for(place: positions, _: bool) -> Tuple[str, Any]:
    try:
        texts = _core.position_texts(place._own)
    except UnsupportedError:
        return "real", _lossless(reals_of(place))
    kinds = _kinds(place.group)
    if _TREE in kinds:
        padded = 1 << max(6, len(texts).bit_length())  # few sizes, so that few programs are compiled
        return "texts", np.frombuffer(texts.ljust(padded, b"\0"), np.uint8)
    numbers = texts.translate(bytes.maketrans(b"(),", b"   ")).split()
    return "whole", _lossless(np.array(numbers, np.int64).reshape(-1, len(kinds)))


def _of_positions(place: positions, batch: Optional[int], length: int, packing: Optional[Tuple[int, ...]]) -> Place:
    kind, values = _read(place)
    offsets = place.offsets
    if batch is None:
        if packing not in (None, offsets):
            raise ShapeError(f"positions are packed by {list(offsets)}, tensors by {list(packing or ())}")
        if place.tokens != length:
            raise ShapeError(f"there are {length} tokens, but positions of {place.tokens}")
        return Place(kind, values, offsets, place)
    if place.sequences == 1 and place.tokens == length:
        return Place(kind, values, None, place)
    longest = max(np.diff(offsets), default=0)
    if place.sequences != batch or longest > length:
        raise ShapeError(f"tensors have {batch} sequences of {length} tokens, but positions are those of "
                         f"{place.sequences} sequences of up to {longest} tokens")
    return Place(kind, values, offsets, place)


# ---- what callers say ----


def group_of(encoding: Encoding, said: Tuple[Any, Any], batch: Optional[int], length: int) -> str:
    """The group that positions are of: the encoding's, or what they say themselves."""
    own = encoding.group
    for value in said:
        if own is None and value is not None:
            shape: Tuple[int, ...] = np.shape(value) if not isinstance(value, positions) else ()
            flat = len(shape) < 2 or shape == (batch, length)
            own = value.group if isinstance(value, positions) else "seq" if flat else f"grid:{shape[-1]}"
    for value in said:
        if isinstance(value, positions) and own is not None and value.group != own:
            raise PositionError(f"positions are on '{value.group}', but '{encoding.spec}' acts on '{own}'")
    return own or "seq"


def _fail_shape(shape: Tuple[int, ...], group: str, batch: Optional[int], length: int, last: str) -> None:
    expected = f"[{length}]" if batch is None else f"[{length}] or [{batch}, {length}]"
    raise ShapeError(f"positions are {list(shape)}; expected {expected}{last}, on '{group}'")


def _of_array(values: Any, group: str, batch: Optional[int], length: int) -> Place:
    """`batch` None: packed."""
    own, kinds = _numbers(values), _kinds(group)
    shape, tree, real = own.shape, _TREE in kinds, jnp.issubdtype(own.dtype, jnp.floating)
    if tree and len(kinds) > 1:
        raise ShapeError(f"positions on '{group}', a product with a tree, are locus.positions of texts: "
                         "locus.positions([\"(3,1+2)\", …], …)")
    if tree and real:
        raise ShapeError("positions on a tree are branches from 0 on, padded with -1: whole numbers")
    ahead: Set[Tuple[Any, ...]] = {(length,), (batch, length)}
    if len(kinds) == 1 and not tree and shape in ahead:
        own = own[..., None]
    elif shape[:-1] not in ahead or not (tree or shape[-1] == len(kinds)):
        _fail_shape(shape, group, batch, length, " with a last axis for branches" if tree else
                    f" with a last axis of {len(kinds)} coordinates" if len(kinds) > 1 else "")
    rows = own.reshape(-1, own.shape[-1])
    return Place("words" if tree else "real" if real else "whole", _operand(rows), None, rows)


def place_of(values: Any, group: str, batch: Optional[int], length: int, packing: Optional[Tuple[int, ...]]) -> Place:
    """Positions of [batch, length] tokens, or of [length] packed ones (`batch` None; `packing` where it is known and
    `locus.positions` must have it)."""
    if values is None:
        return Place("count", None, None, None)
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], str):
        values = positions(list(values), group, packing if batch is None else None)
    if isinstance(values, positions):
        return _of_positions(values, batch, length, packing)
    return _of_array(values, group, batch, length)


def check_offsets(offsets: Any, tokens: int) -> Optional[Tuple[int, ...]]:
    """Cumulative lengths as numbers, if they are known; ShapeError says what is wrong with them."""
    own = offsets if isinstance(offsets, jax.Array) else np.asarray(offsets)
    if own.ndim != 1 or own.shape[0] == 0 or not jnp.issubdtype(own.dtype, jnp.integer):
        raise ShapeError("offsets must be a row of whole numbers: the first token of each sequence, then all tokens")
    if isinstance(own, jax.core.Tracer):
        return None
    known = tuple(int(number) for number in np.asarray(own))
    if known[0] != 0 or any(b < a for a, b in zip(known, known[1:])):
        raise ShapeError(f"offsets must begin with 0 and not decrease, not {list(known)}")
    if known[-1] > tokens:
        raise ShapeError(f"offsets end with {known[-1]}, but there are {tokens} tokens")
    return known


# ---- for forms ----


def _repeated(place: positions, group: str, times: int, ends: Tuple[int, ...]) -> positions:
    kind, values = _read(place)
    if kind == "texts":
        return positions([place.path(token) for token in range(place.tokens)] * times, group, ends)
    if values.dtype == np.uint32:
        values = values.view(np.int64 if kind == "whole" else np.float64)[..., 0]
    return positions(np.tile(values, (times, 1)), group, ends)


def standing(place: Place, group: str, batch: Optional[int], length: int, packing: Optional[Tuple[int, ...]]
             ) -> positions:
    """The same as `locus.positions` of all tokens that belong to sequences (`batch` None: packed)."""
    source = place.source
    if isinstance(source, jax.core.Tracer) or (batch is None and packing is None):
        what = "positions" if isinstance(source, jax.core.Tracer) else "offsets"
        raise UnsupportedError(f"forms are made of {what} that are known when a function is traced, not of traced ones:"
                               " give NumPy arrays, or use backend=\"locus\" on the CPU")
    ends = packing or tuple(number * length for number in range((batch or 0) + 1))
    if source is None:
        return positions(None, group, ends)
    if not isinstance(source, positions):
        rows = np.asarray(source)
        return positions(np.tile(rows, (max(1, ends[-1] // max(1, len(rows))), 1))[:ends[-1]], group, ends)
    if batch is None or source.sequences == batch:
        return source
    return _repeated(source, group, batch, ends)
