# SPDX-License-Identifier: MIT
"""Paths and positions: elements of a group.

Groups are texts: ``seq``, ``cycle:n``, ``grid:r``, ``tree:k`` and products, ``seq*tree:2``. A position has a value for
each coordinate: an integer (or a real number on axes), a residue, a word of branches."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, cast

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import text as checked_text, whole
from .errors import PositionError, ShapeError, SpecError, with_text

_AXIS, _CYCLE, _TREE = 1, 2, 3


def group_text(group: str) -> str:
    """The canonical text of a group."""
    try:
        return _core.group_text(checked_text("the group", group))
    except SpecError as error:
        raise with_text(error, group) from None


class path:
    """An element of a group in normal form, ``locus.path("tree:2", "1+2-2")``; branches count from 1."""

    __slots__ = ("_own",)
    _own: _core.Path

    def __init__(self, group: str, text: str) -> None:
        group_text(group)
        try:
            self._own = _core.parse_path(group, checked_text("the path", text))
        except SpecError as error:
            raise with_text(error, text) from None

    @classmethod
    def _of(cls, own: _core.Path) -> path:
        made = object.__new__(cls)
        made._own = own
        return made

    @property
    def text(self) -> str:
        """The normal form's text."""
        return self._own.text()

    @property
    def group(self) -> str:
        return self._own.group()

    @property
    def length(self) -> int:
        """Number of steps."""
        return self._own.length()

    @property
    def inverse(self) -> path:
        """−a."""
        return path._of(self._own.inverse())

    def relative(self, other: path) -> path:
        """−a + b: the path from here to `other`."""
        return path._of(self._own.relative(other._own))

    def distance(self, other: path) -> int:
        """The length that decays and biases use of the path between both."""
        return self._own.distance(other._own)

    def __add__(self, other: path) -> path:
        return path._of(self._own.compose(other._own)) if isinstance(other, path) else NotImplemented

    def __neg__(self) -> path:
        return self.inverse

    def __eq__(self, other: object) -> bool:
        return isinstance(other, path) and self._own.equal(other._own)

    def __hash__(self) -> int:
        return hash((self.group, self.text))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"locus.path({self.group!r}, {self.text!r})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return path, (self.group, self.text)


def _sizes(values: Any, name: str) -> NDArray[np.uint64]:
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ShapeError(f"{name} must be a row of whole numbers")
    if given.size and int(given.min()) < 0:
        raise ValueError(f"{name} must not be negative; number {int(given.argmin())} is {int(given.min())}")
    return np.ascontiguousarray(given, np.uint64)


def _packing(offsets: Any, tokens: Optional[int]) -> NDArray[np.uint64]:
    if offsets is None:
        return np.array([0, tokens or 0], np.uint64)
    packing = _sizes(offsets, "offsets")
    if packing.size == 0 or packing[0] != 0:
        raise ShapeError("offsets must begin with 0: the first token of each sequence, then the number of all tokens")
    if (np.diff(packing.astype(np.int64)) < 0).any():
        raise ShapeError("offsets must not decrease: they are the first token of each sequence, then all tokens")
    if tokens is not None and int(packing[-1]) != tokens:
        raise ShapeError(f"offsets end with {int(packing[-1])}, but there are positions of {tokens} tokens")
    return packing


