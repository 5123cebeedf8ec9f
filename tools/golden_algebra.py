# SPDX-License-Identifier: MIT
"""Makes tests/golden/algebra.safetensors: operators and attention of every group, forward values and gradients of inputs and
parameters, in float64. A dense matrix is built for each token and head by repeated products; autograd does the rest. The script
checks its own operators (homomorphism, orthogonality, relativity, finite differences) before it writes.
Usage: python3 tools/golden_algebra.py (needs torch, numpy).

Case i has the texts i.spec, i.group, i.dim, i.role (query or key) and i.checks (words out of: apply, attention, cross), and the arrays

  i.y                        the operators on input.D.x, where D is i.dim, the head dimension
  i.parameter.NAME           values; i.applied.NAME: gradient of sum(y · input.D.gy)
  i.o i.dq i.dk i.dv         attention of input.D.q, input.D.k, input.D.v, or input.D.wide for v where operators act on values
  i.attended.NAME            gradient of sum(o · input.D.go), or input.D.wide_go

Positions are those of the group: positions.GROUP.C for coordinate C of an axis or a cycle, [tokens]; words on a tree as
positions.GROUP.C.branches and positions.GROUP.C.starts. cross: keys stand at keys.GROUP.C instead."""
import math
import pathlib

import numpy as np
import torch

import golden_format
from golden_model import alibi_slopes

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(20260119)
HEADS, LENGTHS, NARROW = 2, (5, 7), 2
TOKENS = sum(LENGTHS)


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def integer(low, high):
    """low … high, both included."""
    return int(torch.randint(low, high + 1, (1,), generator=GENERATOR))


# ---- groups: a list of (kind, size) for the coordinates, positions as a list of one value for each ----


def split_top(text, mark):
    """Cuts text at `mark` outside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def coordinates(group):
    found = []
    for part in split_top(group, "*"):
        kind, _, size = part.partition(":")
        if part.startswith("("):
            found += coordinates(part[1:-1])
        elif kind in ("seq", "grid"):
            found += [("axis", 0)] * int(size or 1)
        else:
            found.append((kind, int(size)))
    return found


def reduce_word(word):
    out = []
    for step in word:
        if out and out[-1] == -step:
            out.pop()
        else:
            out.append(step)
    return out


def compose(group, a, b):
    total = []
    for (kind, size), x, y in zip(coordinates(group), a, b):
        total.append(reduce_word(x + y) if kind == "tree" else (x + y) % size if kind == "cycle" else x + y)
    return total


def inverse(group, a):
    return [[-step for step in reversed(x)] if kind == "tree" else -x for (kind, _), x in zip(coordinates(group), a)]


def distance(group, a, b):
    """An unbroken run of axes is a grid: the floor of its Euclidean norm; the rest adds up."""
    total, squares = 0, 0
    for (kind, size), x, y in zip(coordinates(group) + [("end", 0)], a + [0], b + [0]):
        if kind == "axis":
            squares += (x - y) ** 2
            continue
        total += math.isqrt(squares)
        squares = 0
        if kind == "tree":
            total += len(reduce_word([-step for step in reversed(x)] + y))
        if kind == "cycle":
            total += min((x - y) % size, (y - x) % size)
    return total


def draw_position(group):
    place = []
    for kind, size in coordinates(group):
        if kind == "axis":
            place.append(integer(-6, 25))
        elif kind == "cycle":
            place.append(integer(-2 * size, 3 * size))
        else:
            place.append([integer(1, size) * (-1 if integer(0, 3) == 0 else 1) for _ in range(integer(0, 6))])
    return place


def draw_positions(group):
    """The first token of the second sequence stands at the origin, its second where the first sequence's second does."""
    places = [draw_position(group) for _ in range(TOKENS)]
    places[LENGTHS[0]] = [[] if kind == "tree" else 0 for kind, _ in coordinates(group)]
    places[LENGTHS[0] + 1] = places[1]
    return places


# ---- specs ----


def parse(spec):
    terms = []
    for text in spec.split(" + "):
        name, _, rest = text.partition("(")
        pairs = [pair.strip().split("=") for pair in split_top(rest[:-1], ",")] if rest else []
        terms.append((name.strip(), dict(pairs)))
    return terms


