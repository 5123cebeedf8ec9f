# SPDX-License-Identifier: MIT
"""Attention from a plan's forms (docs/forms.md), in operations of JAX on any device: differentiable in queries, keys,
values, parameters and bias. Positions are known when a function is traced, so that a program has tables of them."""
from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ShapeError, UnsupportedError
from ..places import positions
from ..plans import Form, Plan
from .xla import PlanSite
from .form_operators import Array, Live, by_head, embedded, turned
from .placing import encoding_named

# ---- plans ----


@lru_cache(maxsize=64)
def plan_of(site: PlanSite, queries: positions, keys: Optional[positions]) -> Plan:
    """A plan with initial parameters, in whose place those of a call come."""
    return encoding_named(site.spec).plan(
        queries, site.heads, site.head_dim, keys=keys, kv_heads=site.kv_heads, value_dim=site.value_dim,
        model_dim=site.model_dim or None)


@lru_cache(maxsize=64)
def _forms_of(plan: Plan) -> List[Form]:
    return plan.forms()


def live_forms(plan: Plan, parameters: Dict[str, Array]) -> List[Live]:
    forms = _forms_of(plan)
    if parameters and any(form.law == "given" for form in forms):
        raise UnsupportedError(f"'{plan.encoding.spec}' learns with a registered function, which forms cannot "
                               "differentiate; use backend=\"locus\" on the CPU")
    return [Live(form, parameters) for form in forms]


# ---- how tokens fall into sequences ----


class _Rows(NamedTuple):
    """Tokens of sequences as rows [sequences, length], those of shorter ones filled up with any token."""

    tokens: Any
    lengths: Any

    @staticmethod
    def of(offsets: Tuple[int, ...], length: int) -> "_Rows":
        first, lengths = np.asarray(offsets[:-1], np.int64), np.diff(offsets)
        inside = np.minimum(np.arange(length), np.maximum(lengths, 1)[:, None] - 1)
        return _Rows(np.minimum(first[:, None] + inside, max(offsets[-1] - 1, 0)), lengths)

    @property
    def full(self) -> bool:
        return bool((self.lengths == self.tokens.shape[1]).all())

    def apart(self, x: Array) -> Array:
        """[tokens, heads, dim] as [sequences, heads, length, dim]."""
        if self.full:
            return jnp.swapaxes(x.reshape(*self.tokens.shape, *x.shape[1:]), 1, 2)
        return jnp.swapaxes(x[self.tokens], 1, 2)

    def packed(self, x: Array) -> Array:
        """The way back; rows that are filled up are left out."""
        rows = jnp.swapaxes(x, 1, 2).reshape(-1, x.shape[1], x.shape[3])
        return rows if self.full else rows[np.flatnonzero(self.inside())]

    def inside(self) -> Any:
        found = np.arange(self.tokens.shape[1]) < self.lengths[:, None]
        return found

    def only(self, x: Array) -> Array:
        """[sequences, heads, length, dim], 0 behind a sequence's end."""
        return x if self.full else jnp.where(self.inside()[:, None, :, None], x, jnp.zeros((), x.dtype))


def _alike(values: Any) -> Any:
    """Rows of which there is only one, if all are equal."""
    return values[:1] if len(values) and (values == values[0]).all() else values


# ---- scores: [sequences or 1, heads, queries, keys] ----


