"""One core for what is timed: a second thread of a tiny model only spins, and spoils the clock.

What ``threadpoolctl`` knows is limited: OpenBLAS, MKL, BLIS and OpenMP. Accelerate, the BLAS of
some NumPy builds on macOS, has no such switch and keeps its threads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["single_thread"]


@contextmanager
def single_thread() -> Iterator[None]:
    """Run the body on one processor core: every BLAS that can be told, and torch.

    The old limits come back after. Torch is not imported for this: who times it has it already.
    """
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    try:
        with threadpool_limits(limits=1):
            if torch:
                torch.set_num_threads(1)
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
