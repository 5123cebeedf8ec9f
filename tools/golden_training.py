# SPDX-License-Identifier: MIT
"""Makes tests/golden/training.safetensors: ten steps of training of a small encoder–decoder, in float64, one case for each of
several encodings and both places of LayerNorm: first weights, batches, losses, gradient norms, last weights. And
tests/golden/dropout.safetensors, the same with dropout on activations and attention (tools/golden_dropout.py). Parameter names are
locus's (lab/model/model.h). Usage: python3 tools/golden_training.py (needs torch, numpy)."""
import math
import pathlib

import numpy as np
import torch

import golden_dropout
import golden_format
import golden_model as oracle

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(7)
VOCABULARY, DIM, HEADS, HIDDEN, STEPS, SAMPLES = 9, 16, 2, 24, 10, 3
RATES = [0.001 * (step + 1) / STEPS for step in range(STEPS)]
CASES = [("rope", "before"), ("algebraic(group=seq, decay=0.98)", "after"), ("relative(window=3)", "before"), ("sinusoidal", "after")]
DROPOUT, SEED = 0.1, 1
DROPOUT_CASES = [("rope", "before", "weights"), ("algebraic(group=seq, decay=0.98)", "after", "logits")]


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def attention_block(weights, name):
    for part in ("query", "key", "value", "output"):
        weights[f"{name}.{part}.weight"] = normal(DIM, DIM) / math.sqrt(DIM)
        weights[f"{name}.{part}.bias"] = 0.1 * normal(DIM)


def norm_block(weights, name):
    weights[f"{name}.weight"] = 1 + 0.1 * normal(DIM)
    weights[f"{name}.bias"] = 0.1 * normal(DIM)


