# SPDX-License-Identifier: MIT
"""Encodings of one's own, from Python functions.

    locus.register("window", score=lambda distance, width: -(distance / width) ** 2, options={"width": 16.0})
    locus.register("slope", score=lambda distance, slope, head: -slope[head] * distance,
                   parameters={"slope": ("heads",)}, gradient=lambda upstream, distance, slope, head: …)

A function is given what its parameters name: ``distance`` ``[n]``; ``query`` and ``key`` ``[n, coordinates]``,
positions (on trees the words' lengths, and ``query_words``, ``key_words``, lists of branches); ``head``, ``heads``, ``head_dim``,
``length``; each option; each learned array. Functions are called when plans are made, with many pairs at once."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _core

_KINDS = {"bias": 1, "factor": 2}
_CONSTRAINTS = {None: 0, "positive": 1, "nonzero": 2}
_EXTENTS = {"heads": -1, "head_dim": -2, "pairs": -3}
_GIVEN = ("distance", "query", "key", "query_words", "key_words", "head", "heads", "head_dim", "length")
_CHOICE, _NUMBER, _INTEGER = 1, 2, 3
_HEADS_ALIKE, _RELATIVITY, _REALS, _LENGTH = 1, 4, 2, 4
_WIDEST = 1e15


def _option(name: str, said: Any) -> Tuple[Tuple[Any, ...], Callable[[Tuple[str, float]], Any]]:
    """An option as the library describes it, and how its value is read."""
    given = said if isinstance(said, Mapping) else {"default": said}
    default, meaning = given.get("default"), str(given.get("meaning", name))
    choices = given.get("choices")
    if isinstance(default, bool):
        initial = "on" if default else "off"
        return (name, "off|on", initial, meaning, _CHOICE, 0.0, 0.0), lambda value: value[0] == "on"
    if isinstance(default, (list, tuple)):
        choices, default = default, default[0]
    if choices:
        return (name, "|".join(choices), str(default), meaning, _CHOICE, 0.0, 0.0), lambda value: value[0]
    if not isinstance(default, (int, float)):
        raise TypeError(f"option '{name}' must have a default: a number, True or False, or a list of choices")
    whole = isinstance(default, int)
    low, high = float(given.get("minimum", -_WIDEST)), float(given.get("maximum", _WIDEST))
    words = ("integer" if whole else "number") + f" {low:g} … {high:g}"
    read: Callable[[Tuple[str, float]], Any] = (lambda value: int(value[1])) if whole else (lambda value: value[1])
    return (name, words, repr(default), meaning, _INTEGER if whole else _NUMBER, low, high), read


class _Learned:
    """A parameter: shape with "heads", "head_dim" and "pairs" in it, initial value, deviation, constraint."""

    def __init__(self, name: str, said: Any) -> None:
        given = said if isinstance(said, Mapping) else {"shape": said}
        self.name = name
        self.sizes = tuple(given["shape"])
        for size in self.sizes:
            if not (isinstance(size, int) and size > 0) and size not in _EXTENTS:
                raise ValueError(f"parameter '{name}': a size is a number above 0, or one of {', '.join(_EXTENTS)}")
        if given.get("constraint") not in _CONSTRAINTS:
            raise ValueError(f"parameter '{name}': a constraint is 'positive' or 'nonzero'")
        self.described = (name, [_EXTENTS.get(size, size) for size in self.sizes], float(given.get("initial", 0.0)),
                          float(given.get("deviation", 0.0)), _CONSTRAINTS[given.get("constraint")])

    def shape(self, batch: Dict[str, Any]) -> Tuple[int, ...]:
        known = {"heads": batch["heads"], "head_dim": batch["head_dim"], "pairs": batch["head_dim"] // 2}
        return tuple(known.get(size, size) for size in self.sizes)


class _Function:
    """A function of Python with the names of what it wants, and how a batch gives them."""

    def __init__(self, function: Callable[..., Any], readers: Dict[str, Callable[[Tuple[str, float]], Any]],
                 learned: Sequence[_Learned], also: Tuple[str, ...]) -> None:
        self.function = function
        self.wanted = tuple(inspect.signature(function).parameters)
        self.readers = list(readers.items())
        self.learned = learned
        for name in self.wanted:
            if name not in _GIVEN + also and name not in readers and name not in (each.name for each in learned):
                raise TypeError(f"a score function cannot be given '{name}'; expected names of options and parameters, "
                                f"and {', '.join(_GIVEN + also)}")

    def __call__(self, batch: Dict[str, Any], upstream: Any) -> Any:
        known = dict(batch, upstream=upstream)
        known.update((name, read(value)) for (name, read), value in zip(self.readers, batch["options"]))
        _, pointer = batch["parameters"]
        for number, each in enumerate(self.learned):
            if each.name in self.wanted:
                shape = each.shape(batch)
                known[each.name] = _core.parameter_values(pointer, number, int(np.prod(shape))).reshape(shape)
        return self.function(**{name: known[name] for name in self.wanted})


def register(name: str, *, score: Callable[..., Any], gradient: Optional[Callable[..., Any]] = None,
             options: Optional[Mapping[str, Any]] = None, parameters: Optional[Mapping[str, Any]] = None,
             kind: str = "bias", group: Optional[str] = None, summary: Optional[str] = None,
             relative: Optional[bool] = None, real: bool = False) -> None:
    """Registers an encoding for the rest of the process; from then on "name(option=value)" is a spec.

    `score` returns ``[n]`` numbers for n pairs of a query and a key, which are added to scores (`kind` "bias") or
    multiply them ("factor"). `options`: name → default (a number, True or False, a list of choices), or a dict with
    default, minimum, maximum, choices, meaning. `parameters`: name → shape, with "heads", "head_dim" and "pairs" in
    it, or a dict with shape, initial, deviation, constraint ("positive", "nonzero"). `gradient`, needed with
    parameters, is also given ``upstream`` ``[n]`` and returns {parameter: Σ upstream·∂score/∂parameter}, or that of the
    one parameter. `relative` promises that scores depend on −query + key only; so do functions of ``distance`` unless
    they ask for positions. `real`: real-valued positions will do."""
    if kind not in _KINDS:
        raise ValueError(f"there is no kind '{kind}'; expected bias or factor")
    if parameters and gradient is None:
        raise ValueError(f"encoding '{name}' learns {', '.join(parameters)}: give the gradient, too")
    described = {each: _option(each, said) for each, said in (options or {}).items()}
    readers = {each: read for each, (_, read) in described.items()}
    learned = [_Learned(each, said) for each, said in (parameters or {}).items()]
    values = _Function(score, readers, learned, ())
    slope = None if gradient is None or not learned else _Function(gradient, readers, learned, ("upstream",))

    def own_score(batch: Dict[str, Any], _: Any) -> Any:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values(batch, None), np.float64), (batch["count"],)))

    def own_gradient(batch: Dict[str, Any], upstream: Any) -> List[Any]:
        assert slope is not None
        found = slope(batch, upstream)
        if not isinstance(found, Mapping):
            found = {learned[0].name: found}
        return [np.ascontiguousarray(np.broadcast_to(np.asarray(found.get(each.name, 0.0), np.float64),
                                                     each.shape(batch))) for each in learned]

    places = {"query", "key", "query_words", "key_words"}
    if relative is None:
        relative = not places & set(values.wanted)
    alike = not learned and "head" not in values.wanted
    _core.register(name, summary or (score.__doc__ or "registered from Python").strip().splitlines()[0], group or "",
                   _KINDS[kind], _HEADS_ALIKE if alike else 0, _RELATIVITY if relative else 0,
                   (_REALS if real else 0) | (_LENGTH if "length" in values.wanted else 0),
                   [entry for entry, _ in described.values()], [each.described for each in learned], own_score,
                   own_gradient if learned else None)
