# SPDX-License-Identifier: MIT
"""Arguments that are numbers or texts, checked in one line each before the extension module sees them."""
from __future__ import annotations

import operator
from typing import Any


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number, at least `least`, of 64 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not least <= number < 1 << 63:
        raise ValueError(f"{name} must be at least {least}, not {number}" if number < least else
                         f"{name} is {number}, beyond 64 bits")
    return number


def real(name: str, value: Any) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None


def text(name: str, value: Any) -> str:
    """A text without a null character, which would end it early."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    if "\0" in value:
        raise ValueError(f"{name} has a null character in it")
    return value
