# SPDX-License-Identifier: MIT
"""Plans against small NumPy references; gradients against central differences."""
import numpy as np
import pytest

import locus
from references import SPECS, apart, attended, places, rotated

T, H, D = 7, 2, 8


def drawn(draw, *shape):
    return draw.standard_normal(shape or (3, T, H, D))


def test_rotary_by_hand(draw):
    q, k, v = drawn(draw)
    plan = locus.Encoding("rope").plan(T, H, D)
    assert np.allclose(plan.apply(q), rotated(q), atol=1e-14)
    assert np.allclose(plan.apply(plan.apply(k, "key"), "key", inverse=True), k, atol=1e-14)
    for causal in (False, True):
        output, sums, weights = attended(rotated(q), rotated(k), v, causal)
        own, own_sums = plan.attention(q, k, v, causal=causal, return_lse=True)
        assert np.allclose(own, output, atol=1e-13) and np.allclose(own_sums, sums, atol=1e-13)
        assert np.allclose(plan.weights(q, k, causal=causal), weights, atol=1e-13)
        with_sequences = plan.attention(apart(q), apart(k), apart(v), causal=causal)
        assert np.array_equal(with_sequences[0].transpose(1, 0, 2), own)
        assert np.array_equal(plan.weights(apart(q), apart(k), causal=causal)[0], plan.weights(q, k, causal=causal))


def test_bias_scale_and_scores(draw):
    q, k, v = drawn(draw)
    plan = locus.Encoding("alibi").plan(T, H, D)
    bias = draw.standard_normal((H, T, T))
    scores = plan.scores()
    assert scores.shape == (H, T, T)
    assert np.allclose(scores[0], -2.0 ** -4 * np.abs(np.arange(T)[:, None] - np.arange(T)), atol=1e-15)
    output, _, _ = attended(q, k, v, True, scores + bias, 0.3)
    assert np.allclose(plan.attention(q, k, v, causal=True, bias=bias, scale=0.3), output, atol=1e-13)
    decay = locus.Encoding("decay(rate=0.9)").plan(T, H, D)
    assert np.allclose(decay.scores(factors=True)[0], 0.9 ** np.abs(np.arange(T)[:, None] - np.arange(T)))


def test_prefixes_and_kept_keys(draw):
    q, k, v = drawn(draw)
    ends, rows = np.array([0, 3, T]), np.arange(T)
    plan = locus.Encoding("rope").plan(locus.positions(T, offsets=ends), H, D)
    found = plan.attention(q, k, v, causal=True, prefix=[2, 3])
    for first, last, prefix in ((0, 3, 2), (3, T, 3)):
        own = locus.Encoding("rope").plan(last - first, H, D)
        t = rows[:last - first]
        seen = np.where((t <= t[:, None]) | (t < prefix), 0.0, -np.inf)
        assert np.allclose(own.attention(*(x[first:last] for x in (q, k, v)), bias=seen), found[first:last], atol=1e-13)
    for bad in ([], [2], [2, 3, 1]):
        for call in (lambda: plan.attention(q, k, v, prefix=bad), lambda: plan.weights(q, k, sequence=0, prefix=bad),
                     lambda: plan.attention_backward(q, k, v, v, prefix=bad)):
            with pytest.raises(locus.ShapeError, match=f"prefix has {len(bad)} numbers, but there are 2 sequences"):
                call()
    kept = locus.Encoding("rope + scores(window=3)").plan(T, H, D)
    output, sums = kept.attention(q, k, v, causal=True, keep=2, return_lse=True)
    wanted = locus.Encoding("rope").plan(T, H, D).attention(q, k, v, causal=True, window=3, keep=2)
    assert np.array_equal(output, wanted) and not np.allclose(output, kept.attention(q, k, v, causal=True))
    for one, other in zip(kept.attention_backward(q, k, v, v, output, sums, causal=True, keep=2)[:3],
                          kept.attention_backward(q, k, v, v, causal=True, keep=2)[:3]):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("size, tokens", [(40, 20), (40, 200), (5000, 20), (5000, 200), (70000, 500)])
def test_gradients_of_a_learned_table(draw, size, tokens):
    places = draw.integers(0, size, tokens)
    places[1::2] = places[0]  # many at one place
    plan = locus.Encoding(f"learned(size={size})").plan(places, 1, 8, model_dim=8)
    x, gradient = draw.standard_normal((2, tokens, 8))
    wanted = np.zeros((size, 8))
    np.add.at(wanted, places, gradient)
    assert np.allclose(plan.apply_backward(x, gradient, "token")[1]["table"], wanted, atol=1e-12)


