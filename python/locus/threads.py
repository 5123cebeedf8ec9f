# SPDX-License-Identifier: MIT
"""How many threads the library computes with. Results have the same bits whatever their number."""
from . import _core
from .arguments import whole


def set_threads(n: int = 0) -> None:
    """Sets the number of threads: 1 … 1024, or 0 for one for each processor that the process may use."""
    _core.set_threads(whole("the number of threads", n))


def threads() -> int:
    """The number of threads in use."""
    return _core.threads()
