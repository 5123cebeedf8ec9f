# SPDX-License-Identifier: MIT
"""locus.jax under vmap, against its entries one by one: a larger batch, or a loop inside of a call."""
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from jax_cases import B, H, L, D, drawn, near, operands, parameters_of, same_trees, with_gradients  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import locus  # noqa: E402
import locus.jax  # noqa: E402


@pytest.fixture(autouse=True)
def wide():
    jax.config.update("jax_enable_x64", True)
    locus.set_threads(1)


def by_hand(function, axes, *arrays):
    """What vmap promises: entries one by one."""
    size = next(x.shape[axis] for x, axis in zip(map(jax.tree.leaves, arrays), axes) for x in x if axis is not None)
    entries = [function(*(x if axis is None else jax.tree.map(lambda y: jnp.take(y, i, axis), x)
                          for x, axis in zip(arrays, axes))) for i in range(size)]
    return jax.tree.map(lambda *all: jnp.stack(all), *entries)


@pytest.mark.parametrize("spec, packed, axes", [
    ("rope + t5", False, (0, 0, 0, None, None)), ("rope + t5", True, (0, None, 1, None, None)),
    ("rope + t5", False, (0, 0, 0, 0, None)), ("rope + t5", True, (0, 0, 0, 0, 0)),
    ("rope + t5", False, (None, None, 2, 0, 0)), ("rope + t5", True, (None, 0, None, None, 0)),
    ("algebraic(group=tree:2, decay=0.98)", True, (0, 0, 0, None, None)),
    ("algebraic(group=tree:2, decay=0.98)", False, (0, None, None, None, 0))])
def test_vmap(spec, packed, axes, draw):
    q, k, v, bias, gradient, p, said = operands(spec, draw, packed)
    arrays = [x if axis is None else jax.tree.map(lambda y, axis=axis: jnp.stack([y, 2 * y, y + 1], axis), x)
              for x, axis in zip((q, k, v, bias, p), axes)]
    of_each = jax.jit(with_gradients(spec, gradient, is_causal=True, backend="locus", **said))
    wanted = by_hand(of_each, axes, *arrays)
    same_trees(jax.jit(jax.vmap(of_each, axes))(*arrays), wanted, 1e-12)

    def whole(*arrays):
        return jax.vmap(of_each, axes)(*arrays)[0][0].sum()

    summed = [x if axis is not None else jax.tree.map(lambda y: y.sum(0), x) for x, axis in zip(wanted[1], axes)]
    moved = [x if axis is None else jax.tree.map(lambda y, axis=axis: jnp.moveaxis(y, 0, axis), x)
             for x, axis in zip(summed, axes)]
    same_trees(jax.jit(jax.grad(whole, range(5)))(*arrays), tuple(moved), 1e-12)


def test_what_vmap_makes_of_a_call(draw):
    """A batch where it can be one, a loop inside of the library where sums are apart."""
    q, k, v, bias, gradient, p, said = operands("t5", draw)
    three = jnp.stack([q, q, q])

    def text(function, *arrays):
        return str(jax.make_jaxpr(function)(*arrays))

    folded = text(jax.vmap(lambda q: locus.jax.attention(q, k, v, "t5", parameters=p)), three)
    assert "folds=3" in folded and "loops=0" in folded and "scan" not in folded and "while" not in folded
    one = jax.grad(lambda p, q: (locus.jax.attention(q, k, v, "t5", parameters=p) * gradient).sum())
    looped = text(jax.vmap(one, (None, 0)), p, three)
    assert "folds=3" in looped and "loops=3" in looped and "scan" not in looped and "while" not in looped


@pytest.mark.parametrize("packed", [False, True])
def test_vmap_within_vmap(packed, draw):
    spec = "rope + t5"
    q, k, v, bias, gradient, p, said = operands(spec, draw, packed)
    q = jnp.stack([jnp.stack([q, -q]), jnp.stack([q + 1, q - 1]), jnp.stack([2 * q, q])])
    p = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), p)
    bias = jnp.stack([bias, 1 - bias, 2 * bias])
    function = with_gradients(spec, gradient, is_causal=True, backend="locus", **said)
    inner, outer = (0, None, None, None, 0), (0, None, None, 0, None)
    function = jax.jit(function)
    made = jax.jit(jax.vmap(jax.vmap(function, inner), outer))(q, k, v, bias, p)
    wanted = by_hand(lambda *arrays: by_hand(function, inner, *arrays), outer, q, k, v, bias, p)
    same_trees(made, wanted, 1e-12)


def test_vmap_of_positions_and_offsets(draw):
    q, k, v = drawn(draw)
    of_positions = lambda x: locus.jax.attention(q, k, v, "rope + alibi", x)  # noqa: E731
    places = jnp.asarray(draw.integers(0, 50, (3, L)))
    near(jax.vmap(of_positions)(places), by_hand(of_positions, (0,), places), 1e-14)
    places = jnp.asarray(draw.integers(0, 50, (3, B, L)))
    near(jax.vmap(of_positions)(places), by_hand(of_positions, (0,), places), 1e-14)
    q, k, v = drawn(draw, L, H, D)
    of_ends = lambda ends: locus.jax.attention(q, k, v, "rope", offsets=ends, is_causal=True)  # noqa: E731
    ends = jnp.asarray([[0, 2, 6], [0, 0, 5], [0, 6, 6]])
    near(jax.vmap(of_ends)(ends), by_hand(of_ends, (0,), ends), 1e-14)
    twice = jnp.stack([ends, ends[::-1]])
    near(jax.vmap(jax.vmap(of_ends))(twice), by_hand(lambda x: by_hand(of_ends, (0,), x), (0,), twice), 1e-14)


def test_vmap_of_positions_that_length_depends_on(draw):
    spec = "rope(scaling=dynamic, factor=4, original=4)"
    x, places = jnp.array(draw.standard_normal((2, B, H, L, D))), jnp.array([np.arange(L), np.arange(L) + 40])

    def turned(x, places):
        return locus.jax.attention(x, x, x, spec, places, is_causal=True)

    near(jax.vmap(turned)(x, places), by_hand(turned, (0, 0), x, places), 1e-14)


def test_vmap_of_one_site(draw):
    x = drawn(draw, 3, B, H, L, D, count=1)[0]
    p = parameters_of("rope(learned=on)", draw)
    turned = lambda x, p: locus.jax.apply(x, "rope(learned=on)", parameters=p)  # noqa: E731
    near(jax.vmap(turned, (0, None))(x, p), by_hand(turned, (0, None), x, p), 1e-14)
    one = jax.grad(lambda p, x: (turned(x, p) * jnp.cos(x)).sum())
    same_trees(jax.vmap(one, (None, 0))(p, x), by_hand(one, (None, 0), p, x), 1e-12)
