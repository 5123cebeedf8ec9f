# SPDX-License-Identifier: MIT
"""Makes tests/golden/encodings.safetensors and tests/golden/attention.safetensors: forward values and gradients of every
encoding and of packed attention in all masks, in float64. Usage: python3 tools/golden_attention.py (needs torch, numpy)."""
import itertools
import pathlib

import numpy as np
import torch

import golden_format
import golden_model as model

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(20240607)

OPERATOR_SPECS = [
    "rope", "rope(pairs=half)", "rope(base=500, rotate=6)", "rope(pairs=half, rotate=4)", "rope(learned=on)",
    "rope(learned=on, pairs=half, rotate=6)", "algebraic(group=seq)", "algebraic(group=seq, heads=shared)",
]
ATTENTION_SPECS = [
    "none", "rope", "rope(pairs=half, rotate=4, learned=on)", "roper", "rope(side=query)", "rope(side=key, learned=on)", "alibi", "decay",
    "decay(rate=0.9, learned=on)", "relative(window=3)", "relative(window=4, values=on)", "relative(window=3, scaled=off)",
    "algebraic(group=seq)", "algebraic(group=seq, decay=0.98, values=on)", "algebraic(group=seq, side=query)", "rope + alibi",
    "algebraic(group=seq) + decay(rate=0.9, learned=on) + alibi", "relative(window=2) + decay(rate=0.95)",
]


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def leaves(parameters):
    for own in parameters:
        for value in own.values():
            value.requires_grad_()


def record(arrays, prefix, spec, parameters):
    for name, value in model.full_names(spec, parameters).items():
        arrays[f"{prefix}.parameter.{name}"] = value.detach().numpy()
        arrays[f"{prefix}.gradient.{name}"] = value.grad.numpy()


def encodings():
    arrays, metadata, count = {}, {}, 0
    heads, dim = 2, 8
    for spec in OPERATOR_SPECS:
        positions = torch.tensor([0, 1, 2, 3, 7, -5, 64, 130, 1000])
        parameters = model.draw_parameters(spec, heads, dim, dim, GENERATOR)
        leaves(parameters)
        (name, options), = model.parse(spec)
        x, gy = normal(len(positions), heads, dim).requires_grad_(), normal(len(positions), heads, dim)
        matrix = model.operators(name, options, positions.double(), heads, dim, parameters[0])
        y = torch.einsum("thij,thj->thi", matrix, x)
        (y * gy).sum().backward()
        metadata[f"{count}.spec"], metadata[f"{count}.role"] = spec, "query"
        for key, value in {"positions": positions, "x": x.detach(), "y": y.detach(), "gy": gy, "gx": x.grad}.items():
            arrays[f"{count}.{key}"] = value.numpy()
        record(arrays, count, spec, parameters)
        count += 1
    positions, width = torch.tensor([0, 1, 5, 11, 3, 500]), 12
    for spec in ["sinusoidal", "sinusoidal(base=100)", "sinusoidal(layout=concatenated)", "learned(size=512)"]:
        (name, options), = model.parse(spec)
        x, gy = normal(len(positions), width).requires_grad_(), normal(len(positions), width)
        parameters = [{}]
        base, p = float(options.get("base", 10000)), positions.double()[:, None]
        if name == "learned":
            parameters = [{"table": normal(512, width).requires_grad_()}]
            added = parameters[0]["table"][positions]
        elif options.get("layout") == "concatenated":
            angle = p * base ** (-torch.arange(width // 2, dtype=torch.float64) / (width // 2 - 1))
            added = torch.cat([angle.sin(), angle.cos()], 1)
        else:
            angle = p * base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
            added = torch.stack([angle.sin(), angle.cos()], 2).reshape(len(positions), width)
        y = x + added
        (y * gy).sum().backward()
        metadata[f"{count}.spec"], metadata[f"{count}.role"] = spec, "token"
        for key, value in {"positions": positions, "x": x.detach(), "y": y.detach(), "gy": gy, "gx": x.grad}.items():
            arrays[f"{count}.{key}"] = value.numpy()
        record(arrays, count, spec, parameters)
        count += 1
    metadata["count"] = count
    golden_format.write(GOLDEN / "encodings.safetensors", arrays, metadata)


def attention():
    arrays, metadata, count = {}, {}, 0
    heads = 2
    for spec, mask in itertools.product(ATTENTION_SPECS, ["full", "causal", "prefix"]):
        dim, value_dim = 8, (8 if "values=on" in spec or spec == "roper" else 6)
        query_lengths, key_lengths = ([5, 1, 9], [5, 1, 9]) if mask != "full" else ([4, 7], [9, 3])
        prefix = [2, 1, 4] if mask == "prefix" else [0] * len(query_lengths)
        query_offsets, key_offsets = (np.cumsum([0] + list(n)) for n in (query_lengths, key_lengths))
        parameters = model.draw_parameters(spec, heads, dim, value_dim, GENERATOR)
        leaves(parameters)
        q, k, v = normal(sum(query_lengths), heads, dim), normal(sum(key_lengths), heads, dim), normal(sum(key_lengths), heads, value_dim)
        go = normal(sum(query_lengths), heads, value_dim)
        for tensor in (q, k, v):
            tensor.requires_grad_()
        jump = count % 3  # 0: 0, 1, 2, …; else positions with gaps, unordered, negative
        rows, query_positions, key_positions = [], [], []
        for s, (m, n) in enumerate(zip(query_lengths, key_lengths)):
            pq, pk = torch.arange(m), torch.arange(n)
            if jump:
                pq, pk = torch.arange(m) * jump - 3, (torch.arange(n) * 5) % 7 - jump
            a, b = slice(query_offsets[s], query_offsets[s + 1]), slice(key_offsets[s], key_offsets[s + 1])
            visible = model.visibility(mask, m, n, prefix[s])
            rows.append(model.attend(spec, q[a], k[b], v[b], pq, pk, visible, parameters))
            query_positions.append(pq)
            key_positions.append(pk)
        o = torch.cat(rows)
        (o * go).sum().backward()
        metadata[f"{count}.spec"], metadata[f"{count}.mask"] = spec, mask
        values = {"q": q.detach(), "k": k.detach(), "v": v.detach(), "o": o.detach(), "go": go, "dq": q.grad, "dk": k.grad, "dv": v.grad,
                  "query_positions": torch.cat(query_positions), "key_positions": torch.cat(key_positions)}
        for key, value in values.items():
            arrays[f"{count}.{key}"] = value.numpy()
        arrays[f"{count}.query_offsets"], arrays[f"{count}.key_offsets"] = query_offsets.astype(np.int64), key_offsets.astype(np.int64)
        arrays[f"{count}.prefix"] = np.array(prefix, dtype=np.int64)
        record(arrays, count, spec, parameters)
        count += 1
    metadata["count"] = count
    golden_format.write(GOLDEN / "attention.safetensors", arrays, metadata)


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    encodings()
    attention()