def _words(rows: NDArray[Any], arity: int) -> Tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Branch rows [tokens, depth], from 0 on, padded with -1 behind, as signed branches from 1 on."""
    pads = rows < 0
    bad = (rows < -1) | (rows >= arity)
    if bad.any():
        token = int(np.argwhere(bad)[0][0])
        raise PositionError(f"token {token} has branch {int(rows[bad][0])}; a tree of {arity} branches has "
                            f"0 … {arity - 1}, and -1 behind the end of a row")
    if (pads[:, :-1] & ~pads[:, 1:]).any():
        token = int(np.argwhere((pads[:, :-1] & ~pads[:, 1:]).any(axis=1))[0][0])
        raise PositionError(f"token {token} has a branch behind a -1; only the end of a row is padded")
    starts = np.concatenate([[0], np.cumsum((~pads).sum(axis=1))]).astype(np.uint64)
    return np.ascontiguousarray(rows[~pads] + 1, np.int64), starts


_Path = path


class positions:
    """Where tokens stand: ``locus.positions(values, group="seq", offsets=None)``, immutable and hashable.

    `values` is one of

    - a number of tokens, which stand at 0, 1, 2, …; with `offsets` None will do, and each sequence begins at 0;
    - ``[tokens]`` or ``[tokens, coordinates]``: integers, or real numbers on axes (seq, grids);
    - ``[tokens, depth]`` on a tree: branches from 0 on from the root, padded with -1 behind;
    - texts or `locus.path` on any group, ``["(3,1+2)", …]``.

    `offsets` ``[sequences + 1]`` packs several sequences end to end: cumulative lengths."""

    __slots__ = ("_own", "_offsets")
    _own: _core.Positions
    _offsets: NDArray[np.uint64]

    def __init__(self, values: Any = None, group: Optional[str] = None, offsets: Any = None) -> None:
        domain = group_text(group or "seq")
        if values is None or isinstance(values, (int, np.integer)):
            if values is None and offsets is None:
                raise ValueError("positions need values, a number of tokens, or offsets")
            packing = _packing(offsets, None if values is None else whole("the number of tokens", values))
            self._fill(_core.positions_count(domain, packing), packing)
            return
        if isinstance(values, (list, tuple)) and values and isinstance(values[0], (str, path)):
            self._from_paths(values, domain, offsets)
            return
        self._from_array(np.asarray(values), domain, offsets)

    def _fill(self, own: _core.Positions, packing: NDArray[np.uint64]) -> None:
        self._own = own
        self._offsets = packing

    def _from_paths(self, values: Sequence[Any], domain: str, offsets: Any) -> None:
        packing = _packing(offsets, len(values))
        paths = [value if isinstance(value, path) else path(domain, value) for value in values]
        self._fill(_core.positions_paths(domain, packing, [own._own for own in paths]), packing)

    def _from_array(self, values: NDArray[Any], domain: str, offsets: Any) -> None:
        if values.dtype.kind == "U" and values.ndim == 1:
            self._from_paths(values.tolist(), domain, offsets)
            return
        if values.dtype.kind not in "iuf":
            raise TypeError(f"positions must be whole or real numbers, or texts, not {values.dtype}")
        coordinates = _core.coordinates(domain)
        packing = _packing(offsets, values.shape[0] if values.ndim else 0)
        if len(coordinates) == 1 and coordinates[0][0] == _TREE:
            if values.ndim != 2 or values.dtype.kind == "f":
                raise ShapeError("positions on a tree are [tokens, depth], branches from 0 on padded with -1, or texts")
            branches, starts = _words(values.astype(np.int64), coordinates[0][1])
            self._fill(_core.positions_words(domain, packing, branches, starts), packing)
            return
        if any(kind == _TREE for kind, _ in coordinates):
            raise ShapeError(f"positions on '{domain}', a product with a tree, are texts: [\"(3,1+2)\", …]")
        rows = values.reshape(-1, 1) if values.ndim == 1 else values
        if rows.ndim != 2 or rows.shape[1] != len(coordinates):
            raise ShapeError(f"positions on '{domain}' are [tokens, {len(coordinates)}], not {list(values.shape)}")
        if values.dtype.kind == "f":
            flat = np.ascontiguousarray(rows, np.float64).reshape(-1)
            self._fill(_core.positions_reals(domain, packing, flat), packing)
        else:
            if values.dtype.kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max:
                raise PositionError(f"position {int(values.max())} is beyond 64 bits")
            flat_integers = np.ascontiguousarray(rows, np.int64).reshape(-1)
            self._fill(_core.positions_integers(domain, packing, flat_integers), packing)

    @classmethod
    def parents(cls, parents: Any, branches: Any, arity: int = 2, offsets: Any = None) -> positions:
        """Nodes of trees: token i of a sequence is branch `branches[i]` (from 0 on) of token `parents[i]`, counted
        within the sequence; the root has parent -1, and its branch is not read. Parents stand before children, or
        behind: any order without a circle will do."""
        above, below = np.asarray(parents), np.asarray(branches)
        whole_numbers = above.dtype.kind in "iu" and below.dtype.kind in "iu"
        if above.ndim != 1 or above.shape != below.shape or not whole_numbers:
            raise ShapeError("parents and branches must be rows of whole numbers, as long as each other")
        packing, arity = _packing(offsets, above.size), whole("arity", arity, 1)
        made = object.__new__(cls)
        node, node_branch, node_parent = _nodes(above.astype(np.int64), below.astype(np.int64), arity, packing)
        made._fill(_core.positions_nodes(f"tree:{arity}", packing, node, node_branch, node_parent), packing)
        return made

    @classmethod
    def of(cls, values: Any, group: Optional[str] = None) -> positions:
        """`values` if they are positions already, else positions of them on `group`."""
        return values if isinstance(values, positions) else cls(values, group)

    @property
    def tokens(self) -> int:
        return self._own.tokens()

    @property
    def sequences(self) -> int:
        return self._own.sequences()

    @property
    def group(self) -> str:
        return self._own.group()

    @property
    def offsets(self) -> Tuple[int, ...]:
        """[sequences + 1]: the first token of each sequence, then the number of all tokens."""
        return tuple(int(offset) for offset in self._offsets)

    def path(self, token: int) -> _Path:
        """The position of a token as a path; UnsupportedError for real ones."""
        if not 0 <= token < self.tokens:
            raise IndexError(f"there is no token {token} of {self.tokens}")
        return path._of(self._own.path(token))

    def __len__(self) -> int:
        return self.tokens

    def __eq__(self, other: object) -> bool:
        return isinstance(other, positions) and self._own.equal(other._own)

    def __hash__(self) -> int:
        return self._own.hash()

    def __repr__(self) -> str:
        return f"<locus.positions: {self.tokens} tokens, {self.sequences} sequences, group {self.group}>"


def _order(above: NDArray[np.int64], first: int, last: int) -> List[int]:
    """Tokens first … last − 1, parents before children."""
    count = last - first
    own = above[first:last]
    if ((own < -1) | (own >= count)).any():
        token = int(np.flatnonzero((own < -1) | (own >= count))[0])
        raise PositionError(f"token {first + token} has parent {int(own[token])}; its sequence has tokens 0 … "
                            f"{count - 1}, and -1 stands for none")
    if (own < np.arange(count)).all():
        return list(range(count))
    children: List[List[int]] = [[] for _ in range(count)]
    ready: List[int] = []
    for token, parent in enumerate(cast(List[int], own.tolist())):
        (ready if parent < 0 else children[parent]).append(token)
    for token in ready:
        ready.extend(children[token])
    if len(ready) < count:
        raise PositionError(f"the parents of the sequence that begins at token {first} go round in a circle")
    return ready


def _nodes(above: NDArray[np.int64], below: NDArray[np.int64], arity: int, packing: NDArray[np.uint64]
           ) -> Tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Node of each token, branch and parent of each node; node 0 is the root of all sequences."""
    inner = above >= 0
    bad = inner & ((below < 0) | (below >= arity))
    if bad.any():
        token = int(np.flatnonzero(bad)[0])
        raise PositionError(f"token {token} has branch {int(below[token])}; a tree of {arity} branches has "
                            f"0 … {arity - 1}")
    node = np.zeros(above.size, np.int64)
    node_branch: List[int] = [0]
    node_parent: List[int] = [0]
    bounds = cast(List[int], packing.astype(np.int64).tolist())
    for first, last in zip(bounds[:-1], bounds[1:]):
        for token in _order(above, first, last):
            parent = int(above[first + token])
            if parent >= 0:
                node[first + token] = len(node_branch)
                node_parent.append(int(node[first + parent]))
                node_branch.append(int(below[first + token]) + 1)
    return node, np.array(node_branch, np.int64), np.array(node_parent, np.uint64)
