# SPDX-License-Identifier: MIT
"""What is wrong with a caller's input is said in one line: what, where, and what to do; nothing is lost by it."""
import gc
import multiprocessing
import os
import weakref

import numpy as np
import pytest

import locus

T, H, D = 5, 2, 8


def tensors(*shape, dtype=np.float64):
    return np.random.default_rng(3).standard_normal((3, *(shape or (T, H, D)))).astype(dtype)


def line(caught):
    """The message, which is one line."""
    text = str(caught.value)
    assert text and "\n" not in text
    return text


@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.complex64, np.bool_, ">f4", "datetime64[s]", object])
def test_wrong_element_types(name, dtype):
    plan = locus.Encoding("rope").plan(T, H, D)
    arrays = dict(zip("qkv", tensors()))
    arrays[name] = arrays[name].astype(dtype) if dtype != "datetime64[s]" else np.zeros((T, H, D), dtype)
    with pytest.raises(locus.DtypeError) as caught:
        plan.attention(**arrays)
    assert name in line(caught)
    q, k, v = tensors()
    assert np.isfinite(plan.attention(q, k, v)).all()


def test_mixed_element_types():
    plan = locus.Encoding("rope").plan(T, H, D)
    q, k, v = tensors()
    with pytest.raises(locus.DtypeError) as caught:
        plan.attention(q, k.astype(np.float32), v)
    line(caught)


@pytest.mark.parametrize("shapes, words", [
    (((T + 1, H, D), (T, H, D), (T, H, D)), str(T + 1)), (((T, H, D), (T, H + 1, D), (T, H, D)), ""),
    (((T, H, D), (T, H, D), (T - 1, H, D)), ""), (((T, H, D - 2), (T, H, D), (T, H, D)), ""),
    (((T, H), (T, H), (T, H)), ""), (((), (), ()), ""),
    (((2, H, T, D),) * 3, "")])
def test_wrong_shapes(shapes, words):
    plan = locus.Encoding("rope").plan(T, H, D)
    with pytest.raises(locus.ShapeError) as caught:
        plan.attention(*(np.zeros(shape) for shape in shapes))
    assert words in line(caught)


def test_any_stride_is_read():
    """Strides are never wrong for what is read: the last dimension may be backward, broadcast or a column."""
    plan = locus.Encoding("rope").plan(T, H, D)
    q, k, v = tensors()
    wanted = plan.attention(q, k, v)
    column = np.zeros((T, H, D, 3))
    column[..., 1] = k
    backward = np.ascontiguousarray(v[..., ::-1])[..., ::-1]
    assert np.array_equal(plan.attention(q, column[..., 1], backward), wanted)
    row = np.broadcast_to(q[:1], q.shape)
    assert np.array_equal(plan.attention(row, k, v), plan.attention(row.copy(), k, v))
    with pytest.raises(locus.ShapeError) as caught:  # written to, so that a copy would be lost
        locus.shift_keys("rope", np.zeros((T, H, 2 * D))[..., ::2], 3, H, D)
    assert "contiguous" in line(caught)


def test_memory_that_may_not_be_written():
    keys = tensors()[1]
    keys.setflags(write=False)
    with pytest.raises((ValueError, locus.DtypeError)) as caught:
        locus.shift_keys("rope", keys, 3, H, D)
    line(caught)


@pytest.mark.parametrize("spec, text, offset, length, suggestion", [
    ("rope(bsae=3)", "bsae", 5, 4, "base"), ("rope + alibbi", "alibbi", 7, 6, "alibi"),
    ("rope(pairs=halv)", "halv", 11, 4, "half"), ("ü", "ü", 0, 1, None)])
def test_a_caret_below_what_is_meant(spec, text, offset, length, suggestion):
    with pytest.raises(locus.SpecError) as caught:
        locus.Encoding(spec)
    error = caught.value
    message, shown, caret = str(error).split("\n")
    assert message == error.message and shown == "  " + spec
    assert (error.offset, error.length, error.suggestion) == (offset, length, suggestion)
    assert caret == "  " + " " * offset + "^" + "~" * (length - 1) and spec[offset:offset + length] == text


