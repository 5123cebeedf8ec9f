# SPDX-License-Identifier: MIT
"""What a plan does to tokens, from its forms (docs/forms.md), in operations of JAX: differentiable in tensors and
parameters. Positions are fixed, parameters may be traced. Tensors here are packed, ``[tokens, heads, dim]``."""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

import jax
import jax.numpy as jnp
import numpy as np

from ..plans import Form

Array = Any
_TERMS, _SQUARINGS = 18, 24  # of exponential: 1/19! is below double's precision
_CHUNK = 64                  # matrices made at once where each position has one


def wide() -> Any:
    """What tables are made in: double, where JAX has it."""
    return jnp.result_type(float)


def _fixed(data: Any) -> Any:
    """An array, whole numbers of 32 bits where these will do, as JAX may have no others; of rank 0 a number."""
    if data.ndim == 0:
        return data.item()
    short = data.astype(np.int32) if data.dtype.kind in "iu" else data
    return short if np.array_equal(short, data) else data


class Live:
    """A form with parameters in the place of the arrays that hold them; the others are NumPy's, of rank 0 numbers."""

    def __init__(self, form: Form, parameters: Dict[str, Array]) -> None:
        self.form, self.kind, self.law = form, form.kind, form.law
        self.arrays: Dict[str, Array] = {name: _fixed(data) for name, data in form.arrays.items()}
        for name, (parameter, first) in form.parameters.items():
            own, shape = jnp.asarray(parameters[parameter]).astype(wide()), form.arrays[name].shape
            if own.size != int(np.prod(shape)):
                own = own[:, first:first + shape[1]]
            self.arrays[name] = own.reshape(shape)

    def learned(self, name: str) -> bool:
        return name in self.form.parameters


