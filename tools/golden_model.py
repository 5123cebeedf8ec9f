# SPDX-License-Identifier: MIT
"""The definitions of locus's encodings and attention once more, in PyTorch, as plainly as they can be written: a dense
matrix for each position, scores in full, gradients by autograd. Nothing here is fast; it is the oracle of tests/golden/."""
import math

import torch


def parse(spec):
    """The few spec forms that the golden cases use: name(key=value, …) + …; returns [(name, options)]."""
    terms = []
    for text in spec.split(" + "):
        name, _, rest = text.partition("(")
        options = dict(pair.strip().split("=") for pair in rest.rstrip(")").split(",")) if rest else {}
        terms.append((name.strip(), options))
    return terms


def rotation_matrices(angles, pairs, dim):
    """angles [..., r/2] → [..., dim, dim]; pairs interleaved or half within the first r dimensions, identity beyond."""
    half = angles.shape[-1]
    matrix = torch.eye(dim, dtype=angles.dtype).expand(*angles.shape[:-1], dim, dim).clone()
    for i in range(half):
        a, b = (2 * i, 2 * i + 1) if pairs == "interleaved" else (i, i + half)
        matrix[..., a, a] = torch.cos(angles[..., i])
        matrix[..., a, b] = -torch.sin(angles[..., i])
        matrix[..., b, a] = torch.sin(angles[..., i])
        matrix[..., b, b] = torch.cos(angles[..., i])
    return matrix


def operators(name, options, positions, heads, dim, parameters):
    """⌈p⌉ for every position: [tokens, heads, dim, dim], or None."""
    if name in ("rope", "roper"):
        rotated = int(options.get("rotate", dim))
        base = float(options.get("base", 10000))
        frequency = base ** (-torch.arange(0, rotated, 2, dtype=torch.float64) / rotated)
        if options.get("learned") == "on":
            frequency = parameters["frequencies"].reshape(-1)
        matrix = rotation_matrices(positions[:, None] * frequency, options.get("pairs", "interleaved"), dim)
        return matrix[:, None].expand(-1, heads, -1, -1)
    if name == "algebraic":
        free = parameters["generators"][:, 0]
        skew = free - free.transpose(-1, -2)
        if skew.shape[0] == 1:
            skew = skew.expand(heads, -1, -1)
        return torch.matrix_exp(positions[:, None, None, None] * skew)
    return None


def alibi_slopes(heads):
    power = 2 ** int(math.floor(math.log2(heads)))
    return [2.0 ** (-8 * (h + 1) / power) if h < power else 2.0 ** (-4 * (2 * (h - power) + 1) / power) for h in range(heads)]


def sided(matrix, options, side):
    if matrix is None or options.get("side", "both") in ("both", side):
        return matrix
    return torch.eye(matrix.shape[-1], dtype=matrix.dtype).expand_as(matrix)


def attend(spec, q, k, v, query_positions, key_positions, visible, parameters, scale=None, lost=None, kept=None):
    """One sequence: q [m,H,d], k [n,H,d], v [n,H,e], visible [m,n] → o [m,H,e]. A term's parameters are parameters[index].
    Dropout: scores that are lost [m,n,H] become −10⁸, weights are multiplied by kept [m,n,H]."""
    heads, dim = q.shape[1:]
    scale = scale or 1 / math.sqrt(dim)
    pq, pk = query_positions.double(), key_positions.double()
    terms = parse(spec)
    undo = None
    content_values = None
    content = torch.zeros(q.shape[0], k.shape[0], heads, dtype=q.dtype)
    factor = torch.ones(q.shape[0], k.shape[0], heads, dtype=q.dtype)
    bias = torch.zeros_like(content)
    distance = (query_positions[:, None] - key_positions[None]).abs().double()
    turned_q, turned_k = q, k
    for index, (name, options) in enumerate(terms):
        own = parameters[index]
        mq, mk = (operators(name, options, p, heads, dim, own) for p in (pq, pk))
        if mq is not None:
            turned_q = torch.einsum("mhij,mhj->mhi", sided(mq, options, "query"), q)
            turned_k = torch.einsum("nhij,nhj->nhi", sided(mk, options, "key"), k)
        if name == "roper" or options.get("values") == "on" and name in ("rope", "algebraic"):
            width = v.shape[-1]
            vq, vk = (operators(name, options, p, heads, width, own) for p in (pq, pk))
            v = torch.einsum("nhij,nhj->nhi", vk, v)
            undo = vq
        if name == "decay" or name == "algebraic" and "decay" in options:
            rate = torch.tensor(float(options.get("rate", options.get("decay", 0.98))), dtype=torch.float64)
            if options.get("learned") == "on":
                rate = own["rate"].reshape(-1)
            factor = factor * rate ** distance[..., None]
        if name == "alibi":
            bias = bias - torch.tensor(alibi_slopes(heads), dtype=torch.float64) * distance[..., None]
        if name == "relative":
            window = int(options.get("window", 100))
            offset = (key_positions[None] - query_positions[:, None]).clamp(-window, window) + window
            term = torch.einsum("mhd,mnd->mnh", q, own["key_table"][offset])
            content = content + (term * scale if options.get("scaled", "on") == "on" else term)
            if options.get("values") == "on":
                content_values = own["value_table"][offset]
    scores = scale * torch.einsum("mhd,nhd->mnh", turned_q, turned_k) + content
    scores = scores * factor + bias
    if lost is not None:
        scores = scores.masked_fill(lost, -1e8)
    weights = torch.softmax(scores.masked_fill(~visible[..., None], -torch.inf), 1)
    if kept is not None:
        weights = weights * kept
    out = torch.einsum("mnh,nhe->mhe", weights, v)
    if content_values is not None:
        out = out + torch.einsum("mnh,mne->mhe", weights, content_values)
    if undo is not None:
        out = torch.einsum("mhij,mhi->mhj", undo, out)
    return out


def visibility(mask, m, n, prefix=0):
    i, j = torch.arange(m)[:, None], torch.arange(n)[None]
    if mask == "full":
        return torch.ones(m, n, dtype=torch.bool)
    seen = j <= i + (n - m)
    return seen | (j < prefix) if mask == "prefix" else seen


def draw_parameters(spec, heads, dim, value_dim, generator):
    """One dictionary for each term."""
    drawn = []
    for name, options in parse(spec):
        own = {}
        normal = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
        if name == "algebraic":
            own["generators"] = 0.15 * normal(1 if options.get("heads") == "shared" else heads, 1, dim, dim)
        if name in ("rope", "roper") and options.get("learned") == "on":
            own["frequencies"] = torch.rand(int(options.get("rotate", dim)) // 2, generator=generator, dtype=torch.float64)
        if name == "relative":
            rows = 2 * int(options.get("window", 100)) + 1
            own["key_table"] = normal(rows, dim)
            if options.get("values") == "on":
                own["value_table"] = normal(rows, value_dim)
        if name == "decay" and options.get("learned") == "on":
            own["rate"] = torch.tensor([0.93], dtype=torch.float64)
        drawn.append(own)
    return drawn


def full_names(spec, parameters):
    """The names that locus gives: prefixed with the term's number in a sum."""
    single = len(parameters) == 1
    return {(key if single else f"{i}.{key}"): value for i, own in enumerate(parameters) for key, value in own.items()}
