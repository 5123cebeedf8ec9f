# SPDX-License-Identifier: MIT
"""Makes tests/golden/scores.safetensors: what acts on scores, from independent programs.

slopes     ALiBi's, for 1 to 128 heads: transformers' build_alibi_tensor (BLOOM)
buckets    T5's, for all distances to 100,000 both ways, as the places where the bucket changes: transformers'
           T5Attention._relative_position_bucket
attention  T5, KERPLE, FIRE and CoPE written down in PyTorch, float64, gradients by autograd; grouped-query heads, soft
           caps, windows, sinks, and sums with rope, alibi and decay

Usage: python3 tools/golden_scores.py (needs torch, transformers, numpy)."""
import math
import pathlib

import numpy as np
import torch
import transformers
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(20240711)
FAR = 100_000
BUCKET_SPECS = [(32, 128, "both"), (32, 128, "causal"), (32, 256, "both"), (64, 128, "both"), (64, 1024, "causal"), (16, 64, "both"),
                (8, 20, "causal"), (4, 3, "both"), (10, 33, "both"), (128, 100000, "causal")]
CASES = [
    ("t5(buckets=8, max=10)", "full"), ("t5(buckets=8, max=10)", "causal"), ("t5(buckets=6, max=12, direction=causal) + scores(scale=1)", "causal"),
    ("t5(buckets=8, max=6) + decay(rate=0.9, learned=on)", "full"), ("kerple", "full"), ("kerple", "causal"), ("kerple + scores(cap=1.5)", "prefix"),
    ("kerple + alibi + rope", "causal"), ("fire(hidden=5, L=2.5)", "causal"), ("fire(hidden=7, c=0.7, L=4.5)", "full"), ("fire(hidden=3, L=30) + rope", "causal"),
    ("scores(scale=0.3, sinks=on)", "causal"), ("scores(cap=2, window=3)", "causal"), ("scores(window=2, keep=2, sinks=on) + kerple", "causal"),
    ("cope(max=3)", "causal"), ("cope(max=3, gate=scaled)", "causal"), ("cope(max=2) + rope", "causal"), ("cope(max=64)", "causal"),
    ("cope(max=3) + scores(scale=0.5, cap=2, window=4, keep=1, sinks=on)", "causal"), ("cope(max=4) + kerple + decay(rate=0.9, learned=on)", "causal"),
    ("cope(max=3, gate=scaled) + rope + alibi + scores(sinks=on)", "causal"),
    ("scores(chunk=3)", "causal"), ("rope + scores(chunk=4, window=3)", "prefix"), ("scores(chunk=2, window=2, keep=1, sinks=on) + kerple", "full"),
    ("temperature(length=3, beta=0.7)", "causal"), ("temperature(growth=log, length=4) + rope", "causal"), ("temperature(length=2, first=0) + scores(chunk=3)", "causal"),
    ("temperature(growth=log, length=3, least=0, first=0) + decay(rate=0.9, learned=on)", "full"), ("alibi(scaled=on)", "causal"),
    ("rope(turn=backward) + alibi(scaled=on)", "full"), ("rope(turn=backward) + temperature(length=2)", "prefix"),
]


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def uniform(*shape):
    return torch.rand(*shape, generator=GENERATOR, dtype=torch.float64)


def parse(spec):
    terms = []
    for term in spec.split(" + "):
        name, _, rest = term.partition("(")
        terms.append((name, dict(option.split("=") for option in rest.rstrip(")").split(", ")) if rest else {}))
    return terms


def draw_parameters(name, options, heads, dim):
    if name == "t5":
        return {"bias": normal(int(options["buckets"]), heads)}
    if name == "kerple":
        return {"a": 0.1 + uniform(heads), "b": 0.1 + uniform(heads)}
    if name == "fire":
        hidden = int(options["hidden"])
        return {"hidden_weight": normal(hidden), "hidden_bias": normal(hidden), "output_weight": normal(heads, hidden), "output_bias": normal(heads),
                "c": torch.tensor([float(options.get("c", 0.1))], dtype=torch.float64), "L": torch.tensor([float(options["L"])], dtype=torch.float64)}
    if name == "cope":
        return {"table": normal(int(options["max"]) + 1, dim)}
    if name == "decay":
        return {"rate": torch.tensor([float(options["rate"])], dtype=torch.float64)}
    if name == "scores" and options.get("sinks") == "on":
        return {"sinks": normal(heads)}
    return {}