def by_head(table: Array, heads: int) -> Array:
    """Head h goes with table h·tables/heads."""
    if len(table) in (1, heads):
        return jnp.broadcast_to(table, (heads, *table.shape[1:]))
    return jnp.repeat(table, heads // len(table), axis=0) if heads % len(table) == 0 else jnp.take(
        table, np.arange(heads) * len(table) // heads, axis=0)


def side(role: str) -> str:
    return "key" if role in ("key", "value") else "query"


def turned_by(matrices: Array, x: Array, transposed: bool = False) -> Array:
    """matrices [heads, n, n], x [tokens, heads, n]."""
    return jnp.einsum("hji,thj->thi" if transposed else "hij,thj->thi", matrices, x)


# ---- matrices by law ----


def skew(A: Array) -> Array:
    return A - jnp.swapaxes(A, -1, -2)


def exponential(S: Array) -> Array:
    """exp(S) of [..., n, n], by Taylor's series of S/2^k and k squarings; much less to compile than JAX's own."""
    one = jnp.broadcast_to(jnp.eye(S.shape[-1], dtype=S.dtype), S.shape)
    norm = jax.lax.stop_gradient(jnp.abs(S).sum(-1, keepdims=True).max(-2, keepdims=True))
    squarings = jnp.clip(jnp.ceil(jnp.log2(jnp.maximum(norm, 1e-30))), 0, _SQUARINGS)
    own = S / 2 ** squarings
    X = jax.lax.scan(lambda X, k: (one + own @ X / k, None), one, np.arange(_TERMS, 0, -1, dtype=S.dtype))[0]
    return jax.lax.scan(lambda X, k: (jnp.where(k < squarings, X @ X, X), None), X,
                        np.arange(_SQUARINGS, dtype=S.dtype))[0]


def orthogonal(law: str, A: Array) -> Array:
    one = jnp.eye(A.shape[-1], dtype=A.dtype)
    if law == "skew":
        return exponential(skew(A))
    if law == "cayley":  # (I − S)⁻¹ and I + S commute
        return jnp.linalg.solve(one - skew(A), one + skew(A))

    def reflected(W: Array, v: Array) -> Tuple[Array, None]:
        along = jnp.einsum("...ij,...j->...i", W, v) * (2 / (v * v).sum(-1))[..., None]
        return W - along[..., :, None] * v[..., None, :], None

    return jax.lax.scan(reflected, jnp.broadcast_to(one, A.shape), jnp.moveaxis(A, -2, 0))[0]


def whole_powers(W: Array, positions: Any, x: Array) -> Array:
    """W^p x of orthogonal W [tables, n, n], x [tokens, heads, n], whole positions: by the bits of p."""
    steps = np.abs(positions).astype(np.int64)
    for bit in range(int(steps.max(initial=0)).bit_length()):
        own = by_head(W.astype(x.dtype), x.shape[1])
        for back in (False, True):
            here = (steps >> bit & 1).astype(bool) & ((positions < 0) == back)
            if here.any():
                x = jnp.where(here[:, None, None], turned_by(own, x, back), x)
        W = W @ W
    return x


def real_powers(law: str, A: Array, positions: Any, x: Array) -> Array:
    """The same of W = law(A), by its eigenvalues, for real positions; those of a skew matrix are i·λ."""
    values, vectors = jnp.linalg.eigh(1j * skew(A))
    angle = -values if law == "skew" else -2 * jnp.arctan(values)
    turn = jnp.exp(1j * angle[:, None] * positions[None, :, None])
    kind = jnp.complex128 if x.dtype == jnp.float64 else jnp.complex64
    own, own_turn = (by_head(table.astype(kind), x.shape[1]) for table in (vectors, turn))
    inner = jnp.einsum("hji,thj->thi", own.conj(), x.astype(kind)) * jnp.swapaxes(own_turn, 0, 1)
    return turned_by(own, inner).real


def turns(angles: Array) -> Array:
    """Turns of the pairs (2i, 2i + 1) as matrices."""
    n = 2 * angles.shape[-1]
    i = np.arange(0, n, 2)
    c, s = jnp.cos(angles), jnp.sin(angles)
    W = jnp.zeros((*angles.shape[:-1], n, n), angles.dtype)
    return W.at[..., i, i].set(c).at[..., i + 1, i + 1].set(c).at[..., i + 1, i].set(s).at[..., i, i + 1].set(-s)


def node_matrices(form: Live) -> Array:
    """[tables, nodes, n, n]: each round doubles the number of steps that a node's product reaches up."""
    a = form.arrays
    W = jnp.asarray(a["generators"], wide())
    if form.form.parameters:
        W = turns(a["angles"]) if form.law == "angles" else orthogonal(form.law, a["generator"])
    both = jnp.concatenate((W, jnp.swapaxes(W, -1, -2)), 1)
    branch, depth = a["branch"], a["depth"]
    above = np.where(depth > 0, a["parent"], 0)
    own = both[:, np.where(branch > 0, branch - 1, W.shape[1] - branch - 1) * (depth > 0)]
    own = jnp.where((depth > 0)[:, None, None], own, jnp.eye(W.shape[-1], dtype=W.dtype))
    for _ in range(int(depth.max(initial=0) - 1).bit_length() if depth.max(initial=0) > 1 else 0):
        own, above = own[:, above] @ own, above[above]
    return own


# ---- operators ----


def _complex(table: Any) -> Array:
    """(cos, sin) as cos + i·sin."""
    return jnp.asarray(table[..., 0] + 1j * table[..., 1], jnp.result_type(wide(), jnp.complex64))


def table_phases(form: Live, role: str) -> Array:
    """cos + i·sin [tables, tokens, pairs], of the tables that the form has."""
    a, who = form.arrays, side(role)
    pairs, turn = len(a["pair"]), None
    for axis in range(a["axes"]):
        kind = "_of_keys" if who == "key" and f"coarse_of_keys.{axis}" in a else ""
        own = (_complex(a[f"coarse{kind}.{axis}"])[:, a[f"{who}_coarse.{axis}"]]
               * _complex(a[f"fine{kind}.{axis}"])[:, a[f"{who}_fine.{axis}"]])
        if f"columns.{axis}" in a:
            own = jnp.ones((*own.shape[:2], pairs), own.dtype).at[..., a[f"columns.{axis}"]].set(own)
        turn = own if turn is None else turn * own
    return turn


def phases(form: Live, role: str) -> Array:
    """The same, from frequencies where these are learned."""
    a, who = form.arrays, side(role)
    if not form.learned("frequencies"):
        return table_phases(form, role)
    theta = a["frequencies"]
    positions = np.stack([a[f"{who}_position.{axis}"].astype(wide()) for axis in range(a["axes"])])
    if theta.shape[1] == 1:
        axis = a.get("axis", np.zeros(theta.shape[2], np.int64))
        angle = positions[axis].T[None] * theta
    else:
        angle = jnp.einsum("at,hap->htp", positions, theta)
    growth: Any = 0.0
    if "growth" in a:
        growth = (positions[0] - a["centre"])[:, None] * a["growth"] * (1 if who == "query" else -1)
    return jnp.exp(1j * angle + growth)


def _powered(form: Live, x: Array, role: str, back: bool) -> Array:
    a = form.arrays
    A, positions = a["generator"][:, 0], a[f"{side(role)}_position.0"]
    positions = -positions if back else positions
    if np.issubdtype(positions.dtype, np.integer) or np.array_equal(positions, np.rint(positions)):
        return whole_powers(orthogonal(form.law, A), positions, x)
    return real_powers(form.law, A, positions.astype(wide()), x)


def _flipped(form: Live, x: Array, role: str) -> Array:
    """The last coordinate, which has no pair, changes its sign with every step where the operator reflects it."""
    odd = form.arrays[f"{side(role)}_position.0"] % 2 == 1
    flips = np.asarray(by_head(np.asarray(form.arrays["flip"]), x.shape[1])) < form.form.count
    sign = np.where(odd[:, None] & flips[None, :], -1, 1)
    return jnp.concatenate((x[..., :-1], x[..., -1:] * sign[..., None].astype(x.dtype)), -1)


def turn(form: Live, x: Array, role: str, back: bool) -> Array:
    a, heads = form.arrays, x.shape[1]
    if form.learned("generator"):
        return _powered(form, x, role, back)
    phase = jnp.swapaxes(by_head(phases(form, role), heads), 0, 1)
    basis = orthogonal(form.law, a["free_basis"][:, 0]) if form.learned("free_basis") else a.get("basis")
    basis = None if basis is None else by_head(jnp.asarray(basis, x.dtype), heads)
    x = x if basis is None else turned_by(basis, x, True)
    first, second = a["pair"].T
    factor = a["factor"] if role in ("query", "key") else 1.0
    cosine, sine = (factor * phase.real).astype(x.dtype), (factor * phase.imag).astype(x.dtype)
    sine = -sine if back else sine
    one, other = x[..., first], x[..., second]
    y = x.at[..., first].set(one * cosine - other * sine).at[..., second].set(one * sine + other * cosine)
    if "flip" in a and form.form.count % 2 == 1:
        y = _flipped(form, y, role)
    return y if basis is None else turned_by(basis, y)


def multiply(matrices: Array, index: Any, x: Array, back: bool) -> Array:
    """matrices [tables, rows, n, n], index [tokens]."""
    if matrices.shape[1] == 0:
        return x
    own = by_head(matrices.astype(x.dtype)[:, index], x.shape[1])
    return jnp.einsum("htji,thj->thi" if back else "htij,thj->thi", own, x)


def _matrices(form: Live) -> Array:
    a = form.arrays
    if not form.learned("generator"):
        return jnp.swapaxes(jnp.asarray(a["matrices"], wide()), 0, 1)

    @jax.checkpoint
    def matrices(place: Array) -> Array:
        return exponential(jnp.einsum("a,haij->hij", place, skew(a["generator"])))

    made = jax.lax.map(matrices, jnp.asarray(a["position"], wide()), batch_size=_CHUNK)
    return jnp.swapaxes(made, 0, 1)


def turned(forms: List[Live], x: Array, role: str, inverse: bool = False) -> Array:
    """⌈p⌉ x of x [tokens, heads, dim], of outputs ⌈p⌉ᵀ x; `inverse`: the other way round. Products have full precision,
    whatever a device makes of others."""
    back = (role == "output") != inverse
    with jax.default_matmul_precision("highest"):
        for live in forms:
            form, a = live.form, live.arrays
            if role not in form.roles or form.kind == "vectors":
                continue
            part = x[..., form.first:form.first + form.count]
            if form.kind == "turn":
                part = turn(live, part, role, back)
            elif form.kind == "paths":
                part = multiply(node_matrices(live), a[f"{side(role)}_node"], part, back)
            elif form.kind == "matrices":
                part = multiply(_matrices(live), a[f"{side(role)}_matrix"], part, back)
            x = jnp.concatenate((x[..., :form.first], part, x[..., form.first + form.count:]), -1)
    return x


def _step_vectors(form: Live) -> Array:
    """shiv-quirk's vectors from what it learns."""
    a, count = form.arrays, form.form.count
    (rows, depth), w = a["steps"].shape, a["decays"]
    scale = ((1 - jnp.tanh(w) ** 2) * count / 2) ** 0.5
    power = scale * jnp.tanh(w) ** np.arange(depth)[:, None]
    hot = jax.nn.one_hot(a["steps"], a["branches"], dtype=w.dtype)  # −1 is none
    vectors = jnp.einsum("rtb,tj->rtbj", hot, power).reshape(rows, -1)
    return jnp.pad(vectors, ((0, 0), (0, count - vectors.shape[1])))


def embedded(forms: List[Live], x: Array, role: str, sign: int = 1) -> Array:
    """x [tokens, dim] with vectors added."""
    for live in forms:
        a = live.arrays
        if live.kind != "vectors" or role not in live.form.roles or len(a["vectors"]) == 0:
            continue
        vectors = _step_vectors(live) if live.law == "steps" and live.form.parameters else a["vectors"]
        x = x + sign * jnp.asarray(vectors, x.dtype)[a["row"]]
    return x