class _Scores:
    """What the forms of roles () do to scores."""

    def __init__(self, forms: List[Live], heads: int, queries: _Rows, keys: _Rows, causal: bool) -> None:
        self.forms = [live for live in forms if not live.form.roles]
        self.settings: Dict[str, Any] = next((x.arrays for x in self.forms if x.kind == "settings"), {})
        self.heads, self.queries, self.keys, self.causal = heads, queries, keys, causal

    def of(self, *kinds: str) -> List[Live]:
        return [live for live in self.forms if live.kind in kinds]

    def _rows(self, a: Dict[str, Any], name: str) -> Any:
        return _alike(a[name][(self.queries if name.startswith("query") else self.keys).tokens])

    def _pairs(self, live: Live) -> Array:
        """Cells of pairs; sums modulo 2³²."""
        query, key = (self._rows(live.arrays, name).astype(np.uint32) for name in ("query_cell", "key_cell"))
        return (jnp.asarray(query)[:, :, None] + jnp.asarray(key)[:, None, :]).astype(jnp.int32)

    def seen(self) -> Optional[Array]:
        """Which keys a query sees, [sequences or 1, 1, queries, keys]; None: all."""
        settings, (m, n) = self.settings, (self.queries.tokens.shape[1], self.keys.tokens.shape[1])
        own = settings.get("chunk") or settings.get("window")
        if not self.causal and not own and self.keys.full:
            return None
        lengths = _alike(self.keys.lengths[:, None])
        more = _alike((self.keys.lengths - self.queries.lengths)[:, None])
        j = jnp.arange(n)[None, None, :]
        t = jnp.arange(m)[None, :, None] + jnp.asarray(more)[:, :, None]
        seen = j < jnp.asarray(lengths)[:, :, None]
        seen = seen & (j <= t) if self.causal else jnp.broadcast_to(seen, jnp.broadcast_shapes(seen.shape, (1, m, n)))
        if settings.get("chunk"):
            seen = seen & (t >= 0) & (t // settings["chunk"] == j // settings["chunk"])
        if settings.get("window"):
            seen = seen & ((abs(t - j) < settings["window"]) | (j < settings["keep"]))
        return seen[:, None]

    def cells(self, live: Live) -> Array:
        a, law = live.arrays, live.law if live.form.parameters else ""
        values = jnp.asarray(a["values"])
        if law == "slope":
            values = -a["slope"][:, None] * a["distance"]
        elif law == "power":
            values = a["rate"][:, None] ** a["distance"]
        elif law == "bucket":
            values = a["bias"][a["bucket"]].T
        elif law == "logarithm":
            values = -a["a"][:, None] * jnp.log1p(a["b"][:, None] * a["distance"])
        own = by_head(values, self.heads)
        return jnp.swapaxes(jnp.take(own, self._pairs(live), axis=1, mode="clip"), 0, 1)

    def network(self, live: Live) -> Array:
        a = live.arrays
        reach = jnp.asarray(self._rows(a, "query_position.0"), jnp.asarray(a["c"]).dtype)
        most = jnp.maximum(reach, abs(a["L"]))
        distance = jnp.take(jnp.asarray(a["distance"]), self._pairs(live), mode="clip")
        x = jnp.log1p(abs(a["c"]) * distance) / jnp.log1p(abs(a["c"]) * most)[..., None]
        hidden = jax.nn.relu(x[..., None] * a["hidden_weight"] + a["hidden_bias"])
        return jnp.moveaxis(hidden @ jnp.asarray(a["output_weight"]).T + a["output_bias"], -1, 1)

    def content_rows(self, live: Live) -> Array:
        a = live.arrays
        apart = (jnp.asarray(self._rows(a, "key_position"))[:, None, :]
                 - jnp.asarray(self._rows(a, "query_position"))[:, :, None])
        return jnp.clip(apart, -a["window"], a["window"]) + a["window"]

    def content(self, live: Live, q: Array, scale: float) -> Array:
        by_row = jnp.einsum("shtd,rd->shtr", q, jnp.asarray(live.arrays["key_table"], q.dtype))
        rows = self.content_rows(live)[:, None]
        own = jnp.take_along_axis(by_row, jnp.broadcast_to(rows, (*by_row.shape[:3], rows.shape[-1])), -1)
        return own * scale if live.arrays["scaled"] else own

    def contextual(self, live: Live, product: Array, q: Array, scale: float, seen: Array) -> Array:
        table = jnp.asarray(live.arrays["table"], q.dtype)
        gates = jnp.where(seen, jax.nn.sigmoid((scale if live.arrays["scaled"] else 1) * product), 0)
        p = jnp.minimum(jnp.cumsum(gates[..., ::-1], -1)[..., ::-1], len(table) - 1)
        below = jnp.floor(jax.lax.stop_gradient(p)).astype(jnp.int32)
        by_row = jnp.einsum("shtd,rd->shtr", q, table)
        lower = jnp.take_along_axis(by_row, below, -1)
        upper = jnp.take_along_axis(by_row, jnp.minimum(below + 1, len(table) - 1), -1)
        return lower + (p - below) * (upper - lower)


def _softmax(s: Array, sinks: Any) -> Array:
    """Rows that see nothing are 0."""
    if sinks is not None:
        own = jnp.asarray(sinks, s.dtype)[None, :, None, None]
        s = jnp.concatenate((s, jnp.broadcast_to(own, (*s.shape[:-1], 1))), -1)
    top = jnp.max(jax.lax.stop_gradient(s), -1, keepdims=True, initial=-jnp.inf)
    weights = jnp.exp(s - jnp.where(jnp.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    weights = weights / jnp.where(total > 0, total, 1)
    return weights if sinks is None else weights[..., :-1]


def _scores(own: _Scores, q: Array, k: Array, raw: Array, scale: float, bias: Optional[Array]) -> Array:
    """Scores, −∞ where a key is not seen. `raw`: queries before any operator."""
    seen, settings = own.seen(), own.settings
    seen = jnp.ones((1, 1, 1, 1), bool) if seen is None else seen
    seen = seen if bias is None else seen & (bias != -jnp.inf)
    product = jnp.einsum("shtd,shjd->shtj", q, k)
    s = scale * product
    for live in own.of("content", "context"):
        s = s + (own.content(live, raw, scale) if live.kind == "content" else
                 own.contextual(live, product, raw, scale, seen))
    if settings.get("cap"):
        s = settings["cap"] * jnp.tanh(s / settings["cap"])
    for live in own.of("cells", "network"):
        values = (own.cells(live) if live.kind == "cells" else own.network(live)).astype(s.dtype)
        s = s * values if live.form.multiplies else s + values
    s = s if bias is None else s + bias.astype(s.dtype)
    return jnp.where(seen, s, -jnp.inf)


def _attended(own: _Scores, parts: Tuple[Array, Array, Array], raw: Array, scale: float, bias: Optional[Array],
              dropout: float, seed: Any) -> Tuple[Array, Optional[Array]]:
    """Outputs, and what content's values add behind the operators."""
    q, k, v = parts
    weights = _softmax(_scores(own, q, k, raw, scale, bias), own.settings.get("sinks"))
    if dropout > 0:
        kept = jax.random.bernoulli(jax.random.wrap_key_data(seed, impl="threefry2x32"), 1 - dropout, weights.shape)
        weights = jnp.where(kept, weights, 0) / (1 - dropout)
    beside: Optional[Array] = None
    for live in own.of("content"):
        if "value_table" in live.arrays:
            table = jnp.asarray(live.arrays["value_table"], q.dtype)[own.content_rows(live)]
            added = jnp.einsum("shtj,stjd->shtd", weights, jnp.broadcast_to(table, (len(weights), *table.shape[1:])))
            beside = added if beside is None else beside + added
    return jnp.einsum("shtj,shjd->shtd", weights, v), beside


# ---- tensors of callers ----


def _computed(x: Array) -> Array:
    return x.astype(jnp.float32) if x.dtype in (jnp.bfloat16, jnp.float16) else x


class _Layout:
    """Tensors of a caller, packed or apart, as packed ones of the tokens that belong to sequences, and back."""

    def __init__(self, offsets: Tuple[int, ...], rows: int, apart: bool) -> None:
        self.apart, self.rows = apart, rows
        lengths = np.diff(offsets)
        self.of = _Rows.of(offsets, rows if apart else int(lengths.max(initial=0)))
        self.tokens = offsets[-1]

    def packed(self, x: Array) -> Array:
        if not self.apart:
            return x[:self.tokens]
        if x.shape[0] != len(self.of.lengths):
            raise ShapeError(f"a tensor has {x.shape[0]} sequences, positions have {len(self.of.lengths)}")
        return self.of.packed(x)

    def back(self, x: Array) -> Array:
        if not self.apart:
            return jnp.pad(x, ((0, self.rows - self.tokens), (0, 0), (0, 0)))
        return self.of.only(self.of.apart(x))


def attention(plan: Plan, q: Array, k: Array, v: Array, parameters: Dict[str, Array], causal: bool, scale: float,
              bias: Optional[Array], dropout: float, seed: Any) -> Array:
    """As `Plan.attention`, of tensors packed or apart. `scale` 0: the encoding's."""
    dtype, apart, axis = q.dtype, q.ndim == 4, -2 if q.ndim == 4 else 0
    queries = _Layout(plan.queries.offsets, q.shape[axis], apart)
    keys = _Layout(plan.keys.offsets, k.shape[axis], apart)
    if bias is not None and not apart:  # counted within sequences, at least as many as the longest has
        bias = bias[..., :queries.of.tokens.shape[1], :keys.of.tokens.shape[1]]
    q, k, v = queries.packed(_computed(q)), keys.packed(_computed(k)), keys.packed(_computed(v))
    forms, heads, group = live_forms(plan, parameters), q.shape[1], q.shape[1] // k.shape[1]
    own = _Scores(forms, heads, queries.of, keys.of, causal)
    factor = scale or own.settings.get("scale") or q.shape[2] ** -0.5
    parts = (queries.of.apart(turned(forms, q, "query")),
             keys.of.apart(jnp.repeat(turned(forms, k, "key"), group, 1)),
             keys.of.apart(jnp.repeat(turned(forms, v, "value"), group, 1)))
    output, beside = _attended(own, parts, queries.of.apart(q), factor, bias, dropout, seed)
    made = turned(forms, queries.of.packed(output), "output")
    made = made if beside is None else made + queries.of.packed(beside)
    return queries.back(made).astype(dtype)


def apply(plan: Plan, x: Array, parameters: Dict[str, Array], role: str, inverse: bool) -> Array:
    """As `Plan.apply`, of a tensor packed or apart."""
    own, forms = _computed(x), live_forms(plan, parameters)
    offsets = (plan.keys if role in ("key", "value") else plan.queries).offsets
    vectors = role in ("token", "encoded")
    own = own[:, None] if vectors else own  # as one head
    layout = _Layout(offsets, own.shape[-2 if own.ndim == 4 else 0], own.ndim == 4)
    packed = layout.packed(own)
    if vectors:
        made = layout.back(embedded(forms, packed[:, 0], role, -1 if inverse else 1)[:, None])
        return made.reshape(x.shape).astype(x.dtype)
    return layout.back(turned(forms, packed, role, inverse)).astype(x.dtype)
