# SPDX-License-Identifier: MIT
"""Makes tests/golden/classifier.safetensors: a small encoder with a classifier of token sequences, in float64, one case for each of
several encodings, norms, poolings and heads: first weights, a batch of sequences of different lengths, what the encoder gives, what the
classifier reads, probabilities, losses with and without label smoothing, every gradient. Parameter names are locus's (lab/model/model.h).
Usage: python3 tools/golden_classifier.py (needs torch, numpy)."""
import math
import pathlib

import numpy as np
import torch
from torch.nn import functional

import golden_format
import golden_model as oracle

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(23)
VOCABULARY, DIM, HEADS, HIDDEN, LAYERS, CLASSES, TYPES, TABLE = 11, 16, 2, 24, 2, 5, 2, 12
LENGTHS = [7, 1, 12, 4, 9]
SMOOTHING = 0.1
# spec, norm, activation, pool, head, token types, LayerNorm behind the embeddings, its epsilon (0: 1e-5), embedding
CASES = [
    ("none", "before", "relu", "first", "linear", 0, 0, 0.0, "scaled"),
    ("sinusoidal", "after", "gelu", "mean", "pooler", TYPES, 1, 1e-12, "plain"),
    ("rope", "before", "relu", "mean", "linear", TYPES, 0, 0.0, "unit"),
    ("algebraic(group=seq, decay=0.98)", "after", "gelu", "first", "pooler", 0, 0, 1e-3, "scaled"),
    ("chebyshev(size=16, site=output)", "after", "gelu", "first", "pooler", TYPES, 1, 1e-12, "plain"),
    ("rope + chebyshev(size=16, site=output)", "before", "relu", "mean", "linear", 0, 0, 0.0, "scaled"),
    (f"learned(size={TABLE})", "before", "gelu", "first", "linear", TYPES, 1, 1e-3, "scaled"),
]
KEYS = ("spec", "norm", "activation", "pool", "head", "token_types", "embedding_norm", "norm_epsilon", "embedding_init")


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def linear_block(weights, name, rows, columns):
    weights[f"{name}.weight"], weights[f"{name}.bias"] = normal(rows, columns) / math.sqrt(columns), 0.1 * normal(rows)


def norm_block(weights, name):
    weights[f"{name}.weight"], weights[f"{name}.bias"] = 1 + 0.1 * normal(DIM), 0.1 * normal(DIM)


def first_weights(own):
    weights = {"embedding.weight": normal(VOCABULARY, DIM) / math.sqrt(DIM)}
    if own["token_types"]:
        weights["types.weight"] = 0.3 * normal(TYPES, DIM)
    if own["embedding_norm"]:
        norm_block(weights, "embedding_norm")
    for layer in range(LAYERS):
        norm_block(weights, f"encoder.{layer}.norm1")
        norm_block(weights, f"encoder.{layer}.norm2")
        for part in ("query", "key", "value", "output"):
            linear_block(weights, f"encoder.{layer}.self_attention.{part}", DIM, DIM)
        linear_block(weights, f"encoder.{layer}.feed_forward.up", HIDDEN, DIM)
        linear_block(weights, f"encoder.{layer}.feed_forward.down", DIM, HIDDEN)
    if own["norm"] == "before":
        norm_block(weights, "encoder.norm")
    if own["head"] == "pooler":
        linear_block(weights, "pooler", DIM, DIM)
    linear_block(weights, "classifier", CLASSES, DIM)
    if own["spec"].startswith("learned"):
        weights["position.table"] = 0.3 * normal(TABLE, DIM)
    if own["spec"].startswith("algebraic"):
        weights["position.generators"] = 0.15 * normal(HEADS, 1, DIM // HEADS, DIM // HEADS)
    return weights


def chebyshev(count, size):
    x = 2 * torch.arange(count, dtype=torch.float64) / (size - 1) - 1
    return torch.cos(torch.arange(DIM, dtype=torch.float64) * torch.arccos(x)[:, None])


class Model:
    """One sequence at a time: no padding, no batching, as plain as possible."""

    def __init__(self, weights, own):
        self.weights, self.own = weights, own
        self.terms = own["spec"].split(" + ")
        self.operator = next((term for term in self.terms if term.startswith(("rope", "algebraic"))), "none")
        self.position = {name[9:]: value for name, value in weights.items() if name.startswith("position.")}

    def linear(self, x, name):
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, x, name):
        return functional.layer_norm(x, (DIM,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], self.own["norm_epsilon"] or 1e-5)

    def attention(self, x, name):
        q, k, v = (self.linear(x, f"{name}.{part}").reshape(len(x), HEADS, -1) for part in ("query", "key", "value"))
        place = torch.arange(len(x))
        out = oracle.attend(self.operator, q, k, v, place, place, oracle.visibility("full", len(x), len(x)), [self.position])
        return self.linear(out.reshape(len(x), DIM), f"{name}.output")

    def feed_forward(self, x, name):
        activation = torch.relu if self.own["activation"] == "relu" else functional.gelu
        return self.linear(activation(self.linear(x, f"{name}.up")), f"{name}.down")

    def sublayer(self, x, name, function):
        return x + function(self.norm(x, name)) if self.own["norm"] == "before" else self.norm(x + function(x), name)

    def embed(self, tokens, types):
        x = self.weights["embedding.weight"][tokens] * (1 if self.own["embedding_init"] == "plain" else math.sqrt(DIM))
        if "sinusoidal" in self.terms:
            angle = torch.arange(len(tokens))[:, None] * 10000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
            x = x + torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
        if "table" in self.position:
            x = x + self.position["table"][:len(tokens)]
        if self.own["token_types"]:
            x = x + self.weights["types.weight"][types]
        return self.norm(x, "embedding_norm") if self.own["embedding_norm"] else x

    def encode(self, tokens, types):
        x = self.embed(tokens, types)
        for layer in range(LAYERS):
            name = f"encoder.{layer}"
            x = self.sublayer(x, f"{name}.norm1", lambda y: self.attention(y, f"{name}.self_attention"))
            x = self.sublayer(x, f"{name}.norm2", lambda y: self.feed_forward(y, f"{name}.feed_forward"))
        x = self.norm(x, "encoder.norm") if self.own["norm"] == "before" else x
        return x + chebyshev(len(tokens), 16) if "chebyshev(size=16, site=output)" in self.terms else x

    def pool(self, encoded):
        row = encoded[0] if self.own["pool"] == "first" else encoded.mean(0)
        return torch.tanh(self.linear(row, "pooler")) if self.own["head"] == "pooler" else row


