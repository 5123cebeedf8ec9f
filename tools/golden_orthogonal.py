#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden values for src/linalg/orthogonal.h, made with PyTorch's autograd in double: W from A for each
parametrisation, dL/dA for L = Σ C∘W, and dL/dA for L = Σ_t g_tᵀ W^{p_t} x_t with powers multiplied out by torch.linalg.matrix_power.

    python3 tools/golden_orthogonal.py tests/golden/orthogonal.safetensors
"""
import sys

import torch

import golden_format

KINDS = ("skew", "cayley", "householder")  # in the order of locus_orthogonal_kind


def make(kind, a):
    n = a.shape[0]
    eye = torch.eye(n, dtype=a.dtype)
    s = a - a.T
    if kind == "skew":
        return torch.matrix_exp(s)
    if kind == "cayley":
        return torch.linalg.solve(eye - s, eye + s)
    w = eye
    for v in a:
        w = w @ (eye - 2 * torch.outer(v, v) / (v @ v))
    return w


def parameters(n, spread):
    """Generic, or a spectrum with much in common: rotations by one angle, and zeros."""
    a = torch.randn(n, n, dtype=torch.float64)
    if spread == "generic":
        return a
    q = torch.linalg.qr(a)[0]
    block = torch.zeros(n, n, dtype=torch.float64)
    for i in range(0, (n + 1) // 2 - 1, 2):
        block[i, i + 1], block[i + 1, i] = -0.35, 0.35
    return q @ block @ q.T


def case(kind, n, spread):
    a = parameters(n, spread)
    if kind == "householder" and spread != "generic":  # pairs of equal reflections: many eigenvalues 1
        a = torch.cat([torch.randn(n % 2, n, dtype=torch.float64), a[: n // 2] + torch.eye(n)[: n // 2].double(),
                       (a[: n // 2] + torch.eye(n)[: n // 2].double()).flip(0)])
    a = a.clone().requires_grad_()
    c = torch.randn(n, n, dtype=torch.float64)
    w = make(kind, a)
    (g,) = torch.autograd.grad((c * w).sum(), a, retain_graph=True)
    p = [17, -17, 0, 1, -1, 2, 5]
    x, up = torch.randn(len(p), n, dtype=torch.float64), torch.randn(len(p), n, dtype=torch.float64)
    loss = sum(up[t] @ torch.linalg.matrix_power(w, e) @ x[t] for t, e in enumerate(p))
    (power,) = torch.autograd.grad(loss, a)
    return {"A": a, "C": c, "W": w, "G": g, "p": torch.tensor(p, dtype=torch.float64), "x": x, "g": up, "power": power}


def main(path):
    torch.manual_seed(33)
    arrays, texts, index = {}, {}, 0
    for number, kind in enumerate(KINDS):
        for n in (1, 2, 3, 5, 8, 9):
            for spread in ("generic", "shared"):
                for name, value in case(kind, n, spread).items():
                    arrays[f"{index}.{name}"] = value.detach().numpy()
                texts[f"{index}.kind"] = str(number)
                index += 1
    golden_format.write(path, arrays, {"count": index, **texts})


if __name__ == "__main__":
    main(sys.argv[1])
