# SPDX-License-Identifier: MIT
"""Forms in PyTorch, differentiable: arrays that hold parameters are replaced by tensors of the caller's, and what follows
from them is computed by the laws of docs/forms.md, so that autograd gives the gradients of attention and of embeddings,
for inputs and parameters. A test compares these with the library's own, in float64.

usage: python3 tests/forms/autograd.py PROGRAM SEED CASES      status 1 if anything differs, 77 without PyTorch"""
import subprocess
import sys

import laws
import rebuild
from rebuild import np

try:
    import torch
except ImportError:
    print("there is no PyTorch")
    sys.exit(77)

from rebuild import CELLS, CONTENT, CONTEXT, ENCODED, KEY, MATRICES, NETWORK, OUTPUT, PATHS, QUERY, SETTINGS, TOKEN, TURN
from rebuild import VALUE, VECTORS


def live(form, parameters):
    """The form with tensors for arrays, and parameters in the place of arrays that hold them."""
    arrays = {}
    for name, data in form.arrays.items():
        wide = np.asarray(data, np.int64 if np.asarray(data).dtype.kind in "iu" else np.float64)
        arrays[name] = torch.from_numpy(wide.copy()) if wide.ndim else wide.item()
    for name, (parameter, first) in form.learned.items():
        own = parameters[parameter]
        if own.numel() != arrays[name].numel():
            own = own[:, first : first + arrays[name].shape[1]]
        arrays[name] = own.reshape(arrays[name].shape)
    return form._replace(arrays=arrays)


