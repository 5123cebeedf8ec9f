# SPDX-License-Identifier: MIT
"""Makes tests/golden/images.safetensors: a small compact convolutional Transformer in float64 with PyTorch's own convolution, pooling,
LayerNorm, GELU and cross-entropy with label smoothing, one case for each of several encodings: first weights, probabilities and gradients
of the first batch, losses and gradient norms of ten steps of AdamW, last weights. Parameter names are locus's (lab/model/model.h).
Usage: python3 tools/golden_images.py (needs torch, numpy)."""
import math
import pathlib

import numpy as np
import torch
from torch.nn import functional

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(11)
DIM, HEADS, HIDDEN, LAYERS, SIDE, CHANNELS, CLASSES, STEPS, IMAGES = 16, 2, 24, 2, 12, 3, 5, 10, 4
GRID = (SIDE - 2) // 3
WIDTH = DIM // HEADS
SMOOTHING, DECAY = 0.1, 0.03
RATES = [0.001 * (step + 1) / STEPS for step in range(STEPS)]
CASES = ["none", "sinusoidal", f"learned(size={GRID * GRID})", "rope", "algebraic(group=seq, decay=0.98)", "algebraic(group=grid:2, decay=0.98)"]


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def linear_block(weights, name, rows, columns):
    weights[f"{name}.weight"], weights[f"{name}.bias"] = normal(rows, columns) / math.sqrt(columns), 0.1 * normal(rows)


