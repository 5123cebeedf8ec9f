# SPDX-License-Identifier: MIT
"""Writes tests/golden/embeddings.safetensors: what is added to tokens, by plain definitions.

sinusoidal   NumPy's float64, both layouts, whole and real positions
chebyshev    the recurrence T_i = 2x T_{i−1} − T_{i−2} in decimals of 80 digits from an exact x, for up to 65,536 dimensions
shiv-quirk   one-hot steps times powers of tanh in PyTorch, its gradient by autograd"""
import decimal
import fractions
import pathlib

import numpy as np
import torch

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"


def options_of(spec):
    _, _, rest = spec.partition("(")
    return dict(pair.strip().split("=") for pair in rest.rstrip(")").split(",")) if rest else {}


def sinusoidal(spec, positions, dim):
    options, p = options_of(spec), positions[:, None]
    base = float(options.get("base", 10000))
    if options.get("layout") == "concatenated":
        angle = p * base ** (-np.arange(dim // 2) / (dim // 2 - 1))
        return np.concatenate([np.sin(angle), np.cos(angle)], 1)
    i = np.arange(dim)
    angle = p * base ** (-(i // 2 * 2) / dim)
    return np.where(i % 2 == 0, np.sin(angle), np.cos(angle))


def chebyshev(spec, positions, dim):
    decimal.getcontext().prec = 80
    size = int(options_of(spec).get("size", 512))
    table = np.empty((len(positions), dim))
    for row, position in zip(table, positions):
        exact = 2 * fractions.Fraction(float(position)) / (size - 1) - 1
        x = decimal.Decimal(exact.numerator) / decimal.Decimal(exact.denominator)
        before, now = decimal.Decimal(1), x
        for i in range(dim):
            row[i] = float(before)
            before, now = now, 2 * x * now - before
    return table


def shiv_quirk(spec, words, dim, decays):
    """One row for each word, a list of branches from 1, the root's first."""
    options = options_of(spec)
    k, depth, copies = int(options.get("k", 2)), int(options.get("depth", 16)), len(decays)
    rows = []
    for word in words:
        one_hot = torch.zeros(depth, k, dtype=torch.float64)
        for t, branch in enumerate(list(reversed(word))[:depth]):
            one_hot[t, branch - 1] = 1
        T = torch.tanh(decays)
        power = torch.stack([T**t for t in range(depth)])  # [depth, copies]
        scaled = one_hot[:, :, None] * (power * torch.sqrt(1 - T**2) * (dim / 2) ** 0.5)[:, None, :]
        rows.append(torch.cat([scaled.reshape(-1), torch.zeros(dim - depth * k * copies, dtype=torch.float64)]))
    return torch.stack(rows)


def main():
    arrays, metadata, count = {}, {}, 0

    def record(spec, values):
        nonlocal count
        metadata[f"{count}.spec"] = spec
        for name, value in values.items():
            arrays[f"{count}.{name}"] = value
        count += 1

    whole = np.array([0, 1, 2, 3, 63, 64, 500, 1048575], dtype=np.float64)
    real = np.array([0.5, -3.25, 17.125, 0.0, 1e-3, 1234.56789])
    for spec in ["sinusoidal", "sinusoidal(base=100)", "sinusoidal(layout=concatenated)"]:
        for positions in (whole, real):
            record(spec, {"positions": positions, "e": sinusoidal(spec, positions, 12)})
    for spec, positions, dim, columns in [
        ("chebyshev", np.array([0, 1, 2, 100, 255, 256, 400, 510, 511], dtype=np.float64), 48, None),
        ("chebyshev(size=2)", np.array([0, 1], dtype=np.float64), 7, None),
        ("chebyshev(size=9)", np.array([0, 0.125, 4, 3.999, 7.5, 8]), 200, None),
        ("chebyshev(size=1001, site=output)", np.array([0, 500, 1000, 333], dtype=np.float64), 65, None),
        ("chebyshev(size=100000)", np.array([0, 1, 77, 49999.5, 60000, 99998, 99999]), 65536,
         np.array([0, 1, 2, 63, 64, 65, 1000, 4095, 4096, 32767, 50001, 65534, 65535])),
    ]:
        table = chebyshev(spec, positions, dim)
        columns = np.arange(dim) if columns is None else columns
        record(spec, {"positions": positions, "columns": columns.astype(np.int64), "e": table[:, columns],
                      "dim": np.array([dim], dtype=np.int64)})
    generator = torch.Generator().manual_seed(20240611)
    words = [[], [1], [2], [1, 2], [2, 1, 1], [1, 1, 2, 2, 1], [2] * 9, [1, 2] * 12, [2, 1]]
    for spec, dim, k in [("shiv-quirk(depth=4)", 19, 2), ("shiv-quirk(k=3, depth=2)", 12, 3), ("shiv-quirk", 70, 2),
                         ("shiv-quirk(depth=1)", 90, 2)]:
        options = options_of(spec)
        copies = dim // (int(options.get("depth", 16)) * k)
        decays = (0.7 + 0.299 * torch.rand(copies, dtype=torch.float64, generator=generator)).requires_grad_()
        used = words + ([[3], [1, 3, 2]] if k == 3 else [])
        gy = torch.randn(len(used), dim, dtype=torch.float64, generator=generator)
        e = shiv_quirk(spec, used, dim, decays)
        (e * gy).sum().backward()
        record(spec, {"starts": np.cumsum([0] + [len(word) for word in used]).astype(np.int64),
                      "branches": np.array([b for word in used for b in word], dtype=np.int64), "e": e.detach().numpy(),
                      "gy": gy.numpy(), "parameter.decays": decays.detach().numpy(), "gradient.decays": decays.grad.numpy()})
    metadata["count"] = count
    metadata["made by"] = f"numpy {np.__version__}, torch {torch.__version__}"
    golden_format.write(GOLDEN / "embeddings.safetensors", arrays, metadata)


if __name__ == "__main__":
    main()