@pytest.mark.parametrize("make", [lambda: locus.path("tree:2", "1+3"), lambda: locus.positions(3, "tre:2"),
                                  lambda: locus.Encoding("rope").plan(T, H, D).attention(*tensors(), kind="liner")])
def test_texts_of_every_kind_have_a_place(make):
    with pytest.raises(locus.SpecError) as caught:
        make()
    assert caught.value.offset is not None and "^" in str(caught.value)


def test_arrays_die_before_the_plan():
    """A plan holds what it needs: values given to it may change, go, or be an owner's memory that goes."""
    q, k, v = tensors()
    e = locus.Encoding("rope(learned=on) + t5")
    p = e.initialise(H, D, seed=1)
    x = np.arange(T)
    wanted = e.plan(x, H, D, p).attention(q, k, v)
    plan = e.plan(x, H, D, p)
    alive = weakref.ref(next(iter(p.values())))
    x[:] = 99
    for value in p.values():
        value[...] = np.nan
    plan.parameters.clear()
    del p, x, value
    gc.collect()
    assert alive() is None and np.array_equal(plan.attention(q, k, v), wanted)
    positions = locus.positions(np.arange(T))
    other = e.plan(positions, H, D, e.initialise(H, D, seed=1))
    del positions, e
    gc.collect()
    assert np.array_equal(other.attention(q, k, v), wanted)


def attended(seed):
    q, k, v = np.random.default_rng(seed).standard_normal((3, 64, H, D))
    return locus.Encoding("rope + alibi").plan(64, H, D).attention(q, k, v, causal=True)


@pytest.mark.parametrize("way", ["spawn", "fork", "forkserver"])
def test_pythons_in_one_tree(way):
    """Processes that this one starts, in every way, beside one another and this one."""
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {way}")
    wanted = [attended(seed) for seed in range(4)]
    with multiprocessing.get_context(way).Pool(2) as pool:
        theirs = pool.map_async(attended, range(4))
        own = [attended(seed) for seed in range(4)]
        found = theirs.get(timeout=100)
    assert all(np.array_equal(a, b) and np.array_equal(b, c) for a, b, c in zip(wanted, own, found))
    assert os.getpid()


# ---- PyTorch ----


def test_torch_says_the_same():
    torch = pytest.importorskip("torch")
    import locus.torch
    q, k, v = (torch.from_numpy(x).permute(1, 0, 2)[None] for x in tensors())
    wanted = locus.torch.attention(q, k, v, "rope")
    for changes, error, words in (
            (dict(q=q.int(), k=k.int(), v=v.int()), locus.DtypeError, "torch.int32"),
            (dict(v=v.float()), locus.DtypeError, "one type"), (dict(k=k.to("meta")), locus.DtypeError, "meta"),
            (dict(q=q[0]), locus.ShapeError, "[batch, heads, length, dim]"),
            (dict(k=k[..., :4]), locus.ShapeError, "do not go together"),
            (dict(bias=torch.zeros(3, 3)), locus.ShapeError, "bias is [3, 3]"),
            (dict(positions=torch.arange(T + 1)), locus.ShapeError, "[6]"),
            (dict(encoding="rpe"), locus.SpecError, "rpe"), (dict(scale=0), ValueError, "scale"),
            (dict(offsets=torch.tensor([0, T])), locus.ShapeError, "as offsets are given"),
            (dict(backend="gpu"), ValueError, "auto, locus or forms")):
        with pytest.raises(error) as caught:
            locus.torch.attention(**{**dict(q=q, k=k, v=v, encoding="rope"), **changes})
        assert words in str(caught.value)
        assert torch.equal(locus.torch.attention(q, k, v, "rope"), wanted)
    strange = torch.stack([k, k], -1)[..., 0], v.expand(1, H, T, D), q.transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(locus.torch.attention(strange[2], strange[0], strange[1], "rope"), wanted)
