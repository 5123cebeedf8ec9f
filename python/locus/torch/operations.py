# SPDX-License-Identifier: MIT
"""What a plan does to tokens, from its forms (docs/forms.md), in PyTorch's operations on any device: differentiable in
tensors and parameters. Tensors here are packed, ``[tokens, heads, dim]``."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np
import torch
from torch import Tensor

from ..plans import Form

Array = Any


def wide(device: torch.device) -> torch.dtype:
    """What tables are made in: double, except where a device has none."""
    return torch.float32 if device.type == "mps" else torch.float64


def capturing() -> bool:
    """Whether a CUDA graph takes down what is launched: nothing is computed until it is replayed, so that nothing that is
    made now may be kept for others."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


class Live:
    """A form on a device, with parameters in the place of the arrays that hold them; those that the caller does not give
    are the plan's own."""

    def __init__(self, form: Form, fixed: Dict[str, Union[Tensor, int, float]], parameters: Dict[str, Tensor],
                 store: Dict[Any, Any], dtype: Optional[torch.dtype] = None) -> None:
        self.form, self.kind, self.law = form, form.kind, form.law
        self._store, self._fixed = store, fixed
        self.arrays: Dict[str, Array] = dict(fixed)
        for name, (parameter, first) in form.parameters.items():
            if parameter not in parameters:
                self.arrays[name] = torch.as_tensor(self.arrays[name])
                continue
            own, shape = parameters[parameter], form.arrays[name].shape
            own = own.to(dtype or wide(own.device))
            if own.numel() != int(np.prod(shape)):
                own = own[:, first:first + shape[1]]
            self.arrays[name] = own.reshape(shape)

    def again(self, parameters: Dict[str, Tensor], dtype: torch.dtype) -> Live:
        """The same with other values of parameters, in this type."""
        return Live(self.form, self._fixed, parameters, self._store, dtype)

    def among(self, cells: Tensor) -> Live:
        """The same of these cells alone, one behind the other."""
        own = dict(self._fixed)
        for name in ("values", "distance", "bucket"):
            values = own.get(name)
            if isinstance(values, Tensor):
                own[name] = values[..., cells]
        return Live(self.form, own, {}, {})

    def learned(self, name: str) -> bool:
        return name in self.form.parameters

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What depends on nothing that is learned is made once for the plan and the device."""
        if key not in self._store:
            with torch.inference_mode(False), torch.no_grad():
                made = make()
            if capturing():
                return made
            self._store[key] = made
        return self._store[key]


def fixed_arrays(form: Form, device: torch.device) -> Dict[str, Union[Tensor, int, float]]:
    """The form's arrays as tensors of a device; those of rank 0 as numbers."""
    made: Dict[str, Union[Tensor, int, float]] = {}
    with torch.inference_mode(False):  # they stay for calls that need gradients
        for name, data in form.arrays.items():
            whole = data.dtype.kind in "iu"
            if data.ndim == 0:
                made[name] = data.item()
            else:
                copy = torch.from_numpy(data.astype(np.int64 if whole else np.float64))
                made[name] = copy.to(device) if whole else copy.to(device, wide(device))
    return made


