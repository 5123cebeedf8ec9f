# SPDX-License-Identifier: MIT
"""Normal form: operators that commute as plain rotations in a common basis, which folds into projections.

    ⌈p⌉ = U R(p) Uᵀ;   q'·k' = (R(p) Uᵀq)·(R(p) Uᵀk)        W_q ↦ Uᵀ W_q, W_k ↦ Uᵀ W_k; W_v ↦ Uᵀ W_v, W_o ↦ W_o U
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core
from .caches import _binding_of
from .encodings import encoding_of
from .errors import ShapeError
from .parameters import Parameters, shape_of


@dataclass(frozen=True)
class Fold:
    """`basis` U ``[H, d, d]``, pairs of columns first; `angles` ``[H, C, P]``, radians for a step of each of C
    coordinates; `signs` ``[H, C, d − 2P]`` of unpaired columns: −1 where a step changes the sign. `term` is the one of
    the spec that it is the form of."""

    term: int
    basis: NDArray[np.float64]
    angles: NDArray[np.float64]
    signs: NDArray[np.float64]

    def project(self, weight: Any) -> NDArray[Any]:
        """Uᵀ W for `weight` ``[H·d, model_dim]`` (or a bias ``[H·d]``) of queries, keys or values."""
        return self._turn(weight, "hji,hj...->hi...")

    def unproject(self, weight: Any) -> NDArray[Any]:
        """U W: what `project` made undone."""
        return self._turn(weight, "hij,hj...->hi...")

    def project_output(self, weight: Any) -> NDArray[Any]:
        """W U for `weight` ``[model_dim, H·d]`` of the output, where values are acted on, too."""
        return self.project(np.asarray(weight).T).T

    def _turn(self, weight: Any, formula: str) -> NDArray[Any]:
        given = np.asarray(weight)
        heads, dim = self.basis.shape[:2]
        if given.ndim < 1 or given.shape[0] != heads * dim:
            raise ShapeError(f"the weight must be [{heads * dim}, …] for {heads} heads of {dim}, not "
                             f"{list(given.shape)}")
        turned = np.einsum(formula, self.basis, given.reshape(heads, dim, *given.shape[1:]))
        result: NDArray[Any] = turned.reshape(given.shape).astype(given.dtype, copy=False)
        return result


def fold(encoding: Any, heads: int, head_dim: int, parameters: Optional[Parameters] = None, *,
         kv_heads: Optional[int] = None) -> Fold:
    """The normal form of an encoding; UnsupportedError if it has none. `parameters` None: initial ones of seed 0."""
    own = encoding_of(encoding)
    return Fold(*_core.fold(_binding_of(own, parameters, shape_of(heads, head_dim, None, None, kv_heads))))
