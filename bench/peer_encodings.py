# SPDX-License-Identifier: MIT
"""Times what else there is for the rows of bench_encodings and prints one table of both.

    build/release/bench/bench_encodings > locus.jsonl;  python3 bench/peer_encodings.py --locus locus.jsonl

Peers, each where its package is installed (torch; onnx and onnxruntime; jax): PyTorch eager (the formula as models write it,
scores materialised), PyTorch with scaled_dot_product_attention, both under torch.compile, ONNX Runtime's RotaryEmbedding and
GroupQueryAttention, JAX under jit. Rotary tables, biases that depend on distance alone and masks are made before the clock
starts; the times of a peer are the fastest of a few runs."""
import argparse
import json
import math
import time

import numpy as np


def best(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def layout(spec):
    return "half" if "pairs=half" in spec else "interleaved"


# ---- PyTorch ----

class Torch:
    """Tensors are [1, heads, tokens, dim], as models hold them."""

    def __init__(self, o):
        import torch
        self.torch, self.o = torch, o
        torch.set_num_threads(o.threads)
        torch.manual_seed(1)

    def angles(self, spec, first, tokens):
        torch, dim = self.torch, 32 if "rotate=32" in spec else self.o.dim
        p = torch.arange(first, first + tokens, dtype=torch.float64)
        angle = torch.outer(p, 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim))
        angle = torch.cat([angle, angle], -1) if layout(spec) == "half" else angle.repeat_interleave(2, -1)
        return angle.cos().float(), angle.sin().float()

    def rotate(self, spec, x, tables, sign=1):
        torch, (cos, sin) = self.torch, tables
        r = cos.shape[-1]
        part = x[..., :r]
        if layout(spec) == "half":
            other = torch.cat([-part[..., r // 2:], part[..., :r // 2]], -1)
        else:
            other = torch.stack([-part[..., 1::2], part[..., ::2]], -1).flatten(-2)
        turned = part * cos + sign * other * sin
        return turned if r == x.shape[-1] else torch.cat([turned, x[..., r:]], -1)

    def tensors(self, queries, keys):
        torch, o = self.torch, self.o
        return (torch.randn(1, o.heads, queries, o.dim), torch.randn(1, o.kv_heads, keys, o.dim),
                torch.randn(1, o.kv_heads, keys, o.dim))

    def bias(self, spec, queries, keys):
        """[heads, queries, keys], for terms that depend on distance alone; what depends on parameters too is made in time."""
        torch, heads = self.torch, self.o.heads
        apart = (torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)[None]).abs().float()
        if "alibi" in spec:
            slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
            return lambda: -slopes[:, None, None] * apart
        if spec.startswith("t5"):
            table = torch.randn(32, heads)
            bucket = torch.where(apart < 16, apart, (16 + torch.log(apart.clamp(min=1) / 16) / math.log(8) * 16).clamp(max=31)).long()
            return lambda: table[bucket].permute(2, 0, 1)
        if spec.startswith("kerple"):
            a, b = torch.rand(heads, 1, 1), torch.rand(heads, 1, 1)
            return lambda: -a * torch.log1p(b * apart)
        if spec.startswith("fire"):
            first, second, c = torch.nn.Linear(1, 32), torch.nn.Linear(32, heads), 0.1
            longest = torch.log1p(c * torch.arange(keys - queries, keys).clamp(min=512).float())[:, None, None]
            distance = torch.log1p(c * apart)[..., None]
            return lambda: second(torch.relu(first(distance / longest))).permute(2, 0, 1)
        return None

    def scores(self, spec, q, k, bias, seen):
        torch = self.torch
        s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if spec.startswith("cope"):
            gate = torch.sigmoid(s).masked_fill(~seen, 0)
            at = gate.flip(-1).cumsum(-1).flip(-1).clamp(max=64)
            low, logits = at.floor().long(), q @ self.cope
            return s + torch.lerp(logits.gather(-1, low), logits.gather(-1, at.ceil().long()), at - low)
        if "cap" in spec:
            s = 50 * torch.tanh(s / 50)
        if spec.startswith("decay"):
            s = s * self.factors
        if spec.startswith("relative"):
            s = s + (q @ self.relative.T).gather(-1, self.offsets.expand(*s.shape)) / math.sqrt(q.shape[-1])
        return s if bias is None else s + bias()

    def attention(self, spec, q, k, v, bias, seen, fused):
        torch, group = self.torch, self.o.heads // self.o.kv_heads
        if fused:
            mask = bias().masked_fill(~seen, -math.inf)[None] if bias is not None else None
            causal = bias is None and q.shape[2] > 1 and "window" not in spec
            if "window" in spec:
                mask = seen
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=group > 1)
        if group > 1:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        s = self.scores(spec, q, k, bias, seen).masked_fill(~seen, -math.inf)
        if "sinks" in spec:
            s = torch.cat([s, self.sinks.expand(*s.shape[:3], 1)], -1)
            return torch.softmax(s, -1)[..., :-1] @ v
        return torch.softmax(s, -1) @ v

    def call(self, spec, queries, keys, fused):
        """One call with everything prepared; None where SDPA cannot do it."""
        torch, o = self.torch, self.o
        if fused and any(name in spec for name in ("cope", "cap", "decay", "relative", "sinks", "xpos")):
            return None
        q, k, v = self.tensors(queries, keys)
        i, j = torch.arange(keys - queries, keys)[:, None], torch.arange(keys)[None]
        seen = (j <= i) & (i - j < (1024 if "window" in spec else keys + 1))
        bias = self.bias(spec, queries, keys)
        self.cope, self.sinks = torch.randn(o.dim, 65), torch.randn(o.heads, 1, 1)
        if spec.startswith("decay"):
            self.factors = 0.98 ** (i - j).abs().float()
        if spec.startswith("relative"):
            self.relative, self.offsets = torch.randn(257, o.dim), (j - i).clamp(-128, 128) + 128
        turns = spec.startswith("ro")
        mine, fresh = self.angles(spec, keys - queries, queries), slice(keys - queries, keys)
        scale = 1.0 if "xpos" not in spec else 1.01  # what it multiplies with costs the same whatever it is

        def run():
            turned, kept, values = q, k, v
            if turns:
                turned = self.rotate(spec, q, mine) * scale if scale != 1 else self.rotate(spec, q, mine)
                new = self.rotate(spec, k[:, :, fresh], mine)  # that it joins the cache is not timed
                kept = new if queries == keys else k
                if spec == "roper" and queries == keys:
                    values = self.rotate(spec, v, mine)
            out = self.attention(spec, turned, kept, values, bias, seen, fused)
            return self.rotate(spec, out, mine, -1) if spec == "roper" else out
        return run

    def apply_call(self, spec, tokens):
        torch, o = self.torch, self.o
        if spec.startswith(("sinusoidal", "learned", "chebyshev")):
            x, table = torch.randn(1, tokens, o.heads * o.dim), torch.randn(8192, o.heads * o.dim)
            at = torch.arange(8192 - tokens, 8192)
            return lambda: x + table[at]
        if not spec.startswith("ro"):
            return None
        q, k, _ = self.tensors(tokens, tokens)
        tables = self.angles(spec, 0, tokens)
        return lambda: (self.rotate(spec, q, tables), self.rotate(spec, k, tables))

    def measure(self, spec, what, repeats):
        torch, o = self.torch, self.o
        results = {}
        with torch.no_grad():
            if what.startswith("apply"):
                tokens = 1 if what.endswith("decode") else o.prefill
                calls = {"eager": self.apply_call(spec, tokens)}
            else:
                sizes = (1, o.cache + 1) if what == "decode" else (o.prefill, o.prefill)
                calls = {"eager": self.call(spec, *sizes, False), "sdpa": self.call(spec, *sizes, True)}
            for name, call in calls.items():
                if call is None:
                    continue
                results[f"torch {name}"] = best(call, repeats)
                if o.compile:
                    torch._dynamo.reset()
                    results[f"torch {name} compiled"] = best(torch.compile(call, dynamic=False), repeats)
        return results


# ---- ONNX Runtime ----

class Onnx:
    def __init__(self, o):
        import onnx
        import onnxruntime
        self.onnx, self.runtime, self.o = onnx, onnxruntime, o

    def session(self, nodes, inputs, outputs):
        helper, proto = self.onnx.helper, self.onnx.TensorProto
        kinds = {np.dtype("float32"): proto.FLOAT, np.dtype("int64"): proto.INT64, np.dtype("int32"): proto.INT32}
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape) for n, a in inputs.items()],
                                  [helper.make_tensor_value_info(n, proto.FLOAT, None) for n in outputs])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 9
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.o.threads
        options.log_severity_level = 3
        return self.runtime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])

    def run(self, nodes, inputs, outputs, repeats):
        session = self.session(nodes, inputs, outputs)
        return best(lambda: session.run(outputs, inputs), repeats)

    def tables(self):
        angle = np.outer(np.arange(8192), 10000.0 ** (-np.arange(0, self.o.dim, 2) / self.o.dim))
        return np.cos(angle).astype("float32"), np.sin(angle).astype("float32")

    def measure(self, spec, what, repeats):
        o, helper, random = self.o, self.onnx.helper, np.random.default_rng(1)
        cos, sin = self.tables()
        tokens = 1 if what.endswith("decode") else o.prefill
        width, kv = o.heads * o.dim, o.kv_heads * o.dim
        if spec not in ("rope", "rope(pairs=half)", "none"):
            return {}
        interleaved = int(layout(spec) == "interleaved")
        normal = lambda *shape: random.standard_normal(shape, dtype="float32")
        if what.startswith("apply"):
            at = np.arange(tokens, dtype="int64")[None]
            nodes = [helper.make_node("RotaryEmbedding", [x, "at", "cos", "sin"], [y], domain="com.microsoft", interleaved=interleaved,
                                      num_heads=heads) for x, y, heads in (("q", "a", o.heads), ("k", "b", o.kv_heads))]
            inputs = {"q": normal(1, tokens, width), "k": normal(1, tokens, kv), "at": at, "cos": cos, "sin": sin}
            return {"onnxruntime": self.run(nodes, inputs, ["a", "b"], repeats)}
        past, total = (o.cache, o.cache + 1) if what == "decode" else (0, o.prefill)
        inputs = {"q": normal(1, tokens, width), "k": normal(1, tokens, kv), "v": normal(1, tokens, kv),
                  "past_k": normal(1, o.kv_heads, past, o.dim), "past_v": normal(1, o.kv_heads, past, o.dim),
                  "last": np.array([total - 1], dtype="int32"), "total": np.array(total, dtype="int32"), "cos": cos, "sin": sin}
        names = ["q", "k", "v", "past_k", "past_v", "last", "total"] + (["cos", "sin"] if spec != "none" else [])
        node = helper.make_node("GroupQueryAttention", names, ["y", "new_k", "new_v"], domain="com.microsoft", num_heads=o.heads,
                                kv_num_heads=o.kv_heads, do_rotary=int(spec != "none"), rotary_interleaved=interleaved)
        return {"onnxruntime": self.run([node], {n: inputs[n] for n in names}, ["y", "new_k", "new_v"], repeats)}


