# SPDX-License-Identifier: MIT
"""Rotary settings of a model's configuration as a spec, read as `locus import-rope` reads them (docs/import-rope.md)."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple, Union

from . import _core

_BYTES_MOST = 64 << 20


@dataclass(frozen=True)
class ImportedRope:
    """`spec`, and with what else attention needs said in it, `attention`; either may be a pattern over layers. `notes`
    name guesses, fields that mean nothing, and what a spec cannot say."""

    spec: str
    attention: str
    model_type: str
    head_dim: Optional[int]
    length: Optional[int]
    notes: Tuple[str, ...]


def _plain(value: Any, name: str) -> Any:
    """Values for the extension module: objects as tuples of pairs, numbers and texts as Python's own."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return tuple((str(key), _plain(item, f"{name}.{key}" if name else str(key))) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [_plain(item, name) for item in value]
    number = getattr(value, "tolist", None)  # of NumPy and the like
    if callable(number):
        return _plain(number(), name)
    raise TypeError(f"the configuration's field {name} is {value!r}; expected what JSON can say")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _read(path: str) -> Any:
    """The file as `_plain` leaves it; keys that come twice are kept, so that what they say is compared."""
    size = os.path.getsize(path)
    if size > _BYTES_MOST:
        raise ValueError(f"'{path}' has {size >> 20} MiB: a model's configuration has a few KiB; is it config.json?")
    with open(path, "rb") as file:
        data = file.read()
    try:
        root = json.loads(data.decode(), object_pairs_hook=tuple, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"'{path}' is not JSON: it cannot be read from line {error.lineno} on") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"'{path}' is not JSON: {error}") from None
    if not isinstance(root, tuple):
        raise ValueError(f"'{path}' holds no JSON object: a model's configuration is one")
    return root


def import_rope(config: Union[str, os.PathLike[str], Mapping[str, Any]]) -> ImportedRope:
    """The rotary settings of a Hugging Face config.json: its path, the folder that it is in, or its fields.

    ValueError says which fields are missing, contradict each other, or say what nobody knows."""
    if isinstance(config, Mapping):
        name, root = "the configuration", _plain(config, "")
    else:
        path = os.fspath(config)
        path = os.path.join(path, "config.json") if os.path.isdir(path) else path
        name, root = f"'{path}'", _read(path)
    try:
        spec, attention, model_type, head_dim, length, notes = _core.import_rope(root)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    return ImportedRope(spec, attention, model_type, head_dim or None, length or None, notes)
