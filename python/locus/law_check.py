# SPDX-License-Identifier: MIT
"""The laws of positions as a group action, measured on random elements through operators and scores."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from .encodings import Encoding, encoding_of
from .errors import PositionError
from .parameters import Parameters
from .places import path, positions

_EXACT = 1e-10  # float64; a law that does not hold is off by about 1
_SAMPLES, _PAIRS, _DEPTH = 16, 48, 24
_TREE = 3


@dataclass(frozen=True)
class Law:
    """A law, its formula, the largest error that was found, and whether it is within `tolerance`; `promised` by the
    encoding or not."""

    name: str
    meaning: str
    error: float
    tolerance: float
    promised: bool

    @property
    def holds(self) -> bool:
        return self.error <= self.tolerance


def _coordinate(draw: np.random.Generator, kind: int, size: int, reach: int, forward: bool) -> str:
    if kind == _TREE:
        letters = draw.integers(1, size + 1, draw.integers(0, max(1, min(_DEPTH, reach) + 1)))
        signs = np.ones_like(letters) if forward else draw.choice([-1, 1], letters.shape)
        return "".join(f"{letter:+d}" for letter in letters * signs).removeprefix("+") or "0"
    return str(int(draw.integers(0 if forward else -reach, reach + 1)))


def _element(draw: np.random.Generator, group: str, reach: int, forward: bool = False) -> path:
    texts = [_coordinate(draw, kind, size, reach, forward) for kind, size in _core.coordinates(group)]
    return path(group, texts[0] if len(texts) == 1 else f"({','.join(texts)})")


def check(encoding: Any, heads: int = 2, head_dim: int = 24, parameters: Optional[Parameters] = None, seed: int = 0,
          reach: int = 10000) -> List[Law]:
    """Measures the laws of an encoding, which promises some of them (`Encoding.laws`): homomorphism, inverse,
    orthogonality, norm and commutators of its operators on queries, and relativity of scores and outputs. In float64,
    on elements of up to `reach` steps. `parameters` None: initial ones of `seed`."""
    own = encoding_of(encoding)
    group = own.group or "seq"
    model_dim = heads * head_dim if "embedding" in own.sites else None
    if parameters is None:
        parameters = own.initialise(heads, head_dim, model_dim=model_dim, seed=seed)
    measure = _Measure(own, group, heads, head_dim, model_dim, parameters, np.random.default_rng(seed), reach)
    return (measure.operators() if "query-key" in own.sites else []) + [measure.relativity()]


@dataclass
class _Measure:
    encoding: Encoding
    group: str
    heads: int
    head_dim: int
    model_dim: Optional[int]
    parameters: Parameters
    draw: np.random.Generator
    reach: int

    def plan(self, queries: List[path], keys: Optional[List[path]] = None, alone: bool = False) -> Any:
        offsets = np.arange(len(queries) + 1) if alone else None
        return self.encoding.plan(positions(queries, self.group, offsets), self.heads, self.head_dim, self.parameters,
                                  keys=None if keys is None else positions(keys, self.group, offsets),
                                  model_dim=self.model_dim)

    def operators(self) -> List[Law]:
        """Matrices of a, b, a + b and −a for all samples at once: [samples, 4, H, d, d]."""
        elements: List[path] = []
        for _ in range(_SAMPLES):
            a, b = (_element(self.draw, self.group, self.reach) for _ in range(2))
            elements += [a, b, a + b, -a]
        found = self.plan(elements).operators()
        a, b, both, back = np.moveaxis(found.reshape(_SAMPLES, 4, *found.shape[1:]), 1, 0)
        identity = np.eye(self.head_dim)
        x = self.draw.standard_normal((_SAMPLES, self.heads, self.head_dim, 1))
        norms = np.linalg.norm(a @ x, axis=-2) / np.linalg.norm(x, axis=-2)
        abelian = all(kind != _TREE or size == 1 for kind, size in _core.coordinates(self.group))
        morphism, orthogonal = (law in self.encoding.laws for law in ("homomorphism", "orthogonal"))

        def law(name: str, meaning: str, error: NDArray[Any], promised: bool) -> Law:
            return Law(name, meaning, float(np.abs(error).max()), _EXACT, promised)

        return [law("homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉", a @ b - both, morphism),
                law("inverse", "⌈−a⌉⌈a⌉ = I", back @ a - identity, orthogonal),
                law("orthogonality", "⌈a⌉ᵀ⌈a⌉ = I", np.swapaxes(both, -1, -2) @ both - identity, orthogonal),
                law("norm", "|⌈a⌉x| = |x|", norms - 1, orthogonal),
                law("commutators", "⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉", a @ b - b @ a, morphism and abelian)]

    def pairs(self, reach: int, forward: bool) -> Tuple[List[path], List[path]]:
        """Queries and keys at (a, b), then at (c + a, c + b)."""
        queries, keys = ([_element(self.draw, self.group, reach, forward) for _ in range(_PAIRS)] for _ in range(2))
        shifts = [_element(self.draw, self.group, reach, forward) for _ in range(_PAIRS)]
        return (queries + [c + a for c, a in zip(shifts, queries)], keys + [c + b for c, b in zip(shifts, keys)])

    def relativity(self) -> Law:
        """Each pair is a sequence of one token, whose log-sum-exp is the score. Tables have an end, and one side of the
        origin: elements get smaller until all positions exist."""
        reach, forward = self.reach, False
        while True:
            queries, keys = self.pairs(reach, forward)
            try:
                plan, swapped = self.plan(queries, keys, True), self.plan(keys, queries, True)
                break
            except PositionError:
                if forward and reach == 0:
                    raise
                reach, forward = reach // 2 if forward else reach, True
        shape = (_PAIRS, self.heads, self.head_dim)
        q, k, v = (np.concatenate([x, x]) for x in self.draw.standard_normal((3, *shape)))
        if self.model_dim:
            q, k, v = (which.apply(x.reshape(len(x), -1), "token").reshape(x.shape)
                       for which, x in ((plan, q), (swapped, k), (swapped, v)))
        outcome = plan.attention(q, k, v, causal=True, return_lse=True)
        error = max(float((np.abs(x[_PAIRS:] - x[:_PAIRS]) / np.maximum(1, np.abs(x[:_PAIRS]))).max()) for x in outcome)
        return Law("relativity", "score(c+a, c+b) = score(a, b)", error, _EXACT, "relativity" in self.encoding.laws)
