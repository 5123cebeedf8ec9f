# SPDX-License-Identifier: MIT
"""What the package raises. Each message is one line that says what is wrong, where, and what to do."""
from __future__ import annotations

import re
from typing import Optional


class SpecError(ValueError):
    """A text (encoding, group, path, kind of attention) that cannot be parsed.

    ``message`` is the line, ``offset`` and ``length`` say which characters of ``text`` are meant (None: not known),
    ``suggestion`` is the nearest name, or None."""

    def __init__(self, message: str, offset: Optional[int] = None, length: int = 0, suggestion: Optional[str] = None,
                 text: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.length = length
        self.suggestion = suggestion
        self.text = text

    def __str__(self) -> str:
        if self.text is None or self.offset is None or "\n" in self.text:
            return self.message
        return f"{self.message}\n  {self.text}\n  {' ' * self.offset}^{'~' * (self.length - 1)}"


class ShapeError(ValueError):
    """An array of another rank, shape or stride than is needed."""


class PositionError(ValueError):
    """A position that the encoding or the group does not have."""


class DtypeError(TypeError):
    """An array of another element type, or on another device, than is needed."""


class UnsupportedError(NotImplementedError):
    """Meaningful, but this version does not do it."""


_CLASSES = {1: ValueError, 2: ShapeError, 3: DtypeError, 5: PositionError, 6: UnsupportedError, 7: MemoryError,
            8: OSError, 9: FloatingPointError, 10: KeyboardInterrupt}
_SPEC = 4


def error_of_status(status: int, message: str, argument: str, offset: int, length: int) -> BaseException:
    """The exception for a locus_status and what the library says of it. For the extension module."""
    if status == _SPEC:
        near = re.search(r"did you mean '([^']*)'", message)
        return SpecError(message, offset if offset >= 0 else None, length, near.group(1) if near else None)
    return _CLASSES.get(status, RuntimeError)(message)


def with_text(error: SpecError, text: str) -> SpecError:
    """The same with the text that it is about; offsets, which count bytes, made to count characters."""
    if error.text is None:
        error.text = text
        if error.offset is not None:
            data = text.encode()
            end = error.offset + max(error.length, 1)
            error.length = max(len(data[error.offset:end].decode(errors="replace")), 1)
            error.offset = len(data[:error.offset].decode(errors="replace"))
    return error
