# SPDX-License-Identifier: MIT
"""Plans: an encoding with a shape, parameter values and positions, made ready. Immutable; any number of threads may
use one at once.

Shapes: T query tokens and N key tokens, heads H, heads of keys and values KV (H of them, unless the plan was told
otherwise). Packed, q is ``[T, H, head_dim]``, k ``[N, KV, head_dim]``, v ``[N, KV, value_dim]``; with sequences apart
``[batch, H, length, head_dim]`` and so on; what is returned is 0 beyond a sequence's end. All
tensors of a call have one layout and one element type."""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import real, text, whole
from .errors import ShapeError, SpecError, UnsupportedError, with_text
from .parameters import Arrays, Parameters, listed
from .places import positions

if TYPE_CHECKING:
    from .encodings import Encoding

Array = NDArray[Any]
_ROLES = {"token": 1, "query": 2, "key": 3, "value": 4, "output": 5, "encoded": 6}
_FORMS = ("", "turn", "paths", "matrices", "cells", "network", "content", "context", "vectors", "settings")


@lru_cache(maxsize=64)
def _kind_of(spec: str) -> Optional[_core.Kind]:
    """The kind of attention that a text says; None is softmax."""
    if text("the kind", spec) == "softmax":
        return None
    try:
        return _core.kind(spec)
    except SpecError as error:
        raise with_text(error, spec) from None


def _role_of(role: str) -> int:
    try:
        return _ROLES[role]
    except KeyError:
        raise ValueError(f"there is no role '{role}'; expected one of {', '.join(_ROLES)}") from None


def rest_of(dropout: float = 0.0, seed: int = 0, cap: Optional[float] = None, window: Optional[int] = None,
            keep: int = 0, prefix: Any = None) -> Tuple[Any, ...]:
    """What is seldom said to attention, as the extension module reads it."""
    if dropout == 0.0 and cap is None and window is None and keep == 0 and prefix is None:
        return ()
    return (real("dropout", dropout), whole("seed", seed), real("cap", cap or 0.0), whole("window", window or 0),
            whole("keep", keep), [] if prefix is None else [whole("prefix", n) for n in prefix])


def scale_of(scale: Optional[float]) -> float:
    """The scale of scores, for the library, which reads 0 as 1/√head_dim."""
    if scale is None:
        return 0.0
    number = real("scale", scale)
    if number == 0.0:
        raise ValueError("scale must not be 0; None stands for 1/√head_dim")
    return number


@dataclass(frozen=True)
class Form:
    """One thing that a plan does, as data (docs/forms.md): arrays by name, read-only, some of them the very memory
    that the plan reads. `roles` are the tensors that it acts on, elements `first` … `first + count − 1` of their last
    dimension; without roles it acts on scores. `parameters` says which arrays hold a learned tensor: its name, and the
    first of its second dimension's numbers."""

    kind: str
    term: int
    roles: Tuple[str, ...]
    first: int
    count: int
    multiplies: bool
    law: str
    arrays: Dict[str, Array]
    parameters: Dict[str, Tuple[str, int]]


