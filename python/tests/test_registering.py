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
