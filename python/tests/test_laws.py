# SPDX-License-Identifier: MIT
"""Laws of encodings: those that `locus check` of the program measures, with its errors."""
import json
import os
import subprocess

import pytest

import locus
from references import SPECS

# Every kind of group and of promise; terms at the embedding beside operators; shapes that a spec asks for.
MORE = ["roper", "algebraic(group=cycle:6, generator=cayley)", "algebraic(group=tree:1)", "rope(side=key)",
        "algebraic(group=grid:2, generator=householder, init=random, decay=0.98)", "algebraic(group=grid:2, side=query)",
        "algebraic(group=seq*tree:2*cycle:5, values=on, decay=0.9)", "algebraic(group=cycle:1000000)",
        "learned(size=100) + algebraic(group=seq, decay=learned:0.9)", "rope(axes=3)", "rope(rotate=64)",
        "rope(pairs=half, axes=3, sections=16:24:24)", "rope(scaling=longrope, factor=4, original=16, short=1:1:1, "
        "long=1:2:3)", "rope(scaling=dynamic, factor=2, original=100)", "decay(group=grid:2)", "learned(size=64)"]


def measured(program, spec, *options):
    done = subprocess.run([program, "check", spec, "--json", *options], capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)["laws"]


@pytest.mark.parametrize("spec", [*SPECS, *MORE])
def test_as_the_program_measures(spec):
    program = os.environ.get("LOCUS_PROGRAM")
    if not program:
        pytest.skip("LOCUS_PROGRAM does not name the program")
    wanted = measured(program, spec)
    found = {law.name: law for law in locus.check(spec)}
    assert list(found) == list(wanted)
    for name, law in found.items():
        its = wanted[name]
        assert (law.promised, law.holds) == (its["promised"], its["holds"]), name
        rounding = 1e-12 if law.tolerance < 1e-9 else 1e-7  # those of float32
        assert law.error == pytest.approx(its["error"], rel=1e-6, abs=rounding), name
        assert law.holds or not law.promised


def test_shapes_and_seeds():
    program = os.environ.get("LOCUS_PROGRAM")
    if not program:
        pytest.skip("LOCUS_PROGRAM does not name the program")
    spec = "liere(group=grid:2)"
    wanted = measured(program, spec, "--heads", "3", "--head-dim", "10", "--seed", "7")
    for law in locus.check(spec, heads=3, head_dim=10, seed=7):
        assert law.error == pytest.approx(wanted[law.name]["error"], rel=1e-6, abs=1e-7)
    assert locus.check(spec, 3, 10, seed=7)[0].error != locus.check(spec, 3, 10, seed=8)[0].error


def test_of_one_s_own_parameters():
    e = locus.Encoding("algebraic + learned(size=50)")
    p = e.initialise(2, 8, seed=5, model_dim=16)
    assert all(law.holds for law in locus.check(e, 2, 8, p) if law.promised)
