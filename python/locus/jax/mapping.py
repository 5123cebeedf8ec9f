# SPDX-License-Identifier: MIT
"""vmap of calls of the library. Where that is the same, the new axis becomes part of the batch; where each entry has
parameters, a seed or sums of its own, the library loops over it inside of one call."""
from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, List, Sequence, Tuple

import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from .placing import encoding_named
from .xla import Arrays, Site, call

_TOKENS = "qkvolght"  # operands whose leading axis is a batch, or packed tokens


@lru_cache(maxsize=1024)
def mapped(site: Site) -> Callable[..., Arrays]:
    """`xla.call` of a site, with a rule for vmap."""

    @custom_vmap
    def called(*operands: Any) -> Arrays:
        return call(site, operands)

    @called.def_vmap
    def _(size: int, batched: Sequence[bool], *operands: Any) -> Tuple[Arrays, Tuple[bool, ...]]:
        own = _folded if _folds(site, batched) else _looped
        return own(site, size, batched, operands), (True,) * len(site.results)

    return called


def _folds(site: Site, batched: Sequence[bool]) -> bool:
    """Whether an axis may become part of the batch: nothing is summed over it, no draw depends on it, and where entries
    stand elsewhere, not on the length of all of them."""
    if site.loops or "s" in site.operands or "p" in site.results or "b" in site.results:
        return False
    places = any(mine and letter in "xycd" for letter, mine in zip(site.operands, batched))
    if places and encoding_named(site.plan.spec).needs_length:
        return False
    return not any(mine and letter == "p" for letter, mine in zip(site.operands, batched))


# ---- into the batch ----


def _merged(x: Any) -> Any:
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def _spread(x: Any, size: int, mine: bool) -> Any:
    return x if mine else jnp.broadcast_to(x, (size, *x.shape))


def _shapes(site: Site, batched: Sequence[bool], operands: Sequence[Any]) -> "dict[str, Tuple[int, ...]]":
    return {letter: tuple(x.shape[1:] if mine else x.shape)
            for letter, mine, x in zip(site.operands, batched, operands)}


def _rows(x: Any, tokens: int) -> Any:
    """Positions [size, rows, …] of all tokens of an entry, one entry after the other."""
    return _merged(jnp.tile(x, (1, tokens // x.shape[1]) + (1,) * (x.ndim - 2)))


def _tokens(site: Site, shape: Tuple[int, ...]) -> int:
    """Tokens of a tensor: packed, or with a batch before and a length behind its heads, if it has any."""
    if site.packed:
        return shape[0]
    return shape[0] * shape[-2]


def _sequences(site: Site, shapes: "dict[str, Tuple[int, ...]]") -> int:
    return (shapes["c"][-1] - 1) * site.plan.folds if site.packed else shapes["q"][0]


def _folded_bias(x: Any, size: int, mine: bool, sequences: int) -> Any:
    """[sequences, heads, queries, keys]; what all sequences share stays as it is."""
    rank = x.ndim - mine
    if not mine:
        return x if rank < 4 or x.shape[0] == 1 else jnp.tile(x, (size, 1, 1, 1))
    x = x.reshape(size, *(1,) * (4 - rank), *x.shape[1:])
    return _merged(jnp.broadcast_to(x, (size, sequences, *x.shape[2:])))


def _folded_offsets(x: Any, size: int, mine: bool, folds: int) -> Any:
    if not mine:
        return x if x.ndim == 1 else jnp.tile(x, (size, 1))
    if x.ndim == 3:
        return _merged(x)
    return jnp.repeat(x, folds, axis=0)


def _folded(site: Site, size: int, batched: Sequence[bool], operands: Sequence[Any]) -> Arrays:
    shapes = _shapes(site, batched, operands)
    given: List[Any] = []
    for letter, mine, x in zip(site.operands, batched, operands):
        if letter in _TOKENS:
            x = _merged(_spread(x, size, mine))
        elif letter in "xy" and mine:
            padded = not site.packed and ("d" if letter == "y" and "d" in shapes else "c") in shapes
            of = shapes["t"] if "t" in shapes else shapes["k" if letter == "y" else "q"]
            x = _merged(x) if padded else _rows(x, _tokens(site, of))
        elif letter in "cd":
            x = _folded_offsets(x, size, mine, site.plan.folds)
        elif letter == "b":
            x = _folded_bias(x, size, mine, _sequences(site, shapes))
        given.append(x)
    own = site._replace(plan=site.plan._replace(folds=site.plan.folds * size))
    return tuple(y.reshape(size, y.shape[0] // size, *y.shape[1:]) for y in mapped(own)(*given))


# ---- as a loop ----


def _looped(site: Site, size: int, batched: Sequence[bool], operands: Sequence[Any]) -> Arrays:
    """An axis in front, one with the loop that there is already."""
    loops, letters, given = site.loops or 1, "", []
    for letter, mine, x in zip(site.operands, batched, operands):
        if letter.isupper():
            x = _merged(_spread(x, size, mine))
        elif mine and site.loops:
            x = jnp.repeat(x, loops, axis=0)
        letters += letter.upper() if mine else letter
        given.append(x)
    made = mapped(site._replace(operands=letters, loops=loops * size))(*given)
    return tuple(y.reshape(size, loops, *y.shape[1:]) for y in made) if site.loops else made