def by_head(table: Tensor, heads: int) -> Tensor:
    """Head h goes with table h·tables/heads."""
    if len(table) in (1, heads):
        return table.expand(heads, *table.shape[1:])
    return table[torch.arange(heads, device=table.device) * len(table) // heads]


def side(role: str) -> str:
    return "key" if role in ("key", "value") else "query"


# ---- matrices by law ----


def skew(A: Tensor) -> Tensor:
    return A - A.mT


def orthogonal(law: str, A: Tensor) -> Tensor:
    one = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    if law == "skew":
        return torch.linalg.matrix_exp(skew(A))
    if law == "cayley":
        return torch.linalg.solve(one - skew(A), one + skew(A), left=False)
    W = one.expand(A.shape)
    for v in A.unbind(-2):
        W = W @ (one - 2 * v[..., :, None] * v[..., None, :] / (v * v).sum(-1)[..., None, None])
    return W


def powered(law: str, A: Tensor, positions: Tensor, x: Tensor, transposed: bool) -> Tensor:
    """W^p x of W = law(A) [tables, n, n], x [tokens, heads, n]: by eigenvalues; those of a skew matrix are i·λ."""
    if law == "householder":
        values, vectors = torch.linalg.eig(orthogonal(law, A))
        angle, back = torch.log(values) / 1j, torch.linalg.inv(vectors)
    else:
        real, vectors = torch.linalg.eigh(1j * skew(A))
        angle, back = -real if law == "skew" else -2 * torch.atan(real), vectors.mH
    turn = torch.exp(1j * (-1 if transposed else 1) * angle[:, None] * positions[None, :, None])
    kind = torch.complex128 if x.dtype == torch.float64 else torch.complex64
    heads = x.shape[1]
    parts = (by_head(table.to(kind), heads) for table in (back, turn, vectors))
    own_back, own_turn, own_vectors = parts
    inner = torch.einsum("hij,thj->thi", own_back, x.to(kind)) * own_turn.transpose(0, 1)
    return torch.einsum("hij,thj->thi", own_vectors, inner).real


def turns(angles: Tensor) -> Tensor:
    n = 2 * angles.shape[-1]
    W = angles.new_zeros(angles.shape[:-1] + (n, n))
    i = torch.arange(0, n, 2, device=angles.device)
    W[..., i, i] = W[..., i + 1, i + 1] = torch.cos(angles)
    W[..., i + 1, i] = torch.sin(angles)
    W[..., i, i + 1] = -torch.sin(angles)
    return W


def node_matrices(form: Live) -> Tensor:
    """[tables, nodes, n, n]; nodes of one depth are multiplied at once."""
    a = form.arrays
    W = a["generators"]
    if form.form.parameters:
        W = turns(a["angles"]) if form.law == "angles" else orthogonal(form.law, a["generator"])
    both = torch.cat((W, W.mT), 1)
    branch = torch.where(a["branch"] > 0, a["branch"] - 1, W.shape[1] - a["branch"] - 1)
    depth, parent = a["depth"], a["parent"]
    order = torch.argsort(depth, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    levels: List[Tensor] = [torch.eye(W.shape[-1], dtype=W.dtype, device=W.device).expand(W[:, :1].shape)]
    counts, first = torch.bincount(depth).tolist(), 0
    for level in range(1, len(counts)):
        nodes = order[first + counts[level - 1]:first + counts[level - 1] + counts[level]]
        above = levels[-1][:, place[parent[nodes]] - first]
        levels.append(above @ both[:, branch[nodes]])
        first += counts[level - 1]
    return torch.cat(levels, 1)[:, place]


# ---- operators ----


def table_phases(form: Live, role: str) -> Tensor:
    """cos + i·sin [tables, tokens, pairs], of the tables that the form has."""
    a, who = form.arrays, side(role)
    pairs, turn = len(a["pair"]), None
    for axis in range(a["axes"]):
        kind = "_of_keys" if who == "key" and f"coarse_of_keys.{axis}" in a else ""
        coarse = torch.view_as_complex(a[f"coarse{kind}.{axis}"].contiguous())[:, a[f"{who}_coarse.{axis}"]]
        own = coarse * torch.view_as_complex(a[f"fine{kind}.{axis}"].contiguous())[:, a[f"{who}_fine.{axis}"]]
        if f"columns.{axis}" in a:
            full = own.new_ones(own.shape[:2] + (pairs,))
            full[..., a[f"columns.{axis}"]] = own
            own = full
        turn = own if turn is None else turn * own
    assert turn is not None
    return turn


def phases(form: Live, role: str) -> Tensor:
    """The same, from frequencies where these are learned."""
    a, who = form.arrays, side(role)
    if not form.learned("frequencies"):
        return table_phases(form, role)
    theta = a["frequencies"]
    positions = torch.stack([a[f"{who}_position.{axis}"].to(theta.dtype) for axis in range(a["axes"])])
    if theta.shape[1] == 1:
        axis = a.get("axis", torch.zeros(theta.shape[2], dtype=torch.int64, device=theta.device))
        angle = positions[axis].T[None] * theta
    else:
        angle = torch.einsum("at,hap->htp", positions, theta)
    growth: Any = 0
    if "growth" in a:
        growth = (positions[0] - a["centre"])[:, None] * a["growth"] * (1 if who == "query" else -1)
    return torch.exp(1j * angle + growth)


def cosines_of(form: Live, heads: int, role: str) -> Tuple[Tensor, Tensor]:
    """cos and sin of the angles by which heads are turned: [tokens, heads or 1, pairs]."""
    tables = phases(form, role)
    phase = (tables if len(tables) == 1 else by_head(tables, heads)).transpose(0, 1)
    factor = form.arrays["factor"] if role in ("query", "key") else 1.0
    return factor * phase.real, (-factor if role == "output" else factor) * phase.imag


def cosines(form: Live, x: Tensor, role: str) -> Tuple[Tensor, Tensor]:
    """The same for x [tokens, heads, dim], in its type."""
    def made() -> Tuple[Tensor, Tensor]:
        cosine, sine = cosines_of(form, x.shape[1], role)
        return cosine.to(x.dtype), sine.to(x.dtype)

    return made() if form.form.parameters else form.once(("cosines", role, x.dtype, x.shape[1]), made)


def pair_order(form: Live, dim: int, device: torch.device) -> Tuple[str, Tuple[Tensor, ...]]:
    """How pairs lie: "neighbours" (0 1) (2 3) …, "halves" (0 n) (1 n + 1) …, or by "order", which makes halves of them,
    and the way back. Coordinates without a pair come last."""
    def made() -> Tuple[str, Tuple[Tensor, ...]]:
        pairs = form.form.arrays["pair"].astype(np.int64)
        alone = np.setdiff1d(np.arange(dim), pairs)
        order = np.concatenate((pairs.T.reshape(-1), alone))
        if np.array_equal(np.concatenate((pairs.reshape(-1), alone)), np.arange(dim)):
            return "neighbours", ()
        if np.array_equal(order, np.arange(dim)):
            return "halves", ()
        return "order", tuple(torch.from_numpy(own).to(device) for own in (order, np.argsort(order)))

    found: Tuple[str, Tuple[Tensor, ...]] = form.once("pairs", made)
    return found


def turned_pairs(x: Tensor, cosine: Tensor, sine: Tensor, order: Tuple[str, Tuple[Tensor, ...]]) -> Tensor:
    """(x, y) → (x cos − y sin, x sin + y cos) of each pair."""
    how, ways = order
    pairs = cosine.shape[-1]
    own = x if how != "order" else x.index_select(-1, ways[0])
    if how == "neighbours":
        one, other = own[..., :2 * pairs].unflatten(-1, (pairs, 2)).unbind(-1)
    else:
        one, other = own[..., :pairs], own[..., pairs:2 * pairs]
    both = one * cosine - other * sine, one * sine + other * cosine
    y = torch.stack(both, -1).flatten(-2) if how == "neighbours" else torch.cat(both, -1)
    y = y if y.shape[-1] == x.shape[-1] else torch.cat((y, own[..., 2 * pairs:]), -1)
    return y if how != "order" else y.index_select(-1, ways[1])


def turn(form: Live, x: Tensor, role: str) -> Tensor:
    a, heads = form.arrays, x.shape[1]
    if form.learned("generator"):
        positions = a[f"{side(role)}_position.0"].to(a["generator"].dtype)
        return powered(form.law, a["generator"][:, 0], positions, x, role == "output")
    cosine, sine = cosines(form, x, role)
    basis = orthogonal(form.law, a["free_basis"][:, 0]) if form.learned("free_basis") else a.get("basis")
    basis = None if basis is None else by_head(basis.to(x.dtype), heads)
    x = x if basis is None else torch.einsum("hji,thj->thi", basis, x)
    y = turned_pairs(x, cosine, sine, pair_order(form, x.shape[-1], x.device))
    if "flip" in a and form.form.count % 2 == 1:  # the coordinate without a pair
        odd = a[f"{side(role)}_position.0"] % 2 == 1
        flips = by_head(a["flip"], heads) < form.form.count
        sign = torch.where(odd[:, None] & flips[None, :], -1.0, 1.0).to(x.dtype)
        y = torch.cat((y[..., :-1], y[..., -1:] * sign[..., None]), -1)
    return y if basis is None else torch.einsum("hij,thj->thi", basis, y)


def multiply(matrices: Tensor, index: Tensor, x: Tensor, role: str) -> Tensor:
    """matrices [tables, rows, n, n], index [tokens]."""
    if matrices.shape[1] == 0:
        return x
    own = by_head(matrices.to(x.dtype)[:, index], x.shape[1])
    return torch.einsum("htji,thj->thi" if role == "output" else "htij,thj->thi", own, x)


def turned(forms: List[Live], x: Tensor, role: str) -> Tensor:
    """⌈p⌉ x of x [tokens, heads, dim], of outputs ⌈p⌉ᵀ x."""
    for live in forms:
        form, a = live.form, live.arrays
        if role not in form.roles or form.kind == "vectors":
            continue
        part = x[..., form.first:form.first + form.count]
        if form.kind == "turn":
            part = turn(live, part, role)
        elif form.kind == "paths":
            part = multiply(node_matrices(live), a[f"{side(role)}_node"], part, role)
        elif form.kind == "matrices":
            matrices = a["matrices"].transpose(0, 1)
            if live.learned("generator"):
                S = torch.einsum("na,haij->hnij", a["position"].to(a["generator"].dtype), skew(a["generator"]))
                matrices = torch.linalg.matrix_exp(S.contiguous())
            part = multiply(matrices, a[f"{side(role)}_matrix"], part, role)
        x = part if form.count == x.shape[-1] else torch.cat(
            (x[..., :form.first], part, x[..., form.first + form.count:]), -1)
    return x


def embedded(forms: List[Live], x: Tensor, role: str) -> Tensor:
    """x [tokens, dim] with vectors added."""
    for live in forms:
        form, a = live.form, live.arrays
        if form.kind != "vectors" or role not in form.roles or len(a["vectors"]) == 0:
            continue
        vectors = a["vectors"]
        if form.law == "steps" and form.parameters:
            (rows, depth), w = a["steps"].shape, a["decays"]
            scale = ((1 - torch.tanh(w) ** 2) * form.count / 2) ** 0.5
            power = scale * torch.tanh(w) ** torch.arange(depth, device=w.device)[:, None]
            hot = torch.nn.functional.one_hot(a["steps"] + 1, a["branches"] + 1)[..., 1:].to(w.dtype)
            vectors = torch.einsum("rtb,tj->rtbj", hot, power).reshape(rows, -1)
            vectors = torch.nn.functional.pad(vectors, (0, form.count - vectors.shape[1]))
        x = x + vectors.to(x.dtype)[a["row"]]
    return x


# ---- scores ----


def cell_values(live: Live, heads: int, dtype: torch.dtype) -> Tensor:
    """[heads, cells] in the type of what is learned; what is not is float32, unless that is less than `dtype`."""
    a, law = live.arrays, live.law if live.form.parameters else ""
    values = a["values"] if law or dtype == torch.float64 else a["values"].float()
    if law == "slope":
        values = -a["slope"][:, None] * a["distance"]
    elif law == "power":
        values = a["rate"][:, None] ** a["distance"]
    elif law == "bucket":
        # By index_select, whose gradient is added up; that of indexing sorts first, and walks through each bucket.
        values = a["bias"].index_select(0, a["bucket"]).T
    elif law == "logarithm":
        values = -a["a"][:, None] * torch.log1p(a["b"][:, None] * a["distance"])
    return by_head(values, heads)


def hides(settings: Dict[str, Any], causal: bool) -> bool:
    return bool(causal or settings.get("chunk") or settings.get("window"))


def sees(settings: Dict[str, Any], causal: bool, t: Tensor, j: Tensor) -> Tensor:
    """Whether a query with the keys 0 … t up to itself sees key j."""
    seen = j <= t if causal else j == j
    if settings.get("chunk"):
        seen = seen & (t >= 0) & (t // settings["chunk"] == j // settings["chunk"])
    if settings.get("window"):
        seen = seen & (((t - j).abs() < settings["window"]) | (j < settings["keep"]))
    return seen
