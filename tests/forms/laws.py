# SPDX-License-Identifier: MIT
"""How the arrays of a form follow from what is learned (the laws of docs/forms.md), in NumPy: what an engine that
differentiates would do with tensors of its own. `follow` gives {name: values} of the arrays that a law makes; rebuild.py
compares them with those that the forms have."""
import numpy as np

TURN, PATHS, MATRICES, CELLS, NETWORK, CONTENT, CONTEXT, VECTORS, SETTINGS = range(1, 10)


def exponential(S):
    """exp of skew matrices [..., n, n]: iS is Hermitian."""
    values, vectors = np.linalg.eigh(1j * S)
    return ((vectors * np.exp(-1j * values)[..., None, :]) @ vectors.conj().swapaxes(-1, -2)).real


def orthogonal(law, A):
    """W [..., n, n] of free parameters A."""
    S, one = A - A.swapaxes(-1, -2), np.eye(A.shape[-1])
    if law == "skew":
        return exponential(S)
    if law == "cayley":
        return (one + S) @ np.linalg.inv(one - S)
    W = np.broadcast_to(one, A.shape)
    for row in range(A.shape[-1]):
        v = A[..., row, :]
        W = W @ (one - 2 * v[..., :, None] * v[..., None, :] / (v * v).sum(-1)[..., None, None])
    return W


def turns(angles):
    """[..., n/2] angles to matrices that turn the pairs (2i, 2i + 1)."""
    n = 2 * angles.shape[-1]
    W, i = np.zeros(angles.shape[:-1] + (n, n)), np.arange(0, n, 2)
    W[..., i, i] = W[..., i + 1, i + 1] = np.cos(angles)
    W[..., i + 1, i] = np.sin(angles)
    W[..., i, i + 1] = -np.sin(angles)
    return W


def angles(form, who):
    """[tables, tokens, pairs] angles of tokens, from positions."""
    a = form.arrays
    positions = [a[f"{who}_position.{axis}"] for axis in range(a["axes"])]
    if "period" in a:
        turn = np.multiply.outer(positions[0] % a["period"], a["multiples"]) % a["period"]
        return 2 * np.pi * turn[None] / a["period"]
    theta = a["frequencies"]
    if theta.shape[1] == 1:
        axis = a.get("axis", np.zeros(theta.shape[2], int))
        return np.array(positions)[axis].T[None] * theta
    return np.einsum("at,hap->htp", np.array(positions, float), theta)


def turn_powers(form, phase, who):
    """⌈p⌉ of every token as matrices [tables, tokens, n, n], from phases and the basis."""
    a, n = form.arrays, form.count
    R = np.zeros((max(len(phase), len(a["basis"])), phase.shape[1], n, n))
    R[..., range(n), range(n)] = 1
    x, y = a["pair"].T
    R[..., x, x], R[..., x, y], R[..., y, x], R[..., y, y] = phase.real, -phase.imag, phase.imag, phase.real
    if "flip" in a and n % 2 == 1:
        odd = a[f"{who}_position.0"] % 2 == 1
        R[..., -1, -1] = np.where(odd[None] & (a["flip"] < n)[:, None], -1.0, 1.0)
    U = a["basis"][:, None]
    return U @ R @ U.swapaxes(-1, -2)


def follow_turn(form, phases, used):
    """Angles against phases; powers of W against ⌈p⌉; U against the basis. `phases(form, role)` is rebuild.py's."""
    a, made = form.arrays, {}
    if "query_position.0" not in a:  # a callback said the angles
        return made
    for who, role in (("query", 2), ("key", 3)):
        phase, at, growth = phases(form, role), used[who], 0
        if "growth" in a:
            apart = (a[f"{who}_position.0"] - a["centre"])[:, None]
            growth = apart * a["growth"] * (1 if who == "query" else -1)
        expected = np.exp(1j * angles(form, who) + growth)
        if "flip" in a:
            odd = (a[f"{who}_position.0"] % 2 == 1)[None, :, None]
            flips = 2 * np.arange(expected.shape[-1])[None, None, :] >= a["flip"][:, None, None]
            expected = np.where(odd & flips, -expected, expected)
        made[f"phases of {who}"] = expected[:, at], phase[:, at]
        if "generator" in a:
            W, positions = orthogonal(form.law, a["generator"][:, 0]), a[f"{who}_position.0"]
            near = at[(abs(positions[at]) <= 40) & (positions[at] == np.floor(positions[at]))]
            powers = [np.linalg.matrix_power(W, int(p)) for p in positions[near]]
            if powers:
                made[f"powers at {who}"] = np.stack(powers, 1), turn_powers(form, phase, who)[:, near]
    if "free_basis" in a:
        made["basis"] = orthogonal(form.law, a["free_basis"][:, 0]), a["basis"]
    return made


def exponents(form):
    """liere: S(p) [positions, tables, n, n]."""
    S = form.arrays["generator"] - form.arrays["generator"].swapaxes(-1, -2)
    return np.einsum("na,haij->nhij", form.arrays["position"].astype(float), S)


def reach(form):
    """The largest angle: double precision has so many times its rounding there. (The library's own tables are as exact far
    away as near.)"""
    if form.kind == TURN and "query_position.0" in form.arrays:
        return max(np.abs(angles(form, who)).max(initial=0) for who in ("query", "key"))
    if form.kind == MATRICES and form.law == "exponent":
        return np.abs(exponents(form)).sum(-1).max(initial=0)
    return 0


def follow_cells(form):
    a, values = form.arrays, None
    d = a.get("distance")
    if form.law == "slope":
        values = -a["slope"][:, None] * d
    elif form.law == "power":
        values = a["rate"][:, None] ** d
    elif form.law == "bucket":
        values = a["bias"][a["bucket"]].T
    elif form.law == "logarithm":
        values = -a["a"][:, None] * np.log1p(a["b"][:, None] * d)
    return {} if values is None else {"values": (values, a["values"])}


def follow_steps(form):
    """shiv-quirk."""
    a, (rows, depth) = form.arrays, form.arrays["steps"].shape
    w, P = a["decays"], len(a["decays"])
    vectors = np.zeros((rows, form.count))
    power = np.tanh(w) ** np.arange(depth)[:, None] * np.sqrt(1 - np.tanh(w) ** 2) * np.sqrt(form.count / 2)
    for row, t in zip(*np.nonzero(a["steps"] >= 0)):
        first = (t * a["branches"] + a["steps"][row, t]) * P
        vectors[row, first : first + P] = power[t]
    return {"vectors": (vectors, a["vectors"])}


def follow(form, phases, used):
    """{what: (by law, as the form has it)}; `used`: tokens of queries and keys that are in no gap."""
    a = form.arrays
    if form.law == "given":
        return {}
    if form.kind == TURN:
        return follow_turn(form, phases, used)
    if form.kind == CELLS:
        return follow_cells(form)
    if form.kind == PATHS and form.law:
        W = turns(a["angles"]) if form.law == "angles" else orthogonal(form.law, a["generator"])
        return {"generators": (W, a["generators"])}
    if form.kind == MATRICES and form.law == "exponent":
        return {"matrices": (exponential(exponents(form)), a["matrices"])}
    if form.kind == NETWORK:
        c, positions = abs(a["c"]), a["query_position.0"]
        return {
            "logs": (np.log1p(c * a["distance"]), a["logs"]),
            "reach": (np.log1p(c * np.maximum(positions, abs(a["L"])))[used["query"]], a["reach"][used["query"]]),
        }
    return follow_steps(form) if form.law == "steps" else {}