def spec_group(spec):
    name, options = parse(spec)[0]
    return options.get("group", "grid:2" if name in ("mixed", "string", "liere") else "seq")


def blocks(options, dim):
    """Dimensions of each coordinate of the group."""
    count = len(coordinates(options["group"]))
    if "split" in options:
        return [int(size) for size in options["split"].split(":")]
    assert dim % count == 0
    return [dim // count] * count


def generators_of(kind, size, angles):
    """How many generators a coordinate has; a cycle's angles are not learned."""
    return size if kind == "tree" else 0 if kind == "cycle" and angles else 1


def draw_parameters(spec, dim):
    """One dictionary for each term, in the order in which locus lists the tensors."""
    drawn = []
    for name, options in parse(spec):
        own = {}
        tables = 1 if options.get("heads") == "shared" else HEADS
        if name == "algebraic":
            sizes, angles = blocks(options, dim), options.get("generator") == "angles"
            counts = [generators_of(*c, angles) for c in coordinates(options["group"])]
            parts = list(zip(counts, sizes))
            if len(set(sizes)) == 1:
                parts = [(sum(counts), sizes[0])]
            for index, (count, size) in enumerate(parts):
                stem = "angles" if angles else "generators"
                key = stem if len(parts) == 1 else f"{stem}.{index}"
                scale = 1.0 if angles or options.get("generator") == "householder" else 0.4
                if count > 0:
                    own[key] = scale * normal(tables, count, size // 2 if angles else size, *(() if angles else (size,)))
            if options.get("decay", "").startswith("learned:"):
                own["rate"] = torch.tensor([0.87], dtype=torch.float64)
        if name in ("mixed", "string", "liere"):
            rank = len(coordinates(options["group"]))
            if name == "mixed":
                own["frequencies"] = 0.5 * normal(tables, rank, dim // 2)
            if name == "string":
                own["basis"] = 0.4 * normal(tables, dim, dim)
                own["frequencies"] = 0.5 * normal(tables, rank, dim // 2)
            if name == "liere":
                own["generators"] = 0.1 * normal(tables, rank, dim, dim)
        if name == "decay" and options.get("learned") == "on":
            own["rate"] = torch.tensor([0.91], dtype=torch.float64)
        drawn.append(own)
    return drawn


# ---- operators ----


def exponential(matrix):
    """Scaling, Taylor's series, squaring: torch.matrix_exp leaves errors of 7e-13 on some small matrices."""
    halvings = max(0, math.ceil(math.log2(float(matrix.detach().abs().sum(-1).max()) + 1e-300)) + 1)
    small = matrix / 2.0 ** halvings
    term = result = torch.eye(len(matrix), dtype=matrix.dtype)
    for k in range(1, 19):
        term = term @ small / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result


def orthogonal(kind, free):
    if kind == "householder":
        matrix = torch.eye(len(free), dtype=free.dtype)
        for row in free:
            matrix = matrix @ (torch.eye(len(free), dtype=free.dtype) - 2 * torch.outer(row, row) / row.dot(row))
        return matrix
    skew = free - free.T
    if kind == "cayley":
        unit = torch.eye(len(free), dtype=free.dtype)
        return (unit + skew) @ torch.linalg.inv(unit - skew)
    return exponential(skew)


def rotation(angles):
    """[dim/2] → [dim, dim], pairs (2i, 2i + 1)."""
    return torch.block_diag(*[torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])]) for a in angles])


def power(matrix, exponent):
    """By repeated products; the inverse of an orthogonal matrix is its transpose."""
    result = torch.eye(len(matrix), dtype=matrix.dtype)
    for _ in range(abs(exponent)):
        result = result @ (matrix if exponent > 0 else matrix.T)
    return result


def round_away(x):
    return math.floor(x + 0.5)


