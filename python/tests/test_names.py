# SPDX-License-Identifier: MIT
"""The names that programs are written against: they are there, take what they are said to take, in this order, and the
extension module shows no others to a linker."""
import ast
import importlib
import inspect
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import locus

NAMES = """Cache DtypeError Encoding PositionError ShapeError SpecError UnsupportedError check encodings fold import_rope
    path positions register runs set_threads __version__""".split()

# Parameters that callers name, in the order that callers leave names out.
TAKES = {
    "Encoding": "spec", "Encoding.parameters": "self heads head_dim", "Encoding.initialise": "self heads head_dim seed",
    "Encoding.plan": "self x heads head_dim parameters keys kv_heads value_dim length",
    "path": "group text", "path.relative": "self other", "path.distance": "self other",
    "positions": "values group offsets", "positions.parents": "parents branches arity offsets",
    "Plan.apply": "self x role inverse", "Plan.refresh": "self parameters",
    "Plan.attention": "self q k v causal kind scale bias dropout seed return_lse",
    "Plan.weights": "self q k causal", "Plan.attention_backward": "self q k v gradient", "Plan.operators": "self",
    "Plan.scores": "self", "Plan.table": "self", "Plan.forms": "self", "check": "encoding heads head_dim",
    "import_rope": "config", "Cache": "encoding heads head_dim parameters", "register": "name score gradient options",
    "set_threads": "n",
}
MEMBERS = {
    "Encoding": "spec sites group laws learns", "path": "text length inverse",
    "Cache": "append attend truncate evict insert shift",
}
OF_TORCH = "q k v encoding positions parameters is_causal key_positions offsets scale dropout_p enable_gqa"


def signatures(parts, place=""):
    """name → how many arguments it takes, of a stub's functions and methods; None of classes."""
    for part in parts:
        if isinstance(part, ast.ClassDef):
            yield place + part.name, None
            yield from signatures(part.body, f"{place}{part.name}.")
        elif isinstance(part, ast.FunctionDef):
            yield place + part.name, len(part.args.posonlyargs + part.args.args)


def built(module, place=""):
    """The same of what the extension module has."""
    for name, own in vars(module).items():
        said = getattr(own, "__nb_signature__", None)
        if said is not None and (name[0] != "_" or name == "__init__"):
            yield place + name, said[0][0].partition("(")[2].rpartition(") ->")[0].replace("self", "self:").count(":")
        elif isinstance(own, type):
            yield place + name, None
            yield from built(own, f"{place}{name}.")


def test_the_stub_says_what_the_module_has():
    from locus import _core
    stub = Path(locus.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    assert dict(signatures(ast.parse(stub).body)) == dict(built(_core))


def named(name, place=locus):
    for part in name.split("."):
        place = getattr(place, part)
    return place


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert hasattr(locus, name)
    assert name.startswith("__") or name in locus.__all__


@pytest.mark.parametrize("name", TAKES)
def test_what_functions_take(name):
    known = inspect.signature(named(name)).parameters
    wanted = [each for each in TAKES[name].split() if each != "self" or "self" in known]
    assert [each for each in known if each in wanted] == wanted


@pytest.mark.parametrize("name", MEMBERS)
def test_members(name):
    assert all(hasattr(named(name), member) for member in MEMBERS[name].split())


def test_errors():
    for error in (locus.SpecError, locus.ShapeError, locus.PositionError):
        assert issubclass(error, ValueError)
    assert issubclass(locus.DtypeError, TypeError) and issubclass(locus.UnsupportedError, NotImplementedError)
    with pytest.raises(locus.SpecError) as caught:
        locus.Encoding("rop")
    assert caught.value.message.startswith("there is no encoding 'rop'") and "\n" not in caught.value.message
    assert (caught.value.offset, caught.value.suggestion) == (0, "rope")


def test_as_documented():
    """The calls as callers write them, with shapes of what comes."""
    e = locus.Encoding("algebraic(group=tree:2, decay=0.98)")
    assert e.parameters(heads=8, head_dim=64) == {"generators": (8, 2, 64, 64)}
    p = e.initialise(heads=2, head_dim=8, seed=0)
    assert set(locus.encodings()["rope"]) >= {"description", "options", "sites", "source"}
    assert set(locus.encodings()["rope"]["options"]["base"]) >= {"type", "range", "choices", "default"}
    a, b = locus.path("tree:2", "1+2-2"), locus.path("tree:2", "2")
    assert (a.text, a.length, a.inverse.text, a.relative(b).text, a.distance(b)) == ("1", 1, "-1", "-1+2", 2)
    x = locus.positions([[0, 1], [1, -1], [-1, -1]], group="tree:2")
    plan = e.plan(x, heads=2, head_dim=8, parameters=p, keys=None, kv_heads=None, value_dim=None, length=None)
    q, k, v = np.random.default_rng(1).standard_normal((3, 3, 2, 8))
    for role in ("query", "key", "value", "output"):
        assert plan.apply(q, role=role, inverse=False).shape == q.shape
    output, lse = plan.attention(q, k, v, causal=False, kind="softmax", scale=None, bias=None, dropout=0.0, seed=0,
                                 return_lse=True)
    assert output.shape == q.shape and lse.shape == (3, 2)
    dq, dk, dv, gradients = plan.attention_backward(q, k, v, output)
    assert dq.shape == dk.shape == dv.shape == q.shape and gradients["generators"].shape == (2, 2, 8, 8)
    assert plan.weights(q, k, causal=False).shape == (2, 3, 3) == plan.scores().shape
    assert plan.operators().shape == (3, 2, 8, 8) and plan.forms()
    assert locus.Encoding("learned").plan(3, 2, 8, model_dim=16).table().shape == (3, 16)
    assert np.array_equal(plan.refresh(p).apply(q), plan.apply(q))
    assert locus.positions(1000).tokens == 1000 and locus.positions([[0, 0], [0, 1]], group="grid:2").tokens == 2
    assert locus.positions(5, group="seq", offsets=[0, 2, 5]).sequences == 2


@pytest.mark.parametrize("module, function, takes", [
    ("torch", "attention", OF_TORCH + " backend"), ("torch", "Attention", "spec heads head_dim"),
    ("torch", "Encoding", "spec heads head_dim"), ("jax", "attention", "q k v encoding")])
def test_frameworks(module, function, takes):
    pytest.importorskip(module)
    own = named(function, importlib.import_module(f"locus.{module}"))
    known = [name for name in inspect.signature(own).parameters if name in takes.split()]
    assert known == takes.split()


def test_the_module_exports_its_entry_alone():
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    done = subprocess.run(["nm", "-D", "--defined-only", locus._core.__file__], capture_output=True, text=True,
                          check=True)
    assert [line.split()[-1] for line in done.stdout.splitlines() if line] == ["PyInit__core"]