# ---- JAX ----

class Jax:
    def __init__(self, o):
        import jax
        self.jax, self.o = jax, o

    def measure(self, spec, what, repeats):
        jax, np_, o = self.jax, self.jax.numpy, self.o
        if spec not in ("rope", "rope(pairs=half)", "none", "alibi"):
            return {}
        tokens = 1 if what.endswith("decode") else o.prefill
        keys = o.cache + 1 if what == "decode" else tokens
        draw = lambda n, heads: jax.random.normal(jax.random.PRNGKey(n), (1, n, heads, o.dim))
        q, k, v = draw(tokens, o.heads), draw(keys, o.kv_heads), draw(keys, o.kv_heads)
        angle = np.outer(np.arange(keys - tokens, keys), 10000.0 ** (-np.arange(0, o.dim, 2) / o.dim))
        cos, sin = (np_.asarray(f(angle), dtype="float32")[None, :, None] for f in (np.cos, np.sin))

        def rotate(x):
            if layout(spec) == "half":
                a, b = np_.split(x, 2, -1)
                return np_.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
            a, b = x[..., ::2], x[..., 1::2]
            return np_.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

        if what.startswith("apply"):
            if not spec.startswith("rope"):
                return {}
            call = jax.jit(lambda q, k: (rotate(q), rotate(k)))
            k = draw(tokens, o.kv_heads)
            return {"jax": best(lambda: jax.block_until_ready(call(q, k)), repeats)}
        bias = None
        if spec == "alibi":
            slopes = 2.0 ** (-8.0 * np.arange(1, o.heads + 1) / o.heads)
            apart = np.abs(np.subtract.outer(np.arange(keys - tokens, keys), np.arange(keys)))
            bias = np_.asarray(-slopes[:, None, None] * apart, dtype="float32")[None]

        def attend(q, k, v):
            if spec.startswith("rope"):
                q = rotate(q)
                k = rotate(k) if tokens == keys else k.at[:, keys - tokens:].set(rotate(k[:, keys - tokens:]))
            return jax.nn.dot_product_attention(q, k, v, bias=bias, is_causal=tokens > 1)
        call = jax.jit(attend)
        return {"jax": best(lambda: jax.block_until_ready(call(q, k, v)), repeats)}


