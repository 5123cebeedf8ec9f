#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Coefficients of lab/nn/gelu.c: the tail of the normal distribution, divided by its exponential,

    Q(x) e^{x²/2} = t P(t),   t = 1 / (1 + p x),   0 <= x <= 14,

P a polynomial of degree 8 with the least greatest relative error (iteratively reweighted least squares on Chebyshev
nodes). Made with NumPy 2.4.6 and SciPy 1.17.1; prints the coefficients, highest power last, and their error in float32.
"""
import numpy as np
import scipy.special as special

P, DEGREE, NODES, END = 0.21, 8, 4000, 14.0


def fit():
    least = 1 / (1 + P * END)
    t = least + (1 - least) * (np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES) + 1) / 2
    x = (1 / t - 1) / P
    wanted = 0.5 * special.erfcx(x / np.sqrt(2)) / t
    basis = np.polynomial.chebyshev.chebvander(2 * (t - least) / (1 - least) - 1, DEGREE)
    weight = np.ones(NODES)
    for _ in range(300):
        row = np.sqrt(weight) / wanted
        c, *_ = np.linalg.lstsq(basis * row[:, None], wanted * row, rcond=None)
        error = np.abs((basis @ c - wanted) / wanted)
        weight *= error / error.max() + 1e-3
        weight /= weight.mean()
    series = np.polynomial.chebyshev.Chebyshev(c, domain=[least, 1]).convert(kind=np.polynomial.Polynomial)
    return series.coef, error.max()


coefficients, error = fit()
x = np.linspace(0, END, 1000001).astype(np.float32)
t = np.float32(1) / (np.float32(1) + np.float32(P) * x)
y = np.zeros_like(t)
for c in coefficients[::-1]:
    y = y * t + np.float32(c)
y *= t
exact = 0.5 * special.erfcx(x.astype(float) / np.sqrt(2))
print(", ".join(f"{c:.9e}f" for c in coefficients))
print(f"greatest relative error {error:.2e}; evaluated in float32 {np.abs(y / exact - 1).max():.2e}")
