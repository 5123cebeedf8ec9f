# SPDX-License-Identifier: MIT
"""Encodings of one's own, from Python functions.

    locus.register("window", score=lambda distance, width: -(distance / width) ** 2, options={"width": 16.0})
    locus.register("slope", score=lambda distance, slope, head: -slope[head] * distance, parameters={"slope": ("heads",)},
                   gradient=lambda upstream, distance, slope, head: -(upstream @ distance) * (np.arange(len(slope)) == head))
    locus.register("wheel", angles=lambda position, head_dim: position * 100.0 ** (-2 * np.arange(head_dim // 2) / head_dim),
                   laws=("homomorphism", "relativity"))

A function is given what its parameters name. Of scores: ``distance`` ``[n]``; ``query`` and ``key`` ``[n,
coordinates]``, positions (on trees the words' lengths, and ``query_words``, ``key_words``, lists of branches). Of angles
and matrices: ``position`` ``[n, coordinates]``, ``words``. Of all: ``head``, ``heads``, ``head_dim``, ``length``; each
option; each learned array. Functions are called when plans are made, with many places at once."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _core
from .arguments import text as checked_text

_BIAS, _FACTOR, _ANGLES, _MATRICES = 1, 2, 3, 4
_CONSTRAINTS = {None: 0, "positive": 1, "nonzero": 2}
_EXTENTS = {"heads": -1, "head_dim": -2, "pairs": -3}
_OF_OPTION = -16  # less the option's number
_EVERYWHERE = ("head", "heads", "head_dim", "length")
_OF_SCORES = ("distance", "query", "key", "query_words", "key_words", *_EVERYWHERE)
_OF_OPERATORS = ("position", "words", *_EVERYWHERE)
_CHOICE, _NUMBER, _INTEGER = 1, 2, 3
_TYPES = {"choice": 1, "number": 2, "integer": 3, "off or number": 4, "group": 6, "list": 7, "numbers": 8,
          "off or integer": 10}
_HEADS_ALIKE, _HALF_PAIRS, _VALUES = 1, 2, 4
_LAWS = {"homomorphism": 1, "orthogonal": 2, "relativity": 4}
_REALS, _LENGTH, _CAUSAL = 2, 4, 8
_WIDEST = 1e15

Reader = Callable[[Tuple[str, float, List[float]]], Any]


# ---- options ----


def _typed(name: str, given: Mapping[str, Any]) -> Tuple[int, Any]:
    """The kind of an option, and its default with choices in their order."""
    default, choices = given.get("default"), given.get("choices")
    if "type" in given:
        if given["type"] not in _TYPES:
            raise ValueError(f"option '{name}' has type '{given['type']}'; expected one of {', '.join(_TYPES)}")
        return _TYPES[given["type"]], default
    if isinstance(default, bool) or choices or isinstance(default, (list, tuple)):
        return _CHOICE, default
    if isinstance(default, (int, float)):
        return (_INTEGER if isinstance(default, int) else _NUMBER), default
    raise TypeError(f"option '{name}' must have a default: a number, True or False, or a list of choices; or a type: "
                    f"{', '.join(_TYPES)}")


def _choices(default: Any, choices: Any) -> Tuple[str, str, Reader]:
    if isinstance(default, bool):
        return "off|on", "on" if default else "off", lambda value: value[0] == "on"
    if isinstance(default, (list, tuple)):
        choices, default = default, default[0]
    return "|".join(choices), str(choices[0] if default is None else default), lambda value: value[0]


def _option(name: str, said: Any) -> Tuple[Tuple[Any, ...], Reader]:
    """An option as the library describes it, and how its value is read."""
    given = said if isinstance(said, Mapping) else {"default": said}
    meaning = str(given.get("meaning", name))
    kind, default = _typed(name, given)
    if kind == _CHOICE:
        words, initial, read = _choices(default, given.get("choices"))
        return (name, words, initial, meaning, kind, 0.0, 0.0), read
    if kind == _TYPES["group"]:
        return (name, "group", "" if default is None else str(default), meaning, kind, 0.0, 0.0), lambda v: v[0]
    low, high = float(given.get("minimum", -_WIDEST)), float(given.get("maximum", _WIDEST))
    word = next(each for each, number in _TYPES.items() if number == kind)
    if isinstance(default, (list, tuple)):
        initial = ":".join(repr(number) for number in default)
    else:
        initial = "" if default is None else default if isinstance(default, str) else repr(default)
    whole = "integer" in word

    def read_number(value: Tuple[str, float, List[float]]) -> Any:
        if word in ("list", "numbers"):
            return np.array(value[2], np.int64 if word == "list" else np.float64)
        if value[1] != value[1]:
            return None
        return int(value[1]) if whole else value[1]

    return (name, f"{word} {low:g} … {high:g}", initial, meaning, kind, low, high), read_number


# ---- parameters ----


class _Learned:
    """A parameter: shape with "heads", "head_dim", "pairs" and options in it, initial value, deviation, constraint."""

    def __init__(self, name: str, said: Any, options: Sequence[str]) -> None:
        given = said if isinstance(said, Mapping) else {"shape": said}
        self.name = name
        self.sizes = tuple(given["shape"])
        self.initial = given.get("initial", 0.0)
        extents = {**{option: _OF_OPTION - number for number, option in enumerate(options)}, **_EXTENTS}
        for size in self.sizes:
            if not (isinstance(size, int) and size > 0) and size not in extents:
                raise ValueError(f"parameter '{name}': a size is a number above 0, or one of {', '.join(extents)}")
        if given.get("constraint") not in _CONSTRAINTS:
            raise ValueError(f"parameter '{name}': a constraint is 'positive' or 'nonzero'")
        self.described = (name, [extents.get(size, size) for size in self.sizes],
                          0.0 if callable(self.initial) else float(self.initial), float(given.get("deviation", 0.0)),
                          _CONSTRAINTS[given.get("constraint")])

    def shape(self, batch: Mapping[str, Any], options: Mapping[str, Any]) -> Tuple[int, ...]:
        known = {**options, "heads": batch["heads"], "head_dim": batch["head_dim"], "pairs": batch["head_dim"] // 2}
        return tuple(int(known.get(size, size)) for size in self.sizes)


# ---- functions ----


class _Function:
    """A function of Python with the names of what it wants, and how a batch gives them."""

    def __init__(self, function: Callable[..., Any], readers: Mapping[str, Reader], learned: Sequence[_Learned],
                 given: Tuple[str, ...]) -> None:
        self.function = function
        self.wanted = tuple(inspect.signature(function).parameters)
        self.readers = list(readers.items())
        self.learned = learned
        for name in self.wanted:
            if name not in given and name not in readers and name not in (each.name for each in learned):
                raise TypeError(f"a function cannot be given '{name}'; expected names of options and parameters, and "
                                f"{', '.join(given)}")

    def options(self, batch: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: read(value) for (name, read), value in zip(self.readers, batch["options"])}

    def __call__(self, batch: Dict[str, Any], **more: Any) -> Any:
        options = self.options(batch)
        known = {**batch, "position": batch["query"], "words": batch["query_words"], **more, **options}
        _, pointer = batch["parameters"]
        for number, each in enumerate(self.learned):
            if each.name in self.wanted:
                shape = each.shape(batch, options)
                known[each.name] = _core.parameter_values(pointer, number, int(np.prod(shape))).reshape(shape)
        return self.function(**{name: known[name] for name in self.wanted})


def _filled(found: Any, shape: Tuple[int, ...], what: str) -> Any:
    """Numbers of a callback in float64, of a shape."""
    array = np.asarray(found, np.float64)
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError:
        raise ValueError(f"{what} is {list(array.shape)}; expected {list(shape)}") from None


class _Registered:
    """The functions of one encoding, as the extension module calls them."""

    def __init__(self, name: str, kind: int, function: Callable[..., Any], gradient: Optional[Callable[..., Any]],
                 options: Optional[Mapping[str, Any]], parameters: Optional[Mapping[str, Any]]) -> None:
        if parameters and gradient is None:
            raise ValueError(f"encoding '{name}' learns {', '.join(parameters)}: give the gradient, too")
        described = {each: _option(each, said) for each, said in (options or {}).items()}
        readers = {each: read for each, (_, read) in described.items()}
        given = _OF_SCORES if kind in (_BIAS, _FACTOR) else _OF_OPERATORS
        self.name, self.kind = name, kind
        self.options = [entry for entry, _ in described.values()]
        self.learned = [_Learned(each, said, list(described)) for each, said in (parameters or {}).items()]
        self.function = _Function(function, readers, self.learned, given)
        self.slope = None if gradient is None or not self.learned else _Function(
            gradient, readers, self.learned, (*given, "upstream"))
        sizes = ("heads", "head_dim", "shape")
        self.initial = {number: _Function(each.initial, readers, [], sizes)
                        for number, each in enumerate(self.learned) if callable(each.initial)}

    def shape(self, batch: Mapping[str, Any]) -> Tuple[int, ...]:
        dim = batch["head_dim"]
        width: Dict[int, Tuple[int, ...]] = {_ANGLES: (dim // 2,), _MATRICES: (dim, dim)}
        return (batch["count"], *width.get(self.kind, ()))

    def values(self, batch: Dict[str, Any]) -> Any:
        wanted = self.shape(batch)
        filled = _filled(self.function(batch), wanted, f"what '{self.name}' says of {batch['count']} places")
        return filled.reshape(wanted[0], -1)

    def gradient(self, batch: Dict[str, Any], upstream: Any) -> List[Any]:
        assert self.slope is not None
        found = self.slope(batch, upstream=upstream.reshape(self.shape(batch)))
        names = [each.name for each in self.learned]
        if not isinstance(found, Mapping):
            if len(names) > 1:
                raise TypeError(f"the gradient of '{self.name}' must be a mapping: it has parameters {', '.join(names)}")
            found = {names[0]: found}
        missing, unknown = [name for name in names if name not in found], [name for name in found if name not in names]
        if missing or unknown:
            raise ValueError(f"the gradient of '{self.name}' has {'no ' if missing else ''}'{(missing or unknown)[0]}'; "
                             f"its parameters are {', '.join(names)}")
        options = self.slope.options(batch)
        return [_filled(found[each.name], each.shape(batch, options),
                        f"the gradient of '{self.name}' for '{each.name}'") for each in self.learned]

    def begin(self, batch: Dict[str, Any], number: int, _: Any) -> Any:
        function = self.initial.get(number)
        if function is None:
            return None
        each = self.learned[number]
        shape = each.shape(batch, function.options(batch))
        return _filled(function(batch, shape=shape), shape, f"initial values of '{each.name}'").reshape(-1)


def _laws(names: Sequence[str], known: int) -> int:
    for name in names:
        if name not in _LAWS:
            raise ValueError(f"there is no law '{name}'; expected {', '.join(_LAWS)}")
        known |= _LAWS[name]
    return known


def _kind(score: Any, angles: Any, matrices: Any, kind: str) -> Tuple[int, Callable[..., Any]]:
    said = [each for each in (score, angles, matrices) if each is not None]
    if len(said) != 1:
        raise TypeError("give one of score, angles and matrices")
    if kind not in ("bias", "factor"):
        raise ValueError(f"there is no kind '{kind}'; expected bias or factor")
    number = _ANGLES if angles is not None else _MATRICES if matrices is not None else (
        _FACTOR if kind == "factor" else _BIAS)
    return number, said[0]


def register(name: str, *, score: Optional[Callable[..., Any]] = None, angles: Optional[Callable[..., Any]] = None,
             matrices: Optional[Callable[..., Any]] = None, gradient: Optional[Callable[..., Any]] = None,
             options: Optional[Mapping[str, Any]] = None, parameters: Optional[Mapping[str, Any]] = None,
             kind: str = "bias", group: Optional[str] = None, summary: Optional[str] = None,
             source: Optional[str] = None, laws: Sequence[str] = (), relative: Optional[bool] = None,
             real: bool = False, causal: bool = False, pairs: str = "interleaved", values: bool = False) -> None:
    """Registers an encoding for the rest of the process; from then on "name(option=value)" is a spec.

    One of: `score`, ``[n]`` numbers for n pairs of a query and a key, which are added to scores (`kind` "bias") or
    multiply them ("factor"); `angles` ``[n, head_dim // 2]``, by which pairs of a head's dimensions turn at n positions,
    in radians (`pairs` "interleaved": (2i, 2i + 1), "half": (i, i + head_dim // 2)); `matrices` ``[n, head_dim,
    head_dim]``, operators at n positions, outputs taking the transpose. `values`: angles and orthogonal matrices act on
    values, too.

    `options`: name → default (a number, True or False, a list of choices), or a dict with default, minimum, maximum,
    choices, meaning, type ("off or number", "numbers", "list" of whole ones, "group", …). `parameters`: name → shape, with "heads",
    "head_dim", "pairs" and options in it, or a dict with shape, initial (a number, or a function of shape, heads,
    head_dim and options), deviation, constraint ("positive", "nonzero"). `gradient`, needed with parameters, is also
    given ``upstream``, shaped as what the function returns, and returns {parameter: Σ upstream·∂value/∂parameter}, or
    that of the one parameter.

    `laws` are promised, of "homomorphism", "orthogonal", "relativity" (`locus.check` measures them); angles are always
    orthogonal. `relative`: that scores depend on −query + key only; so do functions of ``distance`` unless they ask for
    positions. `real`: real-valued positions will do. `causal`: it is meant for the causal mask."""
    number, function = _kind(score, angles, matrices, kind)
    own = _Registered(checked_text("the name", name), number, function, gradient, options, parameters)
    scores = number in (_BIAS, _FACTOR)
    if pairs not in ("interleaved", "half"):
        raise ValueError(f"there are no pairs '{pairs}'; expected interleaved or half")
    if scores and (values or pairs == "half"):
        raise ValueError("pairs and values are of angles and matrices, not of scores")
    if relative is None:
        relative = scores and not {"query", "key", "query_words", "key_words"} & set(own.function.wanted)
    alike = not own.learned and "head" not in own.function.wanted
    said = (summary or function.__doc__ or "registered from Python").strip().splitlines()[0]
    _core.register({
        "name": name, "summary": said, "source": source, "group": group, "kind": number,
        "flags": (_HEADS_ALIKE * alike) | (_HALF_PAIRS * (pairs == "half")) | (_VALUES * values),
        "laws": _laws(laws, (_LAWS["relativity"] * relative) | (_LAWS["orthogonal"] * (number == _ANGLES))),
        "traits": (_REALS * real) | (_LENGTH * ("length" in own.function.wanted)) | (_CAUSAL * causal),
        "options": own.options, "parameters": [each.described for each in own.learned], "values": own.values,
        "gradient": own.gradient if own.learned else None, "initial": own.begin if own.initial else None})
