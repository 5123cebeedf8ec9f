# SPDX-License-Identifier: MIT
"""locus for PyTorch: attention with positional encodings, differentiable in queries, keys, values and parameters.

    import locus.torch
    output = locus.torch.attention(q, k, v, "rope + alibi", is_causal=True)       # [batch, heads, length, dim]
    layer = locus.torch.Attention("algebraic(group=seq)", heads=8, head_dim=64)

On the CPU the library's kernels compute, elsewhere PyTorch's own operations from the plan's forms (`backend`).
Plans are kept: a call with the encoding, shape and positions of an earlier one finds its plan. Gradients are of first
order."""
from .calls import attention
from .modules import Attention, Encoding
from .planning import forget

__all__ = ["Attention", "Encoding", "attention", "forget"]