def peers(o):
    for make in (Torch, Onnx, Jax):
        try:
            yield make(o)
        except ImportError as missing:
            print(f"peer_encodings: {missing}: left out")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--locus", required=True, help="what bench_encodings printed")
    parser.add_argument("--prefill", type=int, default=4096)
    parser.add_argument("--cache", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compile", action="store_true", help="also under torch.compile (minutes)")
    o = parser.parse_args()
    rows = [json.loads(line) for line in open(o.locus, encoding="utf-8") if line.startswith("{")]
    o.heads, o.kv_heads, o.dim = rows[0]["heads"], rows[0]["kv_heads"], rows[0]["dim"]
    others = list(peers(o))
    print("| encoding | what | locus ms | times PyTorch eager | times the best other | the others, ms |\n|---|---|---|---|---|---|")
    for row in rows:
        found = {}
        for peer in others:
            try:
                found |= peer.measure(row["spec"], row["what"], o.repeats if "prefill" in row["what"] else 20)
            except Exception as failure:  # a peer that cannot do a row is named, and the table goes on
                print(f"peer_encodings: {type(peer).__name__} on {row['spec']}, {row['what']}: {str(failure)[:200]}")
        mine = row["best_ms"]
        eager = found.get("torch eager")
        rest = {name: ms for name, ms in found.items() if name != "torch eager"}
        print(f"| `{row['spec']}` | {row['what']} | {mine:.4g} | {f'{eager / mine:.1f}' if eager else '–'} | "
              f"{f'{min(rest.values()) / mine:.2f}' if rest else '–'} | {', '.join(f'{n} {ms:.4g}' for n, ms in found.items())} |", flush=True)


if __name__ == "__main__":
    main()