def first_weights(spec):
    weights = {"convolution.weight": normal(DIM, CHANNELS * 9) / 4}
    for layer in range(LAYERS):
        for norm in ("norm1", "norm2"):
            weights[f"encoder.{layer}.{norm}.weight"], weights[f"encoder.{layer}.{norm}.bias"] = 1 + 0.1 * normal(DIM), 0.1 * normal(DIM)
        for part in ("query", "key", "value", "output"):
            linear_block(weights, f"encoder.{layer}.self_attention.{part}", DIM, DIM)
        linear_block(weights, f"encoder.{layer}.feed_forward.up", HIDDEN, DIM)
        linear_block(weights, f"encoder.{layer}.feed_forward.down", DIM, HIDDEN)
    weights["encoder.norm.weight"], weights["encoder.norm.bias"] = 1 + 0.1 * normal(DIM), 0.1 * normal(DIM)
    linear_block(weights, "pooling", 1, DIM)
    linear_block(weights, "classifier", CLASSES, DIM)
    if spec.startswith("learned"):
        weights["position.table"] = 0.5 * normal(GRID * GRID, DIM)
    if spec.startswith("algebraic"):
        axes = 2 if "grid" in spec else 1
        weights["position.generators"] = 0.15 * normal(HEADS, axes, WIDTH // axes, WIDTH // axes)
    return weights


class Model:
    def __init__(self, weights, spec):
        self.weights, self.spec = weights, spec
        token = torch.arange(GRID * GRID)
        self.place = torch.stack([token // GRID, token % GRID], 1).double() if "grid" in spec else token[:, None].double()

    def linear(self, x, name):
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, x, name):
        return functional.layer_norm(x, (DIM,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def turned(self, x):
        """x [images, tokens, heads, width], each token turned by the operator of its place."""
        if self.spec == "rope":
            angle = self.place * 10000.0 ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
            even, odd, cos, sin = x[..., 0::2], x[..., 1::2], angle.cos()[:, None], angle.sin()[:, None]
            return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)
        if self.spec.startswith("algebraic"):
            free = self.weights["position.generators"]
            skew = free - free.transpose(-1, -2)
            parts, size = [], free.shape[-1]
            for axis in range(free.shape[1]):  # each axis turns its own share of the numbers
                power = torch.matrix_exp(self.place[:, axis, None, None, None] * skew[:, axis])
                parts.append(torch.einsum("thij,bthj->bthi", power, x[..., axis * size:(axis + 1) * size]))
            return torch.cat(parts, -1)
        return x

    def attention(self, x, name):
        q, k, v = (self.linear(x, f"{name}.{part}").unflatten(-1, (HEADS, WIDTH)) for part in ("query", "key", "value"))
        scores = torch.einsum("bmhd,bnhd->bhmn", self.turned(q), self.turned(k)) / math.sqrt(WIDTH)
        if "decay" in self.spec:
            distance = (self.place[:, None] - self.place[None]).norm(dim=-1).floor()
            scores = scores * 0.98 ** distance
        return self.linear(torch.einsum("bhmn,bnhd->bmhd", scores.softmax(-1), v).flatten(-2), f"{name}.output")

    def logits(self, images):
        kernel = self.weights["convolution.weight"].reshape(DIM, CHANNELS, 3, 3)
        x = functional.max_pool2d(torch.relu(functional.conv2d(images, kernel)), 3, 3).flatten(2).transpose(1, 2)
        if self.spec == "sinusoidal":
            angle = self.place * 10000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
            x = x + torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
        if self.spec.startswith("learned"):
            x = x + self.weights["position.table"]
        for layer in range(LAYERS):
            name = f"encoder.{layer}"
            x = x + self.attention(self.norm(x, f"{name}.norm1"), f"{name}.self_attention")
            hidden = functional.gelu(self.linear(self.norm(x, f"{name}.norm2"), f"{name}.feed_forward.up"))
            x = x + self.linear(hidden, f"{name}.feed_forward.down")
        x = self.norm(x, "encoder.norm")
        share = self.linear(x, "pooling").softmax(1)
        return self.linear((share * x).sum(1), "classifier")


def trajectory(arrays, number, spec):
    weights = {name: value.clone().float().double() for name, value in first_weights(spec).items()}
    for name, value in weights.items():
        arrays[f"{number}.first.{name}"] = value.numpy().astype(np.float32)
        value.requires_grad_()
    model = Model(weights, spec)
    optimizer = torch.optim.AdamW(weights.values(), lr=1, betas=(0.9, 0.999), eps=1e-4, weight_decay=DECAY)
    losses, norms = [], []
    for step in range(STEPS):
        images, labels = torch.tensor(arrays["images"][step]).double(), torch.tensor(arrays["labels"][step]).long()
        logits = model.logits(images)
        loss = functional.cross_entropy(logits, labels, label_smoothing=SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            arrays[f"{number}.probabilities"] = logits.softmax(-1).detach().numpy().astype(np.float32)
            arrays[f"{number}.plain"] = np.array([functional.cross_entropy(logits, labels).item()])
            for name, value in weights.items():
                arrays[f"{number}.gradient.{name}"] = value.grad.numpy().astype(np.float32)
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)))
        losses.append(loss.item())
        optimizer.param_groups[0]["lr"] = RATES[step]
        optimizer.step()
    arrays[f"{number}.losses"], arrays[f"{number}.norms"] = np.array(losses), np.array(norms)
    for name, value in weights.items():
        arrays[f"{number}.last.{name}"] = value.detach().numpy().astype(np.float32)


if __name__ == "__main__":
    arrays = {"rates": np.array(RATES), "images": normal(STEPS, IMAGES, CHANNELS, SIDE, SIDE).numpy().astype(np.float32),
              "labels": torch.randint(0, CLASSES, (STEPS, IMAGES), generator=GENERATOR).int().numpy()}
    metadata = {"count": len(CASES), "steps": STEPS, "batch": IMAGES, "side": SIDE, "channels": CHANNELS, "classes": CLASSES, "dim": DIM, "heads": HEADS,
                "feed_forward": HIDDEN, "layers": LAYERS, "clip": 1, "epsilon": 1e-4, "weight_decay": DECAY, "label_smoothing": SMOOTHING,
                "torch": torch.__version__, "numpy": np.__version__}
    for number, spec in enumerate(CASES):
        trajectory(arrays, number, spec)
        metadata[f"{number}.spec"] = spec
        print(spec, arrays[f"{number}.losses"])
    golden_format.write(GOLDEN / "images.safetensors", arrays, metadata)
