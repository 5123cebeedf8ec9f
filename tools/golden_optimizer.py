# SPDX-License-Identifier: MIT
"""Makes tests/golden/optimizer.safetensors with PyTorch: torch.optim.AdamW and torch.optim.Adam (whose weight_decay is added to
the gradient), with and without clip_grad_norm_, under StepLR. The file names the versions that made it.
Usage: python3 tools/golden_optimizer.py (needs torch, numpy)."""
import pathlib

import numpy as np
import torch

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
ELEMENTS, STEPS, STAIR, FACTOR = 37, 20, 6, 0.1
CASES = [
    ("decoupled", 0.01, 0.0, 0.02),
    ("decoupled", 0.3, 2.5, 0.02),
    ("coupled", 1e-5, 1.0, 1e-4),
    ("coupled", 0.2, 0.0, 0.05),
    ("coupled", 0.2, 2.5, 0.05),
]


def run(kind, decay, clip, rate, generator):
    start = torch.randn(ELEMENTS, generator=generator)
    gradients = torch.randn(STEPS, ELEMENTS, generator=generator)
    values = torch.nn.Parameter(start.clone())
    make = torch.optim.AdamW if kind == "decoupled" else torch.optim.Adam
    optimizer = make([values], lr=rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=STAIR, gamma=FACTOR)
    after, rates = [], []
    for step in range(STEPS):
        values.grad = gradients[step].clone()
        if clip > 0:
            torch.nn.utils.clip_grad_norm_([values], clip)
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
        after.append(values.detach().clone())
    return {"start": start, "gradients": gradients, "values": torch.stack(after),
            "rates": torch.tensor(rates, dtype=torch.float64)}


def main():
    arrays = {}
    texts = {"torch": torch.__version__, "numpy": np.__version__, "count": len(CASES), "stair": STAIR, "factor": FACTOR}
    generator = torch.Generator().manual_seed(6)
    for i, (kind, decay, clip, rate) in enumerate(CASES):
        for name, tensor in run(kind, decay, clip, rate, generator).items():
            arrays[f"{i}.{name}"] = tensor.numpy()
        texts |= {f"{i}.kind": kind, f"{i}.decay": decay, f"{i}.clip": clip, f"{i}.rate": rate}
    golden_format.write(GOLDEN / "optimizer.safetensors", arrays, texts)


if __name__ == "__main__":
    main()
