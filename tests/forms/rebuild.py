# SPDX-License-Identifier: MIT
"""What a plan does, from its forms alone, in NumPy: the readable counterpart of docs/forms.md, and a test.

`turned`, `embedded` and `attention` need nothing but the forms of a plan, which sequences there are, and the tensors.
The test reads what tests/forms/form_cases.c writes (plans of drawn encodings, their forms, inputs, and what the library
computes from these in double) and compares.

usage: python3 tests/forms/rebuild.py PROGRAM SEED CASES [evaluated]      status 1 if anything differs, 77 without NumPy"""
import collections
import os
import subprocess
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads would only wait for one another

try:
    import numpy as np
except ImportError:
    print("there is no NumPy (python3-numpy)")
    sys.exit(77)
import laws

TURN, PATHS, MATRICES, CELLS, NETWORK, CONTENT, CONTEXT, VECTORS, SETTINGS = range(1, 10)
TOKEN, QUERY, KEY, VALUE, OUTPUT, ENCODED = range(1, 7)
ALL_NAMES = 250  # from so many cases on every encoding must have come

# A form: kind, mask of roles, which elements it acts on, whether it multiplies, its law, its arrays by name, and of those
# that are learned which parameter they hold, from which number on.
Form = collections.namedtuple("Form", "kind term roles first count multiplies law arrays learned")


def side(role):
    """Whose tokens a tensor of this role has."""
    return "query" if role in (TOKEN, QUERY, OUTPUT, ENCODED) else "key"


