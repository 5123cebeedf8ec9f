# SPDX-License-Identifier: MIT
"""locus: positional encodings for Transformers as group actions.

    import locus, numpy as np
    plan = locus.Encoding("rope + alibi").plan(locus.positions(1000), heads=8, head_dim=64)
    output = plan.attention(q, k, v, causal=True)                  # q, k, v: [1000, 8, 64]

Arrays come from anything with the buffer protocol, DLPack on the CPU or ``__array__``, of float32, float64, float16 or
bfloat16, and are read where they lie; arrays that are returned are NumPy's. Tensors of tokens are packed,
``[tokens, heads, dim]``, or have their sequences apart, ``[batch, heads, length, dim]``. Calls let other threads of
Python run, may be made from several at once, and end at Ctrl-C. A value of LOCUS_ISA or LOCUS_THREADS that cannot be
read is passed over, with a RuntimeWarning at the import."""
from . import _core
from .caches import Cache, shift_keys
from .encodings import Encoding, encodings
from .errors import DtypeError, PositionError, ShapeError, SpecError, UnsupportedError
from .folding import Fold, fold
from .importing import ImportedRope, import_rope
from .lab.stores import runs
from .law_check import Law, check
from .places import path, positions
from .plans import Form, Plan
from .registering import register
from .threads import set_threads, threads, warn_of_environment

__version__: str = _core.version()

warn_of_environment()
del warn_of_environment

__all__ = [
    "Cache", "DtypeError", "Encoding", "Fold", "Form", "ImportedRope", "Law", "Plan", "PositionError", "ShapeError",
    "SpecError", "UnsupportedError", "check", "encodings", "fold", "import_rope", "path", "positions", "register",
    "runs", "set_threads", "shift_keys", "threads",
]
