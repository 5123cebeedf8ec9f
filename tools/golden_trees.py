# SPDX-License-Identifier: MIT
"""Makes tests/golden/trees.safetensors: ten steps of training of a small encoder–decoder on trees, in float64, as
golden_training.py does it on words. Scores are taken from relative paths, reduced as words, one pair of tokens at a
time: q · ⌈−a + b⌉ k. The decoder reads a start token at the root and all targets but the last, at their own paths;
there is no end token. Usage: python3 tools/golden_trees.py (needs torch, numpy; made with torch 2.13)."""
import math
import pathlib

import numpy as np
import torch

import golden_format
import golden_model as oracle
import golden_training as words_model
from golden_training import DIM, HEADS, HIDDEN, RATES, STEPS, VOCABULARY

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(11)
SAMPLES = 3
CASES = [("algebraic(group=tree:2, decay=0.98)", "before"), ("shiv-quirk(k=2, depth=3)", "after"),
         ("algebraic(group=tree:2, decay=0.98)", "after"), ("alibi(group=tree:2)", "before"),
         ("algebraic(group=seq, decay=0.98)", "before")]


def random_tree(nodes):
    """Parents and branches of nodes that stand behind their parents, in no other order; words from the root."""
    parents, branches, words = [-1], [0], [()]
    while len(parents) < nodes:
        parent = int(torch.randint(0, len(parents), (), generator=GENERATOR))
        branch = int(torch.randint(1, 3, (), generator=GENERATOR))
        if words[parent] + (branch,) not in words:
            parents.append(parent), branches.append(branch), words.append(words[parent] + (branch,))
    return parents, branches, words


def between(a, b):
    """The reduced word of −a + b."""
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return [-branch for branch in reversed(a[same:])] + list(b[same:])


class TreeModel(words_model.Model):
    def turned(self, word, k):
        """⌈word⌉ k for every head."""
        for branch in reversed(word):
            k = torch.einsum("hij,hj->hi", self.steps[branch], k)
        return k

    def score(self, q, k, a, b):
        word, scale = between(a, b), 1 / math.sqrt(DIM // HEADS)
        if self.spec.startswith("algebraic(group=tree"):
            return scale * (q * self.turned(word, k)).sum(1) * 0.98 ** len(word)
        content = scale * (q * k).sum(1)
        if self.spec.startswith("alibi(group=tree"):
            return content - torch.tensor(oracle.alibi_slopes(HEADS), dtype=torch.float64) * len(word)
        return content

    def attention(self, x, y, name, mask):
        if self.spec == "algebraic(group=seq, decay=0.98)":
            return super().attention(x, y, name, mask)
        parts = ((x, "query"), (y, "key"), (y, "value"))
        q, k, v = (self.linear(z, f"{name}.{part}").reshape(len(z), HEADS, -1) for z, part in parts)
        at = {"encoder": self.read}.get(name.split(".")[0], self.written)
        memory = self.read if "cross" in name else at
        rows = []
        for i in range(len(x)):
            seen = range(i + 1) if mask == "causal" else range(len(y))
            scores = torch.stack([self.score(q[i], k[j], at[i], memory[j]) for j in seen])
            rows.append(torch.einsum("nh,nhe->he", torch.softmax(scores, 0), v[: len(seen)]).reshape(DIM))
        return self.linear(torch.stack(rows), f"{name}.output")

    def embed(self, tokens):
        x = super().embed(tokens)
        if self.spec.startswith("shiv-quirk"):
            words = self.read if tokens is self.source else self.written
            decay = torch.tanh(self.own["decays"])
            added = torch.zeros(len(tokens), 3, 2, len(decay), dtype=torch.float64)
            for token, word in enumerate(words):
                for step, branch in enumerate(word[::-1][:3]):
                    added[token, step, branch - 1] = decay**step * torch.sqrt(1 - decay**2) * math.sqrt(DIM / 2)
            added = added.reshape(len(tokens), -1)
            x = x + torch.nn.functional.pad(added, (0, DIM - added.shape[1]))
        return x

    def tree_logits(self, source, read, target, written):
        self.source, self.read, self.written = source, read, [()] + written[:-1]
        if "generators" in self.own:
            skew = self.own["generators"] - self.own["generators"].transpose(2, 3)
            branches = [sign * (b + 1) for b in range(skew.shape[1]) for sign in (1, -1)]
            self.steps = {b: torch.matrix_exp(math.copysign(1, b) * skew[:, abs(b) - 1]) for b in branches}
        return self.logits(source, torch.cat([torch.tensor([0]), target[:-1]]))


def first_weights(spec, norm):
    plain = "none" if "tree" in spec or "shiv" in spec else spec
    weights = words_model.first_weights(plain, norm)
    if spec.startswith("algebraic(group=tree"):
        shape = (HEADS, 2, DIM // HEADS, DIM // HEADS)
        weights["position.generators"] = 0.15 * torch.randn(shape, generator=GENERATOR, dtype=torch.float64)
    if spec.startswith("shiv"):
        weights["position.decays"] = 0.7 + 0.299 * torch.rand(DIM // 6, generator=GENERATOR, dtype=torch.float64)
    return weights


def draw_side(arrays, prefix):
    """The trees of one side of all batches, and their arrays."""
    trees = [random_tree(int(torch.randint(1, 12, (), generator=GENERATOR))) for _ in range(STEPS * SAMPLES)]
    tokens = [torch.randint(1, VOCABULARY, (len(tree[0]),), generator=GENERATOR) for tree in trees]
    arrays[f"{prefix}.tokens"] = torch.cat(tokens).int().numpy()
    arrays[f"{prefix}.offsets"] = np.cumsum([0] + [len(tree[0]) for tree in trees]).astype(np.int64)
    arrays[f"{prefix}.parents"] = np.concatenate([tree[0] for tree in trees]).astype(np.int32)
    arrays[f"{prefix}.branches"] = np.concatenate([tree[1] for tree in trees]).astype(np.int32)
    return [(symbols, tree[2]) for symbols, tree in zip(tokens, trees)]


def trajectory(arrays, metadata, number, spec, norm):
    weights = {name: value.clone().float().double() for name, value in first_weights(spec, norm).items()}
    for name, value in weights.items():
        arrays[f"{number}.first.{name}"] = value.numpy().astype(np.float32)
        value.requires_grad_()
    model = TreeModel(weights, spec, norm)
    optimizer = torch.optim.AdamW(weights.values(), lr=1, betas=(0.9, 0.999), eps=1e-4, weight_decay=0.01)
    losses, norms = [], []
    inputs, targets = draw_side(arrays, f"{number}.input"), draw_side(arrays, f"{number}.target")
    for step in range(STEPS):
        loss, tokens = 0, 0
        batch = slice(step * SAMPLES, (step + 1) * SAMPLES)
        for (source, read), (target, written) in zip(inputs[batch], targets[batch]):
            logits = model.tree_logits(source, read, target, written)
            loss = loss + torch.nn.functional.cross_entropy(logits, target, reduction="sum")
            tokens += len(target)
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


if __name__ == "__main__":
    arrays = {"rates": np.array(RATES)}
    metadata = {"count": len(CASES), "steps": STEPS, "samples": SAMPLES, "arity": 2, "vocabulary": VOCABULARY,
                "dim": DIM, "heads": HEADS, "feed_forward": HIDDEN, "torch": torch.__version__, "numpy": np.__version__}
    for number, (spec, norm) in enumerate(CASES):
        trajectory(arrays, metadata, number, spec, norm)
        print(spec, norm, arrays[f"{number}.losses"])
    golden_format.write(GOLDEN / "trees.safetensors", arrays, metadata)