def cycle_angles(size, dim):
    frequencies = [10000.0 ** (-2 * i / dim) for i in range(dim // 2)]
    return torch.tensor([2 * math.pi * max(1, round_away(size * w / (2 * math.pi))) / size for w in frequencies], dtype=torch.float64)


class Algebraic:
    """The generators of one head; called with a position, its operator."""

    def __init__(self, options, dim, parameters, head):
        self.kinds, self.parts = coordinates(options["group"]), []
        kind, sizes = options.get("generator", "skew"), blocks(options, dim)
        angles = kind == "angles"
        stem, used = "angles" if angles else "generators", 0
        for index, ((domain, count), size) in enumerate(zip(self.kinds, sizes)):
            here = generators_of(domain, count, angles)
            own = None
            if here > 0:
                table = parameters[stem] if stem in parameters else parameters[f"{stem}.{index}"]
                first = used if stem in parameters else 0
                own = [table[head % len(table), first + i] for i in range(here)]
            used += here
            turns = rotation(cycle_angles(count, size)) if domain == "cycle" else None
            if angles:
                self.parts.append([turns] if domain == "cycle" else [rotation(a) for a in own])
            elif domain == "cycle":
                basis = orthogonal(kind, own[0])
                self.parts.append([basis @ turns @ basis.T])
            else:
                self.parts.append([orthogonal(kind, a) for a in own])

    def __call__(self, place):
        diagonal = []
        for (kind, size), matrices, value in zip(self.kinds, self.parts, place):
            if kind == "tree":
                product = torch.eye(len(matrices[0]), dtype=torch.float64)
                for step in value:
                    product = product @ (matrices[step - 1] if step > 0 else matrices[-step - 1].T)
                diagonal.append(product)
            else:
                diagonal.append(power(matrices[0], value % size if kind == "cycle" else value))
        return torch.block_diag(*diagonal)


class Grid:
    """mixed, string and liere, of one head."""

    def __init__(self, name, parameters, head):
        self.name = name
        self.own = {key: table[head % len(table)] for key, table in parameters.items()}

    def __call__(self, place):
        p = torch.tensor(place, dtype=torch.float64)
        if self.name == "liere":
            free = self.own["generators"]
            return exponential(torch.einsum("a,aij->ij", p, free - free.transpose(1, 2)))
        turn = rotation(p @ self.own["frequencies"])
        if self.name == "mixed":
            return turn
        basis = exponential(self.own["basis"] - self.own["basis"].T)
        return basis @ turn @ basis.T


def operators(term, parameters, places, dim):
    """[tokens, heads, dim, dim], or None where the term has none."""
    name, options = term
    if name not in ("algebraic", "mixed", "string", "liere"):
        return None
    make = [Algebraic(options, dim, parameters, h) if name == "algebraic" else Grid(name, parameters, h) for h in range(HEADS)]
    return torch.stack([torch.stack([operator(place) for operator in make]) for place in places])


def act(matrices, x):
    return torch.einsum("thij,thj->thi", matrices, x)


def acting(terms, parameters, places, dim, side):
    """The operator of the one term that has one, and its options; identity on the side that is left alone."""
    for term, own in zip(terms, parameters):
        matrices = operators(term, own, places, dim)
        if matrices is not None:
            alone = term[1].get("side", "both") not in ("both", side)
            return torch.eye(dim, dtype=torch.float64).expand_as(matrices) if alone else matrices
    return None


def attend(spec, parameters, q, k, v, query_places, key_places):
    """One sequence: q [m, H, d], k [n, H, d], v [n, H, e] → o [m, H, e]; s = scale · q'·k', times factors, plus biases."""
    terms, dim, group = parse(spec), q.shape[-1], spec_group(spec)
    mq, mk = (acting(terms, parameters, places, dim, side) for places, side in ((query_places, "query"), (key_places, "key")))
    undo = None
    if any(options.get("values") == "on" for _, options in terms):
        undo = operators(terms[0], parameters[0], query_places, dim)
        v = act(operators(terms[0], parameters[0], key_places, dim), v)
    if mq is not None:
        q, k = act(mq, q), act(mk, k)
    scores = torch.einsum("mhd,nhd->mnh", q, k) / math.sqrt(dim)
    far = torch.tensor([[distance(group, a, b) for b in key_places] for a in query_places], dtype=torch.float64)[..., None]
    bias = torch.zeros_like(scores)
    for (name, options), own in zip(terms, parameters):
        if name == "alibi":
            bias = bias - torch.tensor(alibi_slopes(HEADS), dtype=torch.float64) * far
        elif name == "decay" or options.get("decay", "off") != "off":
            rate = own["rate"] if "rate" in own else float(options.get("rate", options.get("decay", "0.98")))
            scores = scores * rate ** far
    out = torch.einsum("mnh,nhe->mhe", torch.softmax(scores + bias, 1), v)
    return out if undo is None else act(undo.transpose(-1, -2), out)


# ---- cases ----

GROUPS = {  # head dimensions, and those for angles
    "seq": (5, 6), "cycle:6": (6, 6), "cycle:1": (4, 4), "cycle:2": (4, 4), "grid:2": (6, 8), "grid:3": (9, 6), "tree:1": (4, 4),
    "tree:2": (5, 6), "tree:3": (4, 4), "seq*tree:2": (6, 8), "cycle:5*tree:2*seq": (12, 6), "(grid:2*tree:2)*cycle:3": (8, 8)}
ALL = "apply attention"
OTHER_CASES = [
    ("algebraic(group=tree:2, heads=shared)", 4, ALL), ("algebraic(group=grid:2, generator=householder, heads=shared)", 6, "apply"),
    ("algebraic(group=tree:2, side=query)", 4, ALL), ("algebraic(group=cycle:5*tree:2*seq, side=key)", 6, "apply key attention"),
    ("algebraic(group=tree:2, values=on)", 4, ALL), ("algebraic(group=(grid:2*tree:2)*cycle:3, values=on, decay=0.9)", 8, "attention"),
    ("algebraic(group=grid:2, values=on, generator=cayley)", 6, "attention"), ("algebraic(group=cycle:6, values=on)", 4, "attention"),
    ("algebraic(group=tree:2, decay=0.9)", 4, "attention"), ("algebraic(group=grid:3, decay=0.9)", 6, "attention"),
    ("algebraic(group=cycle:6, decay=0.9)", 4, "attention"), ("algebraic(group=tree:2, decay=learned:0.9)", 5, "attention cross"),
    ("algebraic(group=seq*tree:2, decay=learned:0.9, generator=angles)", 8, "attention"),
    ("algebraic(group=seq*tree:2, split=4:3)", 7, ALL), ("algebraic(group=seq*tree:2, split=2:6, generator=angles)", 8, ALL),
    ("algebraic(group=cycle:5*tree:2*seq, split=2:4:3, generator=householder)", 9, "apply"),
    ("algebraic(group=cycle:5*tree:2*seq, split=2:4:6, generator=angles)", 12, "apply"),
    ("algebraic(group=grid:2, split=3:3)", 6, "apply"), ("algebraic(group=grid:2, split=5:2, generator=cayley)", 7, "apply"),
    ("algebraic(group=grid:2, generator=householder)", 8, "apply"), ("algebraic(group=tree:3, generator=householder)", 3, "apply"),
    ("mixed(group=grid:2)", 6, ALL), ("mixed(group=grid:3, heads=shared)", 4, ALL), ("mixed(group=grid:2, values=on, decay=0.9)", 4, "attention"),
    ("string(group=grid:2)", 6, ALL), ("string(group=grid:3, heads=shared)", 4, "apply"), ("string(group=grid:2, values=on)", 4, "attention"),
    ("string(group=grid:2, side=key)", 6, "apply key"), ("liere(group=grid:2)", 5, ALL), ("liere(group=grid:3, heads=shared)", 4, "apply"),
    ("liere(group=grid:2, values=on, decay=0.9)", 4, "attention"), ("liere(group=grid:2, side=query)", 4, "attention"),
    ("decay(group=tree:2)", 4, "attention cross"), ("decay(group=grid:2, learned=on)", 4, "attention"),
    ("decay(group=cycle:5*tree:2*seq, rate=0.9)", 4, "attention cross"), ("alibi(group=tree:2)", 4, "attention"),
    ("alibi(group=cycle:7)", 4, "attention"), ("alibi(group=grid:2)", 4, "attention"),
    ("algebraic(group=tree:2) + alibi(group=tree:2)", 4, "attention cross"),
    ("algebraic(group=grid:2, generator=angles) + decay(group=grid:2, learned=on)", 4, "attention"),
    # Eigenvalues that coincide: see `coincide`.
    ("algebraic(group=seq)", 4, "apply zero"), ("algebraic(group=seq)", 7, "apply equal"),
    ("algebraic(group=grid:2, generator=cayley)", 8, "apply equal"), ("algebraic(group=seq, generator=householder)", 6, "apply equal"),
    ("algebraic(group=seq, generator=householder)", 5, "apply equal"), ("string(group=grid:2)", 6, "apply equal"),
    ("liere(group=grid:2)", 4, "apply zero")]


def cases():
    for group, (dim, even) in GROUPS.items():
        for kind in ("skew", "cayley", "householder", "angles"):
            attended = kind == "skew" and group not in ("cycle:1", "cycle:2")
            attended |= kind == "householder" and group in ("grid:2", "tree:2", "seq*tree:2")
            checks = ALL if attended else "apply"
            checks += " cross" if group == "tree:2" and "attention" in checks else ""
            option = "" if kind == "skew" else f", generator={kind}"
            yield f"algebraic(group={group}{option})", even if kind == "angles" else dim, checks
    yield from OTHER_CASES


def coincide(parameters, how):
    """Parameters whose generators have equal eigenvalues: all ones; two equal angles; −1 and 1 twice."""
    for own in parameters:
        for key, value in own.items():
            if how == "zero":
                value.zero_()
            elif key == "frequencies":
                value[..., 1] = value[..., 0]
            elif key != "basis":
                for matrix in value.flatten(0, 1):
                    basis, _ = torch.linalg.qr(normal(*matrix.shape))
                    if how == "reflections":
                        matrix.copy_(basis)
                        matrix[-2:] = matrix[-1]  # two reflections undo each other, the others are orthogonal
                    else:
                        plain = torch.zeros_like(matrix)
                        plain[1, 0] = plain[3, 2] = 0.35
                        matrix.copy_(basis @ plain @ basis.T)


def full_names(parameters):
    single = len(parameters) == 1
    return {(key if single else f"{i}.{key}"): value for i, own in enumerate(parameters) for key, value in own.items()}


class File:
    def __init__(self):
        self.arrays, self.metadata, self.places, self.inputs, self.count = {}, {}, {}, {}, 0

    def positions(self, what, group):
        """Positions of a group are drawn once."""
        name = f"{what}.{group}"
        if name not in self.places:
            self.places[name] = places = draw_positions(group)
            for index, (kind, _) in enumerate(coordinates(group)):
                column, key = [place[index] for place in places], f"{name}.{index}"
                if kind == "tree":
                    self.arrays[f"{key}.branches"] = np.array(sum(column, []), dtype=np.int64)
                    self.arrays[f"{key}.starts"] = np.cumsum([0] + [len(word) for word in column]).astype(np.int64)
                else:
                    self.arrays[key] = np.array(column, dtype=np.int64)
        return self.places[name]

    def input(self, name, dim, width):
        """Inputs are shared by the cases of a head dimension."""
        key = f"input.{dim}.{name}"
        if key not in self.inputs:
            self.inputs[key] = normal(TOKENS, HEADS, width)
            self.arrays[key] = self.inputs[key].numpy()
        return self.inputs[key].clone().requires_grad_()

    def record(self, what, parameters):
        for key, value in full_names(parameters).items():
            gradient = torch.zeros_like(value) if value.grad is None else value.grad
            self.arrays[f"{self.count}.{what}.{key}"] = gradient.numpy().copy()
            value.grad = None

    def case(self, spec, dim, checks):
        group = spec_group(spec)
        parameters = draw_parameters(spec, dim)
        how = checks.split()[-1]
        if how in ("zero", "equal"):
            coincide(parameters, "reflections" if "householder" in spec else how)
        role = "key" if "key" in checks.split() else "query"
        named = " ".join(word for word in checks.split() if word in ("apply", "attention", "cross"))
        texts = {"spec": spec, "group": group, "dim": dim, "role": role, "checks": named}
        for key, text in texts.items():
            self.metadata[f"{self.count}.{key}"] = text
        for key, value in full_names(parameters).items():
            self.arrays[f"{self.count}.parameter.{key}"] = value.numpy().copy()
            value.requires_grad_()
        places = self.positions("positions", group)
        keys = self.positions("keys", group) if "cross" in checks else places
        if "apply" in checks:
            self.apply(spec, dim, role, places, parameters)
        if "attention" in checks:
            self.attention(spec, dim, places, keys, parameters)
        self.count += 1

    def apply(self, spec, dim, role, places, parameters):
        x, gy = (self.input(name, dim, dim) for name in ("x", "gy"))
        y = act(acting(parse(spec), parameters, places, dim, role), x)
        (y * gy).sum().backward()
        self.arrays[f"{self.count}.y"] = y.detach().numpy()
        self.record("applied", parameters)

    def attention(self, spec, dim, places, keys, parameters):
        q, k = (self.input(name, dim, dim) for name in ("q", "k"))
        values = "values=on" in spec
        v, go = (self.input(name, dim, dim if values else NARROW) for name in (("wide", "wide_go") if values else ("v", "go")))
        rows, first = [], 0
        for length in LENGTHS:
            part = slice(first, first + length)
            rows.append(attend(spec, parameters, q[part], k[part], v[part], places[part], keys[part]))
            first += length
        o = torch.cat(rows)
        (o * go).sum().backward()
        for key, value in {"o": o.detach(), "dq": q.grad, "dk": k.grad, "dv": v.grad}.items():
            self.arrays[f"{self.count}.{key}"] = value.numpy()
        self.record("attended", parameters)


# ---- the script against itself ----


def check_laws():
    """⌈a + b⌉ = ⌈a⌉⌈b⌉, ⌈−a⌉ = ⌈a⌉ᵀ, and attention that does not change when both positions are shifted from the left."""
    for spec, dim, checks in cases():
        group, parameters = spec_group(spec), draw_parameters(spec, dim)
        if "apply" in checks:
            term = parse(spec)[0]
            a, b = draw_position(group), draw_position(group)
            at = operators(term, parameters[0], [a, b, compose(group, a, b), inverse(group, a)], dim)
            broken = (at[0] @ at[1] - at[2]).abs().max()
            assert broken > 1e-3 if term[0] == "liere" else broken < 1e-12, (spec, broken)
            assert (at[0].transpose(-1, -2) - at[3]).abs().max() < 1e-12, spec
            assert (at[0] @ at[3] - torch.eye(dim, dtype=torch.float64)).abs().max() < 1e-12, spec
        if "attention" in checks and "side" not in spec and "liere" not in spec:
            places, shift = [draw_position(group) for _ in range(4)], draw_position(group)
            q, k, v = normal(4, HEADS, dim), normal(4, HEADS, dim), normal(4, HEADS, dim)
            moved = [compose(group, shift, place) for place in places]
            one, other = (attend(spec, parameters, q, k, v, at, at) for at in (places, moved))
            assert (one - other).abs().max() < 1e-11, spec


def check_gradients():
    """Autograd's directional derivatives against central differences."""
    for spec, dim, _ in cases():
        if dim > 6:
            continue
        group, parameters = spec_group(spec), draw_parameters(spec, dim)
        places = [draw_position(group) for _ in range(4)]
        q, k, v, go = (normal(4, HEADS, dim) for _ in range(4))
        leaves = list(full_names(parameters).values())
        directions = [normal(*leaf.shape) for leaf in leaves]
        for leaf in leaves:
            leaf.requires_grad_()
        loss = lambda: (attend(spec, parameters, q, k, v, places, places) * go).sum()
        value = loss()
        if not value.requires_grad:
            continue  # there is nothing to learn, or one position only (cycle:1)
        gradients = torch.autograd.grad(value, leaves, materialize_grads=True)
        got = sum((g * d).sum() for g, d in zip(gradients, directions))
        sides = []
        with torch.no_grad():
            for step in (1e-6, -2e-6):
                for leaf, direction in zip(leaves, directions):
                    leaf += step * direction
                sides.append(loss())
        want = (sides[0] - sides[1]) / 2e-6
        assert (got - want).abs() < 1e-5 * (1 + want.abs()), (spec, got, want)


if __name__ == "__main__":
    check_laws()
    check_gradients()
    file = File()
    for case in cases():
        file.case(*case)
    file.metadata["count"] = file.count
    golden_format.write(GOLDEN / "algebra.safetensors", file.arrays, file.metadata)
