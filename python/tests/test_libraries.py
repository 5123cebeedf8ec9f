# SPDX-License-Identifier: MIT
"""locus beside rotary-embedding-torch and x-transformers, where their conventions coincide (docs/libraries.md)."""
import pytest

pytest.importorskip("torch")

import library_cases as cases

MODULES = {cases.ROTARY: "rotary_embedding_torch", cases.X: "x_transformers"}


@pytest.mark.parametrize("dtype", cases.ALLOWED)
@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: f"{case.library}: {case.name}")
def test_agree(case, dtype):
    pytest.importorskip(MODULES[case.library])
    assert case.difference(dtype) <= cases.ALLOWED[dtype]


def test_far_positions_stay_exact():
    """Angles in float32 lose their digits, locus's don't."""
    pytest.importorskip("rotary_embedding_torch")
    theirs, ours = cases.far(100_000)
    assert ours < 1e-6 and theirs > 1e-4


def test_xpos_of_a_text_that_grows():
    """What docs/libraries.md says of it."""
    pytest.importorskip("rotary_embedding_torch")
    assert cases.xpos_with_cached_keys() > 0.03