def first_weights(spec, norm):
    weights = {"embedding.weight": normal(VOCABULARY, DIM) / math.sqrt(DIM)}
    for stack, attentions in (("encoder", ["self_attention"]), ("decoder", ["self_attention", "cross_attention"])):
        for layer in range(2):
            for index, attention in enumerate(attentions):
                norm_block(weights, f"{stack}.{layer}.norm{index + 1}")
                attention_block(weights, f"{stack}.{layer}.{attention}")
            norm_block(weights, f"{stack}.{layer}.norm{len(attentions) + 1}")
            block = f"{stack}.{layer}.feed_forward"
            weights[f"{block}.up.weight"], weights[f"{block}.up.bias"] = normal(HIDDEN, DIM) / 4, 0.1 * normal(HIDDEN)
            weights[f"{block}.down.weight"], weights[f"{block}.down.bias"] = normal(DIM, HIDDEN) / 5, 0.1 * normal(DIM)
        if norm == "before":
            norm_block(weights, f"{stack}.norm")
    own, = oracle.draw_parameters(spec, HEADS, DIM // HEADS, DIM // HEADS, GENERATOR)
    weights |= {f"position.{name}": value for name, value in own.items()}
    return weights


class Model:
    """One sample at a time: no padding, no batching, as plain as possible."""

    def __init__(self, weights, spec, norm, dropout=golden_dropout.NoDropout()):
        self.weights, self.spec, self.before, self.dropout = weights, spec, norm == "before", dropout
        self.own = {name[9:]: value for name, value in weights.items() if name.startswith("position.")}

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x, name):
        return torch.nn.functional.layer_norm(x, (DIM,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def attention(self, x, y, name, mask):
        q, k, v = (self.linear(z, f"{name}.{part}").reshape(len(z), HEADS, -1) for z, part in ((x, "query"), (y, "key"), (y, "value")))
        spec = "none" if self.spec == "sinusoidal" else self.spec
        visible = oracle.visibility(mask, len(x), len(y))
        lost, kept = self.dropout.attention(name, len(x), len(y), HEADS)
        out = oracle.attend(spec, q, k, v, torch.arange(len(x)), torch.arange(len(y)), visible, [self.own], None, lost, kept)
        return self.linear(out.reshape(len(x), DIM), f"{name}.output")

    def sublayer(self, x, name, function):
        branch = lambda y: self.dropout.rows(name, function(y))
        return x + branch(self.norm(x, name)) if self.before else self.norm(x + branch(x), name)

    def embed(self, tokens):
        x = self.weights["embedding.weight"][tokens] * math.sqrt(DIM)
        if self.spec == "sinusoidal":
            angle = torch.arange(len(tokens))[:, None] * 10000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
            x = x + torch.stack([angle.sin(), angle.cos()], 2).reshape(len(tokens), DIM)
        return x

    def feed_forward(self, x, name):
        return self.linear(self.dropout.rows(name, torch.relu(self.linear(x, f"{name}.up"))), f"{name}.down")

    def logits(self, source, target):
        x = self.dropout.rows("encoder", self.embed(source))
        for layer in range(2):
            name = f"encoder.{layer}"
            x = self.sublayer(x, f"{name}.norm1", lambda z: self.attention(z, z, f"{name}.self_attention", "full"))
            x = self.sublayer(x, f"{name}.norm2", lambda z: self.feed_forward(z, f"{name}.feed_forward"))
        memory = self.norm(x, "encoder.norm") if self.before else x
        x = self.dropout.rows("decoder", self.embed(target))
        for layer in range(2):
            name = f"decoder.{layer}"
            x = self.sublayer(x, f"{name}.norm1", lambda z: self.attention(z, z, f"{name}.self_attention", "causal"))
            x = self.sublayer(x, f"{name}.norm2", lambda z: self.attention(z, memory, f"{name}.cross_attention", "full"))
            x = self.sublayer(x, f"{name}.norm3", lambda z: self.feed_forward(z, f"{name}.feed_forward"))
        x = self.norm(x, "decoder.norm") if self.before else x
        return x @ self.weights["embedding.weight"].T


def trajectory(arrays, metadata, number, spec, norm, dropout=golden_dropout.NoDropout()):
    weights = {name: value.clone().float().double() for name, value in first_weights(spec, norm).items()}
    for name, value in weights.items():
        arrays[f"{number}.first.{name}"] = value.numpy().astype(np.float32)
        value.requires_grad_()
    model = Model(weights, spec, norm, dropout)
    optimizer = torch.optim.AdamW(weights.values(), lr=1, betas=(0.9, 0.999), eps=1e-4, weight_decay=0.01)
    losses, norms = [], []
    for step in range(STEPS):
        lengths = torch.randint(1, 9, (SAMPLES,), generator=GENERATOR)
        words = [torch.randint(1, VOCABULARY - 1, (int(n),), generator=GENERATOR) for n in lengths]
        arrays[f"{number}.{step}.tokens"] = torch.cat(words).int().numpy()
        arrays[f"{number}.{step}.offsets"] = np.cumsum([0] + [len(word) for word in words]).astype(np.int64)
        loss, tokens, read_before = 0, 0, 0
        for word in words:  # the task is reverse
            dropout.begin(step, {"encoder": read_before, "decoder": tokens})
            target = word.flip(0)
            read, written = torch.cat([torch.tensor([0]), target]), torch.cat([target, torch.tensor([VOCABULARY - 1])])
            loss = loss + torch.nn.functional.cross_entropy(model.logits(word, read), written, reduction="sum")
            tokens += len(written)
            read_before += len(word)
        optimizer.zero_grad()
        (loss / tokens).backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)))
        losses.append((loss / tokens).item())
        optimizer.param_groups[0]["lr"] = RATES[step]
        optimizer.step()
    arrays[f"{number}.losses"], arrays[f"{number}.norms"] = np.array(losses), np.array(norms)
    for name, value in weights.items():
        arrays[f"{number}.last.{name}"] = value.detach().numpy().astype(np.float32)
    metadata |= {f"{number}.spec": spec, f"{number}.norm": norm}


def sizes(count):
    return {"count": count, "steps": STEPS, "vocabulary": VOCABULARY, "dim": DIM, "heads": HEADS, "feed_forward": HIDDEN,
            "clip": 1, "epsilon": 1e-4, "weight_decay": 0.01}


if __name__ == "__main__":
    arrays, metadata = {"rates": np.array(RATES)}, sizes(len(CASES))
    for number, (spec, norm) in enumerate(CASES):
        trajectory(arrays, metadata, number, spec, norm)
        print(spec, norm, arrays[f"{number}.losses"])
    golden_format.write(GOLDEN / "training.safetensors", arrays, metadata)
    arrays, metadata = {"rates": np.array(RATES)}, sizes(len(DROPOUT_CASES)) | {"dropout": DROPOUT, "seed": SEED}
    for number, (spec, norm, place) in enumerate(DROPOUT_CASES):
        trajectory(arrays, metadata, number, spec, norm, golden_dropout.Dropout(DROPOUT, SEED, place))
        metadata[f"{number}.dropout_on"] = place
        print(spec, norm, place, arrays[f"{number}.losses"])
    golden_format.write(GOLDEN / "dropout.safetensors", arrays, metadata)