def test_packed_sequences_equal_those_alone(draw):
    q, k, v = drawn(draw)
    plan = locus.Encoding("rope + alibi").plan(locus.positions(T, offsets=[0, 3, T]), H, D)
    packed = plan.attention(q, k, v)
    for first, last in ((0, 3), (3, T)):
        one = locus.Encoding("rope + alibi").plan(last - first, H, D)
        assert np.allclose(packed[first:last], one.attention(q[first:last], k[first:last], v[first:last]), atol=1e-14)
    padded = np.zeros((2, H, 4, D))
    padded[0, :, :3], padded[1] = q[:3].transpose(1, 0, 2), q[3:].transpose(1, 0, 2)
    dirty = [np.full((2, H, 4, D), np.nan) for _ in range(8)]
    del dirty
    output, sums = plan.attention(padded, padded, padded, return_lse=True)
    dq, dk, dv, _ = plan.attention_backward(padded, padded, padded, output, output, sums)
    for beyond in (output, dq, dk, dv, plan.apply(padded), sums[..., None]):
        assert (beyond[0, :, 3:] == 0).all()
    weights = plan.weights(padded, padded)
    assert weights.shape == (2, H, 4, 4) and np.allclose(weights[1].sum(-1), 1) and (weights[0, :, :, 3] == 0).all()


def test_grouped_heads_and_other_keys(draw):
    plan = locus.Encoding("rope").plan(3, 4, D, keys=locus.positions(5), kv_heads=2, value_dim=6)
    q, k, v = drawn(draw, 3, 4, D), drawn(draw, 5, 2, D), drawn(draw, 5, 2, 6)
    output, _, _ = attended(rotated(q), rotated(k).repeat(2, 1), v.repeat(2, 1))
    assert np.allclose(plan.attention(q, k, v), output, atol=1e-13)


@pytest.mark.parametrize("dtype, error", [("float64", 0), ("float32", 1e-5), ("float16", 5e-3), ("bfloat16", 4e-2)])
def test_element_types(draw, dtype, error):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    q, k, v = (x.astype(dtype) for x in drawn(draw))
    plan = locus.Encoding("rope").plan(T, H, D)
    output = plan.attention(q, k, v, causal=True)
    exact = plan.attention(*(x.astype(np.float64) for x in (q, k, v)), causal=True)
    assert output.dtype == q.dtype and np.abs(output.astype(np.float64) - exact).max() <= error
    assert plan.apply(q).dtype == q.dtype
    gradients = plan.attention_backward(q, k, v, output, causal=True)[:3]
    wanted = plan.attention_backward(*(x.astype(np.float64) for x in (q, k, v, output)), causal=True)[:3]
    for mine, other in zip(gradients, wanted):
        assert mine.dtype == q.dtype and np.abs(mine.astype(np.float64) - other).max() <= 4 * error


def test_inputs_of_any_layout(draw):
    plan = locus.Encoding("rope").plan(T, H, D)
    q, k, v = drawn(draw)
    wanted = plan.attention(q, k, v)
    fused = np.concatenate([q, k, v], -1)
    parts = fused[..., :D], fused[..., D:2 * D], fused[..., 2 * D:]
    assert np.array_equal(plan.attention(*parts), wanted)
    assert np.array_equal(plan.attention(np.asfortranarray(q), k[:, :, ::-1][:, :, ::-1], v), wanted)
    assert np.array_equal(plan.attention(q.tolist(), memoryview(k), v), wanted)
    unaligned = np.frombuffer(b"\0" + q.tobytes(), np.uint8)[1:].view(np.float64).reshape(q.shape)
    assert np.array_equal(plan.attention(unaligned, k, v), wanted)
    q.setflags(write=False)
    assert np.array_equal(plan.attention(q, k, v), wanted)


