# SPDX-License-Identifier: MIT
"""Attention and single sites as functions: arguments are checked here, then go to the kernels or to the forms."""
from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import jax
import jax.numpy as jnp
import numpy as np

from ..encodings import Encoding
from ..errors import DtypeError, ShapeError, UnsupportedError
from ..parameters import listed, shape_of
from ..places import positions as Positions
from . import from_forms, xla
from .xla import PlanSite, Site
from .placing import Place, check_offsets, encoding_named, group_of, place_of, standing

Parameters = Optional[Mapping[str, Any]]
_ROLES = {"token": 1, "query": 2, "key": 3, "value": 4, "output": 5, "encoded": 6}
_ROLE_NAMES = {number: name for name, number in _ROLES.items()}
_REALS = frozenset(jnp.dtype(name) for name in ("float32", "float64", "float16", "bfloat16"))


class _Asked(NamedTuple):
    """All of a call that a program is compiled for. `stand`: positions of queries and keys, where forms are made."""

    site: Site
    backend: str
    names: Tuple[str, ...]
    stand: Tuple[Optional[Positions], Optional[Positions]] = (None, None)


# ---- backends ----


def _platforms(arrays: Tuple[Any, ...]) -> "set[str]":
    """Where the arrays are; of traced ones nothing is known."""
    return {device.platform for x in arrays if not isinstance(x, jax.core.Tracer) for device in x.devices()}


def _backend_of(backend: str, *arrays: Any) -> str:
    """locus, forms, or either: the platform that a program is compiled for decides."""
    if backend not in ("auto", "locus", "forms"):
        raise ValueError(f"there is no backend '{backend}'; expected auto, locus or forms")
    if backend == "forms":
        return backend
    platforms = _platforms(arrays)
    if backend == "locus":
        if platforms - {"cpu"}:
            raise DtypeError(f"the library's kernels are for the CPU, but an array is on '{max(platforms - {'cpu'})}': "
                             "use backend=\"forms\" or \"auto\"")
        return backend
    if not platforms:
        return "locus" if jax.default_backend() == "cpu" else "either"
    return "locus" if platforms == {"cpu"} else "forms"


def _chosen(backend: str, by_kernels: Any, by_forms: Any) -> Any:
    if backend == "locus":
        return by_kernels()
    if backend == "forms":
        return by_forms()
    return jax.lax.platform_dependent(cpu=by_kernels, default=by_forms)


# ---- places ----


class _Packing(NamedTuple):
    """How tokens fall into sequences: `batch` of them apart (None: packed), offsets as an operand, and as numbers where
    these are known."""

    batch: Optional[int]
    offsets: Any
    known: Optional[Tuple[int, ...]]


def _packing(offsets: Any, x: Any) -> _Packing:
    if offsets is None:
        return _Packing(x.shape[0], None, None)
    known = check_offsets(offsets, x.shape[0])
    return _Packing(None, offsets.astype(jnp.int32) if known is None else np.asarray(known, np.int32), known)


def _places(encoding: Encoding, said: Tuple[Any, Any], lengths: Tuple[int, int], packing: _Packing
            ) -> Tuple[str, List[Place]]:
    """The group, and where queries stand, and keys unless they stand where queries do."""
    group = group_of(encoding, said, packing.batch, lengths[0])
    places = [place_of(said[0], group, packing.batch, lengths[0], packing.known)]
    if said[1] is not None or lengths[0] != lengths[1]:
        if packing.batch is None and lengths[0] != lengths[1] and not isinstance(said[1], Positions):
            raise ShapeError(f"there are {lengths[0]} queries and {lengths[1]} keys, packed: key_positions must be "
                             "locus.positions with offsets of their own")
        known = None if isinstance(said[1], Positions) else packing.known
        places.append(place_of(said[1], group, packing.batch, lengths[1], known))
    return group, places


def _operands(places: Sequence[Place], packing: _Packing, seed: Tuple[Any, ...]) -> Tuple[str, Tuple[Any, ...]]:
    """Letters and arrays of all that says where tokens stand, and of the seed."""
    found: List[Tuple[str, Any]] = [(letter, place.values) for letter, place in zip("xy", places)]
    ends = [packing.offsets, None]
    for number, place in enumerate(places):
        if place.offsets is not None and (number == 1 or packing.batch is not None):
            ends[number] = np.asarray(place.offsets, np.int32)
    found += [*zip("cd", ends), *zip("s", seed)]
    there = [(letter, values) for letter, values in found if values is not None]
    return "".join(letter for letter, _ in there), tuple(values for _, values in there)


def _plan_site(spec: str, sizes: Tuple[int, int, int, int, int], group: str, places: Sequence[Place]) -> PlanSite:
    heads, head_dim, kv_heads, value_dim, model_dim = sizes
    return PlanSite(spec, heads, head_dim, kv_heads, value_dim, model_dim, group, places[0].kind,
                    places[1].kind if len(places) > 1 else "")


