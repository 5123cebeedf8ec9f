# SPDX-License-Identifier: MIT
"""Encodings, paths, positions, errors."""
import pickle

import numpy as np
import pytest

import locus
from references import SPECS, tree_rows


def test_version_is_the_library_s():
    assert locus.__version__.count(".") == 2


def test_registry_names_every_encoding():
    found = locus.encodings()
    assert {"rope", "alibi", "algebraic"} <= set(found)
    base = found["rope"]["options"]["base"]
    assert base["default"] == "10000" and base["type"] == "number" and base["range"][0] == 0
    assert found["rope"]["options"]["pairs"]["choices"][0] == "interleaved"
    assert "query-key" in found["rope"]["sites"] and found["rope"]["description"] and found["rope"]["source"]
    used = {name for spec in SPECS for name in found if name == spec.split("(")[0]}
    assert used | {"rope"} == set(found), "an encoding has no spec in references.py"


def test_encoding():
    e = locus.Encoding("algebraic( group=tree:2,decay=0.98 )")
    assert e.spec == "algebraic(group=tree:2, decay=0.98)"
    assert e.sites == ("query-key", "score") and e.group == "tree:2" and e.learns
    assert e.laws == ("homomorphism", "orthogonal", "relativity")
    assert e.parameters(heads=8, head_dim=64) == {"generators": (8, 2, 64, 64)}
    assert e == locus.Encoding(e.spec) and hash(e) == hash(locus.Encoding(e.spec)) and e != locus.Encoding("rope")
    assert pickle.loads(pickle.dumps(e)) == e
    a, b = e.initialise(8, 64, seed=0), e.initialise(8, 64, seed=1)
    assert a["generators"].shape == (8, 2, 64, 64) and not np.array_equal(a["generators"], b["generators"])
    assert e.initialise(8, 64, dtype=np.float32)["generators"].dtype == np.float32


@pytest.mark.parametrize("spec, offset, suggestion", [
    ("rope(bsae=3)", 5, "base"), ("alibbi", 0, "alibi"), ("rope + ", 7, None), ("rope(pairs=halv)", 11, "half"),
    ("", 0, None)])
def test_spec_error(spec, offset, suggestion):
    with pytest.raises(locus.SpecError) as caught:
        locus.Encoding(spec)
    error = caught.value
    assert isinstance(error, ValueError) and error.offset == offset and error.suggestion == suggestion
    assert "\n" not in error.message and error.message in str(error)
    assert str(error).splitlines()[-1].index("^") == 2 + offset


def test_spec_error_counts_characters():
    with pytest.raises(locus.SpecError) as caught:
        locus.Encoding("rope(pairs=überhalf)")
    assert caught.value.offset == 11 and caught.value.length == len("überhalf")


def test_path():
    a, b = locus.path("tree:2", "1+2-2"), locus.path("tree:2", "2")
    assert a.text == "1" and a.length == 1 and a.inverse.text == "-1"
    assert a.relative(b).text == "-1+2" and a.distance(b) == 2
    assert a + -a == locus.path("tree:2", "0") and (a + b).text == "1+2"
    with pytest.raises(locus.SpecError) as caught:
        locus.path("tree:2", "1+3")
    assert caught.value.offset == 1
    with pytest.raises(locus.SpecError):
        locus.path("tre:2", "1")


def test_positions():
    x = locus.positions(1000)
    assert x.tokens == 1000 and x.sequences == 1 and x.group == "seq" and x.path(999).text == "999"
    assert locus.positions(range(1000)) == x and hash(locus.positions(np.arange(1000))) == hash(x)
    packed = locus.positions(10, offsets=[0, 3, 10])
    assert packed.sequences == 2 and packed.offsets == (0, 3, 10) and packed.path(3).text == "0"
    assert locus.positions(None, offsets=[0, 3, 10]) == packed
    grid = locus.positions([[0, 0], [0, 1]], group="grid:2")
    assert grid.path(1).text == "(0,1)"
    assert locus.positions([0.0, 1.5]).tokens == 2
    assert locus.positions(["(3,1+2)"], "seq*tree:2").path(0).text == "(3,1+2)"


def test_texts_in_an_array():
    assert locus.positions(np.array(["1+2", "0"]), "tree:2") == locus.positions(["1+2", "0"], "tree:2")
    with pytest.raises(locus.SpecError):
        locus.positions(np.array(["moon"]), "tree:2")