class Exporter:
    """What has DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(draw):
    plan = locus.Encoding("rope").plan(T, H, D)
    q, k, v = drawn(draw)
    assert np.array_equal(plan.attention(*map(Exporter, (q, k, v))), plan.attention(q, k, v))
    with pytest.raises(locus.DtypeError):
        plan.apply(Exporter(np.zeros((T, H, D), np.int32)))


def test_kinds(draw):
    """By their formulas; with as many landmarks or clusters as there are tokens the others are kernels of all pairs."""
    q, k, v = drawn(draw)
    plan = locus.Encoding("rope").plan(T, H, D)
    over, under = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    for causal in (False, True):
        seen = np.tril(np.ones((T, T))) if causal else np.ones((T, T))
        above = np.einsum("mhd,nhd->hmn", rotated(over), rotated(under)) * seen
        below = (np.einsum("mhd,nhd->hmn", over, under) * seen).sum(-1)
        wanted = np.einsum("hmn,nhd->mhd", above, v) / below.T[..., None]
        assert np.allclose(plan.attention(q, k, v, causal=causal, kind="linear"), wanted, atol=1e-12)
    near = q + 0.1 * k
    turned = rotated(q)[:, None] - rotated(near)[None]
    wanted = np.einsum("mnh,nhd->mhd", np.exp(-0.5 * D ** -0.5 * (turned ** 2).sum(-1)), v)
    assert np.allclose(plan.attention(q, near, v, kind=f"soft(landmarks={T}, iterations=60)"), wanted, atol=1e-6)
    assert np.allclose(plan.attention(q, k, v, kind=f"clustered(clusters={T})"), plan.attention(q, k, v), atol=1e-12)


@pytest.mark.parametrize("kind, causal", [("linear", False), ("linear", True), ("soft(landmarks=3)", False)])
def test_gradients_of_kinds(draw, kind, causal):
    q, k, v = drawn(draw)
    upstream = drawn(draw, T, H, D)
    plan = locus.Encoding("algebraic(values=on)").plan(T, H, D, locus.Encoding("algebraic(values=on)").initialise(H, D))
    *inputs, _ = plan.attention_backward(q, k, v, upstream, causal=causal, kind=kind)
    for number, gradient in enumerate(inputs):
        def value(x, number=number):
            own = [x if i == number else y for i, y in enumerate((q, k, v))]
            return (plan.attention(*own, causal=causal, kind=kind) * upstream).sum()
        step, error = (1e-6, 1e-5) if kind.startswith("soft") else (1e-5, 1e-6)  # an inverse of a kernel: far from straight
        assert differs(value, (q, k, v)[number], gradient, drawn(draw, T, H, D), step) < error


@pytest.mark.parametrize("options", [{"cap": 3.0}, {"window": 3}, {"window": 3, "keep": 1}, {"scale": 0.7},
                                     {"dropout": 0.4, "seed": 9}, {"prefix": [2]}])
def test_gradients_of_options(draw, options):
    q, k, v = drawn(draw)
    upstream, of_sums = drawn(draw, T, H, D), drawn(draw, T, H)
    plan = locus.Encoding("rope + alibi").plan(T, H, D)
    *inputs, _ = plan.attention_backward(q, k, v, upstream, causal=True, lse_gradient=of_sums, **options)
    for number, gradient in enumerate(inputs):
        def value(x, number=number):
            own = [x if i == number else y for i, y in enumerate((q, k, v))]
            output, sums = plan.attention(*own, causal=True, return_lse=True, **options)
            return (output * upstream).sum() + (sums * of_sums).sum()
        assert differs(value, (q, k, v)[number], gradient, drawn(draw, T, H, D)) < 1e-6
    if "dropout" not in options:
        weights = plan.weights(q, k, causal=True, sequence=0, **options)
        assert np.allclose(np.einsum("hmn,nhd->mhd", weights, v), plan.attention(q, k, v, causal=True, **options))


def test_dropout_and_kinds_that_are_none(draw):
    q, k, v = drawn(draw)
    plan = locus.Encoding("rope").plan(T, H, D)
    with pytest.raises(locus.SpecError) as caught:
        plan.attention(q, k, v, kind="liner")
    assert caught.value.suggestion == "linear"
    one, same, other = (plan.attention(q, k, v, dropout=0.5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    with pytest.raises(ValueError):
        plan.attention(q, k, v, dropout=1.5)


def operands(spec, draw):
    e = locus.Encoding(spec)
    sizes = {"model_dim": 16} if "embedding" in e.sites or "encoded" in e.sites else {}
    p = e.initialise(H, D, seed=1, **sizes)
    p = {name: x + 0.1 * np.abs(draw.standard_normal(x.shape)) for name, x in p.items()}
    return e, p, e.plan(places(e.group, T), H, D, p, **sizes)


def differs(value, point, gradient, direction, step=1e-5):
    """How far the gradient along a direction is from the central difference, relative."""
    slope = (value(point + step * direction) - value(point - step * direction)) / (2 * step)
    return abs(slope - (gradient * direction).sum()) / max(1.0, abs(slope))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("causal", [False, True])
def test_gradients(draw, spec, causal):
    e, p, plan = operands(spec, draw)
    if e.causal and not causal:
        pytest.skip("needs the causal mask")
    q, k, v = drawn(draw)
    upstream = drawn(draw, T, H, D)
    options = {"causal": causal, "bias": draw.standard_normal((H, T, T))}
    *inputs, parameters, dbias = plan.attention_backward(q, k, v, upstream, **options, bias_gradient=True)
    assert set(parameters) == set(p)

    def loss(own, q, k, v, **others):
        return (own.attention(q, k, v, **{**options, **others}) * upstream).sum()

    for number, gradient in enumerate(inputs):
        def value(x, number=number):
            return loss(plan, *[x if i == number else y for i, y in enumerate((q, k, v))])
        assert differs(value, (q, k, v)[number], gradient, drawn(draw, T, H, D)) < 1e-7
    assert differs(lambda x: loss(plan, q, k, v, bias=x), options["bias"], dbias, drawn(draw, H, T, T)) < 1e-7
    for name, gradient in parameters.items():
        def value_of(x, name=name):
            return loss(plan.refresh({**p, name: x}), q, k, v)
        assert differs(value_of, p[name], gradient, drawn(draw, *p[name].shape)) < 1e-6, name


@pytest.mark.parametrize("spec", ["rope + alibi", "algebraic(values=on)", "algebraic(group=tree:2)", "liere", "t5"])
def test_gradients_of_packed_grouped_heads(draw, spec):
    e = locus.Encoding(spec)
    p = e.initialise(4, D, seed=1, kv_heads=2)
    offsets = [0, 3, 3, T]
    plan = e.plan(places(e.group, T, offsets), 4, D, p, kv_heads=2)
    q, k, v, upstream = drawn(draw, T, 4, D), drawn(draw, T, 2, D), drawn(draw, T, 2, D), drawn(draw, T, 4, D)
    *inputs, parameters = plan.attention_backward(q, k, v, upstream, causal=True)
    for number, gradient in enumerate(inputs):
        def value(x, number=number):
            own = [x if i == number else y for i, y in enumerate((q, k, v))]
            return (plan.attention(*own, causal=True) * upstream).sum()
        assert differs(value, (q, k, v)[number], gradient, drawn(draw, *gradient.shape)) < 1e-7
    for name, gradient in parameters.items():
        def value_of(x, name=name):
            return (plan.refresh({**p, name: x}).attention(q, k, v, causal=True) * upstream).sum()
        assert differs(value_of, p[name], gradient, drawn(draw, *p[name].shape)) < 1e-6, name


@pytest.mark.parametrize("spec", [s for s in SPECS if {"embedding", "query-key"} & set(locus.Encoding(s).sites)])
def test_gradients_of_one_site(draw, spec):
    e, p, plan = operands(spec, draw)
    role, shape = ("token", (T, 16)) if "embedding" in e.sites else ("query", (T, H, D))
    x, upstream = drawn(draw, *shape), drawn(draw, *shape)
    dx, parameters = plan.apply_backward(x, upstream, role)
    assert differs(lambda y: (plan.apply(y, role) * upstream).sum(), x, dx, drawn(draw, *shape)) < 1e-8
    for name, gradient in parameters.items():
        def value(y, name=name):
            return (plan.refresh({**p, name: y}).apply(x, role) * upstream).sum()
        assert differs(value, p[name], gradient, drawn(draw, *p[name].shape)) < 1e-6, name


@pytest.mark.parametrize("spec", SPECS)
def test_operators_tables_and_forms(draw, spec):
    e, _, plan = operands(spec, draw)
    x = drawn(draw, T, H, D)
    assert np.allclose(np.einsum("thij,thj->thi", plan.operators(), x), plan.apply(x), atol=1e-12)
    if "embedding" in e.sites:
        tokens = drawn(draw, T, 16)
        assert np.allclose(tokens + plan.table(), plan.apply(tokens, "token"), atol=1e-14)
    for form in plan.forms():
        assert form.kind and form.arrays and all(not array.flags.writeable for array in form.arrays.values())
