# SPDX-License-Identifier: MIT
"""Encodings from Python functions. Names stay for the process, so each test has its own."""
import numpy as np
import pytest

import locus
from references import attended

T, H, D = 7, 2, 8
APART = np.abs(np.arange(T)[:, None] - np.arange(T))


def test_a_function_of_distance(draw):
    locus.register("py-window", score=lambda distance, width: -(distance / width) ** 2, options={"width": 16.0})
    e = locus.Encoding("py-window(width=4)")
    assert e.sites == ("score",) and "relativity" in e.laws and "py-window" in locus.encodings()
    q, k, v = draw.standard_normal((3, T, H, D))
    plan = e.plan(T, H, D)
    assert np.allclose(plan.scores()[1], -(APART / 4) ** 2)
    assert np.allclose(plan.attention(q, k, v), attended(q, k, v, bias=-(APART / 4.0) ** 2)[0], atol=1e-13)
    assert locus.Encoding("rope + py-window").spec == "rope + py-window"
    assert all(law.holds for law in locus.check("py-window", 2, 8, reach=100) if law.promised)


def test_a_function_of_two_positions(draw):
    def score(query, key, steep, which):
        """falls one way only"""
        apart = (query - key)[:, 0]
        return np.where(apart > 0, -apart * steep, 0.0) * (2 if which == "twice" else 1)

    locus.register("py-one-way", score=score, options={"steep": {"default": 1, "minimum": 0, "maximum": 9},
                                                       "which": ["once", "twice"]})
    assert locus.encodings()["py-one-way"]["description"] == "falls one way only"
    plan = locus.Encoding("py-one-way(steep=3, which=twice)").plan(T, H, D)
    apart = np.arange(T)[:, None] - np.arange(T)
    assert np.allclose(plan.scores()[0], np.where(apart > 0, -6.0 * apart, 0))
    with pytest.raises(locus.SpecError):
        locus.Encoding("py-one-way(steep=10)")


def test_learned(draw):
    locus.register("py-slope", score=lambda distance, slope, head: -slope[head] * distance, parameters={
        "slope": {"shape": ["heads"], "initial": 0.5, "deviation": 0.1, "constraint": "positive"}},
        gradient=lambda upstream, distance, slope, head: np.where(np.arange(len(slope)) == head,
                                                                  -(upstream * distance).sum(), 0))
    e = locus.Encoding("py-slope")
    assert e.learns and e.parameters(H, D) == {"slope": (H,)}
    p = e.initialise(H, D, seed=1)
    plan = e.plan(T, H, D, p)
    assert np.allclose(plan.scores(), -p["slope"][:, None, None] * APART)
    q, k, v = draw.standard_normal((3, T, H, D))
    gradient = plan.attention_backward(q, k, v, v)[3]["slope"]
    for head in range(H):
        step = 1e-5 * (np.arange(H) == head)
        up, down = ((plan.refresh({"slope": p["slope"] + s}).attention(q, k, v) * v).sum() for s in (step, -step))
        assert abs((up - down) / 2e-5 - gradient[head]) < 1e-7


def test_factor():
    locus.register("py-fade", score=lambda distance: 0.5 ** distance, kind="factor")
    assert np.allclose(locus.Encoding("py-fade").plan(T, H, D).scores(factors=True)[0], 0.5 ** APART)


def test_what_a_function_raises_comes_out():
    class Own(Exception):
        pass

    def score(distance):
        raise Own("no")

    locus.register("py-fails", score=score)
    with pytest.raises(Own):
        locus.Encoding("py-fails").plan(T, H, D).scores()
    locus.register("py-nan", score=lambda distance: distance * np.nan)
    with pytest.raises(FloatingPointError):
        locus.Encoding("py-nan").plan(T, H, D).scores()
    locus.register("py-long", score=lambda distance: np.zeros(len(distance) + 1))
    with pytest.raises(ValueError):
        locus.Encoding("py-long").plan(T, H, D).scores()


def test_refusals():
    with pytest.raises(ValueError, match="rope"):
        locus.register("rope", score=lambda distance: distance)
    with pytest.raises(TypeError, match="wide"):
        locus.register("py-x", score=lambda distance, wide: distance)
    with pytest.raises(ValueError, match="gradient"):
        locus.register("py-x", score=lambda distance, a: distance, parameters={"a": [1]})
    with pytest.raises(ValueError):
        locus.register("Not A Name", score=lambda distance: distance)


# ---- operators: angles and matrices ----


