# SPDX-License-Identifier: MIT
"""The laws of positions as a group action, measured on random elements through operators and scores, as `locus check`
measures them: on the same elements."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import whole
from .encodings import Encoding, encoding_of
from .errors import PositionError
from .law_elements import CYCLE, REACH, TREE, Elements, vectors
from .parameters import Parameters
from .places import path, positions
from .plans import Plan

# Laws in float64: angles are exact to rounding wherever they are; a law that does not hold is off by about 1. Long paths
# in float32: one rounding for each product of a row, and as many as letters where words are products. Positions on a
# cycle are reduced before anything is computed, so that not a bit may differ.
_EXACT, _LONG, _LONG_WORDS, _PERIOD = 1e-10, 1e-5, 1e-4, 0.0
_LETTERS, _LONG_SAMPLES, _NORMS, _PERIODS, _PAIRS = 1000, 3, 96, 64, 96
_FACTOR_DIM = 24         # head dimensions for each coordinate, unless the spec asks for others
_OWN, _OWN_REACH = 32, 10000  # what is registered says angles in doubles: exact up to here
_XPOS_REACH = 500        # steps of xpos=512 that stretch vectors by a small number
_SAMPLE_WORK = 3e9       # multiplications that samples may cost


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


# ---- what a spec says of shapes ----


def _terms(spec: str) -> List[Tuple[str, Dict[str, str], str]]:
    """Terms of a canonical text: name, options as written, text. No value has " + " or a bracket in it but groups,
    which have no blanks."""
    found = []
    for text in spec.split(" + "):
        name, _, inside = text.partition("(")
        options = dict(option.split("=", 1) for option in inside.removesuffix(")").split(", ") if option)
        found.append((name, options, text))
    return found


def _natural(encoding: Encoding, reach: int) -> Tuple[int, int]:
    """head_dim that lists and parts ask for, and how far from the origin positions may be."""
    head_dim = _FACTOR_DIM * len(_core.coordinates(encoding.group or "seq"))
    if encoding._own.traits() & _OWN:
        reach = min(reach, _OWN_REACH)
    for _, options, _ in _terms(encoding.spec):
        sizes = {name: [float(x) for x in options[name].split(":")] for name in ("sections", "short", "split")
                 if name in options}
        exact = (2 * int(sum(sizes.get("sections", ()))) or 2 * len(sizes.get("short", ()))
                 or int(sum(sizes.get("split", ()))))
        rotate = re.match(r"\d+", options.get("rotate", ""))
        if rotate and int(rotate.group()):
            head_dim = max(head_dim, int(rotate.group()))
        elif exact:
            head_dim = exact
        if options.get("xpos", "off") != "off":
            reach = max(1, min(reach, int(_XPOS_REACH * float(options["xpos"]) / 512)))
    return head_dim, reach


def _acting(encoding: Encoding, parameters: Mapping[str, Any]) -> Tuple[Encoding, Dict[str, Any]]:
    """Without what is added to tokens: operators exist where a table has no row."""
    terms = _terms(encoding.spec)
    kept = [number for number, (_, _, text) in enumerate(terms)
            if not Encoding(text).sites or set(Encoding(text).sites) - {"embedding", "encoded"}]
    if len(kept) == len(terms):
        return encoding, dict(parameters)
    named = {}
    for name, value in parameters.items():
        number, _, base = name.rpartition(".")
        if int(number or 0) in kept:
            named[f"{kept.index(int(number))}.{base}" if number and len(kept) > 1 else base] = value
    return Encoding(" + ".join(terms[number][2] for number in kept) or "none"), named


def check(encoding: Any, heads: int = 2, head_dim: Optional[int] = None, parameters: Optional[Parameters] = None,
          seed: int = 0, reach: int = REACH) -> List[Law]:
    """Measures the laws of an encoding, which promises some of them (`Encoding.laws`): homomorphism, inverse,
    orthogonality, norm and commutators of its operators on queries; the first and the third once more for long paths in
    float32 (long_homomorphism, drift); on cycles, period; and relativity of scores and outputs. The errors are those
    that `locus check` prints for the same seed.

    `head_dim` None: 24 for each coordinate, or what the spec asks for. `parameters` None: initial ones of `seed`.
    `reach`: steps from the origin at most, fewer where an encoding has an end."""
    own = encoding_of(encoding)
    natural, reach = _natural(own, whole("reach", reach, 1))
    dim = natural if head_dim is None else whole("head_dim", head_dim)
    if parameters is None:
        parameters = own.initialise(heads, dim, model_dim=heads * dim, seed=seed)
    measure = _Measure(own, parameters, heads, dim, Elements(own.group or "seq", seed, reach))
    return (measure.operators() if "query-key" in own.sites else []) + [measure.relativity()]


# ---- measuring ----


def _most(errors: NDArray[Any]) -> float:
    """The largest; NaN stays."""
    return float(np.abs(errors).max(initial=0.0))


def _promised(name: str, encoding: Encoding) -> bool:
    return name in encoding.laws


class _Measure:
    """One encoding with its parameters and a stream of elements, which the laws are drawn from in their order."""

    def __init__(self, encoding: Encoding, parameters: Parameters, heads: int, dim: int, elements: Elements) -> None:
        self.encoding, self.parameters, self.heads, self.dim = encoding, parameters, heads, dim
        self.elements = elements
        self.role = "key" if "side=key" in encoding.spec else "query"
        self.acting = _acting(encoding, parameters)
        kinds = elements.coordinates
        self.trees, self.cycles = (any(kind == which for kind, _ in kinds) for which in (TREE, CYCLE))
        self.abelian = all(kind != TREE or size == 1 for kind, size in kinds)

    def plan(self, queries: positions, keys: Optional[positions] = None) -> Plan:
        return self.encoding.plan(queries, self.heads, self.dim, self.parameters, keys=keys,
                                  model_dim=self.heads * self.dim)

    def applied(self, place: positions, x: NDArray[Any]) -> NDArray[Any]:
        encoding, parameters = self.acting
        plan = encoding.plan(place, self.heads, self.dim, parameters, model_dim=self.heads * self.dim)
        return plan.apply(x, self.role)

    def matrices(self, paths: List[path], dtype: Any) -> NDArray[np.float64]:
        """[elements, H, d, d]: token e·d + j carries the unit vector j at the position of element e."""
        unit = np.broadcast_to(np.eye(self.dim, dtype=dtype)[None, :, None, :],
                               (len(paths), self.dim, self.heads, self.dim))
        place = positions([p for p in paths for _ in range(self.dim)], self.elements.group)
        turned = self.applied(place, np.ascontiguousarray(unit).reshape(-1, self.heads, self.dim))
        found: NDArray[np.float64] = turned.reshape(len(paths), self.dim, self.heads, self.dim).transpose(
            0, 2, 3, 1).astype(np.float64)
        return found

    def of_samples(self, pairs: List[Tuple[path, path]], dtype: Any) -> Tuple[float, float, float, float]:
        """Errors of ⌈a+b⌉ = ⌈a⌉⌈b⌉, of the inverse, of orthogonality, of commutators."""
        found = self.matrices([p for a, b in pairs for p in (a, b, a + b, -a)], dtype)
        a, b, both, back = np.moveaxis(found.reshape(len(pairs), 4, *found.shape[1:]), 1, 0)
        identity, product = np.eye(self.dim), a @ b
        return (_most(product - both), _most(back @ a - identity),
                _most(np.swapaxes(both, -1, -2) @ both - identity), _most(product - b @ a))

    def norm(self) -> float:
        place = positions([self.elements.draw() for _ in range(_NORMS)], self.elements.group)
        x = vectors(self.elements.seed, 0, (_NORMS, self.heads, self.dim))
        return _most(np.linalg.norm(self.applied(place, x), axis=-1) / np.linalg.norm(x, axis=-1) - 1)

    def period(self) -> float:
        columns = self.elements.turns(_PERIODS)
        if self.trees:
            rows = [[str(value) if kind != TREE else "0" for value, (kind, _) in zip(row, self.elements.coordinates)]
                    for row in zip(*columns)]
            place = positions([f"({','.join(row)})" for row in rows], self.elements.group)
        else:
            place = positions(np.array(columns, np.int64).T, self.elements.group)
        half = vectors(self.elements.seed, 1, (2 * _PERIODS, self.heads, self.dim))[:_PERIODS]
        error = 0.0
        for dtype in (np.float64, np.float32):
            turned = self.applied(place, np.concatenate([half, half]).astype(dtype))
            error = float(np.maximum(error, _most(turned[_PERIODS:].astype(np.float64) - turned[:_PERIODS])))
        return error

    def operators(self) -> List[Law]:
        work = 6.0 * self.heads * self.dim ** 3
        count = int(min(48, max(6, _SAMPLE_WORK / work)))
        pairs = []
        for number in range(count):
            short = number % 2 == 0
            pairs.append((self.elements.draw(short), self.elements.draw(short)))
        morphism, inverse, orthogonality, commutators = self.of_samples(pairs, np.float64)
        norm = self.norm()
        far = self.of_samples([self.elements.far(_LETTERS) for _ in range(_LONG_SAMPLES)], np.float32)
        long = _LONG_WORDS if self.trees else _LONG
        homomorphic, orthogonal = (_promised(name, self.encoding) for name in ("homomorphism", "orthogonal"))
        laws = [Law("homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉", morphism, _EXACT, homomorphic),
                Law("inverse", "⌈−a⌉⌈a⌉ = I", inverse, _EXACT, orthogonal),
                Law("orthogonality", "⌈a⌉ᵀ⌈a⌉ = I", orthogonality, _EXACT, orthogonal),
                Law("norm", "|⌈a⌉x| = |x|", norm, _EXACT, orthogonal),
                Law("commutators", "⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉", commutators, _EXACT, homomorphic and self.abelian),
                Law("long_homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉, long, float32", far[0], long, homomorphic),
                Law("drift", "⌈a⌉ᵀ⌈a⌉ = I, long, float32", far[2], long, orthogonal)]
        if self.cycles:
            laws.append(Law("period", "⌈p+n⌉ = ⌈p⌉, every bit", self.period(), _PERIOD, homomorphic))
        return laws

    # ---- relativity ----

    def pairs(self) -> Tuple[positions, positions]:
        """Queries and keys at (a, b), then at (c + a, c + b); each pair is a sequence of one token."""
        at: Tuple[List[path], ...] = ([], [], [], [])
        for number in range(_PAIRS):
            c = self.elements.draw()
            a, b = (self.elements.draw(number % 2 == 0) for _ in range(2))
            for own, place in zip(at, (a, b, c + a, c + b)):
                own.append(place)
        offsets = np.arange(2 * _PAIRS + 1)
        return (positions(at[0] + at[2], self.elements.group, offsets),
                positions(at[1] + at[3], self.elements.group, offsets))

    def plans(self) -> Tuple[Plan, Plan]:
        """Tables have an end, and one side of the origin: elements get smaller until all positions exist."""
        own = self.elements
        while True:
            last = own.forward and own.reach == 0 and own.depth == 0
            queries, keys = self.pairs()
            try:
                return self.plan(queries, keys), self.plan(keys, queries)
            except PositionError:
                if last:
                    raise
            if own.forward:
                own.reach, own.depth = own.reach // 2, own.depth // 2
            own.forward = True

    def relativity(self) -> Law:
        """The log-sum-exp of one key is its score; scores may be large, so errors are relative beyond 1."""
        plan, swapped = self.plans()
        shape = (2 * _PAIRS, self.heads, self.dim)
        drawn = [vectors(self.elements.seed, step, shape)[:_PAIRS] for step in (2, 3, 4)]
        q, k, v = (np.concatenate([x, x]) for x in drawn)
        if "embedding" in self.encoding.sites:
            q, k, v = (which.apply(x.reshape(len(x), -1), "token").reshape(x.shape)
                       for which, x in ((plan, q), (swapped, k), (swapped, v)))
        found = plan.attention(q, k, v, causal=True, return_lse=True)
        errors = [_most((x[_PAIRS:] - x[:_PAIRS]) / np.maximum(1, np.abs(x[:_PAIRS]))) for x in found]
        return Law("relativity", "score(c+a, c+b) = score(a, b)", float(np.max(errors)), _EXACT,
                   _promised("relativity", self.encoding))
