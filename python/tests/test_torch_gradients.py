# SPDX-License-Identifier: MIT
"""Gradients of the library's kernels against PyTorch's autograd in float64, which differentiates attention written in
PyTorch's operations from the plan's forms: every encoding × mask × packed or not × heads of keys that serve groups."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import locus  # noqa: E402
import locus.torch  # noqa: E402
from references import SPECS, places  # noqa: E402

# What hides keys by itself, with a score that takes weight from them.
HIDING = ["scores(window=3)", "scores(window=2, keep=1)", "scores(chunk=2)", "scores(sinks=on)",
          "rope + scores(window=3, keep=1, sinks=on)"]
BATCH, LENGTH, HEADS, DIM = 2, 6, 4, 8
OFFSETS = [0, 4, 4, 11]  # the second sequence is empty
ERROR = 1e-9


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(5)
    torch.set_num_threads(1)  # small tensors: threads would only wait for one another
    locus.set_threads(1)


def inputs(packed, kv_heads):
    shapes = [(OFFSETS[-1], heads, DIM) if packed else (BATCH, heads, LENGTH, DIM)
              for heads in (HEADS, kv_heads, kv_heads)]
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def stand(encoding, packed):
    """Where tokens stand; sequences apart that hold one sequence of positions stand alike."""
    group = encoding.group
    if group is None or group == "seq":
        return None
    return places(group, OFFSETS[-1], OFFSETS) if packed else places(group, LENGTH)


def hidden(packed):
    """A bias with a gradient, that hides some keys, never all of a row."""
    length = max(np.diff(OFFSETS)) if packed else LENGTH
    bias = torch.randn(HEADS, length, length, dtype=torch.float64)
    bias[torch.rand(bias.shape) < 0.3] = -torch.inf
    bias[..., range(length), range(length)] = 0.5
    bias[..., 0] = 0.25
    return bias.requires_grad_()


@pytest.mark.parametrize("grouped", [False, True], ids=["heads", "groups"])
@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
@pytest.mark.parametrize("mask", ["full", "causal", "bias"])
@pytest.mark.parametrize("spec", SPECS + HIDING)
def test_gradients(spec, mask, packed, grouped):
    encoding = locus.Encoding(spec)
    if encoding.causal and mask != "causal":
        pytest.skip("needs the causal mask")
    kv_heads = HEADS // 2 if grouped else HEADS
    own = locus.torch.Attention(spec, HEADS, DIM, kv_heads=kv_heads, dtype=torch.float64)
    with torch.no_grad():
        for p in own.parameters():
            p.add_(0.1 * torch.rand_like(p))  # away from where they begin
    q, k, v = inputs(packed, kv_heads)
    bias = hidden(packed) if mask == "bias" else None
    of = [q, k, v, *own.parameters(), *([] if bias is None else [bias])]
    upstream, found = torch.randn_like(q), []
    for backend in ("locus", "forms"):
        output = locus.torch.attention(
            q, k, v, encoding, stand(encoding, packed), own, is_causal=mask == "causal", enable_gqa=grouped,
            offsets=torch.tensor(OFFSETS) if packed else None, backend=backend, bias=bias)
        made = torch.autograd.grad(output, of, upstream, allow_unused=True)
        found.append([output, *made])
    for mine, other, x in zip(*found, [q, *of]):
        mine, other = (torch.zeros_like(x) if each is None else each for each in (mine, other))
        assert torch.isfinite(mine).all()
        assert (mine - other).abs().max() <= ERROR * max(1.0, other.abs().max())