def by_head(table, heads):
    """Head h of a tensor goes with table h·tables/heads: one table may serve all heads, or a group of them."""
    return table[np.arange(heads) * len(table) // heads]


# ---- operators: x [tokens, heads, dim] ----


def phases(form, role):
    """cos + i·sin [tables, tokens, pairs] of the tokens of a role: a product over the axes, each of a coarse and a fine
    row."""
    a, who = form.arrays, side(role)
    pairs, turn = len(a["pair"]), 1
    for axis in range(a["axes"]):
        kind = "_of_keys" if who == "key" and f"coarse_of_keys.{axis}" in a else ""
        coarse = a[f"coarse{kind}.{axis}"][:, a[f"{who}_coarse.{axis}"]] @ [1, 1j]
        own = coarse * (a[f"fine{kind}.{axis}"][:, a[f"{who}_fine.{axis}"]] @ [1, 1j])
        full = np.ones(own.shape[:2] + (pairs,), complex)
        full[..., a.get(f"columns.{axis}", slice(None))] = own
        turn = turn * full
    return turn


def turn(form, x, role):
    """y = U R(p) Uᵀ x, of outputs U R(p)ᵀ Uᵀ x."""
    a, heads = form.arrays, x.shape[1]
    phase = by_head(phases(form, role), heads).transpose(1, 0, 2)
    basis = by_head(a["basis"], heads) if "basis" in a else None
    x = x if basis is None else np.einsum("hji,thj->thi", basis, x)
    first, second = a["pair"].T
    cosine, sine = phase.real, phase.imag if role != OUTPUT else -phase.imag
    factor = a["factor"] if role in (QUERY, KEY) else 1.0
    y = x.copy()
    y[..., first] = factor * (x[..., first] * cosine - x[..., second] * sine)
    y[..., second] = factor * (x[..., first] * sine + x[..., second] * cosine)
    if "flip" in a and form.count % 2 == 1:  # the coordinate without a pair
        odd = a[f"{side(role)}_position.0"] % 2 == 1
        flips = by_head(a["flip"], heads) < form.count
        y[..., -1] *= np.where(odd[:, None] & flips[None, :], -1.0, 1.0)
    return y if basis is None else np.einsum("hij,thj->thi", basis, y)


def node_matrices(form):
    """[tables, nodes, dim, dim]: a node's is its parent's times the generator of its branch, or that transposed. All
    nodes of one depth could be multiplied at once."""
    a = form.arrays
    W = a["generators"]
    P = np.empty((W.shape[0], len(a["parent"])) + W.shape[2:])
    P[:, 0] = np.eye(W.shape[-1])
    for node in range(1, P.shape[1]):  # parents stand before children
        own = W[:, abs(a["branch"][node]) - 1]
        P[:, node] = P[:, a["parent"][node]] @ (own if a["branch"][node] > 0 else own.swapaxes(-1, -2))
    return P


def multiply(matrices, index, x, role):
    """matrices [tables, rows, dim, dim], index [tokens]."""
    if matrices.shape[1] == 0:  # all tokens are in gaps
        return x
    own = by_head(matrices[:, index], x.shape[1])
    return np.einsum("htji,thj->thi" if role == OUTPUT else "htij,thj->thi", own, x)


def turned(forms, x, role):
    """⌈p⌉ x, of outputs ⌈p⌉ᵀ x."""
    y = x.copy()
    for form in forms:
        if not form.roles >> role & 1 or form.kind == VECTORS:
            continue
        part = slice(form.first, form.first + form.count)
        if form.kind == TURN:
            y[..., part] = turn(form, y[..., part], role)
        elif form.kind == PATHS:
            y[..., part] = multiply(node_matrices(form), form.arrays[f"{side(role)}_node"], y[..., part], role)
        elif form.kind == MATRICES:
            matrices = form.arrays["matrices"].swapaxes(0, 1)
            y[..., part] = multiply(matrices, form.arrays[f"{side(role)}_matrix"], y[..., part], role)
    return y


def embedded(forms, x, role):
    """x [tokens, dim] with vectors added."""
    for form in forms:
        if form.kind == VECTORS and form.roles >> role & 1 and len(form.arrays["vectors"]):
            x = x + form.arrays["vectors"][form.arrays["row"]]
    return x


# ---- scores of one sequence: queries and keys are token numbers, scores [heads, queries, keys] ----


def cells(form, queries, keys):
    return form.arrays["query_cell"][queries][:, None] + form.arrays["key_cell"][keys][None, :]  # modulo 2^32


def network(form, queries, keys):
    a = form.arrays
    x = a["logs"][cells(form, queries, keys)] / a["reach"][queries][:, None]
    hidden = np.maximum(x[..., None] * a["hidden_weight"] + a["hidden_bias"], 0)
    return np.moveaxis(hidden @ a["output_weight"].T + a["output_bias"], -1, 0)


def content_rows(form, queries, keys):
    apart = form.arrays["key_position"][keys][None, :] - form.arrays["query_position"][queries][:, None]
    return np.clip(apart, -form.arrays["window"], form.arrays["window"]) + form.arrays["window"]


def contextual(form, product, q, scale, seen):
    """`product`: q'·k'. A key's position is the sum of the gates from it up to the last key that the query sees."""
    table = form.arrays["table"]
    with np.errstate(over="ignore"):
        gates = np.where(seen, 1 / (1 + np.exp(-(scale if form.arrays["scaled"] else 1) * product)), 0)
    p = np.minimum(np.cumsum(gates[..., ::-1], -1)[..., ::-1], len(table) - 1)
    below = np.floor(p).astype(int)
    by_row = np.einsum("thd,rd->htr", q, table)
    lower = np.take_along_axis(by_row, below, -1)
    upper = np.take_along_axis(by_row, np.minimum(below + 1, len(table) - 1), -1)
    return lower + (p - below) * (upper - lower)


def sees(settings, m, n, causal):
    t, j = np.arange(m)[:, None] + (n - m), np.arange(n)[None, :]
    seen = j <= t if causal else np.ones((m, n), bool)
    if settings.get("chunk"):
        seen = seen & (t >= 0) & (t // settings["chunk"] == j // settings["chunk"])
    if settings.get("window"):
        seen = seen & ((abs(t - j) < settings["window"]) | (j < settings["keep"]))
    return seen


def attention(forms, spans, q, k, v, causal=False):
    """o [tokens, heads, value_dim] and log-sum-exp [tokens, heads]; 0 in gaps."""
    heads, scores = q.shape[1], [form for form in forms if form.roles == 0]
    settings = next((form.arrays for form in scores if form.kind == SETTINGS), {})
    scale = settings.get("scale") or 1 / np.sqrt(q.shape[2])
    group = heads // k.shape[1]
    turned_q = turned(forms, q, QUERY)
    turned_k = np.repeat(turned(forms, k, KEY), group, 1)
    turned_v = np.repeat(turned(forms, v, VALUE), group, 1)
    o, beside, lse = np.zeros(q.shape[:2] + v.shape[2:]), np.zeros(q.shape[:2] + v.shape[2:]), np.zeros(q.shape[:2])
    for first, m, key_first, n in spans:
        queries, keys = np.arange(first, first + m), np.arange(key_first, key_first + n)
        product = np.einsum("thd,jhd->htj", turned_q[queries], turned_k[keys])
        s, seen = scale * product, sees(settings, m, n, causal)
        for form in scores:
            a = form.arrays
            if form.kind == CONTENT:
                rows = content_rows(form, queries, keys)
                by_row = np.einsum("thd,rd->htr", q[queries], a["key_table"])
                own = np.take_along_axis(by_row, np.broadcast_to(rows, (heads, m, n)), -1)
                s = s + own * (scale if a["scaled"] else 1)
            elif form.kind == CONTEXT:
                s = s + contextual(form, product, q[queries], scale, seen)
        if settings.get("cap"):
            s = settings["cap"] * np.tanh(s / settings["cap"])
        for form in scores:
            if form.kind == CELLS:
                own = by_head(form.arrays["values"], heads)[:, cells(form, queries, keys)]
                s = s * own if form.multiplies else s + own
            elif form.kind == NETWORK:
                s = s + network(form, queries, keys)
        s = np.where(seen, s, -np.inf)
        sink = np.broadcast_to(settings.get("sinks", np.full(heads, -np.inf))[:, None], (heads, m))
        top = np.maximum(s.max(-1, initial=-np.inf), sink)
        top = np.where(np.isfinite(top), top, 0)
        weights = np.exp(s - top[..., None])
        total = weights.sum(-1) + np.exp(sink - top)
        weights = weights / np.where(total > 0, total, 1)[..., None]
        with np.errstate(divide="ignore"):
            lse[queries] = (top + np.log(total)).T
        o[queries] = np.einsum("htj,jhd->thd", weights, turned_v[keys])
        for form in scores:
            if form.kind == CONTENT and "value_table" in form.arrays:
                table = form.arrays["value_table"][content_rows(form, queries, keys)]
                beside[queries] = np.einsum("htj,tjd->thd", weights, table)
    return turned(forms, o, OUTPUT) + beside, lse


# ---- the test ----


def read_array(stream, words):
    name, kind, rank = words[0], np.dtype(words[1]), int(words[4])
    shape = [int(word) for word in words[5 : 5 + rank]]
    data = np.frombuffer(stream.read(int(np.prod(shape)) * kind.itemsize), kind).reshape(shape)
    stream.read(1)
    return name, data[()] if rank == 0 else data


def read_cases(stream):
    """(spec, forms, given arrays) of each case; the registry's names first, as (None, names, None)."""
    for line in iter(stream.readline, b""):
        word, _, rest = line.decode().rstrip("\n").partition(" ")
        if word == "names":
            yield None, rest.split(" "), None
        elif word == "case":
            spec, forms, given = rest, [], {}
            arrays = None
        elif word == "form":
            numbers, law = [int(number) for number in rest.split(" ")[:6]], rest.split(" ")[6]
            arrays, learned = {}, {}
            forms.append(Form(*numbers, law, arrays, learned))
        elif word == "given":
            arrays = given
        elif word == "array":
            name, data = read_array(stream, rest.split(" "))
            arrays[name] = data
            if arrays is not given and int(rest.split(" ")[2]) >= 0:
                learned[name] = int(rest.split(" ")[2]), int(rest.split(" ")[3])
        elif word == "end":
            yield spec, forms, given


def tokens_of(spans, role):
    """Token numbers in use."""
    at = 0 if side(role) == "query" else 2
    return np.concatenate([np.arange(s[at], s[at] + s[at + 1]) for s in spans] or [[]]).astype(int)


def error_of(got, want):
    """The largest error, relative to the largest number, or to 1 if that is more."""
    finite = np.isfinite(want)
    if not np.array_equal(finite, np.isfinite(got)):
        return np.inf
    size = np.abs(want[finite]).max(initial=1)
    return np.abs(got[finite] - want[finite]).max(initial=0) / size


def compare_laws(forms, given):
    """What laws make of what is learned, and the parameters themselves."""
    errors, used = {}, {"query": tokens_of(given["spans"], QUERY), "key": tokens_of(given["spans"], KEY)}
    for form in forms:
        for what, (made, own) in laws.follow(form, phases, used).items():
            errors[f"law of {what}"] = error_of(made, own) / max(1, laws.reach(form) / 100)
        for name, (parameter, first) in form.learned.items():
            own, whole = form.arrays[name], given[f"p{parameter}"]
            if own.size != whole.size:
                whole = whole[:, first : first + own.shape[1]]
            errors[f"parameter {name}"] = error_of(own.ravel(), whole.ravel())
    return errors


def compare(forms, given):
    """{what: error} of one case."""
    heads, kv_heads, head_dim, value_dim, causal = given["sizes"]
    spans, errors = given["spans"], {}
    for role in (TOKEN, QUERY, KEY, VALUE, OUTPUT, ENCODED):
        x, used = given[f"x{role}"], tokens_of(spans, role)
        y = embedded(forms, x, role) if role in (TOKEN, ENCODED) else turned(forms, x, role)
        errors[f"apply {role}"] = error_of(y[used], given[f"y{role}"][used])
    if "o" in given:
        o, lse = attention(forms, spans, given["q"], given["k"], given["v"], bool(causal))
        used = tokens_of(spans, QUERY)
        errors["attention"] = error_of(o[used], given["o"][used])
        errors["log-sum-exp"] = error_of(lse[used], given["lse"][used])
    return {**errors, **compare_laws(forms, given)}


def main():
    program, seed = sys.argv[1:3]
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
    worst, count, attended, names, kinds = (0.0, ""), 0, 0, collections.Counter(), collections.Counter()
    failed, registry = 0, []
    for spec, forms, given in read_cases(process.stdout):
        if spec is None:
            registry = forms
            continue
        errors = compare(forms, given)
        count += 1
        attended += "attention" in errors
        names.update({term.strip().partition("(")[0] for term in spec.split("+")})
        kinds.update({form.kind for form in forms})
        for what, error in errors.items():
            if not error <= 1e-12:
                failed += 1
                print(f"{spec}: {what} differs by {error:.2g}")
            worst = max(worst, (error, f"{what} of {spec}"))
    print(f"seed {seed}: {count} cases, {attended} with attention; largest error {worst[0]:.2g}, {worst[1]}")
    print("encodings:", ", ".join(f"{name} {times}" for name, times in sorted(names.items())))
    print("kinds:", ", ".join(f"{kind} {times}" for kind, times in sorted(kinds.items())))
    if process.wait() != 0 or count == 0:
        sys.exit(f"{program} ended with status {process.returncode} after {count} cases")
    missing = [name for name in registry if name not in names]
    if count >= ALL_NAMES and missing:
        sys.exit(f"no case of {', '.join(missing)}: draw more")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