def speeds(head_dim, base=10000.0):
    return base ** (-2 * np.arange(head_dim // 2) / head_dim)


@pytest.mark.parametrize("pairs", ["interleaved", "half"])
@pytest.mark.parametrize("values", [False, True])
def test_rope_by_angles(draw, pairs, values):
    """The library's own rotary encoding, said as a function: the same attention, gradients and promises."""
    name = f"py-rope-{pairs}{'-values' if values else ''}"
    locus.register(name, angles=lambda position, head_dim, base: position * speeds(head_dim, base), pairs=pairs,
                   options={"base": {"default": 10000.0, "minimum": 1.0}}, values=values, real=True,
                   laws=("homomorphism", "relativity"))
    own = locus.Encoding(f"{name}(base=500)")
    its = locus.Encoding(f"{'roper' if values else 'rope'}(base=500{', pairs=half' if pairs == 'half' else ''})")
    assert own.laws == its.laws and own.sites == its.sites and own.real
    q, k, v, upstream = draw.standard_normal((4, T, H, D))
    for x in (locus.positions(T), locus.positions(draw.standard_normal(T) * 100), locus.positions(T, offsets=[0, 3, T])):
        a, b = own.plan(x, H, D), its.plan(x, H, D)
        assert np.allclose(a.apply(q), b.apply(q), atol=1e-12)
        assert np.allclose(a.attention(q, k, v, causal=True), b.attention(q, k, v, causal=True), atol=1e-12)
        for one, other in zip(a.attention_backward(q, k, v, upstream)[:3], b.attention_backward(q, k, v, upstream)[:3]):
            assert np.allclose(one, other, atol=1e-12)
    assert all(law.holds for law in locus.check(own, 2, 8) if law.promised)


def test_rope_by_matrices(draw):
    def turns(position, head_dim):
        angle = position * speeds(head_dim)
        found = np.zeros((len(position), head_dim, head_dim))
        even, odd = np.arange(0, head_dim, 2), np.arange(1, head_dim, 2)
        found[:, even, even] = found[:, odd, odd] = np.cos(angle)
        found[:, odd, even], found[:, even, odd] = np.sin(angle), -np.sin(angle)
        return found

    locus.register("py-turns", matrices=turns, values=True, laws=("homomorphism", "orthogonal", "relativity"))
    q, k, v = draw.standard_normal((3, T, H, D))
    own, its = (locus.Encoding(spec).plan(T, H, D) for spec in ("py-turns", "roper"))
    assert np.allclose(own.operators(), its.operators(), atol=1e-13)
    assert np.allclose(own.attention(q, k, v), its.attention(q, k, v), atol=1e-12)
    cache = locus.Cache("py-turns", H, D, capacity=T, dtype="float64")
    cache.append(k, v, T)
    assert np.allclose(cache.keys(), its.apply(k, "key"), atol=1e-13)


def differences(plan, p, q, k, v, draw):
    """Gradients of all parameters against central differences along a direction."""
    found = plan.attention_backward(q, k, v, v)[3]
    for name, value in p.items():
        way = draw.standard_normal(value.shape)
        up, down = ((plan.refresh({**p, name: value + s * way}).attention(q, k, v) * v).sum() for s in (1e-5, -1e-5))
        assert abs((up - down) / 2e-5 - (found[name] * way).sum()) < 1e-7, name


def test_learned_angles_and_their_gradients(draw):
    """Speeds of each head, begun by a function, and a phase of as many numbers as an option says."""
    def gradient(upstream, position, speed, phase, head):
        of_speed, of_phase = np.zeros_like(speed), np.zeros_like(phase)
        of_speed[head] = (upstream * position).sum(0)
        of_phase[:] = upstream.sum() / len(phase)
        return {"speed": of_speed, "phase": of_phase}

    locus.register(
        "py-wheels", angles=lambda position, speed, phase, head: position * speed[head] + phase.mean(),
        gradient=gradient, options={"most": 100.0, "phases": {"default": 3, "minimum": 1, "maximum": 9}},
        parameters={"speed": {"shape": ["heads", "pairs"], "constraint": "positive",
                              "initial": lambda shape, head_dim, most: np.broadcast_to(speeds(head_dim, most), shape)},
                    "phase": {"shape": ["phases"], "initial": 0.25}})
    e = locus.Encoding("py-wheels(most=50, phases=2)")
    assert e.parameters(H, D) == {"speed": (H, D // 2), "phase": (2,)}
    p = e.initialise(H, D)
    assert np.allclose(p["speed"], speeds(D, 50.0)) and (p["phase"] == 0.25).all()
    p = {name: x + 0.1 * draw.random(x.shape) for name, x in p.items()}
    x = locus.positions(T, offsets=[0, 3, T])
    differences(e.plan(x, H, D, p), p, *draw.standard_normal((3, T, H, D)), draw)


def test_learned_matrices_and_their_gradients(draw):
    """A position stretches by a learned matrix: 1 + position · matrix."""
    locus.register(
        "py-stretch", matrices=lambda position, weight, head_dim: np.eye(head_dim) + position[:, :, None] * weight / 50,
        gradient=lambda upstream, position: (upstream * position[:, :, None]).sum(0) / 50,
        parameters={"weight": {"shape": ["head_dim", "head_dim"], "deviation": 1.0}})
    e = locus.Encoding("py-stretch")
    p = e.initialise(H, D, seed=2)
    q, k, v = draw.standard_normal((3, T, H, D))
    plan = e.plan(T, H, D, p)
    wanted = np.einsum("tij,thj->thi", np.eye(D) + np.arange(T)[:, None, None] * p["weight"] / 50, q)
    assert np.allclose(plan.apply(q), wanted, atol=1e-13)
    differences(plan, p, q, k, v, draw)


def test_options_of_every_type():
    seen = {}

    def score(distance, reach, steps, weights, sizes, side, on):
        seen.update(reach=reach, steps=steps, weights=weights, sizes=sizes, side=side, on=on)
        return -distance

    locus.register("py-options", score=score, options={
        "reach": {"type": "off or number", "default": "off", "minimum": 0, "maximum": 9}, "on": True,
        "steps": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9}, "side": ["left", "right"],
        "sizes": {"type": "list", "default": [2, 3], "minimum": 1, "maximum": 9},
        "weights": {"type": "numbers", "default": [1.0, 0.5], "minimum": 0, "maximum": 9}})
    locus.Encoding("py-options").plan(T, H, D)
    assert seen["reach"] is None and seen["steps"] == 3 and seen["side"] == "left" and seen["on"] is True
    assert np.array_equal(seen["weights"], [1.0, 0.5])
    assert np.array_equal(seen["sizes"], [2, 3]) and seen["sizes"].dtype == np.int64
    for text in ("py-options", "py-options(weights=1:0.5)", "py-options(sizes=2:3, steps=3)"):
        assert locus.Encoding(text).spec == "py-options"
    assert locus.Encoding("py-options(sizes=2:4)").spec == "py-options(sizes=2:4)"
    assert locus.Encoding("py-options(sizes=2)") != locus.Encoding("py-options")
    locus.Encoding("py-options(reach=2.5, weights=1:2:4, side=right, on=off)").plan(T, H, D)
    assert seen["reach"] == 2.5 and seen["side"] == "right" and seen["on"] is False
    assert np.array_equal(seen["weights"], [1, 2, 4])


def test_a_group_and_words():
    def angles(words, head_dim):
        return np.array([[float(len(word))] * (head_dim // 2) for word in words])

    locus.register("py-depth", angles=angles, group="tree:2")
    e = locus.Encoding("py-depth")
    turned = e.plan(locus.positions(["0", "1", "1+2"], "tree:2"), 1, 2).apply(np.tile([1.0, 0.0], (3, 1, 1)))
    assert np.allclose(np.arctan2(turned[:, 0, 1], turned[:, 0, 0]), [0, 1, 2])


def test_promises_are_measured():
    """An encoding that promises what does not hold is told so."""
    locus.register("py-liar", angles=lambda position, head_dim: np.sin(position) * np.ones(head_dim // 2),
                   laws=("homomorphism",))
    broken = [law.name for law in locus.check("py-liar", 2, 8) if law.promised and not law.holds]
    assert "homomorphism" in broken


def test_refusals_of_operators():
    with pytest.raises(TypeError, match="one of score, angles and matrices"):
        locus.register("py-y", score=lambda distance: distance, angles=lambda position: position)
    with pytest.raises(TypeError, match="distance"):
        locus.register("py-y", angles=lambda distance: distance)
    with pytest.raises(ValueError, match="law 'relative'"):
        locus.register("py-y", angles=lambda position: position, laws=("relative",))
    with pytest.raises(ValueError, match="values"):
        locus.register("py-y", score=lambda distance: distance, values=True)
    with pytest.raises(ValueError):  # values need orthogonal matrices
        locus.register("py-y", matrices=lambda position, head_dim: np.eye(head_dim), values=True)
    locus.register("py-wide", angles=lambda position, head_dim: np.zeros((len(position), head_dim)))
    with pytest.raises(ValueError, match=r"'py-wide' says of \d+ places is \[\d+, 8\]; expected \[\d+, 4\]"):
        locus.Encoding("py-wide").plan(T, H, D)


def test_what_gradients_and_beginnings_raise_comes_out(draw):
    def fails(**_):
        raise KeyError("mine")

    locus.register("py-slow", score=lambda distance, a: -a[0] * distance, parameters={"a": [1]},
                   gradient=lambda upstream, distance: fails())
    q = draw.standard_normal((T, H, D))
    plan = locus.Encoding("py-slow").plan(T, H, D)
    with pytest.raises(KeyError, match="mine"):
        plan.attention_backward(q, q, q, q)
    assert np.isfinite(plan.attention(q, q, q)).all()
    for name, gradient, error in (("py-named", lambda upstream: {"aa": [0.0]}, ValueError),
                                  ("py-half", lambda upstream: {"a": [0.0]}, ValueError),
                                  ("py-bare", lambda upstream: 0.0, TypeError)):
        locus.register(name, score=lambda distance, a, b: -a[0] * distance, parameters={"a": [1], "b": [1]},
                       gradient=gradient)
        own = locus.Encoding(name).plan(T, H, D)
        with pytest.raises(error, match="parameters? (are )?a, b"):
            own.attention_backward(q, q, q, q)
    locus.register("py-late", score=lambda distance, a: -a[0] * distance, gradient=lambda upstream: 0.0,
                   parameters={"a": {"shape": [1], "initial": lambda shape: fails()}})
    with pytest.raises(KeyError, match="mine"):
        locus.Encoding("py-late").initialise(H, D)
