# SPDX-License-Identifier: MIT
"""Caches against plans over the whole text."""
import numpy as np
import pytest

import locus
from references import places

T, H, D = 9, 4, 8


def whole(e, p, q, k, v, x=None):
    return e.plan(x if x is not None else places(e.group, T), H, D, p, kv_heads=2).attention(q, k, v, causal=True)


@pytest.mark.parametrize("spec", ["rope", "rope + alibi", "algebraic(group=tree:2, decay=0.98, values=on)", "t5"])
def test_decoding_equals_the_whole(draw, spec):
    e = locus.Encoding(spec)
    p = e.initialise(H, D, seed=2, kv_heads=2)
    q, k, v = draw.standard_normal((T, H, D)), *draw.standard_normal((2, T, 2, D))
    cache = locus.Cache(e, heads=H, head_dim=D, parameters=p, kv_heads=2, capacity=16, dtype="float64")
    wanted = whole(e, p, q, k, v)
    place = places(e.group, T)
    for first, last in ((0, 4), (4, 5), (5, T)):
        x = locus.positions([place.path(i) for i in range(first, last)], e.group)
        cache.append(k[first:last], v[first:last], x)
        assert np.allclose(cache.attend(q[first:last]), wanted[first:last], atol=1e-12)
    assert cache.length() == T and cache.keys().shape == (T, 2, D) and cache.values().shape == (T, 2, D)


def test_positions_follow_by_themselves_and_batches(draw):
    q, k, v = draw.standard_normal((3, 2, H, 3, D)).astype(np.float32)
    cache = locus.Cache("rope", H, D, capacity=8, sequences=2)
    plan = locus.Encoding("rope").plan(locus.positions(6, offsets=[0, 3, 6]), H, D)
    wanted = plan.attention(q, k, v, causal=True)
    for i in range(3):
        cache.append(k[:, :, i:i + 1], v[:, :, i:i + 1])
        assert np.allclose(cache.attend(q[:, :, i:i + 1]), wanted[:, :, i:i + 1], atol=1e-5)
    assert cache.length(1) == 3


def test_what_is_kept_moves(draw):
    e = locus.Encoding("rope")
    k, v, q = draw.standard_normal((3, T, H, D))
    turned = e.plan(T, H, D).apply(k, "key")
    cache = locus.Cache(e, H, D, capacity=32, dtype="float64")
    cache.append(k, v, T)
    cache.truncate(T - 1)
    cache.evict(2, 3, shift=-3)
    rest = np.concatenate([k[:2], k[5:T - 1]])
    assert np.allclose(cache.keys(), e.plan(len(rest), H, D).apply(rest, "key"), atol=1e-12)
    cache.shift(100)
    moved = e.plan(np.arange(len(rest)) + 100, H, D).apply(rest, "key")
    assert np.allclose(cache.keys(), moved, atol=1e-11)
    other = locus.Cache(e, H, D, capacity=32, dtype="float64")
    other.append(k, v, T)
    cache.insert(other, 1, 2)
    assert cache.length() == len(rest) + 2 and np.allclose(cache.keys()[-2:], turned[1:3], atol=1e-14)
    own = turned.copy()
    locus.shift_keys(e, own, locus.path("seq", "7"), H, D)
    assert np.allclose(own, e.plan(np.arange(T) + 7, H, D).apply(k, "key"), atol=1e-12)


def test_a_full_cache_is_shifted_and_attends(draw):
    q, k, v = draw.standard_normal((3, T, H, D))
    cache = locus.Cache("rope + alibi", H, D, capacity=T, dtype="float64")
    cache.append(k, v, T)
    cache.shift(5)
    plan = locus.Encoding("rope + alibi").plan(np.arange(T) + 5, H, D)
    assert np.allclose(cache.keys(), plan.apply(k, "key"), atol=1e-12) and cache.length() == T
    wanted = plan.attention(q, k, v, causal=True)
    assert np.allclose(cache.attend(q), wanted, atol=1e-12)  # the newest tokens are still there
    cache.truncate(T - 1)
    cache.append(k[-1:], v[-1:])
    assert np.allclose(cache.attend(q[-1:])[0], wanted[-1], atol=1e-12)
    with pytest.raises(IndexError):
        cache.shift(1, sequence=1)


def test_refusals(draw):
    k = draw.standard_normal((T, H, D))
    cache = locus.Cache("rope", H, D, capacity=4)
    with pytest.raises(ValueError):
        cache.append(k, k, T)
    assert cache.length() == 0
    with pytest.raises(ValueError):
        cache.truncate(1)
    with pytest.raises(IndexError):
        cache.keys(1)
    with pytest.raises(locus.UnsupportedError):
        locus.Cache("rope + relative", H, D)
    with pytest.raises(locus.DtypeError):
        locus.Cache("rope", H, D, dtype="int8")
    with pytest.raises(IndexError):
        cache.truncate(0, sequence=-1)
