#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden values for src/linalg, made with SciPy: exponentials of skew matrices, and the gradient of Σ_t g_t·exp(p_t S)x_t with
respect to S by scipy.linalg.expm_frechet (its adjoint: the derivative at (pS)ᵀ in the direction g xᵀ).

    python3 tools/golden_linalg.py tests/golden/linalg.safetensors
"""
import sys

import numpy as np
from scipy.linalg import expm, expm_frechet

import golden_format


def skew(rng, n, kind):
    """Angles: free, equal, nearly equal, none."""
    a = rng.standard_normal((n, n))
    if kind == "free":
        return a - a.T
    q = np.linalg.qr(a)[0]
    block = np.zeros((n, n))
    for i in range(n // 2):
        angle = {"equal": 0.8, "near": 1.1 + (i > 0) * 10.0 ** (-2 * i), "zero": 0.0}[kind]
        block[2 * i, 2 * i + 1], block[2 * i + 1, 2 * i] = -angle, angle
    s = q @ block @ q.T
    return (s - s.T) / 2


def main(path):
    rng = np.random.default_rng(20)
    arrays, texts, case = {}, {}, 0
    for n in (1, 2, 3, 5, 8, 16):
        for kind in ("free", "equal", "near", "zero"):
            s = skew(rng, n, kind)
            p = np.array([3.0, -2.0, 0.0, 11.0])
            x, g = rng.standard_normal((4, n)), rng.standard_normal((4, n))
            gradient = sum(t * expm_frechet((t * s).T, np.outer(g[i], x[i]), compute_expm=False) for i, t in enumerate(p))
            for name, value in (("S", s), ("exp", expm(s)), ("p", p), ("x", x), ("g", g), ("gradient", gradient)):
                arrays[f"{case}.{name}"] = value
            texts[f"{case}.kind"] = f"{kind}, n = {n}"
            case += 1
    golden_format.write(path, arrays, {"count": case, **texts})


if __name__ == "__main__":
    main(sys.argv[1])
