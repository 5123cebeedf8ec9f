# SPDX-License-Identifier: MIT
"""Which encoding each layer of a model has: as its own configuration says (through `locus.import_rope`), or as a caller
does, who need not repeat what the checkpoint fixes.

A text over layers is a pattern, ``3*rope / none``: three layers of one, one of the other, and again. A text without a
pattern is meant for the layers that have positions: those that a model leaves without (``none``) stay so.

A ``rope`` of the caller takes over from the model's own which dimensions turn together and how fast, as long as it does
not say so itself: `pairs`, `rotate`, `base`, `axes`, `frequencies`, `sections`, `order`. Scalings are not taken over."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ..encodings import Encoding
from ..errors import SpecError, UnsupportedError
from ..importing import import_rope

_TAKEN_OVER = ("pairs", "rotate", "base", "axes", "frequencies", "sections", "order")


@dataclass(frozen=True)
class Own:
    """What a configuration says: a spec for each layer, in turn. `behind`: so many dimensions turn, and they are the
    last ones of a head (0: the first)."""

    specs: Tuple[str, ...]
    behind: int
    notes: Tuple[str, ...]

    def of_layer(self, layer: int) -> str:
        return self.specs[layer % len(self.specs)]


def split(text: str, separator: str) -> List[str]:
    """Cut at a separator outside of brackets."""
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter == separator:
            parts.append(text[last:i].strip())
            last = i + 1
    return [*parts, text[last:].strip()]


def layers_of(text: str) -> List[str]:
    """A pattern as a spec for each layer of one round."""
    found: List[str] = []
    for item in split(text, "/"):
        counted = re.fullmatch(r"(\d+)\s*\*\s*(.*)", item, re.DOTALL)
        number, spec = (int(counted.group(1)), counted.group(2)) if counted else (1, item)
        if number == 0:
            raise SpecError(f"'{item}' is for no layer; expected a number of at least 1 before '*'")
        Encoding(spec)  # what cannot be parsed is said now
        found += [spec] * number
    return found


# ---- terms ----


def _options(term: str) -> Tuple[str, Dict[str, str]]:
    """The name of a term, and its options."""
    name, bracket, rest = term.partition("(")
    if not bracket:
        return name.strip(), {}
    pairs = (part.partition("=") for part in split(rest.rstrip().removesuffix(")"), ","))
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs if key.strip()}


def _term(name: str, options: Dict[str, str]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})" if options else name


def terms_of(spec: str) -> List[Tuple[str, Dict[str, str]]]:
    return [_options(term) for term in split(spec, "+")]


def text_of(terms: List[Tuple[str, Dict[str, str]]]) -> str:
    return " + ".join(_term(*term) for term in terms)


def completed(spec: str, own: str) -> str:
    """A caller's spec with what its `rope` takes over from the model's own."""
    theirs = next((options for name, options in terms_of(own) if name == "rope"), {})
    terms = [(name, {**{key: theirs[key] for key in _TAKEN_OVER if key in theirs}, **options} if name == "rope" else
              options) for name, options in terms_of(spec)]
    return Encoding(text_of(terms)).spec


def with_scores(spec: str, **settings: Any) -> str:
    """A spec whose `scores` have these settings, too, where it does not say them itself."""
    terms = [] if spec == "none" else terms_of(spec)
    said = next((options for name, options in terms if name == "scores"), None)
    if said is None:
        said = {}
        terms.append(("scores", said))
    for key, value in settings.items():
        said.setdefault(key, value if isinstance(value, str) else f"{value:.17g}")
    return text_of(terms)


def halved(spec: str) -> str:
    """The same with pairs (i, i + r/2): some models bring the pairs (2i, 2i + 1) into this order before they turn."""
    return Encoding(text_of([(name, {**options, "pairs": "half"} if name == "rope" else options)
                             for name, options in terms_of(spec)])).spec


def axes_of(spec: str) -> int:
    """How many numbers a position has."""
    return max([int(options.get("axes", 1)) for name, options in terms_of(spec) if name == "rope"], default=1)


# ---- models ----


def own_of(config: Any) -> Own:
    """What a transformers configuration says of its model's positions."""
    text = config.get_text_config(decoder=True)
    fields = {**json.loads(text.to_json_string(use_diff=False)), "model_type": text.model_type}
    try:
        read = import_rope(fields)
    except ValueError as error:
        kept = str(error).split(": ", 1)[-1] if "config.json" in str(error).split(": ", 1)[0] else str(error)
        raise UnsupportedError(f"the configuration of '{text.model_type}' cannot be read: {kept}") from None
    behind = next((int(found.group(1)) for note in read.notes
                   for found in [re.search(r"the (\d+) dimensions that turn stand behind", note)] if found), 0)
    return Own(tuple(_positions_of(spec) for spec in layers_of(read.spec)), behind, read.notes)


def _positions_of(spec: str) -> str:
    """Without what is no position: chunks and windows reach attention as the model's masks, and queries as the model's own
    code has scaled them."""
    terms = [(name, options) for name, options in terms_of(spec) if name not in ("scores", "temperature")]
    return Encoding(text_of(terms)).spec if terms else "none"


def layers_by(own: Own, said: Optional[str], layers: List[int]) -> List[str]:
    """The spec of each layer number, of the model itself or of what the caller says."""
    if said is None:
        return [own.of_layer(layer) for layer in layers]
    theirs = layers_of(said)
    if len(split(said, "/")) > 1:
        return [completed(theirs[layer % len(theirs)], own.of_layer(layer)) for layer in layers]
    positioned = any(spec != "none" for spec in own.specs)
    return ["none" if positioned and own.of_layer(layer) == "none" else completed(theirs[0], own.of_layer(layer))
            for layer in layers]
