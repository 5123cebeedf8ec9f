# SPDX-License-Identifier: MIT
"""Plans for tensors: positions from what a caller says, and plans kept for the calls that come."""
from __future__ import annotations

import threading
from collections import OrderedDict
from functools import lru_cache
from typing import Any, Callable, Dict, List, Optional, Tuple, Union
from weakref import ref

import numpy as np
import torch
from torch import Tensor

from .. import _core
from ..encodings import Encoding, reals_of
from ..errors import ShapeError, UnsupportedError
from ..places import _TREE, positions
from ..plans import Plan

Place = Union[None, Tensor, positions]
_MOST_PLANS = 64


@lru_cache(maxsize=256)
def encoding_named(spec: str) -> Encoding:
    return Encoding(spec)


class Kept:
    """What was used last, `most` of it, by key; any number of threads may ask."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: Any, value: Any) -> None:
        with self._lock:
            self._found[key] = value
            self._found.move_to_end(key)
            while len(self._found) > self._most:
                self._found.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._found.clear()


_by_parameters = Kept(_MOST_PLANS)  # (plan, copies of the parameters that it was made with)
_by_place = Kept(_MOST_PLANS)       # the last plan of an encoding, a shape and positions, whatever its parameters


def forget() -> None:
    """Lets go of all plans that are kept."""
    _by_parameters.clear()
    _by_place.clear()
    _alike.clear()


# ---- calls that say nothing but tensors, an encoding, positions and a mask: the plan of the last one alike ----

_alike: Dict[Any, Tuple[Any, bool, Any]] = {}


def alike(q: Tensor, k: Tensor, v: Tensor, said: Tuple[Any, ...]) -> Optional[Tuple[Any, bool, Any]]:
    """The plan (from forms: its program), and whether calls can be plain. `said`: positions first, which are known by what
    they are, not by what is in them."""
    return _alike.get((q.shape, k.shape, v.shape, id(said[0]), said[1:]))


def remember(q: Tensor, k: Tensor, v: Tensor, said: Tuple[Any, ...], plan: Any, plain: bool) -> None:
    if len(_alike) >= _MOST_PLANS:
        _alike.clear()
    _alike[q.shape, k.shape, v.shape, id(said[0]), said[1:]] = plan, plain, said[0]


# ---- positions ----


def _array(values: Tensor) -> Any:
    own = values.detach().cpu().resolve_neg()
    return (own.to(torch.float64) if own.dtype.is_floating_point else own).numpy()


# What tensors of a device hold, by the tensors themselves, so that a call does not wait for the device: references, how
# often they had been written to, and what was read. What a CPU's tensor holds may be changed behind PyTorch's back.
_read: Dict[Any, Tuple[Any, int, Any]] = {}


def read_once(x: Tensor, read: Callable[[Tensor], Any]) -> Any:
    if x.is_cpu or x.is_inference():
        return read(x)
    key = id(x), read
    found = _read.get(key)
    if found is None or found[0]() is not x or found[1] != x._version:
        _read[key] = found = ref(x, lambda _: _read.pop(key, None)), x._version, read(x)
    return found[2]


def _key_of(place: Place) -> Any:
    return read_once(place, _content) if isinstance(place, Tensor) else place


def _content(x: Tensor) -> Any:
    values = _array(x)
    return values.dtype.str, values.shape, values.tobytes()


def _numbers_of(offsets: Tensor) -> Tuple[int, ...]:
    return tuple(offsets.tolist())


def _rows(values: Any, group: Optional[str], batch: int, length: int) -> Tuple[Any, str]:
    """A row for each token of [batch, length], and the group."""
    kinds = [] if group is None else _core.coordinates(group)
    single = len(kinds) == 1 and kinds[0][0] != _TREE
    if group is None:
        single = values.ndim < 2 or values.shape == (batch, length)
        group = "seq" if single else f"grid:{values.shape[-1]}"
    ahead = values.shape if single and (values.ndim < 2 or values.shape[-1] != 1 or length == 1) else values.shape[:-1]
    if ahead == (length,):
        return np.broadcast_to(values, (batch, *values.shape)).reshape(batch * length, *values.shape[1:]), group
    if ahead == (batch, length):
        return values.reshape(batch * length, *values.shape[2:]), group
    raise ShapeError(f"positions are {list(values.shape)}; expected [{length}] or [{batch}, {length}]"
                     f"{'' if single else ' with a last axis for coordinates'}, on '{group}'")


def _repeated(place: positions, batch: int) -> positions:
    packing = np.arange(batch + 1) * place.tokens
    try:
        paths = [place.path(token) for token in range(place.tokens)]
    except UnsupportedError:  # real numbers are no paths
        return positions(np.tile(reals_of(place), (batch, 1)), place.group, packing)
    return positions(paths * batch, place.group, packing)


def _stand(place: Place, encoding: Encoding, batch: int, length: int, offsets: Optional[Tuple[int, ...]]) -> positions:
    """Positions of [batch, length] tokens, or of [length] that are packed by `offsets`."""
    if isinstance(place, positions):
        if offsets is not None:
            if place.offsets != offsets:
                raise ShapeError(f"positions are packed by {list(place.offsets)}, tensors by {list(offsets)}")
            return place
        return _repeated(place, batch) if place.sequences == 1 and batch > 1 and place.tokens == length else place
    packing = np.arange(batch + 1) * length if offsets is None else offsets
    if place is None:
        return positions(None, encoding.group, packing)
    if offsets is None:
        values, group = _rows(_array(place), encoding.group, batch, length)
    else:
        values = _array(place)
        group = encoding.group or ("seq" if values.ndim < 2 else f"grid:{values.shape[-1]}")
        if values.shape[:1] != (length,):
            raise ShapeError(f"positions are {list(values.shape)}, but there are {length} tokens")
    return positions(values, group, packing)


# ---- plans ----


def _made(encoding: Encoding, sizes: Dict[str, Any], places: Tuple[Place, Place], counts: Tuple[int, int, int],
          offsets: Optional[Tuple[int, ...]], parameters: Optional[Dict[str, Any]]) -> Plan:
    batch, queries, keys = counts
    own = _stand(places[0], encoding, batch, queries, offsets)
    others = None
    if places[1] is not None or queries != keys:
        packed = isinstance(places[1], positions) and offsets is not None  # by offsets of their own
        others = places[1] if packed else _stand(places[1], encoding, batch, keys, offsets)
    return encoding.plan(own, parameters=parameters, keys=others, **sizes)


def _copies(tensors: List[Tensor]) -> List[Tensor]:
    return [x.detach().to("cpu", torch.float64 if x.dtype == torch.float64 else torch.float32, copy=True).contiguous()
            for x in tensors]


def plan_for(spec: str, sizes: Dict[str, Any], places: Tuple[Place, Place], counts: Tuple[int, int, int],
             offsets: Optional[Tuple[int, ...]], names: Tuple[str, ...], parameters: List[Tensor],
             fixed: bool = False) -> Plan:
    """The plan of an encoding: `counts` are sequences, queries and keys of each (packed: 1 and all tokens). With
    `fixed` whichever plan of these positions there is will do, whatever its parameters."""
    shape = tuple(sizes.values())
    base = spec, shape, counts, offsets, _key_of(places[0]), _key_of(places[1]), names
    before = _by_place.get(base)
    if before is not None and (fixed or not parameters):
        return before
    key = base, tuple(x.data_ptr() for x in parameters)
    found = _by_parameters.get(key) if parameters else None
    if found is not None and all(own.dtype == x.dtype and torch.equal(own, x) if own.dtype == x.dtype else
                                 torch.equal(own, x.detach().to("cpu", own.dtype))
                                 for own, x in zip(found[1], parameters)):
        return found[0]
    values = _copies(parameters)
    named = {name: x.numpy() for name, x in zip(names, values)} if names else None
    if before is not None and named is not None:
        plan = before.refresh(named)
    else:
        plan = _made(encoding_named(spec), sizes, places, counts, offsets, named)
    _by_place.put(base, plan)
    if parameters:
        _by_parameters.put(key, (plan, values))
    return plan


def sizes_of(q: Tensor, k: Tensor, v: Tensor, offsets: Optional[Tensor], spec: str) -> Tuple[Dict[str, Any], Any, Any]:
    """Sizes of a plan for the tensors, (sequences, queries, keys), and offsets as numbers."""
    heads, kv_heads, head_dim = q.shape[1], k.shape[1], q.shape[-1]
    sizes = {"heads": heads, "head_dim": head_dim, "kv_heads": kv_heads, "value_dim": v.shape[-1],
             "model_dim": model_dim_of(spec, heads * head_dim)}
    if offsets is None:
        return sizes, (q.shape[0], q.shape[2], k.shape[2]), None
    return sizes, (1, q.shape[0], k.shape[0]), read_once(offsets, _numbers_of)


def plan_of_site(x: Tensor, names: Tuple[str, ...], parameters: List[Tensor], place: Place, offsets: Optional[Tensor],
                 spec: str, sizes: List[int], fixed: bool) -> Plan:
    """The plan for one tensor at a site; `sizes`: heads, head_dim, kv_heads, value_dim, model_dim (0: none)."""
    named: Dict[str, Any] = dict(zip(("heads", "head_dim", "kv_heads", "value_dim", "model_dim"), sizes))
    named["model_dim"] = named["model_dim"] or None
    packing = None if offsets is None else tuple(offsets.tolist())
    counts = (x.shape[0], x.shape[-2], x.shape[-2]) if offsets is None else (1, x.shape[0], x.shape[0])
    return plan_for(spec, named, (place, None), counts, packing, names, parameters, fixed)


@lru_cache(maxsize=256)
def _embeds(spec: str) -> bool:
    return bool({"embedding", "encoded"} & set(encoding_named(spec).sites))


def model_dim_of(spec: str, model_dim: int) -> Optional[int]:
    """The size of tokens' vectors, to encodings that add to them."""
    return model_dim if _embeds(spec) else None


# ---- positions by number, for operators, which take tensors and numbers only ----

_numbers: Dict[positions, int] = {}
_numbered: List[positions] = []
_numbering = threading.Lock()


def number_of(place: positions) -> int:
    """A number for positions, above 0; they are kept for the rest of the process."""
    with _numbering:
        if place not in _numbers:
            _numbered.append(place)
            _numbers[place] = len(_numbered)
        return _numbers[place]


def place_of(number: int, values: Optional[Tensor]) -> Place:
    return _numbered[number - 1] if number else values