def rope(x, positions, options):
    dim = x.shape[-1]
    positions = -positions if options.get("turn") == "backward" else positions
    angle = positions.double()[:, None] * 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def t5_bias(options, own, pq, pk):
    relative = pk[None, :] - pq[:, None]
    both = options.get("direction", "both") == "both"
    bucket = T5Attention._relative_position_bucket(relative, both, int(options["buckets"]), int(options["max"]))
    return own["bias"][bucket].permute(2, 0, 1)


def kerple_bias(own, distance):
    return -own["a"][:, None, None] * torch.log1p(own["b"][:, None, None] * distance)


def fire_bias(own, pq, distance):
    c, threshold = own["c"].abs(), own["L"].abs()
    x = torch.log1p(c * distance) / torch.log1p(c * torch.maximum(pq.double(), threshold))[:, None]
    hidden = torch.relu(x[..., None] * own["hidden_weight"] + own["hidden_bias"])
    return (hidden @ own["output_weight"].T + own["output_bias"]).permute(2, 0, 1)


def alibi_slopes(heads):
    power = 2 ** math.floor(math.log2(heads))
    return torch.tensor([2.0 ** (-8 * (h + 1) / power) if h < power else 2.0 ** (-4 * (2 * (h - power) + 1) / power) for h in range(heads)],
                        dtype=torch.float64)


def temperature(options, positions):
    number, length = positions.double() + float(options.get("first", 1)), float(options["length"])
    if options.get("growth", "steps") == "steps":
        return 1 + float(options.get("beta", 0.1)) * torch.log1p(torch.floor(number / length).clamp(min=0))
    least = float(options.get("least", 1))
    return torch.where(number > 0, number.clamp(min=1e-300).log() / math.log(length), -torch.inf).clamp(min=least)


def cope(table, most, query, gate_logits, visible):
    gates = torch.sigmoid(gate_logits) * visible
    place = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=most)
    low, high = place.floor().long(), place.ceil().long()
    rows = torch.einsum("mhd,pd->hmp", query, table)
    part = place - low
    return rows.gather(-1, high) * part + rows.gather(-1, low) * (1 - part)