class Plan:
    """Made by `Encoding.plan`. `encoding`, `parameters`, `queries` and `keys` (positions) are what it was made of."""

    __slots__ = ("_own", "_binding", "_described", "_sizes", "encoding", "parameters", "queries", "keys", "_alike",
                 "__weakref__")

    def __init__(self, own: _core.Plan, encoding: Encoding, binding: _core.Binding,
                 described: List[Tuple[str, Tuple[int, ...], int]], parameters: Dict[str, Any], queries: positions,
                 keys: positions, sizes: Dict[str, int]) -> None:
        self._own = own
        self._binding = binding
        self._described = described
        self._sizes = sizes
        self.encoding = encoding
        self.parameters = parameters
        self.queries = queries
        self.keys = keys
        self._alike: Optional[Tuple[int, int]] = None

    def refresh(self, parameters: Parameters) -> Plan:
        """A new plan with other parameter values, the same positions: what depends on positions alone is shared."""
        binding = self._binding.rebind(listed(self._described, parameters))
        return Plan(self._own.refresh(binding), self.encoding, binding, self._described, dict(parameters),
                    self.queries, self.keys, self._sizes)

    # ---- one site ----

    def apply(self, x: Any, role: str = "query", inverse: bool = False) -> Array:
        """Turns queries, keys or values, turns outputs back, or adds vectors to tokens; an array shaped as `x`.

        `role` "query", "output": ``[T, H, dim]``; "key", "value": ``[N, KV, dim]``; "token", "encoded":
        ``[T, model_dim]``; or each with its sequences apart. What the encoding does not act on is copied."""
        return self._own.apply(x, _role_of(role), bool(inverse))

    def apply_backward(self, x: Any, gradient: Any, role: str = "query", inverse: bool = False
                       ) -> Tuple[Array, Arrays]:
        """dx and {parameter: gradient} for dL/d(apply(x)) = `gradient`."""
        sums = self._zeros()
        dx = self._own.apply_backward(x, gradient, _role_of(role), bool(inverse), list(sums.values()))
        return dx, sums

    # ---- attention ----

    def attention(self, q: Any, k: Any, v: Any, causal: bool = False, kind: str = "softmax",
                  scale: Optional[float] = None, bias: Any = None, dropout: float = 0.0, seed: int = 0,
                  return_lse: bool = False, *, cap: Optional[float] = None, window: Optional[int] = None,
                  keep: int = 0, prefix: Any = None) -> Any:
        """Attention with every site of the encoding: ``[T, H, value_dim]`` or ``[batch, H, length, value_dim]``.

        `causal`: queries see the keys up to their own index, aligned at the ends. `kind`: "softmax", "linear",
        "soft(landmarks=64)", … `scale`: 1/√head_dim unless given. `bias`: added to scores, ``[queries, keys]``,
        ``[H, …]`` or ``[batch, H, …]``, −inf hides a key. `dropout`: of weights, drawn from `seed`. `return_lse`: also
        the log-sum-exp of each row, ``[T, H]`` or ``[batch, H, length]``. `cap`: soft cap of scores. `window`: keys at
        less than so many indices are seen, and the first `keep`. `prefix`: causal, but the first so many keys of each
        sequence are seen by all."""
        return _core.attention(self._own, q, k, v, bool(causal), None if kind == "softmax" else _kind_of(kind),
                               scale_of(scale), bias, () if dropout == 0.0 and cap is None and window is None and
                               keep == 0 and prefix is None else self._rest(dropout, seed, cap, window, keep, prefix),
                               bool(return_lse))

    def attention_backward(self, q: Any, k: Any, v: Any, gradient: Any, output: Any = None, lse: Any = None,
                           causal: bool = False, kind: str = "softmax", scale: Optional[float] = None,
                           bias: Any = None, dropout: float = 0.0, seed: int = 0, *, lse_gradient: Any = None,
                           bias_gradient: bool = False, cap: Optional[float] = None, window: Optional[int] = None,
                           keep: int = 0, prefix: Any = None) -> Tuple[Any, ...]:
        """(dq, dk, dv, {parameter: gradient}) for dL/doutput = `gradient`; with `bias_gradient` also dL/dbias.

        `output` and `lse` are those of `attention(…, return_lse=True)` with the same arguments; computed anew where
        they are not given. `lse_gradient`: dL/dlse. Gradients of parameters are float64."""
        own_kind, rest = _kind_of(kind), self._rest(dropout, seed, cap, window, keep, prefix)
        if output is None or lse is None:
            output, lse = _core.attention(self._own, q, k, v, bool(causal), own_kind, scale_of(scale), bias, rest, True)
        sums = self._zeros()
        dq, dk, dv, of_bias = _core.attention_backward(
            self._own, (q, k, v), (output, lse), (gradient, lse_gradient), bool(causal), own_kind, scale_of(scale),
            bias, rest, list(sums.values()), bool(bias_gradient))
        return (dq, dk, dv, sums, of_bias) if bias_gradient else (dq, dk, dv, sums)

    def weights(self, q: Any, k: Any, causal: bool = False, scale: Optional[float] = None, bias: Any = None,
                sequence: Optional[int] = None, *, cap: Optional[float] = None, window: Optional[int] = None,
                keep: int = 0, prefix: Any = None) -> Array:
        """Weights after the softmax, of one sequence: ``[H, queries, keys]``. `sequence` may be left out where there is
        one; with sequences apart all of them come then, ``[batch, H, queries, keys]``, 0 beyond a sequence's end."""
        rest = self._rest(0.0, 0, cap, window, keep, prefix)

        def one(number: int, m: int, n: int) -> Array:
            return _core.weights(self._own, q, k, number, m, n, bool(causal), scale_of(scale), bias, rest)

        lengths = list(zip(np.diff(self.queries.offsets).tolist(), np.diff(self.keys.offsets).tolist()))
        if sequence is None and len(lengths) != 1 and np.ndim(q) == 4:
            m, n = np.shape(q)[2], np.shape(k)[2]
            each = [np.pad(w, ((0, 0), (0, m - w.shape[1]), (0, n - w.shape[2])))
                    for w in (one(number, *sizes) for number, sizes in enumerate(lengths))]
            return np.stack(each)
        number = self._sequence(sequence)
        found = one(number, *lengths[number])
        return found[None] if sequence is None and np.ndim(q) == 4 else found

    # ---- what the encoding is here ----

    def operators(self, role: str = "query") -> Array:
        """Operators as matrices, float64: ``[tokens, heads, dim, dim]``, y = M x for `apply(x, role)`."""
        place = self.keys if role in ("key", "value") else self.queries
        heads = self._sizes["kv_heads" if role in ("key", "value") else "heads"]
        dim = self._sizes["value_dim" if role in ("value", "output") else "head_dim"]
        if role not in ("query", "key", "value", "output"):
            raise ValueError(f"there are no operators of role '{role}'; expected query, key, value or output")
        found = np.empty((place.tokens, heads, dim, dim))
        unit = np.zeros((place.tokens, heads, dim))
        for column in range(dim):
            unit[..., column] = 1
            found[..., column] = self._own.apply(unit, _ROLES[role], False)
            unit[..., column] = 0
        return found

    def table(self, role: str = "token") -> Array:
        """The vectors that are added to tokens, float64: ``[T, model_dim]``; "encoded": to what the encoder gives."""
        if role not in ("token", "encoded"):
            raise ValueError(f"there is no table of role '{role}'; expected token or encoded")
        return self._own.apply(np.zeros((self.queries.tokens, self._sizes["model_dim"])), _ROLES[role], False)

    def scores(self, factors: bool = False, sequence: Optional[int] = None) -> Array:
        """What positions alone add to scores (or, with `factors`, multiply them with) in one sequence, float64:
        ``[H, queries, keys]``. Terms that depend on queries are left out (relative); cope is refused."""
        number = self._sequence(sequence)
        (m0, m1), (n0, n1) = (each.offsets[number:number + 2] for each in (self.queries, self.keys))
        total: Array = np.full((self._sizes["heads"], m1 - m0, n1 - n0), 1.0 if factors else 0.0)
        for form in self.forms():
            if form.kind == "context":
                raise UnsupportedError("scores of 'cope' depend on queries and keys")
            if form.kind == "cells" and form.multiplies == factors:
                values = _cells(form, slice(m0, m1), slice(n0, n1), self._sizes["heads"])
                total = total * values if factors else total + values
            elif form.kind == "network" and not factors:
                total = total + _network(form, slice(m0, m1), slice(n0, n1))
        return total

    def forms(self) -> List[Form]:
        """What the plan does as data, in the order in which it acts (docs/forms.md)."""
        names = [name for name, _, _ in self._described]
        return [Form(_FORMS[kind] if kind < len(_FORMS) else str(kind), term,
                     tuple(name for name, role in _ROLES.items() if roles >> role & 1), first, count, multiplies, law,
                     arrays, {key: (names[number], at) for key, (number, at) in learned.items()})
                for kind, term, roles, first, count, multiplies, law, arrays, learned in _core.forms(self._own)]

    @property
    def bytes(self) -> int:
        """Bytes that the plan holds."""
        return self._own.bytes()

    def _lengths(self) -> Tuple[int, int]:
        """Of all sequences' queries, and of their keys; −1 where they differ."""
        if self._alike is None:
            own = [set(np.diff(place.offsets).tolist()) for place in (self.queries, self.keys)]
            self._alike = (own[0].pop() if len(own[0]) == 1 else -1, own[1].pop() if len(own[1]) == 1 else -1)
        return self._alike

    def _rest(self, dropout: float, seed: int, cap: Optional[float], window: Optional[int], keep: int, prefix: Any
              ) -> Tuple[Any, ...]:
        if prefix is not None and len(prefix) != self.queries.sequences:
            raise ShapeError(f"prefix has {len(prefix)} numbers, but there are {self.queries.sequences} sequences")
        return rest_of(dropout, seed, cap, window, keep, prefix)

    def _zeros(self) -> Arrays:
        return {name: np.zeros(shape) for name, shape, _ in self._described}

    def _sequence(self, sequence: Optional[int]) -> int:
        count = self.queries.sequences
        if sequence is None and count != 1:
            raise ShapeError(f"the plan has {count} sequences; say which with sequence=0 … {count - 1}")
        if sequence is not None and not 0 <= sequence < count:
            raise IndexError(f"there is no sequence {sequence} of {count}")
        return sequence or 0

    def __repr__(self) -> str:
        return f"<locus.Plan: {self.encoding.spec}, {self.queries.tokens} queries, {self.keys.tokens} keys>"


def _index(form: Form, queries: slice, keys: slice) -> NDArray[np.uint32]:
    """Cells of pairs: sums modulo 2^32."""
    found: NDArray[np.uint32] = (form.arrays["query_cell"][queries][:, None] + form.arrays["key_cell"][keys][None, :])
    return found


def _cells(form: Form, queries: slice, keys: slice, heads: int) -> Array:
    values = form.arrays["values"]
    own = values[np.arange(heads) * len(values) // heads]
    found: Array = own[:, _index(form, queries, keys)]
    return found


def _network(form: Form, queries: slice, keys: slice) -> Array:
    a = form.arrays
    x = a["logs"][_index(form, queries, keys)] / a["reach"][queries][:, None]
    hidden = np.maximum(x[..., None] * a["hidden_weight"] + a["hidden_bias"], 0)
    return np.moveaxis(hidden @ a["output_weight"].T + a["output_bias"], -1, 0)