def _standing(backend: str, places: Sequence[Place], group: str, lengths: Tuple[int, int], packing: _Packing) -> Any:
    """Positions of queries and keys as forms need them."""
    if backend == "locus":
        return None, None
    found = [standing(place, group, packing.batch, length, packing.known) for place, length in zip(places, lengths)]
    return found[0], found[1] if len(found) > 1 else None


# ---- arguments ----


def _text_of(encoding: Union[str, Encoding]) -> str:
    return encoding if isinstance(encoding, str) else encoding.spec


@lru_cache(maxsize=256)
def _embeds(spec: str) -> bool:
    return bool({"embedding", "encoded"} & set(encoding_named(spec).sites))


@lru_cache(maxsize=1024)
def _described(spec: str, sizes: Tuple[int, ...]) -> Any:
    """(name, shape, constraint) of each parameter; `sizes` are heads, head_dim, kv_heads, value_dim, model_dim."""
    heads, head_dim, kv_heads, value_dim, model_dim = sizes
    return encoding_named(spec)._own.parameters(shape_of(heads, head_dim, value_dim, model_dim, kv_heads))


@lru_cache(maxsize=64)
def _initial(spec: str, sizes: Tuple[int, ...], seed: int) -> Dict[str, Any]:
    heads, head_dim, kv_heads, value_dim, model_dim = sizes
    return encoding_named(spec).initialise(heads, head_dim, seed=seed, value_dim=value_dim,
                                           model_dim=model_dim or None, kv_heads=kv_heads)


def _learned(spec: str, sizes: Tuple[int, ...], parameters: Parameters) -> Tuple[Tuple[str, ...], Tuple[Any, ...]]:
    """Names and values in the library's order."""
    described = _described(spec, sizes)
    if not described and not parameters:
        return (), ()
    values = listed(described, _initial(spec, sizes, 0) if parameters is None else parameters)
    for (name, _, _), value in zip(described, values):
        if jnp.dtype(value.dtype) not in _REALS:
            raise DtypeError(f"parameter '{name}' is {value.dtype}; expected float32, float64, float16 or bfloat16")
    return tuple(name for name, _, _ in described), tuple(values)


def _array(name: str, x: Any) -> Any:
    own = x if isinstance(x, jax.Array) else jnp.asarray(x)
    if own.dtype not in _REALS:
        raise DtypeError(f"{name} is {own.dtype}; expected float32, float64, float16 or bfloat16")
    return own


def _check(q: Any, k: Any, v: Any, rank: int, enable_gqa: bool) -> None:
    for name, x in zip("qkv", (q, k, v)):
        if x.ndim != rank:
            layout = "[batch, heads, length, dim]" if rank == 4 else "[tokens, heads, dim], as offsets are given"
            raise ShapeError(f"{name} is {list(x.shape)}; expected {layout}")
    if q.dtype != k.dtype or q.dtype != v.dtype:
        raise DtypeError(f"q, k and v must be of one type, not {q.dtype}, {k.dtype} and {v.dtype}")
    if k.shape[:-1] != v.shape[:-1] or q.shape[-1] != k.shape[-1] or (rank == 4 and q.shape[0] != k.shape[0]):
        raise ShapeError(f"q {list(q.shape)}, k {list(k.shape)} and v {list(v.shape)} do not go together")
    if q.shape[1] != k.shape[1] and not enable_gqa:
        raise ShapeError(f"q has {q.shape[1]} heads, k and v have {k.shape[1]}: say enable_gqa=True if heads of keys "
                         "and values serve groups")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        raise ShapeError(f"q has {q.shape[1]} heads, which {k.shape[1]} heads of keys and values do not divide")


def _check_causal(encoding: Encoding, is_causal: bool, positions: Any, lengths: Tuple[int, int]) -> None:
    if is_causal and positions is None and lengths[0] != lengths[1]:
        raise ShapeError("causal attention of more keys than queries, or fewer: say where both stand, with positions "
                         "and key_positions")
    if encoding.causal and not is_causal:
        raise UnsupportedError(f"'{encoding.spec}' needs causal attention: is_causal=True")


def _check_bias(bias: Any, q: Any, k: Any, packing: _Packing) -> Any:
    """Queries and keys of packed sequences are counted within each, which the library checks."""
    own, packed = _array("bias", bias), packing.batch is None
    sequences = packing.offsets.shape[0] - 1 if packed else packing.batch
    sizes = (sequences, q.shape[1], None if packed else q.shape[-2], None if packed else k.shape[-2])
    if own.ndim not in (2, 3, 4) or any(have != 1 and want is not None and have != want
                                        for have, want in zip(own.shape, sizes[4 - own.ndim:])):
        raise ShapeError(f"bias is {list(own.shape)}; expected [queries, keys], [heads, queries, keys] or "
                         f"[batch, heads, queries, keys] of q {list(q.shape)} and k {list(k.shape)}, each also 1")
    return own


