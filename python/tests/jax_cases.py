# SPDX-License-Identifier: MIT
"""What the tests of locus.jax share. Programs are compiled without the optimisations that take longest."""
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import locus  # noqa: E402
import locus.jax  # noqa: E402
from references import places  # noqa: E402

B, H, L, D = 2, 4, 6, 8
OFFSETS = np.array([0, 2, 2, 6])


def drawn(draw, *shape, count=3, dtype="float64"):
    return [jnp.asarray(draw.standard_normal(shape or (B, H, L, D)), dtype) for _ in range(count)]


def near(one, other, error):
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    assert one.shape == other.shape
    assert np.abs(one - other).max(initial=0) <= error * max(1.0, np.abs(other).max(initial=0))


def parameters_of(spec, draw, dtype="float64", **sizes):
    """Away from where they begin."""
    found = locus.jax.initialise(spec, H, D, seed=1, dtype=dtype, **sizes)
    return {name: x + jnp.asarray(0.1 * np.abs(draw.standard_normal(x.shape)), dtype) for name, x in found.items()}


def stand(spec, tokens=L, offsets=None):
    group = locus.Encoding(spec).group
    return None if group in (None, "seq") or group.startswith("cycle") else places(group, tokens, offsets)


def operands(spec, draw, packed=False, kv_heads=H, dtype="float64"):
    """q, k, v, the bias, the gradient of the output, parameters, and what else attention is told."""
    ahead = lambda heads: (6, heads, D) if packed else (B, heads, L, D)  # noqa: E731
    q, gradient = (drawn(draw, *ahead(H), count=1, dtype=dtype)[0] for _ in range(2))
    k, v = drawn(draw, *ahead(kv_heads), count=2, dtype=dtype)
    bias, = drawn(draw, H, L, L, count=1, dtype=dtype)
    said = dict(positions=stand(spec, 6, OFFSETS if packed else None), enable_gqa=kv_heads != H,
                offsets=OFFSETS if packed else None)
    return q, k, v, bias, gradient, parameters_of(spec, draw, dtype, kv_heads=kv_heads), said


def same_trees(one, other, error):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
        near(x, y, error)


def masks(spec):
    return [True] if locus.Encoding(spec).causal else [False, True]


def with_gradients(spec, gradient, **said):
    """A function of q, k, v, bias and parameters: the output and all gradients."""

    def value(q, k, v, bias, parameters):
        output = locus.jax.attention(q, k, v, spec, parameters=parameters, bias=bias, **said)
        return (output * gradient).sum(), output

    return jax.value_and_grad(value, argnums=(0, 1, 2, 3, 4), has_aux=True)
