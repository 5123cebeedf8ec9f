# SPDX-License-Identifier: MIT
"""What the tests of the package share."""
import numpy as np
import pytest


@pytest.fixture
def draw():
    return np.random.default_rng(7)