def _seed_of(dropout: float, key: Any) -> Tuple[Any, ...]:
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, not {dropout}")
    if dropout == 0:
        return ()
    if key is None:
        raise ValueError("dropout is drawn from a key: dropout_key=jax.random.key(…)")
    own = jax.random.key(key) if isinstance(key, (int, np.integer)) else key
    return (jax.random.bits(own, (2,), jnp.uint32),)


def _scale_of(scale: Optional[float]) -> float:
    if scale is not None and scale == 0:
        raise ValueError("scale must not be 0; None stands for 1/√head_dim")
    return 0.0 if scale is None else float(scale)


# ---- attention ----


@partial(jax.jit, static_argnums=0, inline=True)
def _attention(asked: _Asked, q: Any, k: Any, v: Any, bias: Any, parameters: Tuple[Any, ...],
               rest: Tuple[Any, ...]) -> Any:
    site = asked.site

    def by_forms() -> Any:
        plan = from_forms.plan_of(site.plan, *asked.stand)
        named = dict(zip(asked.names, parameters))
        return from_forms.attention(plan, q, k, v, named, site.causal, site.scale, bias, site.dropout,
                               rest[-1] if site.dropout else None)

    return _chosen(asked.backend, lambda: xla.attending(site)(q, k, v, bias, parameters, rest)[0], by_forms)


def attention(q: Any, k: Any, v: Any, encoding: Union[str, Encoding], positions: Any = None,
              parameters: Parameters = None, is_causal: bool = False, key_positions: Any = None, offsets: Any = None,
              scale: Optional[float] = None, bias: Any = None, enable_gqa: bool = False, backend: str = "auto", *,
              dropout_p: float = 0.0, dropout_key: Any = None) -> jax.Array:
    """Attention with every site of the encoding; ``[batch, heads, length, value dim]``.

    q ``[batch, heads, length, dim]``, k and v ``[batch, kv_heads, key length, dim]``; with `offsets` (cumulative
    lengths, beginning with 0) sequences are packed, ``[tokens, heads, dim]``, and tokens behind the last one belong to
    none: their output is 0.

    `positions`: None is 0 … length − 1 in each sequence; else whole or real numbers ``[length]``, ``[batch, length]``
    or packed ``[tokens]``, with a last axis for coordinates on grids or for branches on trees; or a `locus.positions`.
    `key_positions`: where keys stand, if elsewhere. Both, and `offsets`, may be traced with backend "locus".
    `parameters`: what the encoding learns, {name: array}, of `initialise`; None: initial values of seed 0.
    `is_causal`: queries see keys up to their own index, counted from the ends of both where their numbers differ.
    `bias`: added to scores, ``[batch, heads, length, key length]``, or without the first axis or the first two, each
    also 1; −inf hides a key. `enable_gqa`: heads of keys and values may serve groups. `dropout_p`: of weights, drawn
    from `dropout_key`. `backend`: "locus", the library's kernels on the CPU; "forms", operations of JAX on any device;
    "auto" chooses by the device. Backends draw different dropout. Gradients: of q, k, v, bias and parameters."""
    q, k, v, spec = _array("q", q), _array("k", k), _array("v", v), _text_of(encoding)
    own = encoding_named(spec)
    _check(q, k, v, 4 if offsets is None else 3, enable_gqa)
    packing, axis = _packing(offsets, q), -2 if offsets is None else 0
    lengths = q.shape[axis], k.shape[axis]
    _check_causal(own, is_causal, positions, lengths)
    sizes = (q.shape[1], q.shape[-1], k.shape[1], v.shape[-1], q.shape[1] * q.shape[-1] if _embeds(spec) else 0)
    names, learned = _learned(spec, sizes, parameters)
    group, places = _places(own, (positions, key_positions), lengths, packing)
    letters, rest = _operands(places, packing, _seed_of(dropout_p, dropout_key))
    if bias is not None:
        bias = _check_bias(bias, q, k, packing)
        letters = "b" + letters
    site = Site("forward", _plan_site(spec, sizes, group, places), "qkv" + letters + "p" * len(learned), "ol",
                offsets is not None, bool(is_causal), _scale_of(scale), float(dropout_p))
    chosen = _backend_of(backend, q, k, v)
    asked = _Asked(site, chosen, names, _standing(chosen, places, group, lengths, packing))
    found: jax.Array = _attention(asked, q, k, v, bias, learned, rest)
    return found


# ---- one site ----