def by_head(table, heads):
    return table[torch.arange(heads) * len(table) // heads]


# ---- matrices by law ----


def skew(A):
    return A - A.mT


def orthogonal(law, A):
    one = torch.eye(A.shape[-1], dtype=A.dtype)
    if law == "skew":
        return torch.linalg.matrix_exp(skew(A))
    if law == "cayley":
        return torch.linalg.solve(one - skew(A), one + skew(A), left=False)
    W = one.expand(A.shape)
    for v in A.unbind(-2):
        W = W @ (one - 2 * v[..., :, None] * v[..., None, :] / (v * v).sum(-1)[..., None, None])
    return W


def powers(law, A, positions):
    """W^p [tables, tokens, n, n] of W = law(A) [tables, n, n]: by eigenvalues, which are i·λ of the skew S."""
    if law == "householder":
        values, vectors = torch.linalg.eig(orthogonal(law, A))
        phase = torch.log(values)[:, None] * positions[None, :, None]
        return ((vectors[:, None] * torch.exp(phase)[..., None, :]) @ torch.linalg.inv(vectors)[:, None]).real
    values, vectors = torch.linalg.eigh(1j * skew(A))
    angle = -values if law == "skew" else -2 * torch.atan(values)
    phase = torch.exp(1j * angle[:, None] * positions[None, :, None])
    return ((vectors[:, None] * phase[..., None, :]) @ vectors.mH[:, None]).real


def turns(angles):
    n = 2 * angles.shape[-1]
    W = torch.zeros(angles.shape[:-1] + (n, n), dtype=angles.dtype)
    i = torch.arange(0, n, 2)
    W[..., i, i] = W[..., i + 1, i + 1] = torch.cos(angles)
    W[..., i + 1, i] = torch.sin(angles)
    W[..., i, i + 1] = -torch.sin(angles)
    return W


def node_matrices(form):
    a = form.arrays
    W = a["generators"]
    if form.learned:
        W = turns(a["angles"]) if form.law == "angles" else orthogonal(form.law, a["generator"])
    P = [torch.eye(W.shape[-1], dtype=W.dtype).expand(W[:, 0].shape)]
    for parent, branch in zip(a["parent"][1:].tolist(), a["branch"][1:].tolist()):
        own = W[:, abs(branch) - 1]
        P.append(P[parent] @ (own if branch > 0 else own.mT))
    return torch.stack(P, 1)


# ---- operators ----


def phases(form, role):
    """[tables, tokens, pairs]: from tables, or from frequencies where these are learned."""
    a, who = form.arrays, rebuild.side(role)
    if "frequencies" not in form.learned:
        fixed = {name: np.asarray(data) for name, data in a.items() if name not in form.learned}
        plain = form._replace(arrays=fixed)
        return torch.from_numpy(rebuild.phases(plain, role))
    theta, positions = a["frequencies"], [a[f"{who}_position.{axis}"].double() for axis in range(a["axes"])]
    if theta.shape[1] == 1:
        axis = a.get("axis", torch.zeros(theta.shape[2], dtype=torch.int64))
        angle = torch.stack(positions)[axis].T[None] * theta
    else:
        angle = torch.einsum("at,hap->htp", torch.stack(positions), theta)
    growth = (positions[0] - a["centre"])[:, None] * a["growth"] * (1 if who == "query" else -1) if "growth" in a else 0
    return torch.exp(1j * angle + growth)


def multiply(matrices, index, x, role):
    if matrices.shape[1] == 0:
        return x
    own = by_head(matrices[:, index], x.shape[1])
    return torch.einsum("htji,thj->thi" if role == OUTPUT else "htij,thj->thi", own, x)


def turn(form, x, role):
    a, heads, who = form.arrays, x.shape[1], rebuild.side(role)
    if "generator" in form.learned:
        distinct, index = torch.unique(a[f"{who}_position.0"], return_inverse=True)
        return multiply(powers(form.law, a["generator"][:, 0], distinct.double()), index, x, role)
    phase = by_head(phases(form, role), heads).transpose(0, 1)
    basis = orthogonal(form.law, a["free_basis"][:, 0]) if "free_basis" in form.learned else a.get("basis")
    basis = None if basis is None else by_head(basis, heads)
    x = x if basis is None else torch.einsum("hji,thj->thi", basis, x)
    first, second = a["pair"].T
    cosine, sine = phase.real, phase.imag if role != OUTPUT else -phase.imag
    factor = a["factor"] if role in (QUERY, KEY) else 1.0
    y = x.clone()
    y[..., first] = factor * (x[..., first] * cosine - x[..., second] * sine)
    y[..., second] = factor * (x[..., first] * sine + x[..., second] * cosine)
    return y if basis is None else torch.einsum("hij,thj->thi", basis, y)


def turned(forms, x, role):
    for form in forms:
        if not form.roles >> role & 1 or form.kind == VECTORS:
            continue
        a, part = form.arrays, x[..., form.first : form.first + form.count]
        if form.kind == TURN:
            part = turn(form, part, role)
        elif form.kind == PATHS:
            part = multiply(node_matrices(form), a[f"{rebuild.side(role)}_node"], part, role)
        elif form.kind == MATRICES:
            S = torch.einsum("na,haij->hnij", a["position"].double(), skew(a["generator"]))
            part = multiply(torch.linalg.matrix_exp(S.contiguous()), a[f"{rebuild.side(role)}_matrix"], part, role)
        x = torch.cat((x[..., : form.first], part, x[..., form.first + form.count :]), -1)
    return x


def embedded(forms, x, role):
    for form in forms:
        if form.kind != VECTORS or not form.roles >> role & 1 or not len(form.arrays["vectors"]):
            continue
        a, vectors = form.arrays, form.arrays["vectors"]
        if form.law == "steps":
            (rows, depth), w, P = a["steps"].shape, a["decays"], len(a["decays"])
            scale = ((1 - torch.tanh(w) ** 2) * form.count / 2) ** 0.5
            power = scale * torch.tanh(w) ** torch.arange(depth)[:, None]
            hot = torch.nn.functional.one_hot(a["steps"] + 1, a["branches"] + 1)[..., 1:].double()
            vectors = torch.einsum("rtb,tj->rtbj", hot, power).reshape(rows, -1)
            vectors = torch.nn.functional.pad(vectors, (0, form.count - vectors.shape[1]))
        x = x + vectors[a["row"]]
    return x


# ---- scores ----


def cell_values(form):
    a = form.arrays
    if form.law == "power":
        return a["rate"][:, None] ** a["distance"]
    if form.law == "bucket":
        return a["bias"][a["bucket"]].T
    if form.law == "logarithm":
        return -a["a"][:, None] * torch.log1p(a["b"][:, None] * a["distance"])
    return a["values"]


def pair_cells(form, queries, keys):
    return (form.arrays["query_cell"][queries][:, None] + form.arrays["key_cell"][keys][None, :]) % 2**32


def network(form, queries, keys):
    a = form.arrays
    most = torch.maximum(a["query_position.0"][queries].double(), abs(a["L"]))
    distance = a["distance"][pair_cells(form, queries, keys)]
    x = torch.log1p(abs(a["c"]) * distance) / torch.log1p(abs(a["c"]) * most)[:, None]
    hidden = torch.relu(x[..., None] * a["hidden_weight"] + a["hidden_bias"])
    return torch.movedim(hidden @ a["output_weight"].T + a["output_bias"], -1, 0)


def contextual(form, product, q, scale, seen):
    table = form.arrays["table"]
    gates = torch.where(seen, torch.sigmoid((scale if form.arrays["scaled"] else 1) * product), 0.0)
    p = torch.clamp(torch.flip(torch.cumsum(torch.flip(gates, [-1]), -1), [-1]), max=len(table) - 1)
    below = torch.floor(p.detach()).long()
    by_row = torch.einsum("thd,rd->htr", q, table)
    lower = torch.gather(by_row, -1, below)
    upper = torch.gather(by_row, -1, torch.clamp(below + 1, max=len(table) - 1))
    return lower + (p - below) * (upper - lower)


def content_rows(form, queries, keys):
    apart = form.arrays["key_position"][keys][None, :] - form.arrays["query_position"][queries][:, None]
    return torch.clamp(apart, -form.arrays["window"], form.arrays["window"]) + form.arrays["window"]


def attention(forms, spans, q, k, v, causal):
    """o [tokens, heads, value_dim], and the largest |score| that is seen."""
    heads, scores = q.shape[1], [form for form in forms if form.roles == 0]
    settings = next((form.arrays for form in scores if form.kind == SETTINGS), {})
    scale = settings.get("scale") or q.shape[2] ** -0.5
    group = heads // k.shape[1]
    own_q = turned(forms, q, QUERY)
    own_k = turned(forms, k, KEY).repeat_interleave(group, 1)
    own_v = turned(forms, v, VALUE).repeat_interleave(group, 1)
    o, beside = torch.zeros(q.shape[:2] + v.shape[2:]).double(), torch.zeros(q.shape[:2] + v.shape[2:]).double()
    largest = 0.0
    for first, m, key_first, n in spans.tolist():
        queries, keys = torch.arange(first, first + m), torch.arange(key_first, key_first + n)
        product = torch.einsum("thd,jhd->htj", own_q[queries], own_k[keys])
        s, seen = scale * product, torch.from_numpy(rebuild.sees(settings, m, n, causal))
        for form in scores:
            if form.kind == CONTENT:
                by_row = torch.einsum("thd,rd->htr", q[queries], form.arrays["key_table"])
                own = torch.gather(by_row, -1, content_rows(form, queries, keys).expand(heads, m, n))
                s = s + own * (scale if form.arrays["scaled"] else 1)
            elif form.kind == CONTEXT:
                s = s + contextual(form, product, q[queries], scale, seen)
        if settings.get("cap"):
            s = settings["cap"] * torch.tanh(s / settings["cap"])
        for form in scores:
            if form.kind == CELLS:
                own = by_head(cell_values(form), heads)[:, pair_cells(form, queries, keys)]
                s = s * own if form.multiplies else s + own
            elif form.kind == NETWORK:
                s = s + network(form, queries, keys)
        largest = max(largest, np.abs(s.detach().numpy()[:, seen.numpy()]).max(initial=0))
        s = torch.where(seen, s, -torch.inf)
        sink = settings["sinks"] if "sinks" in settings else torch.full((heads,), -torch.inf).double()
        s = torch.cat((s, sink[:, None, None].expand(heads, m, 1)), -1)
        top = s.detach().max(-1, keepdim=True).values
        weights = torch.exp(s - torch.where(torch.isfinite(top), top, 0.0))
        total = weights.sum(-1, keepdim=True)
        weights = (weights / torch.where(total > 0, total, 1.0))[..., :-1]
        o = o.index_copy(0, queries, torch.einsum("htj,jhd->thd", weights, own_v[keys]))
        for form in scores:
            if form.kind == CONTENT and "value_table" in form.arrays:
                table = form.arrays["value_table"][content_rows(form, queries, keys)]
                beside = beside.index_copy(0, queries, torch.einsum("htj,tjd->thd", weights, table))
    return turned(forms, o, OUTPUT) + beside, largest


# ---- the test ----


def compare(forms, given):
    """{what: error of a gradient} of ⟨go, attention⟩ + Σ ⟨gy, x with vectors added⟩, and by how much rounding grows: as
    scores do, and angles that are taken from positions."""
    rounding = max([1.0] + [laws.reach(form) for form in forms])
    count = sum(name[0] == "p" and name[1:].isdigit() for name in given)
    parameters = [torch.tensor(given[f"p{i}"], requires_grad=True) for i in range(count)]
    q, k, v = (torch.tensor(given[name], requires_grad=True) for name in "qkv")
    forms, spans = [live(form, parameters) for form in forms], given["spans"]
    used = {role: torch.from_numpy(rebuild.tokens_of(spans, role)) for role in (QUERY, KEY)}
    o, largest = attention(forms, spans, q, k, v, bool(given["sizes"][4]))
    loss = (o * torch.tensor(given["go"]))[used[QUERY]].sum()
    for role in (TOKEN, ENCODED):
        y = embedded(forms, torch.tensor(given[f"x{role}"]), role)
        loss = loss + (y * torch.tensor(given[f"gy{role}"]))[used[QUERY]].sum()
    loss = loss + 0 * q.sum()  # where there are no tokens
    made = torch.autograd.grad(loss, [q, k, v] + parameters, allow_unused=True)
    errors, names = {}, ["dq", "dk", "dv"] + [f"dp{i}" for i in range(count)]
    for name, own, at in zip(names, made, [QUERY, KEY, KEY] + [None] * count):
        rows = slice(None) if at is None else used[at].numpy()
        got = np.zeros(given[name].shape) if own is None else own.numpy()
        errors[name] = rebuild.error_of(given[name][rows], got[rows])
    return errors, rounding * max(1.0, largest)


def main():
    torch.set_num_threads(1)
    process = subprocess.Popen(sys.argv[1:] + ["gradients"], stdout=subprocess.PIPE)
    worst, count, failed = (0.0, ""), 0, 0
    for spec, forms, given in rebuild.read_cases(process.stdout):
        if spec is None or "dq" not in given:
            continue
        errors, rounding = compare(forms, given)
        count += 1
        for what, error in errors.items():
            error /= rounding
            if not error <= 1e-10:
                failed += 1
                print(f"{spec}: {what} differs by {error:.2g}")
            worst = max(worst, (error, f"{what} of {spec}"))
    print(f"seed {sys.argv[2]}: {count} cases; largest error {worst[0]:.2g}, {worst[1]}")
    if process.wait() != 0 or count == 0:
        sys.exit(f"{sys.argv[1]} ended with status {process.returncode} after {count} cases")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