def run_case(arrays, number, own, batch):
    weights = {name: value.float().double() for name, value in first_weights(own).items()}
    for name, value in weights.items():
        arrays[f"{number}.first.{name}"] = value.numpy().astype(np.float32)
        value.requires_grad_()
    model = Model(weights, own)
    encoded = [model.encode(tokens, types) for tokens, types in zip(batch["tokens"], batch["types"])]
    pooled = torch.stack([model.pool(rows) for rows in encoded])
    logits = model.linear(pooled, "classifier")
    loss = functional.cross_entropy(logits, batch["labels"], label_smoothing=SMOOTHING)
    loss.backward()
    for key, value in (("encoded", torch.cat(encoded)), ("pooled", pooled), ("probabilities", logits.softmax(-1))):
        arrays[f"{number}.{key}"] = value.detach().numpy().astype(np.float32)
    arrays[f"{number}.losses"] = np.array([functional.cross_entropy(logits, batch["labels"]).item(), loss.item()])
    for name, value in weights.items():
        arrays[f"{number}.gradient.{name}"] = value.grad.numpy().astype(np.float32)
    print(own["spec"], arrays[f"{number}.losses"])


if __name__ == "__main__":
    draw = lambda high, count: torch.randint(0, high, (count,), generator=GENERATOR)
    batch = {"tokens": draw(VOCABULARY, sum(LENGTHS)).split(LENGTHS), "types": draw(TYPES, sum(LENGTHS)).split(LENGTHS), "labels": draw(CLASSES, len(LENGTHS))}
    arrays = {"tokens": torch.cat(batch["tokens"]).int().numpy(), "types": torch.cat(batch["types"]).int().numpy(),
              "labels": batch["labels"].int().numpy(), "offsets": np.cumsum([0] + LENGTHS).astype(np.int64)}
    metadata = {"count": len(CASES), "vocabulary": VOCABULARY, "dim": DIM, "heads": HEADS, "feed_forward": HIDDEN, "layers": LAYERS, "classes": CLASSES,
                "label_smoothing": SMOOTHING, "torch": torch.__version__, "numpy": np.__version__}
    for number, case in enumerate(CASES):
        own = dict(zip(KEYS, case))
        run_case(arrays, number, own, batch)
        metadata |= {f"{number}.{key}": value for key, value in own.items()}
    golden_format.write(GOLDEN / "classifier.safetensors", arrays, metadata)
