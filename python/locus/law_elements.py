# SPDX-License-Identifier: MIT
"""Random elements of any group, drawn as `locus check` draws them: the same seed, the same elements."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Tuple

from numpy.typing import NDArray

from . import _core
from .places import path

AXIS, CYCLE, TREE = 1, 2, 3
_USER = 0x10000
_ELEMENTS, _VECTORS = _USER + 0x60, _USER + 0x61
_SHORT_STEPS = 6
REACH, DEPTH = 1000000, 24
_LARGEST = (1 << 63) - 1


def vectors(seed: int, step: int, shape: Tuple[int, ...]) -> NDArray[Any]:
    """Standard normal numbers; another step, other numbers."""
    count = 1
    for size in shape:
        count *= size
    return _core.random_normal(seed, _VECTORS, step, count).reshape(shape)


@dataclass
class Elements:
    """A stream of elements: integers up to `reach`, words of up to `depth` letters; `forward`: neither negative integers
    nor inverse branches."""

    group: str
    seed: int
    reach: int
    depth: int = DEPTH
    forward: bool = False
    next: int = 0
    coordinates: List[Tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.coordinates = _core.coordinates(self.group)

    def below(self, bound: int) -> int:
        self.next += 1
        return _core.random_below(self.seed, _ELEMENTS, self.next - 1, bound)

    def _integer(self, short: bool) -> int:
        """Every magnitude is as likely as another: an upper bound of 1, 10, 100 … first."""
        most = min(self.reach, _SHORT_STEPS)
        for _ in range(0 if short else self.below(7)):
            if most < self.reach:
                most = self.reach if most > self.reach // 10 else 10 * most
        value = self.below(most + 1)
        return -value if not self.forward and self.below(2) else value

    def _word(self, branches: int, letters: int, forward: bool) -> str:
        text = ""
        for _ in range(letters):
            branch = self.below(branches) + 1
            branch = -branch if not forward and self.below(2) else branch
            text += f"{branch:+d}"
        return text.removeprefix("+") or "0"

    def _coordinate(self, kind: int, size: int, short: bool) -> str:
        if kind == AXIS:
            return str(self._integer(short))
        if kind == CYCLE:
            return str(self.below(size))
        most = min(self.depth, _SHORT_STEPS) if short else self.depth
        return self._word(size, self.below(most + 1), self.forward)

    def _path(self, texts: List[str]) -> path:
        return path(self.group, texts[0] if len(texts) == 1 else f"({','.join(texts)})")

    def draw(self, short: bool = False) -> path:
        """An element of any length, or a few steps, so that paths meet and cancel."""
        return self._path([self._coordinate(kind, size, short) for kind, size in self.coordinates])

    def far(self, letters: int) -> Tuple[path, path]:
        """Two that lead away from the origin, together `reach` steps on every axis and `letters` branches on every
        tree."""
        both: Tuple[List[str], List[str]] = ([], [])
        for kind, size in self.coordinates:
            part = self.below(self.reach + 1)
            word = int(letters * part / self.reach)
            for texts, steps, own in zip(both, (part, self.reach - part), (word, letters - word)):
                texts.append(self._word(size, own, True) if kind == TREE else
                             str(self.below(size)) if kind == CYCLE else str(steps))
        return self._path(both[0]), self._path(both[1])

    def turns(self, count: int) -> List[List[int]]:
        """For each coordinate `count` values, then the same with whole turns added on cycles."""
        columns = []
        for kind, size in self.coordinates:
            most = REACH if size < _LARGEST // (4 * REACH) else int(size < _LARGEST // 4)
            values, turned = [], []
            for number in range(count):
                value = self.below(size if size > 0 else REACH)
                turn = int(most > 0) if number == 0 else self.below(2 * most + 1) - most
                values.append(value)
                turned.append(value + turn * size if kind == CYCLE else value)
            columns.append(values + turned)
        return columns