def test_positions_on_trees():
    rows = tree_rows(20)
    words = ["+".join(str(branch + 1) for branch in row if branch >= 0) or "0" for row in rows]
    assert locus.positions(rows, "tree:2") == locus.positions(words, "tree:2")
    parents, branches = [-1, 0, 0, 1, -1, 0], [0, 0, 1, 1, 0, 1]
    x = locus.positions.parents(parents, branches, arity=2, offsets=[0, 4, 6])
    assert [x.path(i).text for i in range(6)] == ["0", "1", "2", "1+2", "0", "2"]
    turned = locus.positions.parents([2, 0, -1], [1, 0, 0])
    assert [turned.path(i).text for i in range(3)] == ["2", "2+1", "0"]


@pytest.mark.parametrize("make, error, words", [
    (lambda: locus.positions([[0, 2]], "tree:2"), locus.PositionError, "token 0 has branch 2"),
    (lambda: locus.positions([[0, -1, 1]], "tree:2"), locus.PositionError, "behind a -1"),
    (lambda: locus.positions([[0, 0]], "seq"), locus.ShapeError, "[tokens, 1]"),
    (lambda: locus.positions([0.5], "cycle:4"), ValueError, "cycle"),
    (lambda: locus.positions(5, offsets=[0, 3]), locus.ShapeError, "end with 3"),
    (lambda: locus.positions([1, 2], offsets=[0, 2, 1]), locus.ShapeError, "decrease"),
    (lambda: locus.positions([float("nan")]), ValueError, "token 0"),
    (lambda: locus.positions.parents([1, 0], [0, 0]), locus.PositionError, "circle"),
    (lambda: locus.positions.parents([-1, 9], [0, 0]), locus.PositionError, "parent 9"),
    (lambda: locus.Encoding("rope").plan(3, 2, 7), locus.ShapeError, "head_dim"),
    (lambda: locus.Encoding("rope").plan(locus.positions(3, "cycle:4"), 2, 8), locus.PositionError, "cycle"),
    (lambda: locus.Encoding("t5").plan(3, 2, 8, {"bias": np.zeros((3, 2))}), locus.ShapeError, "[32, 2]"),
    (lambda: locus.Encoding("t5").plan(3, 2, 8, {}), locus.ShapeError, "missing"),
    (lambda: locus.Encoding("rope").plan(3, 2, 8, {"x": 1}), locus.ShapeError, "no parameter 'x'"),
])
def test_refusals(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_fold(draw):
    e = locus.Encoding("algebraic")
    p = e.initialise(2, 8, seed=3)
    own = locus.fold(e, 2, 8, p)
    matrices = e.plan([0, 1], 2, 8, p).operators()[1]
    turned = np.swapaxes(own.basis, 1, 2) @ matrices @ own.basis
    for head in range(2):
        for pair, angle in enumerate(own.angles[head, 0]):
            block = turned[head, 2 * pair:2 * pair + 2, 2 * pair:2 * pair + 2]
            assert np.allclose(block, [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], atol=1e-12)
    weight = draw.standard_normal((16, 5))
    assert np.allclose(own.unproject(own.project(weight)), weight)
    with pytest.raises(locus.UnsupportedError):
        locus.fold("liere", 2, 8)


def test_what_plans_say_of_lengths_sites_and_bytes():
    assert locus.Encoding("rope(scaling=dynamic, factor=4, original=16)").needs_length
    assert not locus.Encoding("rope").needs_length
    near, far = (locus.Encoding("rope(scaling=dynamic, factor=4, original=16)").plan(8, 1, 8, length=n) for n in (8, 64))
    assert near.bytes > 0 and not np.allclose(near.operators(), far.operators())
    plan = locus.Encoding("algebraic(values=on)").plan(5, 2, 4, locus.Encoding("algebraic(values=on)").initialise(2, 4))
    for role in ("key", "value"):
        assert np.allclose(plan.operators(role), plan.operators("query"))
    assert np.allclose(plan.operators("output"), plan.operators("value").swapaxes(-1, -2))
    x, gradient = np.random.default_rng(1).standard_normal((2, 5, 2, 4))
    dx, _ = plan.apply_backward(x, gradient, "key", inverse=True)
    assert np.allclose(dx, plan.apply(gradient, "key"), atol=1e-12)  # the transpose of an inverse rotation
    behind = locus.Encoding("chebyshev(site=output)").plan(5, model_dim=6)
    assert behind.table("encoded").shape == (5, 6) and np.abs(behind.table("encoded")).max() > 0
    two = locus.Encoding("alibi").plan(locus.positions(7, offsets=[0, 3, 7]), 2, 4)
    assert two.scores(sequence=1).shape == (2, 4, 4)


def test_normal_forms_of_grouped_heads():
    e = locus.Encoding("algebraic")
    p = e.initialise(4, 6, seed=2, kv_heads=2)
    own = locus.fold(e, 4, 6, p, kv_heads=2)
    few = locus.fold(e, 2, 6, p)
    for name in ("basis", "angles"):
        assert np.array_equal(getattr(own, name), getattr(few, name).repeat(2, 0))
