# SPDX-License-Identifier: MIT
"""Scalings by their names, as encodings for `locus.huggingface.use`.

    own              the model as it is; computed by locus where `use` takes it
    none             its frequencies without any scaling
    linear ntk dynamic yarn llama3
                     scaled by `factor`, or by one's own: `yarn:8`
    longrope         the lists of factors in its configuration
    window           unscaled; a query sees as many keys as the model was trained for
    sinks            the same, and the text's first four keys
    anything else    a spec, such as `rope(scaling=yarn, factor=8, original=4096, slow=2)` or `alibi`"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from ...errors import SpecError, UnsupportedError
from ..specs import layers_of, own_of, split, terms_of

FACTORED = ("linear", "ntk", "dynamic", "yarn", "llama3")
NAMES = ("own", "none", *FACTORED, "longrope", "window", "sinks")
_KEPT_KEYS = 4


@dataclass(frozen=True)
class Scaling:
    """`label`: what a caller wrote; `encoding`: for `use`, None the model's own."""

    label: str
    encoding: Optional[str]


def _own_rope(config: Any) -> Dict[str, str]:
    """The options of a configuration's `rope`."""
    name = config.get_text_config(decoder=True).model_type
    try:
        specs = own_of(config).specs
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}: of the names of scalings only 'own' is for it, and whole specs are") from None
    for spec in specs:
        for term, options in terms_of(spec):
            if term == "rope":
                return options
    raise UnsupportedError(f"'{name}' has no rotary positions: of the names of scalings only 'own' is for it, and whole "
                           "specs are")


def trained_length(config: Any) -> Optional[int]:
    """How long the texts were that a model was trained on, before any scaling; None where its configuration does not
    say."""
    try:
        said = _own_rope(config).get("original")
    except UnsupportedError:
        said = None
    found = said or getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    return int(found) if found else None


def _longrope(options: Dict[str, str]) -> str:
    if options.get("scaling") != "longrope":
        raise SpecError("scaling 'longrope' needs a model that has lists of factors in its configuration; with lists of "
                        "your own it is a spec, rope(scaling=longrope, short=…, long=…, original=…)")
    kept = ("scaling", "short", "long", "original", "factor", "attention")
    return f"rope({', '.join(f'{key}={options[key]}' for key in kept if key in options)})"


class Names:
    """What names mean for one model."""

    def __init__(self, config: Any, original: Optional[int], factor: float) -> None:
        self.config, self.original, self.factor = config, original, factor

    def _trained(self, name: str) -> int:
        if self.original is None:
            raise ValueError(f"scaling '{name}' needs the length that the model was trained for, which its configuration "
                             "does not say: give it as original")
        return self.original

    def encoding(self, name: str, factor: float) -> Optional[str]:
        """Of one of `NAMES`."""
        if name == "own":
            return None
        options = _own_rope(self.config)
        if name == "longrope":
            return _longrope(options)
        if name in FACTORED:
            original = f", original={self._trained(name)}" if name not in ("linear", "ntk") else ""
            return f"rope(scaling={name}, factor={factor:.17g}{original})"
        if name == "none":
            return "rope"
        kept = f", keep={_KEPT_KEYS}" if name == "sinks" else ""
        return f"rope + scores(window={self._trained(name)}{kept})"

    def read(self, text: str) -> Scaling:
        name, colon, number = text.partition(":")
        if text not in NAMES and not (colon and name in FACTORED):
            if name.isidentifier() and (colon or name in FACTORED):
                raise SpecError(f"'{text}': a factor stands behind one of {', '.join(FACTORED)}, as in yarn:8")
            _check_spec(text)
            return Scaling(text, text)
        return Scaling(text, self.encoding(name, _factor_of(text, number) if colon else self.factor))


def _factor_of(text: str, number: str) -> float:
    try:
        found = float(number)
    except ValueError:
        raise SpecError(f"'{text}': expected a number behind the colon, as in yarn:8") from None
    return check_factor(found)


def check_factor(factor: float) -> float:
    if not 0 < factor < math.inf:
        raise ValueError(f"factor is {factor:g}; expected a number above 0")
    return factor


def _check_spec(text: str) -> None:
    try:
        layers_of(text)
    except SpecError:
        if not text.isidentifier():
            raise
        raise SpecError(f"'{text}' is neither a scaling ({', '.join(NAMES)}) nor an encoding") from None


def read_scalings(config: Any, texts: Sequence[str], original: Optional[int], factor: float) -> List[Scaling]:
    """Each once, in the order given."""
    names = Names(config, original, factor)
    return [names.read(text) for text in dict.fromkeys(texts)]


def cut_list(text: str) -> List[str]:
    """A list as it is written on a command line; commas inside of brackets part nothing."""
    return [part for part in split(text, ",") if part]
