# SPDX-License-Identifier: MIT
"""Shapes of attention, and what an encoding learns for them, as dicts of arrays."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import whole
from .errors import ShapeError

Parameters = Mapping[str, Any]
Arrays = Dict[str, NDArray[Any]]


def shape_of(heads: int = 0, head_dim: int = 0, value_dim: Optional[int] = None, model_dim: Optional[int] = None,
             kv_heads: Optional[int] = None) -> _core.Shape:
    """Sizes for the library, which reads 0 as "not used" or "the same"."""
    sizes = {"heads": heads, "head_dim": head_dim, "value_dim": value_dim or 0, "model_dim": model_dim or 0,
             "kv_heads": kv_heads or 0}
    return _core.shape(*(whole(name, size) for name, size in sizes.items()))


def listed(described: List[Tuple[str, Tuple[int, ...], int]], parameters: Optional[Parameters]) -> List[Any]:
    """The values in the library's order; ShapeError names what is missing, left over or of another shape."""
    given = dict(parameters or {})
    values: List[Any] = []
    for name, shape, _ in described:
        if name not in given:
            raise ShapeError(f"parameter '{name}' {list(shape)} is missing; Encoding.initialise gives one to "
                             "begin with")
        value = given.pop(name)
        if not hasattr(value, "shape"):
            value = np.asarray(value, np.float64)
        if tuple(value.shape) != shape:
            raise ShapeError(f"parameter '{name}' has shape {list(value.shape)}; expected {list(shape)}")
        values.append(value if not isinstance(value, np.ndarray) else np.ascontiguousarray(value))
    if given:
        known = ", ".join(f"'{name}'" for name, _, _ in described) or "none"
        raise ShapeError(f"there is no parameter '{next(iter(given))}'; the encoding has {known}")
    return values
