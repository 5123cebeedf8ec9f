# SPDX-License-Identifier: MIT
"""locus for JAX: attention with positional encodings, differentiable in queries, keys, values, parameters and bias.

    import locus.jax
    parameters = locus.jax.initialise("rope + t5", heads=8, head_dim=64)           # a dict of arrays: a pytree
    output = locus.jax.attention(q, k, v, "rope + t5", parameters=parameters, is_causal=True)

On the CPU the library's kernels compute, called by XLA; elsewhere operations of JAX from the plan's forms (`backend`).
Both go under jit, grad, vmap, scan and remat. Kernels have gradients of first order, in reverse; forms are what JAX
differentiates, as often and in whichever direction it likes."""
from .functions import apply, attention, initialise
from .xla import forget

__all__ = ["apply", "attention", "forget", "initialise"]
