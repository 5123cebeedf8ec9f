# SPDX-License-Identifier: MIT
"""Makes tests/golden/decoder.safetensors: small decoders alone, in float64, written out in PyTorch as plainly as possible (scores
in full, a sequence at a time). For each case the first weights, the batches of ten steps, the gradients of every tensor in the
first step, losses, gradient norms, and the weights after ten steps of AdamW. Names are locus's (lab/model/model.h).
Usage: python3 tools/golden_decoder.py (needs torch, numpy)."""
import math
import pathlib

import numpy as np
import torch

import golden_format
import golden_model as oracle

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(23)
VOCABULARY, DIM, HEADS, HIDDEN, LAYERS, STEPS, SAMPLES = 11, 16, 2, 20, 2, 10, 4
RATES = [0.001 * (step + 1) / STEPS for step in range(STEPS)]
# encoding, norm, output, embedding, activation, label smoothing
CASES = [
    ("rope", "before", "tied", "scaled", "relu", 0.0),
    ("roper", "after", "own", "scaled", "relu", 0.0),
    ("roper", "before", "own", "plain", "gelu", 0.0),
    ("algebraic(group=seq, values=on)", "after", "tied", "unit", "gelu", 0.1),
    ("learned(size=16)", "before", "tied", "plain", "relu", 0.0),
    ("alibi", "after", "own", "scaled", "gelu", 0.0),
    ("sinusoidal", "before", "own", "unit", "relu", 0.2),
]


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def first_weights(spec, norm, output):
    weights = {"embedding.weight": normal(VOCABULARY, DIM) / math.sqrt(DIM)}
    norms = [f"decoder.{layer}.norm{i}" for layer in range(LAYERS) for i in (1, 2)] + ["decoder.norm"] * (norm == "before")
    for name in norms:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = 1 + 0.1 * normal(DIM), 0.1 * normal(DIM)
    for layer in range(LAYERS):
        parts = [(f"self_attention.{part}", DIM, DIM) for part in ("query", "key", "value", "output")]
        for name, rows, columns in parts + [("feed_forward.up", HIDDEN, DIM), ("feed_forward.down", DIM, HIDDEN)]:
            weights[f"decoder.{layer}.{name}.weight"] = normal(rows, columns) / math.sqrt(columns)
            weights[f"decoder.{layer}.{name}.bias"] = 0.1 * normal(rows)
    if output == "own":
        weights["output.weight"] = normal(VOCABULARY, DIM) / math.sqrt(DIM)
    own = {"table": 0.3 * normal(16, DIM)} if spec.startswith("learned") else oracle.draw_parameters(spec, HEADS, DIM // HEADS, DIM // HEADS, GENERATOR)[0]
    return weights | {f"position.{name}": value for name, value in own.items()}


class Decoder:
    def __init__(self, weights, spec, norm, output, embedding, activation):
        self.weights, self.spec, self.before, self.activation = weights, spec, norm == "before", activation
        self.scale = 1.0 if embedding == "plain" else math.sqrt(DIM)
        self.output = weights["output.weight" if output == "own" else "embedding.weight"]
        self.own = {name[9:]: value for name, value in weights.items() if name.startswith("position.")}

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x, name):
        return torch.nn.functional.layer_norm(x, (DIM,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def attention(self, x, name):
        q, k, v = (self.linear(x, f"{name}.{part}").reshape(len(x), HEADS, -1) for part in ("query", "key", "value"))
        spec = "none" if self.spec.startswith(("sinusoidal", "learned")) else self.spec
        places = torch.arange(len(x))
        out = oracle.attend(spec, q, k, v, places, places, oracle.visibility("causal", len(x), len(x)), [self.own])
        return self.linear(out.reshape(len(x), DIM), f"{name}.output")

    def feed_forward(self, x, name):
        hidden = self.linear(x, f"{name}.up")
        return self.linear(torch.relu(hidden) if self.activation == "relu" else torch.nn.functional.gelu(hidden), f"{name}.down")

    def sublayer(self, x, name, function):
        return x + function(self.norm(x, name)) if self.before else self.norm(x + function(x), name)

    def embed(self, tokens):
        x = self.weights["embedding.weight"][tokens] * self.scale
        if self.spec == "sinusoidal":
            angle = torch.arange(len(tokens))[:, None] * 10000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
            x = x + torch.stack([angle.sin(), angle.cos()], 2).reshape(len(tokens), DIM)
        return x + self.own["table"][: len(tokens)] if self.spec.startswith("learned") else x

    def logits(self, tokens):
        x = self.embed(tokens)
        for layer in range(LAYERS):
            name = f"decoder.{layer}"
            x = self.sublayer(x, f"{name}.norm1", lambda z: self.attention(z, f"{name}.self_attention"))
            x = self.sublayer(x, f"{name}.norm2", lambda z: self.feed_forward(z, f"{name}.feed_forward"))
        return (self.norm(x, "decoder.norm") if self.before else x) @ self.output.T


def sequences(arrays, key):
    """Lengths from two tokens on."""
    lengths = torch.randint(2, 13, (SAMPLES,), generator=GENERATOR)
    words = [torch.randint(0, VOCABULARY, (int(n),), generator=GENERATOR) for n in lengths]
    arrays[f"{key}.tokens"] = torch.cat(words).int().numpy()
    arrays[f"{key}.offsets"] = np.cumsum([0] + [len(word) for word in words]).astype(np.int64)
    return words


def losses_of(model, words, smoothing):
    """The plain loss, which is the score, and the smoothed one, which is trained: means over all predicted tokens."""
    logits, wanted = torch.cat([model.logits(word[:-1]) for word in words]), torch.cat([word[1:] for word in words])
    return [torch.nn.functional.cross_entropy(logits, wanted, label_smoothing=value) for value in (0.0, smoothing)]


def trajectory(arrays, metadata, number, case):
    spec, norm, output, embedding, activation, smoothing = case
    weights = {name: value.float().double() for name, value in first_weights(spec, norm, output).items()}
    for name, value in weights.items():
        arrays[f"{number}.first.{name}"] = value.numpy().astype(np.float32)
        value.requires_grad_()
    model = Decoder(weights, spec, norm, output, embedding, activation)
    optimizer = torch.optim.AdamW(weights.values(), lr=1, betas=(0.9, 0.999), eps=1e-4, weight_decay=0.01)
    losses, norms, plain = [], [], []
    for step in range(STEPS):
        words = sequences(arrays, f"{number}.{step}")
        score, loss = losses_of(model, words, smoothing)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            arrays |= {f"{number}.gradient.{name}": value.grad.numpy().astype(np.float32) for name, value in weights.items()}
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)))
        losses.append(loss.item())
        plain.append(score.item())
        optimizer.param_groups[0]["lr"] = RATES[step]
        optimizer.step()
    arrays[f"{number}.losses"], arrays[f"{number}.norms"], arrays[f"{number}.plain"] = (np.array(x) for x in (losses, norms, plain))
    for name, value in weights.items():
        arrays[f"{number}.last.{name}"] = value.detach().numpy().astype(np.float32)
    names = ("spec", "norm", "output", "embedding", "activation", "smoothing")
    metadata |= {f"{number}.{name}": value for name, value in zip(names, case)}


if __name__ == "__main__":
    arrays = {"rates": np.array(RATES)}
    metadata = {"made_with": f"torch {torch.__version__}, numpy {np.__version__}", "count": len(CASES), "steps": STEPS, "vocabulary": VOCABULARY,
                "dim": DIM, "heads": HEADS, "feed_forward": HIDDEN, "layers": LAYERS}
    for number, case in enumerate(CASES):
        trajectory(arrays, metadata, number, case)
        print(case, arrays[f"{number}.losses"])
    golden_format.write(GOLDEN / "decoder.safetensors", arrays, metadata)
