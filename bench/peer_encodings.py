# SPDX-License-Identifier: MIT
"""Times what else there is for the rows of bench_encodings; peer_best.py sets both beside each other.

    build/release/bench/bench_encodings > locus.jsonl;  python3 bench/peer_encodings.py --locus locus.jsonl

Peers, each where its package is installed: PyTorch eager (the formula as models write it, scores materialised) and PyTorch with
scaled_dot_product_attention, in float32 and on tensors of bfloat16, and the faster of the two in each type under torch.compile;
ONNX Runtime's RotaryEmbedding and GroupQueryAttention (onnx, onnxruntime); JAX under jit. Rotary tables, biases and masks are
made before the clock starts, those of learned values too, since an inference may keep them. The time of a peer is the fastest of
a few runs. Prints JSON lines."""
import argparse
import json
import math

import numpy as np
import torch

import peer_rows
import peer_ways


def layout(spec):
    return "half" if "pairs=half" in spec else "interleaved"


# ---- PyTorch ----

class Torch:
    """Tensors are [1, heads, tokens, dim], as models hold them."""

    def __init__(self, o):
        self.o = o
        torch.manual_seed(1)
        peer_ways.begin(o)

    def angles(self, spec, first, tokens):
        dim = 32 if "rotate=32" in spec else self.o.dim
        p = torch.arange(first, first + tokens, dtype=torch.float64)
        angle = torch.outer(p, 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim))
        angle = torch.cat([angle, angle], -1) if layout(spec) == "half" else angle.repeat_interleave(2, -1)
        return tuple(f(angle).to(torch.get_default_dtype()) for f in (torch.cos, torch.sin))

    def rotate(self, spec, x, tables, sign=1):
        cos, sin = tables
        r = cos.shape[-1]
        part = x[..., :r]
        if layout(spec) == "half":
            other = torch.cat([-part[..., r // 2:], part[..., :r // 2]], -1)
        else:
            other = torch.stack([-part[..., 1::2], part[..., ::2]], -1).flatten(-2)
        turned = part * cos + sign * other * sin
        return turned if r == x.shape[-1] else torch.cat([turned, x[..., r:]], -1)

    def tensors(self, queries, keys):
        o = self.o
        return (torch.randn(1, o.heads, queries, o.dim), torch.randn(1, o.kv_heads, keys, o.dim),
                torch.randn(1, o.kv_heads, keys, o.dim))

    def bias(self, spec, queries, keys):
        """[heads, queries, keys] of terms that are added, or None."""
        heads = self.o.heads
        apart = (torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)[None]).abs().float()
        if "alibi" in spec:
            slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
            return -slopes[:, None, None] * apart
        if spec.startswith("t5"):
            bucket = torch.where(apart < 16, apart, (16 + torch.log(apart.clamp(min=1) / 16) / math.log(8) * 16).clamp(max=31)).long()
            return torch.randn(32, heads)[bucket].permute(2, 0, 1)
        if spec.startswith("kerple"):
            a, b = torch.rand(heads, 1, 1), torch.rand(heads, 1, 1)
            return -a * torch.log1p(b * apart)
        if spec.startswith("fire"):
            (first, second), c = (torch.nn.Linear(*sizes, dtype=torch.float32) for sizes in ((1, 32), (32, heads))), 0.1
            longest = torch.log1p(c * torch.arange(keys - queries, keys).clamp(min=512).float())[:, None, None]
            distance = torch.log1p(c * apart)[..., None]
            return second(torch.relu(first(distance / longest))).permute(2, 0, 1)
        return None

    def scores(self, spec, q, k, seen):
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
        return s

    def attention(self, spec, q, k, v, mask, seen, fused):
        """mask: the bias, with -inf where nothing is seen; or None."""
        group = self.o.heads // self.o.kv_heads
        if fused:
            mask = seen if "window" in spec else mask
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None and q.shape[2] > 1,
                                                                    enable_gqa=group > 1)
        if group > 1:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        s = self.scores(spec, q, k, seen)
        s = s.masked_fill(~seen, -math.inf) if mask is None else s + mask
        if "sinks" in spec:
            s = torch.cat([s, self.sinks.expand(*s.shape[:3], 1)], -1)
            return torch.softmax(s, -1)[..., :-1] @ v
        return torch.softmax(s, -1) @ v

    def call(self, spec, queries, keys, fused):
        """One call with everything prepared; None where SDPA cannot do it."""
        o = self.o
        if fused and any(name in spec for name in ("cope", "cap", "decay", "relative", "sinks", "xpos")):
            return None
        q, k, v = self.tensors(queries, keys)
        i, j = torch.arange(keys - queries, keys)[:, None], torch.arange(keys)[None]
        seen = (j <= i) & (i - j < (1024 if "window" in spec else keys + 1))
        bias = self.bias(spec, queries, keys)
        mask = None if bias is None else bias.masked_fill(~seen, -math.inf).to(q.dtype)[None]
        self.cope, self.sinks = torch.randn(o.dim, 65), torch.randn(o.heads, 1, 1)
        if spec.startswith("decay"):
            self.factors = (0.98 ** (i - j).abs().float()).to(q.dtype)
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
            out = self.attention(spec, turned, kept, values, mask, seen, fused)
            return self.rotate(spec, out, mine, -1) if spec == "roper" else out
        return run

    def apply_call(self, spec, tokens):
        o = self.o
        if spec.startswith(("sinusoidal", "learned", "chebyshev")):
            x, table = torch.randn(1, tokens, o.heads * o.dim), torch.randn(8192, o.heads * o.dim)
            at = torch.arange(8192 - tokens, 8192)
            return lambda: x + table[at]
        if not spec.startswith("ro"):
            return None
        q, k, _ = self.tensors(tokens, tokens)
        tables = self.angles(spec, 0, tokens)
        return lambda: (self.rotate(spec, q, tables), self.rotate(spec, k, tables))

    def calls(self, spec, what):
        """What can be timed, by name; tensors are of the default type."""
        if what.startswith("apply"):
            found = {"eager": self.apply_call(spec, 1 if what.endswith("decode") else self.o.prefill)}
        else:
            sizes = (1, self.o.cache + 1) if what == "decode" else (self.o.prefill, self.o.prefill)
            found = {"eager": self.call(spec, *sizes, False), "sdpa": self.call(spec, *sizes, True)}
        return {name: call for name, call in found.items() if call is not None}

    def measure_type(self, spec, what, plain):
        rows, work = [], {"spec": spec, "what": what}
        wanted = [way for way in self.o.ways if way.startswith(plain)]
        calls = self.calls(spec, what) if wanted else {}
        if plain in wanted:
            for name, call in calls.items():
                rows.append(peer_ways.row_of(name, plain, work, lambda call=call: peer_rows.fastest(call, self.o.runs)))
        best = min((row for row in rows if "best_s" in row), key=lambda row: row["best_s"], default=None)
        if f"{plain} compiled" in wanted and best is not None:
            call = torch.compile(calls[best["case"]], dynamic=False)
            peer_ways.row_of(best["case"], f"{plain} compiled", work, lambda: peer_rows.fastest(call, self.o.runs))

    def measure(self, spec, what):
        with torch.no_grad():
            for plain in ("float32", "bf16"):
                torch.set_default_dtype(peer_ways.type_of(plain))
                try:
                    self.measure_type(spec, what, plain)
                finally:
                    torch.set_default_dtype(torch.float32)


# ---- ONNX Runtime ----

class Onnx:
    def __init__(self, o):
        import onnx
        import onnxruntime
        self.onnx, self.runtime, self.o = onnx, onnxruntime, o
        self.name = f"ONNX Runtime {onnxruntime.__version__}"
        random = np.random.default_rng(1)
        inputs = {name: random.standard_normal(shape, dtype="float32") for name, shape in (
            ("a", (peer_rows.ROWS, peer_rows.DEPTH)), ("b", (peer_rows.DEPTH, peer_rows.COLUMNS)))}
        session = self.session([onnx.helper.make_node("MatMul", ["a", "b"], ["c"])], inputs, ["c"])
        peer_rows.say_products(self.name, o.threads, {"float32": lambda: session.run(["c"], inputs)})

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

    def run(self, case, work, nodes, inputs, outputs):
        def timed():
            session = self.session(nodes, inputs, outputs)
            return peer_rows.fastest(lambda: session.run(outputs, inputs), self.o.runs)

        peer_rows.row_of(self.name, case, "float32", work, timed)

    def tables(self):
        angle = np.outer(np.arange(8192), 10000.0 ** (-np.arange(0, self.o.dim, 2) / self.o.dim))
        return np.cos(angle).astype("float32"), np.sin(angle).astype("float32")

    def measure(self, spec, what):
        o, helper, random = self.o, self.onnx.helper, np.random.default_rng(1)
        cos, sin = self.tables()
        tokens = 1 if what.endswith("decode") else o.prefill
        width, kv = o.heads * o.dim, o.kv_heads * o.dim
        if spec not in ("rope", "rope(pairs=half)", "none"):
            return
        interleaved = int(layout(spec) == "interleaved")
        normal = lambda *shape: random.standard_normal(shape, dtype="float32")
        if what.startswith("apply"):
            at = np.arange(tokens, dtype="int64")[None]
            nodes = [helper.make_node("RotaryEmbedding", [x, "at", "cos", "sin"], [y], domain="com.microsoft", interleaved=interleaved,
                                      num_heads=heads) for x, y, heads in (("q", "a", o.heads), ("k", "b", o.kv_heads))]
            inputs = {"q": normal(1, tokens, width), "k": normal(1, tokens, kv), "at": at, "cos": cos, "sin": sin}
            self.run("RotaryEmbedding", {"spec": spec, "what": what}, nodes, inputs, ["a", "b"])
            return
        past, total = (o.cache, o.cache + 1) if what == "decode" else (0, o.prefill)
        inputs = {"q": normal(1, tokens, width), "k": normal(1, tokens, kv), "v": normal(1, tokens, kv),
                  "past_k": normal(1, o.kv_heads, past, o.dim), "past_v": normal(1, o.kv_heads, past, o.dim),
                  "last": np.array([total - 1], dtype="int32"), "total": np.array(total, dtype="int32"), "cos": cos, "sin": sin}
        names = ["q", "k", "v", "past_k", "past_v", "last", "total"] + (["cos", "sin"] if spec != "none" else [])
        node = helper.make_node("GroupQueryAttention", names, ["y", "new_k", "new_v"], domain="com.microsoft", num_heads=o.heads,
                                kv_num_heads=o.kv_heads, do_rotary=int(spec != "none"), rotary_interleaved=interleaved)
        self.run("GroupQueryAttention", {"spec": spec, "what": what}, [node], {n: inputs[n] for n in names}, ["y", "new_k", "new_v"])


# ---- JAX ----

class Jax:
    def __init__(self, o):
        import jax
        self.jax, self.o, self.name = jax, o, f"JAX {jax.__version__}"
        a, b = (jax.random.normal(jax.random.PRNGKey(n), shape) for n, shape in enumerate((
            (peer_rows.ROWS, peer_rows.DEPTH), (peer_rows.DEPTH, peer_rows.COLUMNS))))
        product = jax.jit(lambda a, b: a @ b)
        peer_rows.say_products(self.name, "all", {"float32": lambda: jax.block_until_ready(product(a, b))})

    def run(self, case, spec, what, call, *inputs):
        compiled = self.jax.jit(call)
        peer_rows.row_of(self.name, case, "float32", {"spec": spec, "what": what},
                         lambda: peer_rows.fastest(lambda: self.jax.block_until_ready(compiled(*inputs)), self.o.runs))

    def measure(self, spec, what):
        jax, np_, o = self.jax, self.jax.numpy, self.o
        if spec not in ("rope", "rope(pairs=half)", "none", "alibi"):
            return
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
                return
            k = draw(tokens, o.kv_heads)
            self.run("rotation", spec, what, lambda q, k: (rotate(q), rotate(k)), q, k)
            return
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
        self.run("dot_product_attention", spec, what, attend, q, k, v)


def peers(o):
    """MKL is PyTorch's: the others are timed once."""
    for make in (Torch, Onnx, Jax) if peer_rows.MKL == "as installed" else (Torch,):
        try:
            yield make(o)
        except ImportError as missing:
            print(json.dumps({"peer": make.__name__, "left_out": str(missing)}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    peer_ways.add_ways(parser)
    parser.add_argument("--locus", required=True, help="what bench_encodings printed")
    parser.add_argument("--prefill", type=int, default=4096)
    parser.add_argument("--cache", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=3, help="of a prefill")
    o = parser.parse_args()
    rows = [json.loads(line) for line in open(o.locus, encoding="utf-8") if line.startswith("{")]
    o.heads, o.kv_heads, o.dim = rows[0]["heads"], rows[0]["kv_heads"], rows[0]["dim"]
    for peer in list(peers(o)):
        for row in rows:
            o.runs = o.repeats if "prefill" in row["what"] else 20
            peer.measure(row["spec"], row["what"])


if __name__ == "__main__":
    main()
