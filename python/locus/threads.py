# SPDX-License-Identifier: MIT
"""How many threads the library computes with. Results have the same bits whatever their number."""
import warnings

from . import _core
from .arguments import whole


def set_threads(n: int = 0) -> None:
    """Sets the number of threads: 1 … 1024, or 0 for one for each processor that the process may use."""
    _core.set_threads(whole("the number of threads", n))


def threads() -> int:
    """The number of threads in use."""
    return _core.threads()


def warn_of_environment() -> None:
    """Tells of a LOCUS_ISA or LOCUS_THREADS that cannot be read. No error: the process is somebody else's, and the
    library computes without the variable."""
    fault = _core.environment_fault()
    if fault is not None:
        warnings.warn(f"{fault}; it is passed over", RuntimeWarning, stacklevel=3)