def attend(terms, parameters, q, k, v, pq, pk, visible):
    """q [m, H, d], k and v [n, G, d]; visible [m, n]. Product and content terms, soft cap, factors, biases, mask, softmax with a sink."""
    heads, groups = q.shape[1], k.shape[1]
    raw = q
    for name, options in terms:
        if name == "rope":
            q, k = rope(q, pq, options), rope(k, pk, options)
    k, v = (x.repeat_interleave(heads // groups, 1) for x in (k, v))
    settings = next((options for name, options in terms if name == "scores"), {})
    scale = float(settings.get("scale", 1 / math.sqrt(q.shape[-1])))
    t = torch.arange(len(pq))[:, None] + len(pk) - len(pq)
    j = torch.arange(len(pk))[None, :]
    if "window" in settings:
        visible = visible & (((t - j).abs() < int(settings["window"])) | (j < int(settings.get("keep", 0))))
    if "chunk" in settings:
        visible = visible & (t // int(settings["chunk"]) == j // int(settings["chunk"]))
    distance = (pk[None, :] - pq[:, None]).abs().double()
    product = torch.einsum("mhd,nhd->hmn", q, k)
    scores = product * scale
    for (name, options), own in zip(terms, parameters):
        if name == "cope":
            gate = product if options.get("gate", "raw") == "raw" else product * scale
            scores = scores + cope(own["table"], int(options["max"]), raw, gate, visible)
    if "cap" in settings:
        scores = float(settings["cap"]) * torch.tanh(scores / float(settings["cap"]))
    for (name, options), own in zip(terms, parameters):
        if name == "decay":
            scores = scores * own["rate"] ** distance
        elif name == "temperature":
            scores = scores * temperature(options, pq)[:, None]
    for (name, options), own in zip(terms, parameters):
        if name == "t5":
            scores = scores + t5_bias(options, own, pq, pk)
        elif name == "kerple":
            scores = scores + kerple_bias(own, distance)
        elif name == "fire":
            scores = scores + fire_bias(own, pq, distance)
        elif name == "alibi":
            divisor = math.sqrt(q.shape[-1]) if options.get("scaled") == "on" else 1
            scores = scores - alibi_slopes(heads)[:, None, None] * distance / divisor
    scores = scores.masked_fill(~visible, -torch.inf)
    for own in parameters:
        if "sinks" in own:
            scores = torch.cat([scores, own["sinks"][:, None, None].expand(-1, len(pq), 1)], -1)
    weights = scores.softmax(-1)[..., :len(pk)]
    return torch.einsum("hmn,nhd->mhd", weights, v)


def visibility(mask, m, n, prefix):
    if mask == "full":
        return torch.ones(m, n, dtype=torch.bool)
    t, j = torch.arange(m)[:, None] + n - m, torch.arange(n)[None, :]
    return (j <= t) | (j < prefix)


def attention_case(arrays, metadata, count, spec, mask):
    terms, dim = parse(spec), 6
    heads, groups = ((2, 2), (4, 2), (3, 1))[count % 3]
    query_lengths, key_lengths = ([4, 7], [9, 3]) if mask == "full" else ([5, 1, 9], [5, 4, 9])
    prefix = [2, 1, 4] if mask == "prefix" else [0] * len(query_lengths)
    query_offsets, key_offsets = (np.cumsum([0] + list(n)) for n in (query_lengths, key_lengths))
    parameters = [draw_parameters(name, options, heads, dim) for name, options in terms]
    for own in parameters:
        for value in own.values():
            value.requires_grad_()
    q, k, v = normal(sum(query_lengths), heads, dim), normal(sum(key_lengths), groups, dim), normal(sum(key_lengths), groups, dim)
    go = normal(sum(query_lengths), heads, dim)
    for tensor in (q, k, v):
        tensor.requires_grad_()
    rows, query_positions, key_positions = [], [], []
    for s, (m, n) in enumerate(zip(query_lengths, key_lengths)):
        pq, pk = torch.arange(m) + n - m, torch.arange(n)
        if count % 4 == 3:  # positions with gaps, unordered, negative
            pq, pk = torch.arange(m) * 2 - 3, (torch.arange(n) * 5) % 7 - 1
        a, b = slice(query_offsets[s], query_offsets[s + 1]), slice(key_offsets[s], key_offsets[s + 1])
        rows.append(attend(terms, parameters, q[a], k[b], v[b], pq, pk, visibility(mask, m, n, prefix[s])))
        query_positions.append(pq)
        key_positions.append(pk)
    o = torch.cat(rows)
    (o * go).sum().backward()
    metadata[f"{count}.kind"], metadata[f"{count}.spec"], metadata[f"{count}.mask"] = "attention", spec, mask
    values = {"q": q.detach(), "k": k.detach(), "v": v.detach(), "o": o.detach(), "go": go, "dq": q.grad, "dk": k.grad, "dv": v.grad,
              "query_positions": torch.cat(query_positions), "key_positions": torch.cat(key_positions)}
    for key, value in values.items():
        arrays[f"{count}.{key}"] = value.numpy()
    arrays[f"{count}.query_offsets"], arrays[f"{count}.key_offsets"] = query_offsets.astype(np.int64), key_offsets.astype(np.int64)
    arrays[f"{count}.prefix"] = np.array(prefix, dtype=np.int64)
    for i, own in enumerate(parameters):
        for name, value in own.items():
            full = f"{i}.{name}" if len(terms) > 1 else name
            arrays[f"{count}.parameter.{full}"] = value.detach().numpy()
            arrays[f"{count}.gradient.{full}"] = value.grad.numpy()


def main():
    arrays, metadata, count = {}, {"torch": torch.__version__, "transformers": transformers.__version__}, 0
    slopes = [build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1] for heads in range(1, 129)]
    metadata["0.kind"], metadata["0.spec"], arrays["0.slopes"] = "slopes", "alibi", torch.cat(slopes).numpy()
    count += 1
    relative = torch.arange(-FAR, FAR + 1)
    for buckets, most, direction in BUCKET_SPECS:
        bucket = T5Attention._relative_position_bucket(relative, direction == "both", buckets, most).numpy()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(bucket)) + 1])
        metadata[f"{count}.kind"] = "buckets"
        metadata[f"{count}.spec"] = f"t5(buckets={buckets}, max={most}, direction={direction})"
        arrays[f"{count}.starts"], arrays[f"{count}.values"] = relative.numpy()[starts].astype(np.int64), bucket[starts].astype(np.int64)
        count += 1
    for spec, mask in CASES:
        attention_case(arrays, metadata, count, spec, mask)
        count += 1
    metadata["count"] = count
    golden_format.write(GOLDEN / "scores.safetensors", arrays, metadata)


if __name__ == "__main__":
    main()