@partial(jax.jit, static_argnums=0, inline=True)
def _apply(asked: _Asked, x: Any, parameters: Tuple[Any, ...], rest: Tuple[Any, ...]) -> Any:
    site = asked.site

    def by_forms() -> Any:
        plan = from_forms.plan_of(site.plan, *asked.stand)
        return from_forms.apply(plan, x, dict(zip(asked.names, parameters)), _ROLE_NAMES[site.role], site.inverse)

    return _chosen(asked.backend, lambda: xla.applying(site)(x, parameters, rest), by_forms)


def _sizes_of(spec: str, x: Any, role: str, said: Dict[str, Optional[int]]) -> Tuple[int, int, int, int, int]:
    """heads, head_dim, kv_heads, value_dim, model_dim: what is said, else what x has."""
    if role in ("token", "encoded"):
        heads = said["heads"] or 1
        head_dim = said["head_dim"] or x.shape[-1] // heads
        return heads, head_dim, said["kv_heads"] or heads, said["value_dim"] or head_dim, x.shape[-1]
    of_keys, of_values = role in ("key", "value"), role in ("value", "output")
    heads = said["heads"] or (said["kv_heads"] if of_keys else None) or x.shape[1]
    kv_heads = x.shape[1] if of_keys else said["kv_heads"] or heads
    head_dim = said["head_dim"] or x.shape[-1]
    value_dim = x.shape[-1] if of_values else said["value_dim"] or head_dim
    model_dim = said["model_dim"] or (heads * head_dim if _embeds(spec) else 0)
    return heads, head_dim, kv_heads, value_dim, model_dim


def apply(x: Any, encoding: Union[str, Encoding], positions: Any = None, *, role: str = "query", inverse: bool = False,
          parameters: Parameters = None, offsets: Any = None, heads: Optional[int] = None,
          head_dim: Optional[int] = None, kv_heads: Optional[int] = None, value_dim: Optional[int] = None,
          model_dim: Optional[int] = None, backend: str = "auto") -> jax.Array:
    """What the encoding does to x at one site: turns queries, keys, values or outputs, or adds vectors to tokens.

    Roles query, output: x is ``[batch, heads, length, dim]``; key, value: heads of keys and values; token, encoded:
    ``[batch, length, model_dim]``. With `offsets` packed, ``[tokens, …]``. A role that the encoding does not act on
    gives a copy. `inverse`: the way back. Sizes that x does not have itself (heads where it has those of keys, head_dim
    where it has a value's) are said by name where parameters depend on them. Else as `attention`. Gradients: of x and
    parameters."""
    if role not in _ROLES:
        raise ValueError(f"there is no role '{role}'; expected one of {', '.join(_ROLES)}")
    x, spec = _array("x", x), _text_of(encoding)
    own, vectors = encoding_named(spec), role in ("token", "encoded")
    rank = (3 if vectors else 4) - (offsets is not None)
    if x.ndim != rank:
        raise ShapeError(f"x is {list(x.shape)}; expected {rank} dimensions for role '{role}'"
                         f"{'' if offsets is None else ', as offsets are given'}")
    packing, length = _packing(offsets, x), x.shape[-2 if offsets is None else 0]
    sizes = _sizes_of(spec, x, role, {"heads": heads, "head_dim": head_dim, "kv_heads": kv_heads,
                                      "value_dim": value_dim, "model_dim": model_dim})
    names, learned = _learned(spec, sizes, parameters)
    group, places = _places(own, (positions, None), (length, length), packing)
    letters, rest = _operands(places, packing, ())
    site = Site("apply", _plan_site(spec, sizes, group, places), "t" + letters + "p" * len(learned), "t",
                offsets is not None, role=_ROLES[role], inverse=bool(inverse))
    chosen = _backend_of(backend, x)
    asked = _Asked(site, chosen, names, _standing(chosen, places, group, (length, length), packing))
    found: jax.Array = _apply(asked, x, learned, rest)
    return found


# ---- parameters ----


def initialise(encoding: Union[str, Encoding], heads: int, head_dim: int, seed: int = 0, *,
               kv_heads: Optional[int] = None, value_dim: Optional[int] = None, model_dim: Optional[int] = None,
               dtype: Any = None) -> Dict[str, jax.Array]:
    """What the encoding learns, {name: array}, with initial values drawn from `seed`; float32 unless `dtype` says
    otherwise (float64 where JAX has that). {} if it learns nothing. `model_dim`: heads·head_dim unless it is said."""
    spec = _text_of(encoding)
    width = model_dim or (heads * head_dim if _embeds(spec) else 0)
    sizes = (heads, head_dim, kv_heads or heads, value_dim or head_dim, width)
    own = jnp.result_type(float) if dtype is None else dtype
    return {name: jnp.asarray(value, own) for name, value in _initial(spec, sizes, int(seed)).items()}
